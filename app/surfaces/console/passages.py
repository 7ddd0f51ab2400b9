"""Cited passages of a text with their context; pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_CHARS = 20_000
"""Largest number of characters of a text that is shown whole."""
_AROUND = 300
_GAP = "\n…\n"

Span = tuple[int, int]


@dataclass(frozen=True)
class Passage:
    """A part of a text: a citation or its context."""

    text: str
    is_cited: bool


def passages(text: str, cited: Iterable[Span]) -> list[Passage]:
    """Split a text into parts; a long text is cut to its citations with context, or its beginning.

    Args:
        text: the known text.
        cited: the start and the exclusive end of each citation, in characters.
    """
    spans = [(start, min(end, len(text))) for start, end in _joined(cited) if start < len(text)]
    is_long = len(text) > MAX_CHARS
    around = _AROUND if spans and is_long else MAX_CHARS
    parts: list[Passage] = []
    done = 0
    for place, (start, end) in enumerate(spans):
        shown_from = max(done, start - around)
        if shown_from > done:
            parts.append(Passage(_GAP, is_cited=False))
        following = spans[place + 1][0] if place + 1 < len(spans) else len(text)
        done = min(following, end + around)
        parts += [
            Passage(text[shown_from:start], is_cited=False),
            Passage(text[start : min(end, start + MAX_CHARS)], is_cited=True),
            Passage(text[end:done], is_cited=False),
        ]
    if not spans:
        parts.append(Passage(text[:MAX_CHARS], is_cited=False))
        done = MAX_CHARS
    if done < len(text):
        parts.append(Passage(_GAP, is_cited=False))
    return [part for part in parts if part.text]


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans in order, with touching or overlapping spans merged."""
    held: Span | None = None
    for start, end in sorted(spans):
        if held is not None and start <= held[1]:
            held = held[0], max(held[1], end)
            continue
        if held is not None:
            yield held
        held = start, end
    if held is not None:
        yield held
