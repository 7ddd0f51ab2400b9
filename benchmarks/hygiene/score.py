"""What is wrong with the memories of a case (pure)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations

from app.language.text import content, key
from benchmarks.hygiene.cases import Case

_FOUND = 0.7
"""Of a memory's words, how many the user must have said for it to be the user's."""


@dataclass
class Wrongs:
    """What is wrong, each as the texts concerned; the counts are their lengths."""

    missing: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    exact_duplicates: list[str] = field(default_factory=list)
    wrong_updates: list[str] = field(default_factory=list)
    wrong_deletes: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    junk: list[str] = field(default_factory=list)
    added_by_repeating: list[str] = field(default_factory=list)

    def add(self, other: "Wrongs") -> None:
        """Take in what is wrong elsewhere."""
        for one in fields(self):
            getattr(self, one.name).extend(getattr(other, one.name))


def judged(case: Case, live: Sequence[str]) -> Wrongs:
    """Return what is wrong with the memories at the end of a case."""
    found = Wrongs()
    found.missing += [
        f"{case.name}: {pattern}" for pattern in case.live if not _matches([pattern], *live)
    ]
    for one, other in combinations(live, 2):
        if key(one) == key(other):
            found.exact_duplicates.append(f"{case.name}: {one} = {other}")
        elif any(re.search(p, one) and re.search(p, other) for p in case.live):
            found.duplicates.append(f"{case.name}: {one} = {other}")
    said = content(case.said())
    for fact in live:
        words = content(fact)
        if _matches(case.gone, fact):
            found.contradictions.append(f"{case.name}: {fact}")
        elif len(words & said) < _FOUND * len(words):
            found.unsupported.append(f"{case.name}: {fact}")
        elif not _matches(case.live, fact):
            found.junk.append(f"{case.name}: {fact}")
    return found


def _matches(patterns: Sequence[str], *facts: str) -> bool:
    return any(re.search(pattern, fact) for pattern in patterns for fact in facts)


def changed(
    case: Case, before: Mapping[str, str], after: Mapping[str, str], actions: Mapping[str, str]
) -> Wrongs:
    """Return the changes of one generation that lost what had to stay; `actions` by memory."""
    found = Wrongs()
    for name, action in actions.items():
        if name not in before:
            continue
        lost = [
            pattern
            for pattern in case.kept
            if re.search(pattern, before[name])
            and not any(re.search(pattern, fact) for fact in after.values())
        ]
        if lost:
            into = found.wrong_deletes if action == "DELETED" else found.wrong_updates
            into.append(f"{case.name}: {before[name]}")
    return found
