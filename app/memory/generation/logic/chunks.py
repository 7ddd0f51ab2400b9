"""Cuts a conversation into pieces that fit a model's input, losing nothing silently."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

_BYTES_PER_TOKEN = 3
"""Few enough for every language: English has about 4, Chinese about 3 bytes to a token."""
_TOKENS_PER_LINE = 12
"""Number, mark and time of a line."""
_LEAST_BYTES = 4
"""Of a part of a line: what the longest character takes."""
_BREAK = re.compile(r"(?<=[.!?\n])\s|\s")


@dataclass(frozen=True)
class Line:
    """What one turn says, or a part of a long one; only a user's lines are sources."""

    turn: int
    is_users: bool
    text: str
    time: datetime | None = None

    @property
    def tokens(self) -> int:
        """What it takes of a prompt, generously estimated."""
        return _TOKENS_PER_LINE + estimated_tokens(self.text)


@dataclass(frozen=True)
class Pieces:
    """The pieces to read, in their order, and the turns of which not everything is in them."""

    pieces: tuple[tuple[Line, ...], ...]
    omitted: frozenset[int]


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few."""
    return len(text.encode()) // _BYTES_PER_TOKEN + 1


def cut(lines: Sequence[Line], max_tokens: int, max_pieces: int) -> Pieces:
    """Cut between turns, and within those that alone are too long.

    Of more than `max_pieces` the last are kept, since what was said last counts. A piece in which
    no user says anything is context of nothing, and left out.
    """
    pieces: list[list[Line]] = [[]]
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
    return Pieces(tuple(sources[len(dropped) :]), omitted)


def _has_source(piece: Sequence[Line]) -> bool:
    return any(line.is_users for line in piece)


def _parts(line: Line, max_tokens: int) -> Iterator[Line]:
    """Yield the line, cut where a sentence or a word ends if it is too long for one piece."""
    rest = line.text
    most_bytes = max((max_tokens - _TOKENS_PER_LINE - 1) * _BYTES_PER_TOKEN, _LEAST_BYTES)
    while len(rest.encode()) > most_bytes:
        head = rest.encode()[:most_bytes].decode(errors="ignore")
        at = _last_break(head)
        yield replace(line, text=rest[:at])
        rest = rest[at:]
    yield replace(line, text=rest)


def _last_break(text: str) -> int:
    """Return where to cut: after the last sentence of the second half, else after a word."""
    ends = [mark.end() for mark in _BREAK.finditer(text, len(text) // 2)]
    after_sentences = [end for end in ends if text[:end].rstrip()[-1:] in ".!?"]
    return (after_sentences or ends or [len(text)])[-1] or len(text)
