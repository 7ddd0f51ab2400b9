"""What can be told without a model (pure).

Facts that say what is known, and facts that nothing is near to, need none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.generation.losses import keeps
from app.rules.facts import Candidate, Neighbour, Verdict
from app.rules.forgetting import may_mean, means
from app.rules.relations import Statement, overruled, read, same

NEAR_COSINE = 0.4
"""From here on a memory may be about the same; unrelated statements of one person lie below 0.3."""
MAX_NEAR = 5
"""Memories that a model is shown for one fact, the nearest."""


@dataclass
class Group:
    """Candidates of one conversation that say the same; `fact` is the latest of them.

    `near` are the memories they may be about, nearest first.
    """

    positions: list[int]
    fact: Statement
    forget: bool = False
    near: list[Neighbour] = field(default_factory=list)

    @property
    def told(self) -> tuple[int, ...]:
        """The candidates it stands for, in their order."""
        return tuple(sorted(self.positions))

    def created(self, reason: str) -> Verdict:
        """Return the verdict that makes a memory of it."""
        return Verdict("CREATE", self.told, reason, fact=self.fact.fact)


@dataclass(frozen=True)
class Gated:
    """What is settled without a model, and the groups it has to be asked about."""

    settled: list[Verdict]
    unsettled: list[Group]


def gate(candidates: Sequence[Candidate], neighbours: Sequence[Sequence[Neighbour]]) -> Gated:
    """Settle what needs no model; `neighbours` has a row for each candidate, nearest first."""
    found = Gated([], [])
    known: dict[str, Verdict] = {}
    for group in _groups(candidates, neighbours):
        if group.forget:
            _gate_forgetting(group, found, known)
        elif (home := _home(group)) is not None:
            _gate_repetition(group, *home, known)
        else:
            _gate_new(group, found)
    found.settled.extend(known.values())
    return found


def _gate_repetition(group: Group, near: Neighbour, kept: str, known: dict[str, Verdict]) -> None:
    """Keep what is said again; said after a request to forget it, it counts."""
    before = known.get(near.memory_id)
    told = before.candidates if before is not None and before.action == "UPDATE" else ()
    about = (near.memory_id, kept)
    known[near.memory_id] = Verdict("UPDATE", (*told, *group.told), "said again", *about)


def _gate_new(group: Group, found: Gated) -> None:
    group.near = [near for near in group.near if _is_near(group.fact, near)][:MAX_NEAR]
    if group.near:
        found.unsettled.append(group)
    else:
        found.settled.append(group.created("new"))


def _groups(
    candidates: Sequence[Candidate], neighbours: Sequence[Sequence[Neighbour]]
) -> list[Group]:
    """Join what says the same; of what contradicts itself the last counts."""
    groups: list[Group] = []
    for position, (candidate, row) in enumerate(zip(candidates, neighbours, strict=True)):
        new = Group([position], read(candidate.fact), candidate.forget, list(row))
        groups = [*(group for group in groups if group.forget or not _absorbs(new, group)), new]
    return groups


def _absorbs(new: Group, old: Group) -> bool:
    """Take an earlier group into the new one where that says the same, or is no longer true."""
    if new.forget:
        return means(new.fact.fact, old.fact.fact)
    text = same(new.fact, old.fact, 0.0)
    rest = overruled(new.fact, old.fact, 0.0) if text is None else None
    if rest is not None and takes_in(rest, new.fact):
        text = rest
    elif text is None and rest != "":
        old.fact = read(rest) if rest else old.fact
        return False
    new.positions += old.positions
    new.fact = new.fact if text is None else read(text)
    known = {near.memory_id for near in new.near}
    new.near += [near for near in old.near if near.memory_id not in known]
    return True


def _gate_forgetting(group: Group, found: Gated, known: dict[str, Verdict]) -> None:
    meant = [near for near in group.near if means(group.fact.fact, near.fact)]
    for near in meant:
        known[near.memory_id] = Verdict("DELETE", group.told, "asked to forget", near.memory_id)
    group.near = [near for near in group.near if near.cosine >= NEAR_COSINE][:MAX_NEAR]
    if not meant and group.near:
        found.unsettled.append(group)


def _home(group: Group) -> tuple[Neighbour, str] | None:
    """Return the memory that says the same already, with the text to keep."""
    for near in group.near:
        kept = same(group.fact, read(near.fact), near.cosine)
        if kept is not None:
            return near, kept
    return None


def _is_near(fact: Statement, near: Neighbour) -> bool:
    return near.cosine >= NEAR_COSINE or overruled(fact, read(near.fact), near.cosine) is not None


def takes_in(text: str, fact: Statement) -> bool:
    """Tell whether a memory of this text says what the fact says, so that it needs none itself."""
    return same(fact, read(text), 0.0) is not None or keeps(text, fact.fact)


def may_forget(group: Group, near: Neighbour) -> bool:
    """Tell whether a request to forget can mean the memory."""
    return may_mean(group.fact.fact, near.fact)
