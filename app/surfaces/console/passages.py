"""Passages of a text that are to be marked, with what stands around them; pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_CHARS = 20_000
"""Characters up to which a text is shown whole."""
_AROUND = 300
_GAP = "\n…\n"

Span = tuple[int, int]


@dataclass(frozen=True)
class Passage:
    """A part of a text, which is cited or stands around what is."""

    text: str
    is_cited: bool


def passages(text: str, cited: Iterable[Span]) -> list[Passage]:
    """Return a text in parts; of a long one, the beginning or what stands around the citations.

    Args:
        text: all of it that is known.
        cited: the first character of each citation, and the first one after it.
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
    """Yield spans in order, those that meet as one."""
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
