"""Precedence of later statements over earlier ones, in whatever order they are read (pure)."""

from collections.abc import Mapping, Sequence

from app.language.extraction import whole
from app.language.facts import Candidate, Neighbour, Verdict
from app.language.merging import consolidate
from app.memory.generation.logic.decisions import MERGED
from app.memory.generation.logic.outcomes import Dropped, DropReason
from app.memory.memories.logic.provenance import EndedFact
from app.memory.memories.logic.search_hints import same


def in_time(
    verdicts: Sequence[Verdict], candidates: Sequence[Candidate], shown: Mapping[str, Neighbour]
) -> tuple[list[Verdict], list[Dropped]]:
    """Return the verdicts that no later statement forbids, and the facts of the others.

    A fact neither changes nor ends a memory that rests on a later time; such a fact is dropped. A
    fact that adds to such a memory becomes a new memory. A fact of a line that was perhaps read
    before creates nothing, and changes no memory that a person has set.
    """
    timely: list[Verdict] = []
    dropped: list[Dropped] = []
    stale: set[int] = set()
    for verdict in verdicts:
        based_on = [(at, candidates[at]) for at in verdict.candidates if at < len(candidates)]
        near = shown.get(verdict.memory_id or "")
        facts = [candidate for _, candidate in based_on]
        reason = _refusal(verdict, facts, near)
        if reason is None:
            timely.append(verdict)
        elif reason == "OLDER" and verdict.reason == MERGED:
            latest = facts[-1].fact
            timely.append(Verdict("CREATE", verdict.candidates, "older", fact=latest))
        else:
            stale |= {at for at, _ in based_on}
            memory_id = verdict.memory_id if reason == "OLDER" else None
            dropped += [
                Dropped(fact.fact, fact.source, reason, memory_id=memory_id, turn=fact.turn)
                for fact in facts
                if not fact.is_secret
            ]
    # A fact that a later memory contradicts is no longer true, so it is no addition either.
    timely = [
        verdict
        for verdict in timely
        if verdict.memory_id is not None or not stale.issuperset(verdict.candidates)
    ]
    return timely, dropped


def _refusal(
    verdict: Verdict, facts: Sequence[Candidate], near: Neighbour | None
) -> DropReason | None:
    if near is not None and verdict.action == "UPDATE" and verdict.fact == near.fact:
        return None
    is_repeat = bool(facts) and all(fact.is_repeat for fact in facts)
    if is_repeat and (near is None or near.is_held):
        return "ALREADY_READ"
    if near is None or not facts:
        return None
    return "OLDER" if all(is_newer(near, fact) for fact in facts) else None


def is_newer(memory: Neighbour, candidate: Candidate) -> bool:
    """Return True if a memory rests on a later time than a candidate's statement."""
    if memory.rests_on is None or candidate.said_at is None:
        return False
    return candidate.said_at < memory.rests_on


def older(candidates: Sequence[Candidate], ended: Mapping[int, EndedFact]) -> list[Dropped]:
    """Return the facts that were taken back later than they were stated, as dropped facts."""
    return [
        Dropped(fact.fact, fact.source, "OLDER", memory_id=known.memory_id, turn=fact.turn)
        for fact, known in ((candidates[at], known) for at, known in ended.items())
    ]


def superseded(
    candidates: Sequence[Candidate],
    near: Sequence[Sequence[Neighbour]],
    ended: Mapping[str, EndedFact],
) -> dict[int, EndedFact]:
    """Return the candidates taken back later than stated, by position; `ended` is by hint."""
    # A fact that a memory has again does not count as taken back.
    taken_back: dict[int, EndedFact] = {}
    for at, (candidate, row) in enumerate(zip(candidates, near, strict=True)):
        hint = same(candidate.fact)
        known = ended.get(hint)
        if known is None or candidate.forget or candidate.said_at is None:
            continue
        stands = any(same(memory.fact) == hint for memory in row)
        if candidate.said_at < known.ended_at and not stands:
            taken_back[at] = known
    return taken_back


def reached(candidate: Candidate, near: Sequence[Neighbour]) -> list[Neighbour]:
    """Return the memories that a candidate may change, or for a request to forget may end."""
    if not candidate.forget:
        return list(near)
    return [
        memory
        for memory in near
        if not (candidate.is_repeat and memory.is_held) and not is_newer(memory, candidate)
    ]


def unreached(
    candidate: Candidate, near: Sequence[Neighbour], *, by_meaning: bool = False
) -> list[Neighbour]:
    """Return the memories that a request to forget means, but that rest on a later time."""
    # The rules decide about the meaning, also where a model decides about the others.
    later = [memory for memory in near if candidate.forget and is_newer(memory, candidate)]
    if not later:
        return []
    ruled = whole(
        consolidate(
            [candidate], [later], max_deletes=0, max_forgets=len(later), by_meaning=by_meaning
        )
    )
    meant = {verdict.memory_id for verdict in ruled.verdicts if verdict.action == "DELETE"}
    return [memory for memory in later if memory.memory_id in meant]
