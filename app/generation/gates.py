"""What can be told without a model, and what a model is not trusted with (pure).

Before it is asked: facts that say what is known, and facts that nothing is near to, need no model.
After it has answered: a change that would lose, invent or delete too much is refused.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.rules.facts import Candidate, Neighbour, Verdict
from app.rules.forgetting import means
from app.rules.relations import Statement, overruled, read, same
from app.rules.text import content, names, numbers, words

NEAR_COSINE = 0.4
"""From here on a memory may be about the same; unrelated statements of one person lie below 0.3."""
MAX_NEAR = 5
"""Memories that a model is shown for one fact, the nearest."""
_MAX_DROPPED = 3
_MAX_INVENTED = 2
"""Words with content that a new text may lack of, or have beyond, what it is made from."""


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
            _gate_forgetting(group, found)
        elif (home := _home(group)) is not None:
            near, kept = home
            before = known.get(near.memory_id)
            told = (*(before.candidates if before else ()), *group.told)
            known[near.memory_id] = Verdict("UPDATE", told, "said again", near.memory_id, kept)
        else:
            _gate_new(group, found)
    found.settled.extend(known.values())
    return found


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
    if text is None and overruled(new.fact, old.fact, 0.0) != "":
        return False
    new.positions += old.positions
    new.fact = new.fact if text is None else read(text)
    known = {near.memory_id for near in new.near}
    new.near += [near for near in old.near if near.memory_id not in known]
    return True


def _gate_forgetting(group: Group, found: Gated) -> None:
    meant = [near for near in group.near if means(group.fact.fact, near.fact)]
    found.settled.extend(
        Verdict("DELETE", group.told, "asked to forget", near.memory_id) for near in meant
    )
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


def keeps(text: str, *facts: str) -> bool:
    """Tell whether a merged text has all that the facts say: their numbers, names and words."""
    has, figures, spelt = content(text), numbers(text), frozenset(words(text))
    return all(
        numbers(fact) <= figures
        and names(fact) <= spelt
        and len(content(fact) - has) <= len(content(fact)) // 4
        for fact in facts
    )


def invents(text: str, sources: Iterable[str]) -> bool:
    """Tell whether a text says more than what it is made from."""
    given = list(sources)
    known = frozenset[str]().union(*(content(source) for source in given))
    figures = frozenset[str]().union(*(numbers(source) for source in given))
    return len(content(text) - known) > _MAX_INVENTED or not numbers(text) <= figures


def replaced(fact: Statement, near: Neighbour, text: str) -> str | None:
    """Return what a contradicted memory shall say; None where that would lose what it also says.

    Where the words themselves tell what remains of it, that has to remain.
    """
    rest = overruled(fact, read(near.fact), near.cosine)
    wanted = text.strip() or fact.fact
    if invents(wanted, (fact.fact, near.fact)):
        wanted = fact.fact
    if rest == "":
        return wanted
    if rest is not None:
        return wanted if keeps(wanted, rest) else None
    dropped = content(near.fact) - content(wanted)
    too_much = len(dropped) > min(_MAX_DROPPED, len(content(near.fact)) // 2 + 1)
    return None if too_much or near.cosine < NEAR_COSINE else wanted


def may_forget(group: Group, near: Neighbour) -> bool:
    """Tell whether a request to forget can mean the memory: it names something of it."""
    return bool(content(group.fact.fact) & content(near.fact))
