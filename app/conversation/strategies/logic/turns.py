"""What strategies are told of a session, and what they answer (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a summary is made of."""

    BLOCK = "block"
    """Exchanges of its own."""
    MERGE = "merge"
    """Several summaries."""
    FULL = "full"
    """All events from the beginning."""
    RECURSIVE = "recursive"
    """The summary before it, and events after that."""


@dataclass(frozen=True)
class Turn:
    """An event, as strategies see it. `tokens`: of what a prompt shows of it, overhead included."""

    seq: int
    exchange: int
    tokens: int

    @property
    def cost(self) -> int:
        """What it takes of a window."""
        return self.tokens


@dataclass(frozen=True)
class Summary:
    """A summary that is active.

    Attributes:
        tokens: of what it says; `framing`: of the marks around it.
    """

    summary_id: str
    first_seq: int
    last_seq: int
    last_exchange: int
    tokens: int
    framing: int = 0

    @property
    def cost(self) -> int:
        """What it takes of a window."""
        return self.tokens + self.framing


@dataclass(frozen=True)
class History:
    """What is known of a session.

    Attributes:
        turns: those after the summaries, ascending and without a gap (but for erased events); of
            a long session the newest alone, as many as could be shown.
        summaries: oldest first; together they cover all from `cleared_seq` + 1 to their last.
        cleared_seq: up to here nothing is shown; also `cleared_exchange`.
        complete: the number of the last complete exchange.
        is_tail: whether there are events between the summaries and `turns` that are not told.
        covered: tokens of the events that the summaries cover; None: not known, or too many to
            be read at once. With `SPLIT` alone it decides whether they are read once more.
        is_bounded: whether there are events after `turns` that are not told, since no more are
            read at once.
        until: the last event before summaries that stand after a gap, which an erased event has
            left; None: there is no gap.
    """

    turns: Sequence[Turn]
    summaries: Sequence[Summary] = ()
    last_seq: int = 0
    complete: int = 0
    cleared_seq: int = 0
    cleared_exchange: int = 0
    is_tail: bool = False
    covered: int | None = None
    is_bounded: bool = False
    until: int | None = None

    @property
    def boundary(self) -> int:
        """The last event that is covered by a summary or cleared."""
        return self.summaries[-1].last_seq if self.summaries else self.cleared_seq

    @property
    def behind(self) -> int:
        """The exchange of that event."""
        return self.summaries[-1].last_exchange if self.summaries else self.cleared_exchange


@dataclass(frozen=True)
class Due:
    """A summary that is to be made.

    Attributes:
        first_seq, last_seq, last_exchange: what it will cover.
        read: the events to read for it, first and last seq; None: none (a merge).
        previous: the summaries to read for it, oldest first; they give way to it.
        tokens: its longest length; also `chars`.
    """

    kind: Kind
    first_seq: int
    last_seq: int
    last_exchange: int
    read: tuple[int, int] | None
    previous: tuple[str, ...]
    tokens: int
    chars: int


@dataclass(frozen=True)
class Fixed:
    """Tokens of what is shown whatever happens: the system prompt, and the message to answer."""

    system: int = 0
    pending: int = 0


@dataclass(frozen=True)
class Shares:
    """The budget of events and summaries, and how `SPLIT` divides it; None: there is none."""

    room: int | None
    stm: int | None = None
    lts: int | None = None


@dataclass(frozen=True)
class Composition:
    """What a context shows.

    Attributes:
        summaries: oldest first.
        turns: oldest first; of `cut`, by seq, only what makes so many tokens, the overhead of
            the message included.
        omitted: ranges of seqs, first and last, ascending, disjoint and not adjacent.
        left: tokens of the budget that nothing has taken yet; None: no limit.
    """

    summaries: Sequence[Summary]
    turns: Sequence[Turn]
    omitted: Sequence[tuple[int, int]]
    left: int | None
    cut: dict[int, int] = field(default_factory=dict)
