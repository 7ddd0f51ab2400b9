"""A model's decisions to verdicts: only sound ones count, and no fact is lost on the way (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.generation.gates import Group, may_forget, takes_in
from app.generation.losses import MAX_SHOWN_CHARS, fuller, keeps, merged, remaining, replaced
from app.generation.replies import Decision
from app.rules.facts import Neighbour, Verdict
from app.rules.relations import Statement
from app.rules.text import clean

_IN_PART = "contradicted in part"
"""The memory keeps what is still true; the new fact is not in it."""
_UNRELATED = 2**0.5
"""The distance of two texts of which nobody has measured any: that of right angles."""


@dataclass
class Decided:
    """The verdicts, and how many decisions were refused."""

    verdicts: list[Verdict] = field(default_factory=list)
    refused: int = 0
    _by_memory: dict[str, int] = field(default_factory=dict)

    def about(self, memory_id: str) -> Verdict | None:
        """Return the verdict about a memory, if there is one."""
        at = self._by_memory.get(memory_id)
        return None if at is None else self.verdicts[at]

    def add(self, verdict: Verdict) -> None:
        """Take a verdict; one about a memory that has one takes its place."""
        at = self._by_memory.get(verdict.memory_id or "")
        if at is not None:
            self.verdicts[at] = verdict
            return
        if verdict.memory_id is not None:
            self._by_memory[verdict.memory_id] = len(self.verdicts)
        self.verdicts.append(verdict)


def decided(
    groups: Sequence[Group],
    decisions: Sequence[Decision],
    aliases: Mapping[str, Neighbour],
    settled: Sequence[Verdict],
) -> Decided:
    """Return the settled verdicts and those that the model's sound decisions come to.

    A group that no sound decision takes in becomes a memory of its own; a request to forget that
    none answers has no effect.
    """
    found = Decided()
    for verdict in settled:
        found.add(verdict)
    taken_in: set[int] = set()
    for one in decisions:
        known = 0 <= one.fact < len(groups)
        if known and one.action == "add":
            continue
        told = _told_with(one, groups, decisions) if known else []
        sound = _sound(groups[one.fact], told, one, aliases, found) if known else None
        if sound is None:
            found.refused += 1
            continue
        found.add(sound)
        if sound.action == "UPDATE" and sound.reason != _IN_PART:
            taken_in.add(one.fact)
    for number, group in enumerate(groups):
        if number not in taken_in and not group.forget:
            found.add(group.created("new"))
    return found


def _told_with(
    one: Decision, groups: Sequence[Group], decisions: Sequence[Decision]
) -> list[Statement]:
    """Return the facts that a decision's text is about: several may go into one memory at once."""
    others = [
        other.fact
        for other in decisions
        if (other.action, other.memory, other.text) == (one.action, one.memory, one.text)
        and 0 <= other.fact < len(groups)
    ]
    return [groups[fact].fact for fact in dict.fromkeys(others) if not groups[fact].forget]


def _sound(
    group: Group,
    told: Sequence[Statement],
    one: Decision,
    aliases: Mapping[str, Neighbour],
    found: Decided,
) -> Verdict | None:
    """Return the verdict of a sound decision about a memory that was shown."""
    shown = aliases.get(one.memory)
    if shown is None:
        return None
    near = next(
        (near for near in group.near if near.memory_id == shown.memory_id),
        replace(shown, distance=_UNRELATED),
    )
    verdict = _deletion(group, one, near) or _update(group, told, one, near)
    before = found.about(near.memory_id)
    return _joined(before, verdict, group) if verdict and before else verdict


def _deletion(group: Group, one: Decision, near: Neighbour) -> Verdict | None:
    """Return a deletion that was asked for, or that a plain contradiction comes to."""
    if one.action != "delete":
        return None
    if group.forget:
        asked = may_forget(group, near)
        return Verdict("DELETE", group.told, "asked to forget", near.memory_id) if asked else None
    if remaining(group.fact, near) == "" and len(near.fact) <= MAX_SHOWN_CHARS:
        return Verdict("DELETE", group.told, "contradicted", near.memory_id)
    return None


def _update(
    group: Group, told: Sequence[Statement], one: Decision, near: Neighbour
) -> Verdict | None:
    if group.forget or one.action == "delete":
        return None
    text, reason = _rewritten(group, told, one, near)
    return Verdict("UPDATE", group.told, reason, near.memory_id, text) if text else None


def _rewritten(
    group: Group, told: Sequence[Statement], one: Decision, near: Neighbour
) -> tuple[str | None, str]:
    """Return what a memory shall say with the fact in it, and why; None: it stays as it is."""
    said, rest = clean(one.text).strip(), remaining(group.fact, near)
    if rest is not None and one.action != "same":
        text = replaced(group.fact, near, said)
        in_part = text == rest and not takes_in(rest, group.fact)
        return text, _IN_PART if in_part else "contradicted"
    if one.action == "replace" and (text := replaced(group.fact, near, said)) is not None:
        return text, "contradicted" if text == group.fact.fact else "merged"
    if one.action == "merge" and (text := merged(told, near, said)) is not None:
        return text, "merged"
    text = fuller(group.fact, near)
    return text, "said again" if text == near.fact else "merged"


def _joined(before: Verdict, new: Verdict, group: Group) -> Verdict | None:
    """Return one verdict for both, if the text of one already has what the other says."""
    if before.action != "UPDATE" or new.action != "UPDATE":
        return None
    both = (*before.candidates, *new.candidates)
    if keeps(before.fact, new.fact) or keeps(before.fact, group.fact.fact):
        return replace(before, candidates=both)
    return replace(new, candidates=both) if keeps(new.fact, before.fact) else None
