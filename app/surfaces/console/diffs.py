"""Differences between two texts, as parts that are kept, removed or added; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

MAX_WORDS = 4_000
"""Beyond this number of words in one text, the texts are not compared."""
_WORD = re.compile(r"\s*(?:[^\W_]+|\S)|\s+")
"""A word with the white space before it; separate white space would match everywhere."""


class DiffKind(StrEnum):
    """The kind of a part."""

    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True)
class DiffPart:
    """A part of a text."""

    kind: DiffKind
    text: str


def compare(before: str, after: str) -> list[DiffPart] | None:
    """Return the parts of two texts in order; None: they are too long to compare.

    Kept and removed parts form the first text, kept and added parts the second.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        return None
    parts: list[DiffPart] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(DiffPart(DiffKind.KEPT, "".join(old[i:j])))
        else:
            _add(parts, DiffKind.REMOVED, old[i:j])
            _add(parts, DiffKind.ADDED, new[k:m])
    return parts


def _add(parts: list[DiffPart], kind: DiffKind, words: Sequence[str]) -> None:
    if words:
        parts.append(DiffPart(kind, "".join(words)))


@dataclass(frozen=True)
class FieldDifference:
    """A field of two versions.

    Attributes:
        name: the label of the field.
        before: the text in the first version, empty if absent.
        after: the text in the second version, empty if absent.
        parts: the comparison, if the texts are short enough.
    """

    name: str
    before: str
    after: str
    parts: list[DiffPart] | None

    @property
    def is_change(self) -> bool:
        """True if the versions differ in the field."""
        return self.before != self.after


def changes(
    before: dict[str, str], after: dict[str, str], fields: dict[str, str]
) -> list[FieldDifference]:
    """Compare fields of two versions.

    Args:
        before: the first version.
        after: the second version.
        fields: the labels of the fields to compare, by key.
    """
    return [
        FieldDifference(
            label,
            old := before[key],
            new := after[key],
            compare(old, new),
        )
        for key, label in fields.items()
    ]
