"""Inputs and results of strategies (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.platform.sessions.logic.event_text import EventNumbers


class TurnKind(StrEnum):
    """Kind of a summary, according to its inputs."""

    BLOCK = "block"
    """A block of exchanges."""
    MERGE = "merge"
    """Several summaries."""
    FULL = "full"
    """All events from the beginning."""
    RECURSIVE = "recursive"
    """The previous summary and the events after it."""


@dataclass(frozen=True)
class ContextTurn:
    """An event as seen by strategies; `tokens` counts its shown form, with overhead."""

    seq: int
    exchange: int
    tokens: int

    @property
    def cost(self) -> int:
        """Tokens that it takes in a window."""
        return self.tokens


@dataclass(frozen=True)
class TurnSummary:
    """An active summary.

    Attributes:
        tokens: tokens of its text.
        framing: tokens of the marks around it.
    """

    summary_id: str
    first_seq: int
    last_seq: int
    last_exchange: int
    tokens: int
    framing: int = 0

    @property
    def cost(self) -> int:
        """Tokens that it takes in a window."""
        return self.tokens + self.framing


@dataclass(frozen=True)
class History:
    """State of a session, as seen by strategies.

    Attributes:
        turns: events after the summaries, ascending and contiguous except for erased ones. In a
            long session these are only the newest ones that could be shown.
        summaries: oldest first; together they cover all events from `cleared_seq` + 1 to the end
            of the last summary.
        cleared_seq: last event that contexts no longer show; likewise `cleared_exchange`.
        complete: number of the last complete exchange.
        is_tail: whether events between the summaries and `turns` were left out.
        covered: tokens of the events that the summaries cover; None: unknown, or too many to read
            at once. Used only with `SPLIT`, to decide whether these events are read again.
        is_bounded: whether events after `turns` were left out, since the number read at once is
            limited.
        until: last event of a gap that an erased event left before later summaries; None: no gap.
    """

    turns: Sequence[ContextTurn]
    summaries: Sequence[TurnSummary] = ()
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
        """Last event that is summarised or cleared."""
        return self.summaries[-1].last_seq if self.summaries else self.cleared_seq

    @property
    def behind(self) -> int:
        """Exchange of the event at `boundary`."""
        return self.summaries[-1].last_exchange if self.summaries else self.cleared_exchange


@dataclass(frozen=True)
class Due:
    """A summary to make.

    Attributes:
        first_seq, last_seq, last_exchange: range that the summary will cover.
        read: the events to read; None for a merge, which reads no events.
        previous: ids of the summaries to read and replace, oldest first.
        tokens, chars: maximum length.
    """

    kind: TurnKind
    first_seq: int
    last_seq: int
    last_exchange: int
    read: EventNumbers | None
    previous: tuple[str, ...]
    tokens: int
    chars: int


@dataclass(frozen=True)
class Fixed:
    """Tokens of the parts that are always shown: the system prompt and the pending message."""

    system: int = 0
    pending: int = 0


@dataclass(frozen=True)
class Shares:
    """Token budget, and its shares for events (`stm`) and summary (`lts`); None: no limit."""

    room: int | None
    stm: int | None = None
    lts: int | None = None


@dataclass(frozen=True)
class Composition:
    """Content chosen for a context.

    Attributes:
        summaries, turns: oldest first.
        omitted: ranges of seqs, first and last, ascending, disjoint and not adjacent.
        left: unused tokens of the budget; None: no limit.
        cut: maximum tokens, with message overhead, of each event to cut, by seq.
    """

    summaries: Sequence[TurnSummary]
    turns: Sequence[ContextTurn]
    omitted: Sequence[tuple[int, int]]
    left: int | None
    cut: dict[int, int] = field(default_factory=dict)
