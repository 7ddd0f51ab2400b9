"""Chooses the passages that answer a query: sentences, with what belongs to them (pure)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.conversation.recall.logic.passages import Found
from app.kernel.text import fold
from app.platform.sessions.logic.spoken import Said

FLOOR = 0.25
"""Passages with less of the best score than this are hardly answers."""
_MAX_LEANING = 2

Count = Callable[[str], int]


@dataclass(frozen=True)
class Span:
    """A passage of an event: characters `start` to `end` of its text, which are `text`.

    Attributes:
        is_cut: whether it is a sentence without its end.
    """

    said: Said
    start: int
    end: int
    text: str
    score: float
    is_cut: bool = False


def choose(
    ranked: Sequence[Found], top_k: int, max_tokens: int, count: Count, floor: float = FLOOR
) -> list[Span]:
    """Return up to `top_k` passages, best first, of no more tokens in all than `max_tokens`.

    None has less than the part `floor` of the best score.
    A sentence comes with those beside it that it leans on, if there is room for them. What is in
    one already does not come again. Where not even the best fits, it is its beginning that does,
    and it stands alone.
    """
    chosen: list[Span] = []
    texts: set[str] = set()
    left = max_tokens
    for one in ranked:
        if len(chosen) == top_k or left <= 0 or one.score < ranked[0].score * floor:
            break
        span = _fitting(one, left, count, is_first=not chosen)
        if span is None or fold(span.text) in texts or any(_overlap(span, of) for of in chosen):
            continue
        chosen.append(span)
        texts.add(fold(span.text))
        left -= count(span.text)
        if span.is_cut:
            break
    return chosen


def _fitting(one: Found, most: int, count: Count, *, is_first: bool) -> Span | None:
    spans = [_span(one, *_with_leaning(one)), _span(one, one.place, one.place)]
    for span in spans:
        if count(span.text) <= most:
            return span
    if not is_first:
        return None
    whole = spans[-1]
    text = beginning(whole.text, lambda kept: count(kept) <= most)
    end = whole.start + len(text)
    return replace(whole, end=end, text=text, is_cut=True) if text else None


def beginning(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning that fits, of whole words if there is one; it may be empty."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(text[:middle]):
            low = middle
        else:
            high = middle - 1
    kept = text[:low]
    if low < len(text) and not text[low].isspace():
        whole, space, _ = kept.rpartition(" ")
        kept = whole if space else kept
    return kept.rstrip()


def _with_leaning(one: Found) -> tuple[int, int]:
    """Return the places of the first and last sentence of a passage."""
    found, text = one.event.sentences, one.event.said.text
    first = last = one.place
    while first > 0 and found[first].leans and one.place - first < _MAX_LEANING:
        first -= 1
    while last + 1 < len(found) and last - one.place < _MAX_LEANING:
        announces = text[: found[last].end].endswith(":")
        if not announces and not found[last + 1].leans:
            break
        last += 1
    return first, last


def _span(one: Found, first: int, last: int) -> Span:
    said, found = one.event.said, one.event.sentences
    start, end = found[first].start, found[last].end
    return Span(said, start, end, said.text[start:end], one.score)


def _overlap(one: Span, other: Span) -> bool:
    return one.said.seq == other.said.seq and one.start < other.end and other.start < one.end
