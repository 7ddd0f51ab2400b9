"""Choice of passages that answer a query: sentences with the context that they need (pure)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.conversation.recall.logic.passages import RecallHit
from app.kernel.text import fold
from app.platform.sessions.logic.event_text import EventText

FLOOR = 0.25
"""Minimum score of a passage as a share of the best score; lower ones are unlikely answers."""
_MAX_LEANING = 2

Count = Callable[[str], int]


@dataclass(frozen=True)
class SentenceSpan:
    """A passage of an event; `text` is the event's text from `start` to `end`.

    Attributes:
        is_cut: whether the end of its sentence is missing.
    """

    said: EventText
    start: int
    end: int
    text: str
    score: float
    is_cut: bool = False


def choose(
    ranked: Sequence[RecallHit], top_k: int, max_tokens: int, count: Count, floor: float = FLOOR
) -> list[SentenceSpan]:
    """Return up to `top_k` passages, best first, with at most `max_tokens` tokens in total.

    Passages that score below `floor` times the best score are left out. A passage includes the
    adjacent sentences that its sentence depends on, if they fit. Overlapping and repeated passages
    are skipped. If not even the best sentence fits, its beginning is the only passage.
    """
    chosen: list[SentenceSpan] = []
    texts: set[str] = set()
    left = max_tokens
    for candidate in ranked:
        if len(chosen) == top_k or left <= 0 or candidate.score < ranked[0].score * floor:
            break
        span = _fitting(candidate, left, count, is_first=not chosen)
        if span is None or fold(span.text) in texts or any(_overlap(span, of) for of in chosen):
            continue
        chosen.append(span)
        texts.add(fold(span.text))
        left -= count(span.text)
        if span.is_cut:
            break
    return chosen


def _fitting(
    candidate: RecallHit, most: int, count: Count, *, is_first: bool
) -> SentenceSpan | None:
    spans = [
        _span(candidate, *_with_leaning(candidate)),
        _span(candidate, candidate.place, candidate.place),
    ]
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
    """Return the longest prefix that fits, in whole words if possible; it may be empty."""
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


def _with_leaning(candidate: RecallHit) -> tuple[int, int]:
    """Return the indexes of the first and last sentence of a passage."""
    sentences, text = candidate.event.sentences, candidate.event.said.text
    first = last = candidate.place
    while first > 0 and sentences[first].leans and candidate.place - first < _MAX_LEANING:
        first -= 1
    while last + 1 < len(sentences) and last - candidate.place < _MAX_LEANING:
        announces = text[: sentences[last].end].endswith(":")
        if not announces and not sentences[last + 1].leans:
            break
        last += 1
    return first, last


def _span(candidate: RecallHit, first: int, last: int) -> SentenceSpan:
    said, sentences = candidate.event.said, candidate.event.sentences
    start, end = sentences[first].start, sentences[last].end
    return SentenceSpan(said, start, end, said.text[start:end], candidate.score)


def _overlap(span: SentenceSpan, other: SentenceSpan) -> bool:
    is_same = (span.said.session_id, span.said.seq) == (other.said.session_id, other.said.seq)
    return is_same and span.start < other.end and other.start < span.end
