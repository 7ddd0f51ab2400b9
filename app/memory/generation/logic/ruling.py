"""Plans that are made without a model (pure)."""

from collections.abc import Sequence
from dataclasses import replace

from app.language import merging
from app.language.facts import Candidate, Neighbour
from app.memory.generation.logic.decisions import Caps, Decided, unmet
from app.memory.generation.logic.plan import Plan, PlannedChange, plan


def by_rules(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    caps: Caps,
    *,
    by_meaning: bool,
) -> Plan:
    """Return what the built-in rules make of the candidates.

    `by_meaning` is whether the distances of `neighbours` compare meanings, not only words.
    """
    found = merging.consolidate(
        candidates,
        neighbours,
        max_deletes=caps.deletes,
        max_forgets=caps.forgets,
        by_meaning=by_meaning,
    )
    gone = {one.memory_id: one.candidates for one in found.verdicts if one.action == "DELETE"}
    met = {at for told in gone.values() for at in told}
    left_undone = [
        unmet(
            one,
            "TOO_MANY" if at in found.capped else "NOTHING_FOUND",
            [near.memory_id for near in row if near.memory_id not in gone],
            has_more=at in found.capped,
        )
        for at, (one, row) in enumerate(zip(candidates, neighbours, strict=True))
        if one.forget and (at not in met or at in found.capped)
    ]
    planned = plan(candidates, neighbours, found.verdicts, caps.all)
    return replace(planned, outcome=Decided(unmet=left_undone))


def unconsolidated(candidates: Sequence[Candidate]) -> Plan:
    """Make a memory of each fact; a request to forget has no effect then."""
    left_undone = [unmet(one, "REFUSED", ()) for one in candidates if one.forget]
    created = tuple(_created(one) for one in candidates if not one.forget)
    return Plan(created, outcome=Decided(unmet=left_undone))


def _created(candidate: Candidate) -> PlannedChange:
    return PlannedChange(
        action="CREATED",
        memory_id=None,
        version=None,
        fact=candidate.fact,
        topics=candidate.topics,
        extracted=(candidate.fact,),
        reason="not consolidated",
        turn=candidate.turn,
    )
