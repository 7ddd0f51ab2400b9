"""Pseudonyms in the audit log, in place of the names of what was erased.

A trigger lets these statements change names, callers and addresses alone, and only to such forms.
All functions take part in the caller's transaction.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import or_, select, text, true, tuple_, update

from app.adapters.db.bulk import rows_of
from app.adapters.db.session import Session
from app.kernel.errors import Reason
from app.platform.audit.store.repository import NO_ENGINE
from app.platform.audit.store.tables import AuditEventRow, EventTable, ServiceEventRow


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
    """Put an alias in place of callers in an engine's log and the service's; return the count.

    Given `since`, events before it are left out.
    """
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
