"""Reads of session content for strategies: summaries, and the events after them in pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.adapters.concurrency import offloaded
from app.adapters.db.session import Session
from app.conversation.strategies.logic.policies import Combine
from app.conversation.strategies.logic.rendering import total
from app.conversation.strategies.logic.schedule import next_target
from app.conversation.strategies.logic.turns import ContextTurn, History, TurnSummary
from app.conversation.strategies.service import WORK_PER_TEXT, Scale
from app.conversation.summaries.store import lookups
from app.conversation.summaries.store.lookups import ListedSummary
from app.kernel.names import SessionName
from app.kernel.wire.memory_policy import Recompute
from app.platform.sessions.logic.event_text import EventNumbers, EventText, ExchangePlace, Speaker
from app.platform.sessions.store import event_texts
from app.platform.sessions.store.tables import SessionRow

MAX_EVENTS = 20_000
"""Maximum number of events read for one context or summary."""
MAX_BYTES = 16 * 1024 * 1024
"""Maximum total size of these events, without files that are not shown."""
MAX_STORED_BYTES = 256 * 1024 * 1024
"""Maximum total size with all files; the database skips files that are not shown."""
PAGE = 100
"""Events in the first page; each later page has as many as all earlier ones together."""
_LONGEST_PAGE = 1_000
_NEWEST = 20
"""Events searched for the user's last message."""
_FEW = 16
"""Summaries read at a time, newest first."""


@dataclass(frozen=True)
class SessionInput:
    """Content read from a session.

    Attributes:
        history: the content with token counts as plain messages, which decide whether summaries are
            due.
        shown: the same content with token counts in the requested format.
        is_bounded: whether events were left out because there were too many to read.
    """

    history: History
    shown: History
    said: Mapping[int, EventText]
    summaries: Mapping[str, ListedSummary]
    is_bounded: bool = False


@dataclass(frozen=True)
class SessionReader:
    """Reads of one session for a policy, in the caller's transaction."""

    session: Session
    row: SessionRow
    name: SessionName
    scale: Scale

    async def newest(self, room: int | None, as_of: int | None) -> SessionInput:
        """Return the newest events after the summaries, at least as many as can be shown.

        If they do not all fit, the result has at least one event more than fits; so have summaries.
        `room` is in tokens, and `as_of` is the last event to read, if not the newest.
        """
        newest = await self._newest_summaries(room, as_of)
        summaries = await self._summaries(as_of) if newest is None else newest
        first = self._boundary(summaries) + 1
        last = self.row.last_seq if as_of is None else min(as_of, self.row.last_seq)
        read, before, is_all = _Read(self.scale), last, not self.scale.rules.shows
        while before >= first and not is_all and not read.is_full:
            page = await event_texts.list_event_texts(
                self.session,
                self.name,
                EventNumbers(first, before),
                read.page,
                newest=True,
                with_files=self.scale.has_files,
            )
            if not page:
                before = first - 1
                break
            await read.add(page)
            before = page[0].seq - 1
            is_all = _is_enough(read, room, page[0])
        is_tail = before >= first and await self._has_older(EventNumbers(first, before))
        history = replace(self._history, last_seq=last, is_tail=is_tail)
        if as_of is not None:
            history = replace(history, complete=_place_of(read.said).complete)
        elif newest is None:
            history = replace(history, until=await self._gap_end(summaries))
        return await _to_input(read, history, summaries, is_bounded=before >= first and not is_all)

    async def due(self) -> SessionInput:
        """Return the oldest events after the summaries, enough to make the next summary.

        If the policy summarises by token budget, the result has all events after the summaries. It
        also has the earlier events if the model may be able to read them again. Only the summaries
        that the next one depends on are included; they have texts only if the budget needs them.
        """
        summaries = await self._ranges()
        until = await self._gap_end(summaries)
        read, last = _Read(self.scale), self.row.last_seq
        reached = self._boundary(summaries)
        covered = await self._covered(read, reached)
        is_all = False
        while reached < last and not is_all and not read.is_full:
            page = await self._oldest(reached, last, read)
            if not page:
                reached = last
                break
            await read.add(page)
            reached = page[-1].seq
            is_all = _is_past(page, until or 0, self._next_end(summaries, read))
        is_bounded = reached < last and not is_all
        history = replace(self._history, covered=covered, until=until, is_bounded=is_bounded)
        return await _to_input(read, history, summaries, is_bounded=is_bounded)

    async def _newest_summaries(
        self, room: int | None, as_of: int | None
    ) -> Sequence[ListedSummary] | None:
        """Return the newest summaries that fit, oldest first, and one more if there is one.

        Returns None if all summaries must be read: their number is limited, or they have a gap.
        """
        summarising = self.scale.rules.summarising
        is_list = summarising is not None and summarising.is_unlimited_list
        if not is_list or room is None or as_of is not None:
            return None
        newest: list[ListedSummary] = []
        before = self.row.last_seq + 1
        while room >= 0:
            page = await lookups.list_newest(self.session, self.name, self._key, before, _FEW)
            for summary in page:
                if newest and summary.last_seq != newest[-1].first_seq - 1:
                    return None
                newest.append(summary)
                room -= sum(self.scale.of_summary(summary.text or "", is_first=False))
            if len(page) < _FEW:
                break
            before = page[-1].first_seq
        if room >= 0 and newest and newest[-1].first_seq != self.row.cleared_seq + 1:
            return None
        return newest[::-1]

    async def _summaries(self, as_of: int | None) -> Sequence[ListedSummary]:
        if self.scale.rules.summarising is None:
            return ()
        session, name, cleared = self.session, self.name, self.row.cleared_seq
        if as_of is None:
            return await lookups.list_active(session, name, self._key, cleared, with_text=True)
        return await lookups.list_as_of(session, name, self._key, cleared, as_of)

    async def _ranges(self) -> Sequence[ListedSummary]:
        """Return the ranges of the existing summaries that the next one depends on.

        With a token budget, texts are included, since the existing summary takes part of the
        budget.
        """
        summarising = self.scale.rules.summarising
        if summarising is None:
            return ()
        session, name, cleared = self.session, self.name, self.row.cleared_seq
        if summarising.is_unlimited_list:
            return await lookups.list_last(session, name, self._key, cleared)
        needs_text = summarising.combine is Combine.SPLIT
        return await lookups.list_active(session, name, self._key, cleared, with_text=needs_text)

    async def _gap_end(self, summaries: Sequence[ListedSummary]) -> int | None:
        summarising = self.scale.rules.summarising
        if summarising is None or summarising.combine is not Combine.APPEND:
            return None
        boundary = self._boundary(summaries)
        return await lookups.gap_end(self.session, self.name, self._key, boundary)

    async def _has_older(self, numbers: EventNumbers) -> bool:
        makes_summaries = self.scale.rules.summarising is not None
        return makes_summaries and await event_texts.has_text(self.session, self.name, numbers)

    async def _covered(self, read: "_Read", boundary: int) -> int | None:
        """Read the events that the summary covers; return their tokens: see `History.covered`."""
        rules = self.scale.rules
        summarising = rules.summarising
        if summarising is None or summarising.combine is not Combine.SPLIT or rules.limit is None:
            return None
        if summarising.recompute is not Recompute.FULL_UNTIL_OVERFLOW:
            return None
        earlier, reached = _Read(self.scale), self.row.cleared_seq
        while reached < boundary and (page := await self._oldest(reached, boundary, earlier)):
            await earlier.add(page)
            reached = page[-1].seq
            if earlier.tokens > rules.limit or earlier.is_full:
                return None
        read.said |= earlier.said
        return earlier.tokens

    async def _oldest(self, after: int, last: int, read: "_Read") -> list[EventText]:
        numbers = EventNumbers(after + 1, last)
        return await event_texts.list_event_texts(
            self.session, self.name, numbers, read.page, newest=False
        )

    def _next_end(self, summaries: Sequence[ListedSummary], read: "_Read") -> int | None:
        summarising = self.scale.rules.summarising
        if summarising is None or summarising.combine is Combine.SPLIT:
            return None
        behind = summaries[-1].last_exchange if summaries else self.row.cleared_exchange
        return next_target(summarising, behind, min(turn.exchange for turn in read.plain.values()))

    def _boundary(self, summaries: Sequence[ListedSummary]) -> int:
        return summaries[-1].last_seq if summaries else self.row.cleared_seq

    @property
    def _key(self) -> str:
        return self.scale.rules.key

    @property
    def _history(self) -> History:
        row = self.row
        return History(
            turns=(),
            last_seq=row.last_seq,
            complete=ExchangePlace(row.exchanges, is_answered=row.is_answered).complete,
            cleared_seq=row.cleared_seq,
            cleared_exchange=row.cleared_exchange,
        )


async def last_words(
    session: Session, row: SessionRow, name: SessionName, as_of: int | None
) -> str | None:
    """Return the user's last message, or None if it is not among the newest events."""
    last = row.last_seq if as_of is None else min(as_of, row.last_seq)
    page = await event_texts.list_event_texts(
        session, name, EventNumbers(row.cleared_seq + 1, last), _NEWEST, newest=True
    )
    texts = [event.text for event in page if event.speaker is Speaker.USER and event.text.strip()]
    return texts[-1] if texts else None


@dataclass
class _Read:
    """Events read so far, with token counts as plain messages and in the requested format."""

    scale: Scale
    said: dict[int, EventText] = field(default_factory=dict)
    plain: dict[int, ContextTurn] = field(default_factory=dict)
    shown: dict[int, ContextTurn] = field(default_factory=dict)
    tokens: int = 0
    size_bytes: int = 0
    stored_bytes: int = 0

    async def add(self, page: Sequence[EventText]) -> None:
        length = sum(len(event.text) + WORK_PER_TEXT for event in page)
        plain = await offloaded(length, _weigh_events, page, self.scale.plain)
        shown = plain
        if self.scale != self.scale.plain:
            shown = await offloaded(length, _weigh_events, page, self.scale)
        self.said |= {event.seq: event for event in page}
        self.plain |= {turn.seq: turn for turn in plain}
        self.shown |= {turn.seq: turn for turn in shown}
        # The minimum is used, since reading continues until neither form has room.
        self.tokens += min(total(plain), total(shown))
        self.size_bytes += sum(event.size_bytes for event in page)
        self.stored_bytes += sum(event.stored_bytes for event in page)

    @property
    def page(self) -> int:
        return max(PAGE, min(len(self.said), _LONGEST_PAGE))

    @property
    def is_full(self) -> bool:
        is_much = self.size_bytes >= MAX_BYTES or self.stored_bytes >= MAX_STORED_BYTES
        return is_much or len(self.said) >= MAX_EVENTS


def _weigh_events(page: Sequence[EventText], scale: Scale) -> list[ContextTurn]:
    return [ContextTurn(event.seq, event.exchange, scale.of_event(event)) for event in page]


def _is_enough(read: _Read, room: int | None, oldest: EventText) -> bool:
    """Return True if older events cannot be shown: they do not fit, or precede the window."""
    rules = read.scale.rules
    most = [bound for bound in (room, rules.window_tokens) if bound is not None]
    if most and read.tokens > min(most):
        return True
    # The newest exchange may be incomplete, in which case it does not count towards the window.
    complete = read.said[max(read.said)].exchange - 1
    return rules.window is not None and oldest.exchange <= complete - rules.window


def _is_past(page: Sequence[EventText], until: int, last_exchange: int | None) -> bool:
    newest = page[-1]
    return last_exchange is not None and newest.exchange > last_exchange and newest.seq > until


def _place_of(said: Mapping[int, EventText]) -> ExchangePlace:
    """Return a session's position at the last event read, judged only by the events read."""
    if not said:
        return ExchangePlace()
    newest = said[max(said)].exchange
    has_answer = any(event.is_answer for event in said.values() if event.exchange == newest)
    return ExchangePlace(newest, is_answered=has_answer and newest > 0)


async def _to_input(
    read: _Read, history: History, summaries: Sequence[ListedSummary], *, is_bounded: bool
) -> SessionInput:
    length = sum(len(summary.text or "") + WORK_PER_TEXT for summary in summaries)
    plain = await offloaded(length, _weigh_summaries, summaries, read.scale.plain)
    shown = await offloaded(length, _weigh_summaries, summaries, read.scale)
    return SessionInput(
        history=_weighed(history, read.plain, plain, read.scale.plain),
        shown=_weighed(history, read.shown, shown, read.scale),
        said=read.said,
        summaries={summary.summary_id: summary for summary in summaries},
        is_bounded=is_bounded,
    )


def _weighed(
    history: History,
    turns: Mapping[int, ContextTurn],
    summaries: Sequence[TurnSummary],
    scale: Scale,
) -> History:
    ordered = [turns[seq] for seq in sorted(turns)]
    return replace(history, turns=ordered, summaries=summaries, frame=scale.frame)


def _weigh_summaries(rows: Sequence[ListedSummary], scale: Scale) -> list[TurnSummary]:
    return [
        TurnSummary(
            summary.summary_id,
            summary.first_seq,
            summary.last_seq,
            summary.last_exchange,
            *scale.of_summary(summary.text or "", is_first=place == 0),
        )
        for place, summary in enumerate(rows)
    ]
