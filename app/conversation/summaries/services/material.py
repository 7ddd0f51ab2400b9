"""Reads of a session what strategies need: its summaries, and the events after them by pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.adapters.db.session import Session
from app.adapters.llm.aside import done
from app.conversation.strategies.logic.budgets import total
from app.conversation.strategies.logic.due import next_target
from app.conversation.strategies.logic.policies import Combine, Rules
from app.conversation.strategies.logic.turns import History, Summary, Turn
from app.conversation.strategies.services.counters import Counter
from app.conversation.strategies.services.scales import WORK_PER_TEXT, Scale
from app.conversation.summaries.store import lookups
from app.conversation.summaries.store.lookups import Listed
from app.kernel.names import SessionName
from app.kernel.wire.memory_policy import Recompute
from app.platform.sessions.logic.spoken import Place, Said, Speaker
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow

MAX_EVENTS = 20_000
"""The most events that are read for one context or summary."""
MAX_BYTES = 16 * 1024 * 1024
"""The same, of all of them together; files that are not shown do not count."""
_MAX_STORED_BYTES = 256 * 1024 * 1024
"""The same with all files: where they are not shown, they are passed over where they lie."""
_PAGE = 100
"""How many events the first page has; each further one has as many as all before it."""
_LONGEST_PAGE = 1_000
_NEWEST = 20
"""How many events are looked through for what the user has said last."""
_FEW = 16
"""How many summaries are read at once, from the newest on."""


@dataclass(frozen=True)
class Told:
    """What was read of a session.

    Attributes:
        history: weighed as messages: by it, summaries are due.
        shown: the same, weighed in the form in which it is shown.
        said: the events of the history's turns, by seq.
        summaries: the history's summaries, by id.
        is_bounded: whether events were left aside because there were too many to read.
    """

    history: History
    shown: History
    said: Mapping[int, Said]
    summaries: Mapping[str, Listed]
    is_bounded: bool = False


@dataclass(frozen=True)
class Wanted:
    """What is wanted of the newest events.

    Attributes:
        room: tokens for which there is room; None: any number.
        as_of: the last event; None: the newest there is.
    """

    room: int | None = None
    as_of: int | None = None


async def load_newest(
    session: Session, row: SessionRow, name: SessionName, scale: Scale, wanted: Wanted
) -> Told:
    """Return the newest events after the summaries: as many as could be shown, or some more.

    Where not all can be, at least one is among them that is not; so with the summaries.
    """
    newest = await _newest_summaries(session, row, name, scale, wanted)
    summaries = newest
    if summaries is None:
        summaries = await _summaries(session, row, name, scale.rules, wanted)
    first = _boundary(row, summaries) + 1
    last = row.last_seq if wanted.as_of is None else min(wanted.as_of, row.last_seq)
    read, before, is_all = _Read(scale), last, not scale.rules.shows
    while before >= first and not is_all and not read.is_full:
        page = await sessions.list_said(
            session, name, (first, before), read.page, newest=True, with_files=scale.has_files
        )
        if not page:
            before = first - 1
            break
        await read.add(page)
        before = page[0].seq - 1
        is_all = _is_enough(read, wanted.room, page[0])
    is_tail = before >= first and await _has_older(session, name, scale.rules, (first, before))
    history = replace(_history(row), last_seq=last, is_tail=is_tail)
    if wanted.as_of is not None:
        history = replace(history, complete=_place_of(read.said).complete)
    elif newest is None:
        history = replace(history, until=await _gap_end(session, row, name, scale, summaries))
    return await _told(read, history, summaries, is_bounded=before >= first and not is_all)


async def load_due(
    session: Session, row: SessionRow, name: SessionName, rules: Rules, counter: Counter
) -> Told:
    """Return the oldest events after the summaries: all of which the next summary can be made.

    Where that depends on the budget, all events after the summaries, and those before, if the
    model may be able to read them once more. Of summaries only those are told that matter, else
    without their texts.
    """
    scale = Scale(rules, counter)
    summaries = await _ranges(session, row, name, rules)
    until = await _gap_end(session, row, name, scale, summaries)
    read = _Read(scale)
    covered = await _covered(session, row, name, read, _boundary(row, summaries))
    reached = _boundary(row, summaries)
    is_all = False
    while reached < row.last_seq and not is_all and not read.is_full:
        between = (reached + 1, row.last_seq)
        page = await sessions.list_said(session, name, between, read.page, newest=False)
        if not page:
            reached = row.last_seq
            break
        await read.add(page)
        reached = page[-1].seq
        is_all = _is_past(page, until or 0, _next_end(row, rules, summaries, read))
    is_bounded = reached < row.last_seq and not is_all
    history = replace(_history(row), covered=covered, until=until, is_bounded=is_bounded)
    return await _told(read, history, summaries, is_bounded=is_bounded)


async def last_words(
    session: Session, row: SessionRow, name: SessionName, as_of: int | None
) -> str | None:
    """Return what the user has said last; None: nothing among the newest events."""
    last = row.last_seq if as_of is None else min(as_of, row.last_seq)
    page = await sessions.list_said(
        session, name, (row.cleared_seq + 1, last), _NEWEST, newest=True
    )
    texts = [one.text for one in page if one.speaker is Speaker.USER and one.text.strip()]
    return texts[-1] if texts else None


@dataclass
class _Read:
    """Events as they are read, with what they take: as messages, and as they are shown."""

    scale: Scale
    said: dict[int, Said] = field(default_factory=dict)
    plain: dict[int, Turn] = field(default_factory=dict)
    shown: dict[int, Turn] = field(default_factory=dict)
    tokens: int = 0
    size_bytes: int = 0
    stored_bytes: int = 0

    async def add(self, page: Sequence[Said]) -> None:
        """Add a page, counted aside where it is long."""
        length = sum(len(one.text) + WORK_PER_TEXT for one in page)
        plain = await done(length, _weighed, page, self.scale.plain)
        shown = plain
        if self.scale != self.scale.plain:
            shown = await done(length, _weighed, page, self.scale)
        self.said |= {one.seq: one for one in page}
        self.plain |= {turn.seq: turn for turn in plain}
        self.shown |= {turn.seq: turn for turn in shown}
        # The less of the two: it is read until there is no room by either.
        self.tokens += min(total(plain), total(shown))
        self.size_bytes += sum(one.size_bytes for one in page)
        self.stored_bytes += sum(one.stored_bytes for one in page)

    @property
    def page(self) -> int:
        """How many events to read next."""
        return max(_PAGE, min(len(self.said), _LONGEST_PAGE))

    @property
    def is_full(self) -> bool:
        """Whether no further page may be read."""
        is_much = self.size_bytes >= MAX_BYTES or self.stored_bytes >= _MAX_STORED_BYTES
        return is_much or len(self.said) >= MAX_EVENTS


def _weighed(page: Sequence[Said], scale: Scale) -> list[Turn]:
    return [Turn(one.seq, one.exchange, scale.of_event(one)) for one in page]


async def _newest_summaries(
    session: Session, row: SessionRow, name: SessionName, scale: Scale, wanted: Wanted
) -> Sequence[Listed] | None:
    """Return, of many summaries that stand side by side, the newest that fit, oldest first.

    None: there is no limit to them, or a gap among them, so that all have to be looked at.
    """
    made = scale.rules.summarising
    is_list = made is not None and made.combine is Combine.APPEND and made.most is None
    if not is_list or wanted.room is None or wanted.as_of is not None:
        return None
    found: list[Listed] = []
    left, before = wanted.room, row.last_seq + 1
    while left >= 0:
        page = await lookups.list_newest(session, name, scale.rules.key, before, _FEW)
        for one in page:
            if found and one.last_seq != found[-1].first_seq - 1:
                return None
            found.append(one)
            left -= sum(scale.of_summary(one.text or ""))
        if len(page) < _FEW:
            break
        before = page[-1].first_seq
    if left >= 0 and found and found[-1].first_seq != row.cleared_seq + 1:
        return None
    return found[::-1]


async def _summaries(
    session: Session, row: SessionRow, name: SessionName, rules: Rules, wanted: Wanted
) -> Sequence[Listed]:
    if rules.summarising is None:
        return ()
    if wanted.as_of is None:
        return await lookups.list_active(session, name, rules.key, row.cleared_seq)
    return await lookups.list_as_of(session, name, rules.key, row.cleared_seq, wanted.as_of)


async def _ranges(
    session: Session, row: SessionRow, name: SessionName, rules: Rules
) -> Sequence[Listed]:
    """Return what the next summary has to know of those before it: of a list, the last alone.

    Where it depends on the budget, with the text: the summary there is takes its part of that.
    """
    made = rules.summarising
    if made is None:
        return ()
    if made.combine is Combine.SPLIT:
        return await lookups.list_active(session, name, rules.key, row.cleared_seq)
    is_list = made.combine is Combine.APPEND and made.most is None
    read = lookups.list_last if is_list else lookups.list_ranges
    return await read(session, name, rules.key, row.cleared_seq)


async def _gap_end(
    session: Session,
    row: SessionRow,
    name: SessionName,
    scale: Scale,
    summaries: Sequence[Listed],
) -> int | None:
    """Return the last event before summaries that stand after a gap; None: there is no gap."""
    made = scale.rules.summarising
    if made is None or made.combine is not Combine.APPEND:
        return None
    return await lookups.gap_end(session, name, scale.rules.key, _boundary(row, summaries))


def _boundary(row: SessionRow, summaries: Sequence[Listed]) -> int:
    return summaries[-1].last_seq if summaries else row.cleared_seq


def _is_enough(read: _Read, room: int | None, oldest: Said) -> bool:
    """Say whether older events cannot be shown: there is no room, or they lie before the window."""
    rules = read.scale.rules
    most = [bound for bound in (room, rules.window_tokens) if bound is not None]
    if most and read.tokens > min(most):
        return True
    # The newest may not be complete yet, and is then not one of the window.
    complete = read.said[max(read.said)].exchange - 1
    return rules.window is not None and oldest.exchange <= complete - rules.window


async def _has_older(
    session: Session, name: SessionName, rules: Rules, between: tuple[int, int]
) -> bool:
    """Say whether there are events that were not read, for which a summary may be due."""
    return rules.summarising is not None and await sessions.has_said(session, name, between)


async def _covered(
    session: Session, row: SessionRow, name: SessionName, read: _Read, boundary: int
) -> int | None:
    """Read the events that the summary covers; return their tokens, None if that is too many."""
    rules = read.scale.rules
    made = rules.summarising
    if made is None or made.combine is not Combine.SPLIT or rules.limit is None:
        return None
    if made.recompute is not Recompute.FULL_UNTIL_OVERFLOW:
        return None
    earlier, reached = _Read(read.scale), row.cleared_seq
    while reached < boundary:
        between = (reached + 1, boundary)
        page = await sessions.list_said(session, name, between, earlier.page, newest=False)
        if not page:
            break
        await earlier.add(page)
        reached = page[-1].seq
        if earlier.tokens > rules.limit or earlier.is_full:
            return None
    read.said |= earlier.said
    return earlier.tokens


def _next_end(
    row: SessionRow, rules: Rules, summaries: Sequence[Listed], read: _Read
) -> int | None:
    """Return the last exchange that the next summary can reach; None: any."""
    made = rules.summarising
    if made is None or made.combine is Combine.SPLIT:
        return None
    behind = summaries[-1].last_exchange if summaries else row.cleared_exchange
    return next_target(made, behind, min(turn.exchange for turn in read.plain.values()))


def _is_past(page: Sequence[Said], until: int, last_exchange: int | None) -> bool:
    newest = page[-1]
    return last_exchange is not None and newest.exchange > last_exchange and newest.seq > until


def _place_of(said: Mapping[int, Said]) -> Place:
    """Return where a session stood at its last event: of that exchange, what was read counts."""
    if not said:
        return Place()
    newest = said[max(said)].exchange
    has_answer = any(one.is_answer for one in said.values() if one.exchange == newest)
    return Place(newest, is_answered=has_answer and newest > 0)


def _history(row: SessionRow) -> History:
    return History(
        turns=(),
        last_seq=row.last_seq,
        complete=Place(row.exchanges, is_answered=row.is_answered).complete,
        cleared_seq=row.cleared_seq,
        cleared_exchange=row.cleared_exchange,
    )


async def _told(
    read: _Read, history: History, summaries: Sequence[Listed], *, is_bounded: bool
) -> Told:
    length = sum(len(one.text or "") + WORK_PER_TEXT for one in summaries)
    plain = await done(length, _weighed_summaries, summaries, read.scale.plain)
    shown = await done(length, _weighed_summaries, summaries, read.scale)
    return Told(
        history=replace(history, turns=_ordered(read.plain), summaries=plain),
        shown=replace(history, turns=_ordered(read.shown), summaries=shown),
        said=read.said,
        summaries={one.summary_id: one for one in summaries},
        is_bounded=is_bounded,
    )


def _ordered(turns: Mapping[int, Turn]) -> list[Turn]:
    return [turns[seq] for seq in sorted(turns)]


def _weighed_summaries(rows: Sequence[Listed], scale: Scale) -> list[Summary]:
    return [
        Summary(
            one.summary_id,
            one.first_seq,
            one.last_seq,
            one.last_exchange,
            *scale.of_summary(one.text or ""),
        )
        for one in rows
    ]
