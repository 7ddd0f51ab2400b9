"""The table of the audit log, every statement on it, and its pseudonyms.

Pseudonyms replace the names of erased things; a trigger lets statements change nothing else.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Boolean, Index, Text, delete, false, or_, select, text, true, tuple_, update
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base
from app.adapters.db.bulk import insert_drawn_rows, rows_of
from app.adapters.db.clock import database_time
from app.adapters.db.filter_fields import EnumField, IntegerField, TextField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.hot_sql import Insertion
from app.adapters.db.lists import List, ReadRows, Slice, merged, read_page
from app.adapters.db.session import Session
from app.adapters.db.spread import KeyColumns, RowSearch, Selected
from app.adapters.db.transaction_settings import set_local
from app.kernel.audit import Audited
from app.kernel.errors import Reason, ServiceError
from app.kernel.ids import NO_BUCKET, new_id


class _EventColumns:
    """The columns of an audited action."""

    caller: Mapped[str | None] = mapped_column(Text)
    method: Mapped[str] = mapped_column(Text)
    resource: Mapped[str | None] = mapped_column(Text)
    operation: Mapped[str | None] = mapped_column(Text)
    address: Mapped[str | None] = mapped_column(Text)
    request_id: Mapped[str | None] = mapped_column(Text)
    result: Mapped[str] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    replayed: Mapped[bool] = mapped_column(Boolean, server_default=false())
    """True for a repeated request, which got the answer of its first time."""
    surface: Mapped[str | None] = mapped_column(Text)
    """The interface through which the request came; null: the API itself."""


class AuditEventRow(_EventColumns, Base):
    """An audited action in an engine; a trigger refuses changes, except the removal of old rows."""

    __tablename__ = "audit_events"
    # For the list over all engines and for removal; the list of one engine uses the key.
    __table_args__ = (Index("ix_audit_events_create_time", "create_time", "event_id", "engine_id"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    create_time: Mapped[datetime] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(Text, primary_key=True)


class ServiceEventRow(_EventColumns, Base):
    """The same of the service itself, and of engines out of the caller's reach.

    The rows lie where the keys do, so that keys can be changed whichever node is away.
    """

    __tablename__ = "service_audit_events"

    create_time: Mapped[datetime] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(Text, primary_key=True)
    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Always 0; the order of the log over all engines has it."""


EventTable = type[AuditEventRow] | type[ServiceEventRow]


NO_ENGINE = 0
"""The engine id of events that concern no engine, or none within the caller's reach."""
OK = "OK"
"""The result of a success."""

EVENT = Insertion(
    "event",
    AuditEventRow,
    "engine_id create_time event_id caller method resource operation address request_id result"
    " surface",
)
"""Insertion of a success event, with the columns of `NewEvent.columns`."""
_RESULTS = (OK, *sorted(error.status for error in ServiceError.__subclasses__()))
# Set only by the statement that the table's trigger allows to remove rows.
_REMOVING = {"memory_bank.audit_retention": "on"}


def events(table: EventTable, *, has_engines: bool) -> List:
    """Return the list of a table's events; with `has_engines`, a filter may name the engine."""
    fields: Fields = {
        "caller": TextField(table.caller),
        "method": TextField(table.method),
        "resource": TextField(table.resource),
        "operation": TextField(table.operation),
        "address": TextField(table.address),
        "request_id": TextField(table.request_id),
        "result": EnumField(table.result, _RESULTS),
        "reason": EnumField(table.reason, tuple(Reason)),
        "create_time": TimestampField(table.create_time),
    }
    if has_engines:
        fields = {**fields, "engine": IntegerField(table.engine_id)}
    key = (table.create_time, table.event_id, table.engine_id)
    return List("auditEvents", key, is_descending=True, fields=fields)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to be inserted. Without an error, the action succeeded."""

    audited: Audited
    now: datetime
    error: ServiceError | None = None
    operation: str | None = None
    """The name of the operation that was created or has ended."""
    replayed: bool = False
    """True for a repeated request, which got the answer of its first time."""

    def columns(self) -> dict[str, Any]:
        """Return the columns, with a new id."""
        audited, error = self.audited, self.error
        return {
            "engine_id": NO_ENGINE if audited.engine_id is None else audited.engine_id,
            "create_time": self.now,
            # Found by its engine and time, never by its id.
            "event_id": str(new_id(self.now, NO_BUCKET)),
            "caller": audited.caller,
            "method": audited.method,
            "resource": audited.resource or None,
            "operation": self.operation,
            "address": audited.address,
            "request_id": audited.request_id,
            "result": OK if error is None else error.status,
            "reason": None if error is None else error.reason.value,
            "replayed": self.replayed,
            "surface": audited.surface,
        }


async def insert_events(session: Session, events: Sequence[NewEvent]) -> None:
    """Insert events of one or several engines, or of none."""
    for table in (AuditEventRow, ServiceEventRow):
        is_of_none = table is ServiceEventRow
        rows = [
            event.columns() for event in events if (event.audited.engine_id is None) is is_of_none
        ]
        await insert_drawn_rows(table, session, rows, "event_id")


async def read_events(session: Session, engine_id: int, page: Slice) -> ReadRows[AuditEventRow]:
    """Return a page of an engine's events."""
    statement = select(AuditEventRow).where(AuditEventRow.engine_id == engine_id)
    return await read_page(session, statement, page)


async def read_all_events(
    session: Session, of_engines: Slice, of_none: Slice
) -> ReadRows[AuditEventRow | ServiceEventRow]:
    """Return a page of the events of all engines and of none, which are in two tables."""
    return merged(
        [
            await read_page(session, select(AuditEventRow), of_engines),
            await read_page(session, select(ServiceEventRow), of_none),
        ],
        of_engines,
    )


def select_old(table: EventTable, kept: timedelta, session: Session, search: RowSearch) -> Selected:
    """Select events older than the retention, of all engines or of none; for a sweep."""
    is_old = table.create_time <= database_time(session) - kept
    row = _row(table)
    return search.bounded(
        select(*row).where(is_old).order_by(table.create_time, table.event_id, table.engine_id), row
    )


async def remove_old(table: EventTable, session: Session, old: Selected) -> int:
    """Remove such events; return their number."""
    await set_local(session, _REMOVING)
    statement = (
        delete(table)
        .where(tuple_(*_row(table)).in_(old))
        .returning(table.event_id)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())


def _row(table: EventTable) -> KeyColumns:
    return table.engine_id, table.create_time, table.event_id


class NamedEvent(NamedTuple):
    """The key of an event, and the columns in which an erasure looks for names."""

    create_time: datetime
    event_id: str
    engine_id: int
    caller: str
    resource: str | None
    operation: str | None
    address: str | None
    request_id: str | None


_ERASING = text("set local memory_bank.erasing = 'on'")
_TABLE: Any = AuditEventRow.__table__
_COLUMNS = [_TABLE.c[name] for name in NamedEvent._fields]
_NAMES = ("caller", "resource", "operation", "address", "request_id")
_KEY = ("create_time", "event_id")
"""The key of an event within its engine."""
_ORDER = [_TABLE.c[name] for name in _KEY]


async def list_next(
    session: Session, engine_id: int, limit: int, after: NamedEvent | None
) -> Sequence[NamedEvent]:
    """Return the next events of an engine that name a resource, in the order of the log."""
    statement = select(*_COLUMNS).where(
        AuditEventRow.engine_id == engine_id,
        or_(AuditEventRow.resource.is_not(None), AuditEventRow.operation.is_not(None)),
    )
    if after is not None:
        statement = statement.where(tuple_(*_ORDER) > (after.create_time, after.event_id))
    rows = await session.execute(statement.order_by(*_ORDER).limit(limit))
    return [NamedEvent(*row) for row in rows]


async def list_refused(
    session: Session, engine_id: int, reason: Reason, since: datetime
) -> Sequence[NamedEvent]:
    """Return an engine's refusals for a reason since some time."""
    statement = select(*_COLUMNS).where(
        AuditEventRow.engine_id == engine_id,
        AuditEventRow.create_time >= since,
        AuditEventRow.reason == reason.value,
    )
    return [NamedEvent(*row) for row in await session.execute(statement)]


async def rename(
    session: Session, engine_id: int, changed: Sequence[tuple[NamedEvent, dict[str, Any]]]
) -> None:
    """Replace names in events of an engine; a name that is not given stays."""
    if not changed:
        return
    await session.execute(_ERASING)
    columns = {name: _TABLE.c[name] for name in (*_KEY, *_NAMES)}
    rows = [[names.get(name, getattr(row, name)) for name in columns] for row, names in changed]
    new = rows_of("new", columns, rows)
    await session.execute(
        update(_TABLE)
        .where(_TABLE.c.engine_id == engine_id, *(_TABLE.c[name] == new.c[name] for name in _KEY))
        .values({name: new.c[name] for name in _NAMES})
    )


async def rename_callers(
    session: Session, engine_id: int, callers: Collection[str], alias: str, since: datetime | None
) -> int:
    """Put an alias in place of callers, from `since` on, in both logs; return the count."""
    await session.execute(_ERASING)
    logs: list[tuple[EventTable, int]] = [(AuditEventRow, engine_id), (ServiceEventRow, NO_ENGINE)]
    count = 0
    for table, each in logs:
        is_recent = true() if since is None else table.create_time >= since
        renamed = await session.execute(
            update(table)
            .where(table.engine_id == each, table.caller.in_(callers), is_recent)
            .values(caller=alias, address=None, request_id=None)
            .returning(table.event_id)
            .execution_options(synchronize_session=False)
        )
        count += len(renamed.all())
    return count
