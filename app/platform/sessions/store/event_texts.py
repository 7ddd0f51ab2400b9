"""Statements on the texts of events, as prompts and searches read them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    Row,
    Select,
    Subquery,
    Text,
    and_,
    any_,
    case,
    cast,
    func,
    literal,
    literal_column,
    select,
)

from app.adapters.concurrency import each
from app.adapters.db.bulk import rows_of
from app.adapters.db.conditions import table_of
from app.adapters.db.session import Session
from app.kernel.names import SessionName
from app.kernel.wire.objects import size_of
from app.platform.sessions.logic.event_text import (
    EventNumbers,
    EventRange,
    EventText,
    Speaker,
    is_answer,
    speaker_of,
    text_of,
)
from app.platform.sessions.store.tables import SessionEventRow

_UNREADABLE = r"\\u(0000|[dD][89a-fA-F])"
"""JSON escapes that no database text can hold, or that may be half of a surrogate pair."""
MAX_SAID_BYTES = 4 * 1024 * 1024
"""Total size of sent events after which a list of event texts ends."""


async def has_text(session: Session, name: SessionName, numbers: EventNumbers) -> bool:
    """Return True if any event with these numbers is not erased."""
    statement = select(SessionEventRow.seq).where(_is_in_range(name, numbers)).limit(1)
    return (await session.execute(statement)).first() is not None


# Access to a JSON object fails if any text in it cannot be stored in a column.
_PARTIAL: ColumnElement[str | None] = case(
    (cast(SessionEventRow.event_metadata, Text).regexp_match(_UNREADABLE), None),
    else_=SessionEventRow.event_metadata["partial"].as_string(),
)
_COLUMNS = (
    SessionEventRow.session_id,
    SessionEventRow.seq,
    SessionEventRow.event_id,
    SessionEventRow.timestamp,
    SessionEventRow.exchange,
    SessionEventRow.author,
    SessionEventRow.content,
    SessionEventRow.token_count,
    SessionEventRow.size_bytes,
    _PARTIAL.label("partial"),
)


async def list_event_texts(
    session: Session,
    name: SessionName,
    numbers: EventNumbers,
    limit: int,
    *,
    newest: bool,
    with_files: bool = False,
) -> list[EventText]:
    """Return up to `limit` events with the given numbers, in their order, newest or oldest.

    Erased events are left out. Long events end the list early, at `MAX_SAID_BYTES`, but not before
    the first. Without `with_files`, the contents of files are not loaded and do not count.
    """
    row = SessionEventRow
    page = (
        select(*_COLUMNS)
        .where(_is_in_range(name, numbers))
        .order_by(row.seq.desc() if newest else row.seq)
        .limit(limit)
        .subquery()
    )
    order = page.c.seq.desc() if newest else page.c.seq
    sized = _with_sizes(page, order)
    statement = _contents(sized, with_files=with_files).order_by(sized.c.seq)
    return await each(await session.execute(statement), _event_of)


async def list_newest_texts(
    session: Session,
    engine_id: int,
    ranges: Sequence[EventRange],
    *,
    start: datetime | None = None,
    end: datetime | None = None,
) -> list[EventText]:
    """Return the events of several sessions: in the order of the ranges, each newest first.

    Erased events and events outside `[start, end)` are left out. Long events end the list at
    `MAX_SAID_BYTES`: a list of that size may lack further events. The contents of files are not
    loaded.
    """
    row = SessionEventRow
    columns = {"wanted_id": _of("session_id"), "first": _of("seq"), "last": _of("seq")}
    values = [
        (wanted_range.session_id, wanted_range.first_seq, wanted_range.last_seq, n)
        for n, wanted_range in enumerate(ranges)
    ]
    wanted = rows_of("wanted", {**columns, "place": _of("seq")}, values)
    clauses = [row.timestamp >= start] if start is not None else []
    clauses += [row.timestamp < end] if end is not None else []
    page = (
        select(*_COLUMNS, wanted.c.place)
        .join_from(wanted, row, row.session_id == wanted.c.wanted_id)
        .where(
            row.engine_id == engine_id,
            row.seq.between(wanted.c.first, wanted.c.last),
            row.delete_time.is_(None),
            *clauses,
        )
        .subquery()
    )
    sized = _with_sizes(page, page.c.place, page.c.seq.desc())
    statement = _contents(sized, with_files=False).order_by(sized.c.place, sized.c.seq.desc())
    return await each(await session.execute(statement), _event_of)


async def list_raw_events(
    session: Session, name: SessionName, seqs: Sequence[int], max_bytes: int
) -> Mapping[int, str]:
    """Return the newest raw events, as JSON, by number, up to `max_bytes` characters in all."""
    its = SessionEventRow
    raw = cast(its.raw_event, Text)
    length = func.sum(func.length(raw)).over(order_by=its.seq.desc())
    page = (
        select(its.seq, raw.label("raw"), length.label("total"))
        .where(
            its.engine_id == name.engine.engine,
            its.session_id == name.session,
            its.seq == any_(literal(list(seqs), ARRAY(BigInteger))),
            its.delete_time.is_(None),
            its.raw_event.is_not(None),
        )
        .subquery()
    )
    statement = select(page.c.seq, page.c.raw).where(page.c.total <= max_bytes)
    return {row.seq: row.raw for row in await session.execute(statement)}


def _of(column: str) -> Column[Any]:
    typed: Column[Any] = table_of(SessionEventRow).c[column]
    return typed


def _with_sizes(page: Subquery, *order: ColumnElement[Any]) -> Subquery:
    before = func.sum(page.c.size_bytes).over(order_by=order) - page.c.size_bytes
    return select(page, before.label("before")).subquery("sized")


def _contents(sized: Subquery, *, with_files: bool) -> Select[Any]:
    others = [column for column in sized.c if column.name not in {"content", "before"}]
    text = cast(sized.c.content, Text)
    is_spared: ColumnElement[bool] = literal(value=False)
    if not with_files:
        has_files = and_(text.contains('"inlineData"'), ~text.regexp_match(_UNREADABLE))
        is_spared = func.coalesce(has_files, is_spared)
    content = case((is_spared, _WITHOUT_FILES), else_=sized.c.content)
    return select(*others, content.label("content"), is_spared.label("is_spared")).where(
        sized.c.before < MAX_SAID_BYTES
    )


def _is_in_range(name: SessionName, numbers: EventNumbers) -> ColumnElement[bool]:
    return and_(
        SessionEventRow.engine_id == name.engine.engine,
        SessionEventRow.session_id == name.session,
        SessionEventRow.seq.between(numbers.first, numbers.last),
        SessionEventRow.delete_time.is_(None),
    )


_WITHOUT_FILES: ColumnElement[Any] = literal_column(
    # The rest stays as it was sent, which `jsonb` would not preserve.
    """json_build_object(
        'role', sized.content -> 'role',
        'parts', (select json_agg(case when json_typeof(part -> 'inlineData') = 'object' then (
            select json_object_agg(of_part.key, case when of_part.key = 'inlineData' then (
                select coalesce(json_object_agg(of_file.key, of_file.value), '{}')
                from json_each(of_part.value) of_file where of_file.key <> 'data'
            ) else of_part.value end)
            from json_each(part) of_part
        ) else part end order by place)
        from json_array_elements(sized.content -> 'parts') with ordinality parts (part, place)))""",
    JSON(),
)


def _event_of(row: Row[Any]) -> EventText:
    speaker = speaker_of(row.author, row.content)
    # Only agents answer; recall reads tens of thousands of events.
    answers = speaker is Speaker.AGENT and is_answer(
        row.author, row.content, {"partial": row.partial == "true"}
    )
    return EventText(
        session_id=row.session_id,
        seq=row.seq,
        event_id=row.event_id,
        exchange=row.exchange,
        speaker=speaker,
        content=row.content,
        text=text_of(row.content),
        token_count=row.token_count,
        is_answer=answers,
        size_bytes=size_of(row.content) if row.is_spared else row.size_bytes,
        stored_bytes=row.size_bytes,
        timestamp=row.timestamp,
    )
