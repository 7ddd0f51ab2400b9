"""Conversion of verdicts to memory changes; verdicts about memories not in the prompt are ignored.

Neither the rules nor a model are trusted: each memory changes at most once, no two new memories are
alike, and deletions are limited. A statement neither changes nor ends a memory that rests on a
later time, in whatever order statements are read.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

from app.language import merging
from app.language.facts import Action, Candidate, Neighbour, Topic, Verdict, shown
from app.language.text import key
from app.memory.generation.logic.decisions import Caps, VerdictDecisions, unmet
from app.memory.generation.logic.outcomes import Dropped, DroppedValue
from app.memory.generation.logic.profiles import FieldChange, with_context
from app.memory.generation.logic.timing import in_time, reached, unreached
from app.platform.engines.logic.topics import MAX_FACT_CHARS

Changed = Literal["CREATED", "UPDATED", "DELETED"]


class QuotedFact(NamedTuple):
    """A fact as it was extracted, and the words that it rests on ("" for a given fact)."""

    fact: str
    quote: str

    @classmethod
    def of(cls, candidate: Candidate) -> Self:
        """Return a candidate's fact with its quote."""
        return cls(candidate.fact, candidate.source)


@dataclass(frozen=True)
class PlannedChange:
    """One change to one memory.

    Attributes:
        version: the version that the memory had in the prompt; None for a new memory.
        fact: the new text; on DELETED the old text; None for a field of a profile.
        turns: positions in the input of the turns that the change rests on.
    """

    action: Changed
    memory_id: str | None
    version: int | None
    fact: str | None
    topics: tuple[Topic, ...]
    extracted: tuple[QuotedFact, ...]
    reason: str
    turns: tuple[int, ...] = ()
    field: FieldChange | None = None

    @classmethod
    def of_field(cls, change: FieldChange) -> "PlannedChange":
        """Build the change of a profile's field."""
        turns = tuple(value.turn for value in change.extracted)
        return cls(
            change.action,
            change.memory_id,
            change.version,
            None,
            (),
            (),
            change.reason,
            turns,
            change,
        )

    @property
    def turn(self) -> int | None:
        """Position of the last turn that the change rests on; None if there is none."""
        return max(self.turns, default=None)

    def extracted_memories(self) -> list[dict[str, Any]]:
        """Return the facts that the change rests on, in the form of a revision."""
        if self.field is not None:
            return self.field.extracted_memories()
        return [with_context({"fact": quoted.fact}, quoted.quote) for quoted in self.extracted]

    @property
    def context(self) -> str | None:
        """The distinct words of users that the change rests on, in lines; None if unknown."""
        quotes = (
            [quoted.quote for quoted in self.extracted]
            if self.field is None
            else [value.source for value in self.field.extracted]
        )
        said = "\n".join(dict.fromkeys(filter(None, quotes)))
        return said[:MAX_FACT_CHARS] or None


@dataclass(frozen=True)
class Plan:
    """The changes to make, in order, and the other outcomes."""

    changes: tuple[PlannedChange, ...]
    outcome: VerdictDecisions = field(default_factory=VerdictDecisions)
    dropped_fields: Sequence[DroppedValue] = ()

    def with_dropped(self, dropped: Sequence[Dropped]) -> "Plan":
        """Return the plan with further facts that do not become memories."""
        outcome = replace(self.outcome, dropped=[*dropped, *self.outcome.dropped])
        return replace(self, outcome=outcome)


def considered(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return at most `most` candidates for one generation, in their order."""
    # Requests to forget come first, then the latest statements, since they overrule earlier
    # ones.
    weighed = sorted(range(len(candidates)), key=lambda n: (not candidates[n].forget, -n))
    return [candidates[n] for n in sorted(weighed[:most])]


def plan(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    verdicts: Sequence[Verdict],
    max_deletes: int,
) -> Plan:
    """Turn verdicts into changes; a second one about the same memory or text is left out."""
    known = shown(neighbours)
    changes: list[PlannedChange] = []
    taken: set[str] = set()
    deletes_left = max_deletes
    allowed, dropped = in_time(verdicts, candidates, known)
    for verdict in allowed:
        change = _change(verdict, candidates, known)
        mark = _mark(change) if change else ""
        if change is None or mark in taken or (change.action == "DELETED" and deletes_left == 0):
            continue
        deletes_left -= change.action == "DELETED"
        taken.add(mark)
        changes.append(change)
    return Plan(tuple(changes), VerdictDecisions(dropped=dropped))


def _mark(change: PlannedChange) -> str:
    return f"id {change.memory_id}" if change.memory_id else f"text {key(change.fact or '')}"


def _change(
    verdict: Verdict, candidates: Sequence[Candidate], known: dict[str, Neighbour]
) -> PlannedChange | None:
    near = known.get(verdict.memory_id or "")
    if not _is_sound(verdict, near, len(candidates)):
        return None
    based_on = [candidates[position] for position in verdict.candidates]
    topics = tuple(dict.fromkeys(topic for candidate in based_on for topic in candidate.topics))
    fact = verdict.fact
    if near is not None:
        topics = topics or near.topics
        if verdict.action == "DELETE":
            fact, topics = near.fact, near.topics
    return PlannedChange(
        action=_CHANGED[verdict.action],
        memory_id=verdict.memory_id,
        version=near.version if near else None,
        fact=fact,
        topics=topics,
        extracted=tuple(QuotedFact.of(one) for one in based_on if not one.is_secret),
        reason=verdict.reason,
        turns=tuple(candidate.turn for candidate in based_on),
    )


def _is_sound(verdict: Verdict, near: Neighbour | None, candidates: int) -> bool:
    if not all(0 <= position < candidates for position in verdict.candidates):
        return False
    if verdict.action == "CREATE":
        return verdict.memory_id is None and bool(verdict.fact.strip())
    return near is not None and (verdict.action == "DELETE" or bool(verdict.fact.strip()))


_CHANGED: dict[Action, Changed] = {"CREATE": "CREATED", "UPDATE": "UPDATED", "DELETE": "DELETED"}


def by_rules(
    candidates: Sequence[Candidate],
    neighbours: Sequence[Sequence[Neighbour]],
    caps: Caps,
    *,
    by_meaning: bool,
    judge: merging.PairJudge | None = None,
) -> Generator[None, None, Plan]:
    """Make the plan of the built-in rules for the candidates, in steps.

    `by_meaning` is True if the distances of `neighbours` compare meanings, not only words. The
    `judge` knows the vectors of the candidates.
    """
    within_reach = [
        reached(candidate, row) for candidate, row in zip(candidates, neighbours, strict=True)
    ]
    beyond = [
        max((near.cosine for near in row if near.memory_id not in ids), default=0.0)
        for row, ids in zip(neighbours, map(_ids_of, within_reach), strict=True)
    ]
    ruled = yield from merging.consolidate(
        candidates,
        within_reach,
        beyond,
        max_deletes=caps.deletes,
        max_forgets=caps.forgets,
        by_meaning=by_meaning,
        judge=judge,
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
        if candidate.forget and not candidate.is_secret and (at not in met or at in ruled.capped)
    ]
    planned = plan(candidates, within_reach, ruled.verdicts, caps.all)
    return replace(planned, outcome=replace(planned.outcome, unmet=left_undone))


def _ids_of(near: Sequence[Neighbour]) -> set[str]:
    return {memory.memory_id for memory in near}


def unconsolidated(candidates: Sequence[Candidate]) -> Plan:
    """Create a memory from each fact; a request to forget then has no effect."""
    asked = (one for one in candidates if one.forget and not one.is_secret)
    left_undone = [unmet(candidate, "REFUSED") for candidate in asked]
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
