"""Replacement of sensitive values by their kinds in brackets (pure)."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.language.privacy.detect import Finding, find
from app.language.privacy.label_words import CONJUNCTIONS, NUMERIC, OPAQUE, SUBJECTS, WORDY

_MAX_ROUNDS = 10
"""Maximum rounds: a mask may expose a value next to it, and a custom pattern may match its mask."""

_LABEL = f"{WORDY}|{NUMERIC}|{OPAQUE}|{SUBJECTS}"
_WORDS = r"(?:[^\s\[]+\s+)"
_ANNOUNCES = re2.compile(
    rf"(?i)(?:{CONJUNCTIONS})?\W*{_WORDS}{{0,6}}?(?:{_LABEL})(?:\W+{_WORDS}{{0,6}}|\W*)"
)
_CONCLUDES = re2.compile(rf"(?i)\W*{_WORDS}{{0,4}}?(?:{_LABEL})\W*")
_JOINS = re2.compile(rf"(?i)[;!?]\s|[,.]\s+\w|\w\s(?:{CONJUNCTIONS})\s")
_MASK = re.compile(r"\[[A-Z_]{1,32}\]")
_BETWEEN = " \t\r\n,.;:!?"
_LETTER = re.compile(r"\w")


def mask(
    text: str, kinds: Collection[str], custom: Mapping[str, Any] | None = None
) -> tuple[str, Counter[str]]:
    """Return a text with its values masked, and the number of values of each kind."""
    [masked], counts = mask_together([text], kinds, custom)
    return masked, counts


def mask_together(
    texts: Sequence[str], kinds: Collection[str], custom: Mapping[str, Any] | None = None
) -> tuple[list[str], Counter[str]]:
    """Return the texts of one conversation with their values masked, and the counts.

    A label may end one text with its value in the next, and a value may span two texts.
    """
    counts: Counter[str] = Counter()
    masked = list(texts)
    for _ in range(_MAX_ROUNDS):
        findings = find("\n".join(masked), kinds, custom)
        if not findings:
            break
        counts.update(finding.kind for finding in findings)
        masked = list(_without(masked, findings))
    return masked, counts


def _without(texts: Sequence[str], findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the texts without the values found in all of them, joined by a newline."""
    begin, first = 0, 0
    for text in texts:
        end, at = begin + len(text), begin
        pieces: list[str] = []
        while first < len(findings) and findings[first].start < end:
            found = findings[first]
            pieces += [text[at - begin : max(found.start - begin, 0)], f"[{found.kind}]"]
            at = min(found.end, end)
            if found.end > end + 1:
                # The next text has the rest of the value.
                break
            first += 1
        yield "".join(pieces) + text[at - begin :]
        begin = end + 1


def is_only_mask(text: str) -> bool:
    """Return True for a statement with only a mask as its value: "My password is [CREDENTIAL]"."""
    *before, after = _MASK.split(text)
    if not before:
        return False
    if _LETTER.search(after) is not None:
        return not before[0].strip() and len(before) == 1 and _is_all(_CONCLUDES, after)
    return all(
        _LETTER.search(part) is None or _is_all(_ANNOUNCES, part.strip(_BETWEEN)) for part in before
    )


def _is_all(pattern: Any, text: str) -> bool:  # noqa: ANN401 - RE2 has no types
    """Return True if a text is only a label among some words."""
    return pattern.fullmatch(f"{text} ") is not None and _JOINS.search(text) is None
