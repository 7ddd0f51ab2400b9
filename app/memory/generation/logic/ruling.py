"""Plans made without a model (pure)."""

from collections.abc import Generator, Sequence
from dataclasses import replace

from app.language import merging
from app.language.facts import Candidate, Neighbour
from app.memory.generation.logic.decisions import Caps, VerdictDecisions, unmet
from app.memory.generation.logic.plan import Plan, PlannedChange, QuotedFact, plan
from app.memory.generation.logic.timing import reached, unreached


def by_rules(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    caps: Caps,
    *,
    by_meaning: bool,
) -> Generator[None, None, Plan]:
    """Make the plan of the built-in rules for the candidates, in steps.

    `by_meaning` is True if the distances of `neighbours` compare meanings, not only words.
    """
    within_reach = [
        reached(candidate, row) for candidate, row in zip(candidates, neighbours, strict=True)
    ]
    ruled = yield from merging.consolidating(
        candidates,
        within_reach,
        max_deletes=caps.deletes,
        max_forgets=caps.forgets,
        by_meaning=by_meaning,
    )
    gone = {
        verdict.memory_id: verdict.candidates
        for verdict in ruled.verdicts
        if verdict.action == "DELETE"
    }
    met = {at for positions in gone.values() for at in positions}
    left_undone = [
        unmet(
            candidate,
            "TOO_MANY" if at in ruled.capped else None,
            [near for near in within_reach[at] if near.memory_id not in gone],
            unreached(candidate, neighbours[at], by_meaning=by_meaning),
        )
        for at, candidate in enumerate(candidates)
        if candidate.forget and (at not in met or at in ruled.capped)
    ]
    planned = plan(candidates, within_reach, ruled.verdicts, caps.all)
    return replace(planned, outcome=replace(planned.outcome, unmet=left_undone))


def unconsolidated(candidates: Sequence[Candidate]) -> Plan:
    """Create a memory from each fact; a request to forget then has no effect."""
    left_undone = [unmet(candidate, "REFUSED") for candidate in candidates if candidate.forget]
    created = tuple(_created(candidate) for candidate in candidates if not candidate.forget)
    return Plan(created, outcome=VerdictDecisions(unmet=left_undone))


def _created(candidate: Candidate) -> PlannedChange:
    return PlannedChange(
        action="CREATED",
        memory_id=None,
        version=None,
        fact=candidate.fact,
        topics=candidate.topics,
        extracted=(QuotedFact.of(candidate),),
        reason="not consolidated",
        turns=(candidate.turn,),
    )
