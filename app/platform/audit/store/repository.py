"""Every statement on the audit log. All functions take part in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, select, tuple_

from app.adapters.db.clock import database_time
from app.adapters.db.filter_fields import EnumField, IntegerField, TextField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.insertions import Insertion
from app.adapters.db.pages import ReadRows, Slice, read_page
from app.adapters.db.session import Session
from app.adapters.db.spread import RowSearch, Selected
from app.adapters.db.transaction_settings import set_local
from app.kernel.audit import Audited
from app.kernel.errors import Reason, ServiceError
from app.kernel.ids import NO_BUCKET, new_id
from app.platform.audit.store.tables import AuditEventRow

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
_OF_ENGINE: Fields = {
    "caller": TextField(AuditEventRow.caller),
    "method": TextField(AuditEventRow.method),
    "resource": TextField(AuditEventRow.resource),
    "operation": TextField(AuditEventRow.operation),
    "address": TextField(AuditEventRow.address),
    "request_id": TextField(AuditEventRow.request_id),
    "result": EnumField(AuditEventRow.result, _RESULTS),
    "reason": EnumField(AuditEventRow.reason, tuple(Reason)),
    "create_time": TimestampField(AuditEventRow.create_time),
}
_OF_SERVICE: Fields = {**_OF_ENGINE, "engine": IntegerField(AuditEventRow.engine_id)}

KEY = (AuditEventRow.create_time, AuditEventRow.event_id, AuditEventRow.engine_id)
"""The order of the log."""
_ROW = (AuditEventRow.engine_id, AuditEventRow.create_time, AuditEventRow.event_id)
_INSERT = insert(AuditEventRow.__table__)  # type: ignore[arg-type]  # a table, whatever its type says
# Set only by the statement that the table's trigger allows to remove rows.
_REMOVING = {"memory_bank.audit_retention": "on"}


def filter_fields(engine_id: int | None) -> Fields:
    """Return the filterable fields of an engine's events; None: of the events of all engines."""
    return _OF_SERVICE if engine_id is None else _OF_ENGINE


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
    """Insert events of one or several engines."""
    if events:
        await session.execute(_INSERT, [event.columns() for event in events])


def until(moment: datetime) -> ColumnElement[bool]:
    """Select the events up to and including a moment."""
    return AuditEventRow.create_time <= moment


async def list_page(
    session: Session, engine_id: int, clause: ColumnElement[bool], page: Slice
) -> ReadRows[AuditEventRow]:
    """Return a page of an engine's events."""
    statement = select(AuditEventRow).where(AuditEventRow.engine_id == engine_id, clause)
    return await read_page(session, statement, page)


async def list_page_of_all(
    session: Session, clause: ColumnElement[bool], page: Slice
) -> ReadRows[AuditEventRow]:
    """Return a page of the events of all engines."""
    statement = select(AuditEventRow).where(clause)
    return await read_page(session, statement, page)


def select_old(kept: timedelta, session: Session, search: RowSearch) -> Selected:
    """Select events older than the retention, of all engines; for a sweep."""
    is_old = AuditEventRow.create_time <= database_time(session) - kept
    return search.bounded(select(*_ROW).where(is_old).order_by(*KEY), _ROW)


async def remove_old(session: Session, old: Selected) -> int:
    """Remove such events; return their number."""
    await set_local(session, _REMOVING)
    statement = (
        delete(AuditEventRow)
        .where(tuple_(*_ROW).in_(old))
        .returning(AuditEventRow.event_id)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
