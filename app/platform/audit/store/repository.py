"""Every statement on the audit log. All functions take part in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, tuple_

from app.adapters.db.bulk import insert_drawn_rows
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
from app.platform.audit.store.tables import AuditEventRow, EventTable, ServiceEventRow

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
