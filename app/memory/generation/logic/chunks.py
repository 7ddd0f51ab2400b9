"""Division of a conversation into chunks that fit a model's input; all omissions are reported."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate

from app.language.tokens import BYTES_PER_TOKEN, estimate_tokens_of_bytes

_TOKENS_PER_LINE = 12
"""Tokens of a line's number, mark and time."""
_LEAST_BYTES = 4
"""Smallest part of a line, in bytes: the length of the longest character."""
_LEAST_HALVED_CHARS = 200
_BREAK = re.compile(r"(?<=[.!?\n])\s|\s")


@dataclass(frozen=True)
class TranscriptLine:
    """The text of one turn, or a part of a long turn; only a user's new lines are sources."""

    turn: int
    is_users: bool
    text: str
    time: datetime | None = None
    is_context: bool = False

    @property
    def tokens(self) -> int:
        """Generous estimate of the line's tokens in a prompt."""
        return _TOKENS_PER_LINE + estimate_tokens_of_bytes(self.text)


def cut(
    lines: Sequence[TranscriptLine], max_tokens: int, max_pieces: int
) -> tuple[list[tuple[TranscriptLine, ...]], frozenset[int]]:
    """Cut between turns, and within turns that are too long.

    Only the last `max_pieces` chunks with a source are kept, because the latest statements count.
    Returns the chunks in order, and the turns with a line in a dropped one.
    """
    pieces: list[list[TranscriptLine]] = [[]]
    left = max_tokens
    for line in (part for whole in lines for part in _parts(whole, max_tokens)):
        if line.tokens > left and pieces[-1]:
            pieces.append([])
            left = max_tokens
        pieces[-1].append(line)
        left -= line.tokens
    sources = [tuple(piece) for piece in pieces if _has_source(piece)]
    dropped = sources[: max(len(sources) - max_pieces, 0)]
    omitted = frozenset(line.turn for piece in dropped for line in piece)
    return sources[len(dropped) :], omitted


def halved(piece: Sequence[TranscriptLine]) -> tuple[Sequence[TranscriptLine], ...]:
    """Return two chunks of about the same length, each with a source, or one if it is too short."""
    # A question stays with its answer. A line is cut only if the chunk cannot be cut between
    # lines.
    before = [0, *accumulate(line.tokens for line in piece)]
    sources = [at for at, line in enumerate(piece) if _has_source([line])]
    cuts = [
        at
        for at in range(1, len(piece))
        if sources and sources[0] < at <= sources[-1]
        if not piece[at].is_users or piece[at - 1].is_users
    ]
    if not cuts:
        return _halved_line(piece)
    at = min(cuts, key=lambda at: abs(before[at] - before[-1] / 2))
    return piece[:at], piece[at:]


def _halved_line(piece: Sequence[TranscriptLine]) -> tuple[Sequence[TranscriptLine], ...]:
    """Return two chunks, cut within the longest source, or the chunk itself if that is short."""
    sources = [at for at, line in enumerate(piece) if _has_source([line])]
    longest = max(sources, key=lambda at: len(piece[at].text), default=0)
    text = piece[longest].text if sources else ""
    if len(text) < _LEAST_HALVED_CHARS:
        return (piece,)
    end = _last_break(text[: len(text) * 3 // 4])
    first, rest = (replace(piece[longest], text=part) for part in (text[:end], text[end:]))
    return (*piece[:longest], first), (rest, *piece[longest + 1 :])


def _has_source(piece: Sequence[TranscriptLine]) -> bool:
    return any(line.is_users and not line.is_context for line in piece)


def _parts(line: TranscriptLine, max_tokens: int) -> Iterator[TranscriptLine]:
    """Yield the line, cut at a sentence or a word if it is too long for one chunk."""
    most_bytes = max((max_tokens - _TOKENS_PER_LINE - 1) * BYTES_PER_TOKEN, _LEAST_BYTES)
    begin = 0
    # A character has at least one byte, so a part is never longer than this slice.
    while len((rest := line.text[begin : begin + most_bytes + 1]).encode()) > most_bytes:
        head = rest.encode()[:most_bytes].decode(errors="ignore")
        at = _last_break(head)
        yield replace(line, text=rest[:at])
        begin += at
    yield replace(line, text=rest)


def _last_break(text: str) -> int:
    """Return the place to cut: after the last sentence in the second half, or else after a word."""
    middle = len(text) // 2
    last = sentence = 0
    ends_sentence = text[:middle].rstrip()[-1:] in ".!?"
    for mark in _BREAK.finditer(text, middle):
        before = text[mark.start() - 1 : mark.start()]
        if not before.isspace():
            ends_sentence = before in ".!?"
        last = mark.end()
        if ends_sentence:
            sentence = last
    return sentence or last or len(text)
