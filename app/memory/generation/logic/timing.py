"""The rule that what was said later wins, whatever was read later (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.language.facts import Candidate, Neighbour, Verdict
from app.memory.generation.logic.decisions import MERGED
from app.memory.generation.logic.outcomes import Dropped, DropReason


@dataclass
class Timely:
    """The verdicts that may be carried out, and the facts of the others."""

    verdicts: list[Verdict] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


def in_time(
    verdicts: Sequence[Verdict], candidates: Sequence[Candidate], shown: Mapping[str, Neighbour]
) -> Timely:
    """Return the verdicts that no later statement forbids.

    A fact neither changes nor ends a memory that rests on a later time: it is dropped. One that
    adds to such a memory becomes a memory of its own. A fact of a line that was perhaps read before
    creates nothing, and changes no memory that a person has set.
    """
    timely = Timely()
    stale: set[int] = set()
    for verdict in verdicts:
        based_on = [(at, candidates[at]) for at in verdict.candidates if at < len(candidates)]
        near = shown.get(verdict.memory_id or "")
        facts = [candidate for _, candidate in based_on]
        reason = _refusal(verdict, facts, near)
        if reason is None:
            timely.verdicts.append(verdict)
        elif reason == "OLDER" and verdict.reason == MERGED:
            latest = facts[-1].fact
            timely.verdicts.append(Verdict("CREATE", verdict.candidates, "older", fact=latest))
        else:
            stale |= {at for at, _ in based_on}
            memory_id = verdict.memory_id if reason == "OLDER" else None
            timely.dropped += [
                Dropped(fact.fact, fact.source, reason, memory_id=memory_id, turn=fact.turn)
                for fact in facts
            ]
    # A fact that a later memory contradicts is not true by now, so it is no addition either.
    timely.verdicts = [
        verdict
        for verdict in timely.verdicts
        if verdict.memory_id is not None or not stale.issuperset(verdict.candidates)
    ]
    return timely


def _refusal(
    verdict: Verdict, facts: Sequence[Candidate], near: Neighbour | None
) -> DropReason | None:
    """Return the reason that forbids a verdict about a memory, or about a new one, or None."""
    if near is not None and verdict.action == "UPDATE" and verdict.fact == near.fact:
        return None
    is_repeat = bool(facts) and all(fact.is_repeat for fact in facts)
    if is_repeat and (near is None or near.is_held):
        return "ALREADY_READ"
    said = max((fact.said_at for fact in facts if fact.said_at is not None), default=None)
    if near is None or near.rests_on is None or said is None or said >= near.rests_on:
        return None
    return "OLDER"


def reached(candidate: Candidate, near: Sequence[Neighbour]) -> list[Neighbour]:
    """Return the memories that a request to forget reaches: none that rest on a later time."""
    return [
        memory
        for memory in near
        if not (candidate.is_repeat and memory.is_held)
        and (
            memory.rests_on is None
            or candidate.said_at is None
            or memory.rests_on <= candidate.said_at
        )
    ]
