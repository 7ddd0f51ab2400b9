"""Replacement of sensitive values by their kinds in brackets (pure)."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from app.language.privacy.detect import find

_MAX_ROUNDS = 3
"""A custom pattern may match what its own mask has laid open, again and again."""


def mask(
    text: str, kinds: Collection[str], custom: Mapping[str, Any] | None = None
) -> tuple[str, Counter[str]]:
    """Return a text with its values masked, and how many there were of each kind."""
    counts: Counter[str] = Counter()
    for _ in range(_MAX_ROUNDS):
        findings = find(text, kinds, custom)
        if not findings:
            break
        pieces, at = [], 0
        for finding in findings:
            pieces += [text[at : finding.start], f"[{finding.kind}]"]
            at = finding.end
            counts[finding.kind] += 1
        text = "".join(pieces) + text[at:]
    return text, counts
