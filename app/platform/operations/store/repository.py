"""Statements on operations, except leases. Only this module ends an operation."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self

from sqlalchemy import ColumnElement, Select, and_, cast, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB

from app.adapters import tracing
from app.adapters.db.bulk import insert_drawn_row, insert_drawn_rows
from app.adapters.db.conditions import check_scopes, scopes_of
from app.adapters.db.hot_sql import Insertion, filled
from app.adapters.db.session import Database, Session, caller_of
from app.adapters.db.session import note as leave_word
from app.adapters.logs import request_id
from app.kernel.audit import Audited
from app.kernel.auth import Scopes, of_one
from app.kernel.errors import Cancelled, NotFound, Reason, ServiceError
from app.kernel.ids import bucket_of_scopes, new_id
from app.kernel.names import WILDCARD, EngineName, OperationName
from app.platform.audit import store as audit
from app.platform.audit.store import NewEvent
from app.platform.operations.logic.states import OperationState, metadata_url
from app.platform.operations.store import counting
from app.platform.operations.store.tables import OperationRow, Owned, name_of
from app.platform.operations.store.waking import tell, wake

PREVIEW = "generation.preview"
"""The kind of operation whose response holds texts stored nowhere else."""
UNMET_REQUESTS = "unmetForgetRequests"
"""The key of unmet requests to forget, in users' words, in a generation's metadata."""
DONE = Insertion(
    "operation",
    OperationRow,
    "engine_id operation_id engine_name kind state response details create_time "
    "update_time due_time remove_time scopes caller",
)
"""Insertion of a done operation, with the columns of `NewOperation.columns`."""
PENDING = Insertion(
    "operation",
    OperationRow,
    "engine_id operation_id engine_name kind key state request details create_time update_time"
    " due_time scopes caller request_id traceparent",
    ends="returning 1",
)
"""Insertion of an operation for a worker, with the columns of `pending_columns`."""
_SHOWN = (
    "engine_id, operation_id, engine_name, memory_id, kind, state, response, error, details,"
    " create_time, update_time, start_time, attempts, scopes, caller"
)
_GET = f"""
select {_SHOWN}
from operations o
where o.engine_id = %(engine)s and o.operation_id = %(operation)s
    and (o.remove_time is null or o.remove_time > %(now)s)
    and %(project)s in (split_part(o.engine_name, '/', 2), '{WILDCARD}')
    and %(location)s in (split_part(o.engine_name, '/', 4), '{WILDCARD}') and {{reach}}
"""  # noqa: S608 - of constants
Ended = tuple[datetime, timedelta]
"""The end time of an operation that ends now, and how long it is kept afterwards."""


@dataclass(frozen=True)
class NewOperation:
    """An operation about to be inserted.

    `key` serialises: only one operation of an engine and key runs at a time. `details` is the
    client-visible metadata with its `@type`, never text of memories. `due` defaults to now. The id
    carries the bucket of the scope, if there is exactly one; another is inserted if it is taken.
    """

    engine_id: int
    engine_name: str
    kind: str
    now: datetime
    keep: timedelta
    details: dict[str, Any]
    key: str | None = None
    request: dict[str, Any] | None = None
    operation_id: str = field(default="")
    due: datetime | None = None
    scopes: Scopes | None = None
    """The scopes concerned; None: possibly any."""
    caller: str | None = None
    """The id of the key that requested it, if not the session's caller."""
    memory_id: str | None = None
    """The memory that is the parent in its name; None: the engine is the parent."""

    @classmethod
    def of(cls, engine: EngineName, kind: str, method: str, now: datetime, keep: timedelta) -> Self:
        """Build an operation on an engine, with the metadata type of the method."""
        details = {"@type": metadata_url(method)}
        return cls(engine.engine, str(engine), kind, now, keep, details)

    def __post_init__(self) -> None:
        if not self.operation_id:
            number = new_id(self.now, bucket_of_scopes(self.scopes))
            object.__setattr__(self, "operation_id", str(number))

    def queued(self, key: str | None, request: dict[str, Any]) -> "NewOperation":
        """Return a copy for a worker, with the serialising key and the request."""
        return replace(self, key=key, request=request)

    def concerning(self, scope: Mapping[str, str]) -> "NewOperation":
        """Return a copy that concerns a single scope, with another id."""
        return self.within(of_one(scope))

    def within(self, scopes: Scopes | None) -> "NewOperation":
        """Return a copy that concerns scopes, with another id."""
        return replace(self, scopes=scopes, operation_id="")

    @property
    def name(self) -> str:
        """The full name."""
        return name_of(self.engine_name, self.memory_id, self.operation_id)

    def columns(self, state: OperationState, response: dict[str, Any] | None) -> dict[str, Any]:
        """Return the columns to insert."""
        return {
            "engine_id": self.engine_id,
            "operation_id": self.operation_id,
            "engine_name": self.engine_name,
            "memory_id": self.memory_id,
            "kind": self.kind,
            "key": self.key,
            "state": state,
            "request": self.request,
            "response": response,
            "details": self.details,
            "create_time": self.now,
            "update_time": self.now,
            "due_time": self.due or self.now,
            "remove_time": self.now + self.keep if state.is_final else None,
            "attempts": 0,
            "scopes": self.scopes,
            "caller": self.caller,
        }

    def noting(self, **details: object) -> "NewOperation":
        """Return a copy with more metadata."""
        return replace(self, details={**self.details, **details})


async def insert(session: Session, new: NewOperation) -> OperationRow:
    """Insert an operation for a worker; wake the workers at commit if it is due."""
    row = await _insert(session, new, OperationState.PENDING)
    await wake(session, row.engine_id, row.due_time, new.now)
    leave_word(session, operation=row.name)
    return row


async def insert_done(
    session: Session, new: NewOperation, response: dict[str, Any]
) -> OperationRow:
    """Insert an operation whose effects are in the same transaction.

    A caller's operation is audited with the request; a worker's is audited here.
    """
    return await _done(session, await _insert(session, new, OperationState.SUCCEEDED, response))


async def reserve(session: Session, new: NewOperation) -> NewOperation:
    """Insert an operation before its effects, which refer to it; `complete` follows. Return it."""
    columns = _columns(session, new, OperationState.SUCCEEDED)
    # Until its scopes are known, it concerns all that a restricted caller reaches.
    columns["scopes"] = scopes_of(session) or new.scopes
    await insert_drawn_rows(OperationRow, session, [columns], "operation_id")
    return replace(new, operation_id=columns["operation_id"])


async def complete(session: Session, new: NewOperation, response: dict[str, Any]) -> OperationRow:
    """Complete a reserved operation, or raise NotFound if the caller does not reach its scopes."""
    check_scopes(session, new.scopes)
    statement = (
        update(OperationRow)
        .where(_is(new))
        .values(response=response, details=new.details, scopes=new.scopes)
        .returning(OperationRow)
        .execution_options(populate_existing=True, synchronize_session=False)
    )
    return await _done(session, (await session.execute(statement)).scalar_one())


async def _done(session: Session, row: OperationRow) -> OperationRow:
    if caller_of(session) is None:
        await audit.insert_events(session, [_end_event(row, row.update_time, None)])
    leave_word(session, operation=row.name)
    return row


async def _insert(
    session: Session,
    new: NewOperation,
    state: OperationState,
    response: dict[str, Any] | None = None,
) -> OperationRow:
    check_scopes(session, new.scopes)
    columns = _columns(session, new, state, response)
    return await insert_drawn_row(OperationRow, session, columns, "operation_id")


def _columns(
    session: Session,
    new: NewOperation,
    state: OperationState,
    response: dict[str, Any] | None = None,
) -> dict[str, Any]:
    new = replace(new, caller=new.caller or caller_of(session))
    return new.columns(state, response) if state.is_final else pending_columns(new)


def pending_columns(new: NewOperation) -> dict[str, Any]:
    """Return the columns of an operation for a worker, with the request that asked for it."""
    columns = new.columns(OperationState.PENDING, None)
    return columns | {"request_id": request_id(), "traceparent": tracing.traceparent()}


def is_kept(now: datetime) -> ColumnElement[bool]:
    """Select operations still kept at `now`; expired ones are invisible, swept or not."""
    return or_(OperationRow.remove_time.is_(None), OperationRow.remove_time > now)


async def get(
    session: Session, name: OperationName, now: datetime, *, for_update: bool = False
) -> OperationRow:
    """Return a kept operation of this project, location and engine, or raise NotFound."""
    statement = select(OperationRow).where(
        _is_under(name.engine), OperationRow.operation_id == name.operation, is_kept(now)
    )
    if for_update:
        statement = statement.with_for_update()
    row = (await session.execute(statement)).scalar_one_or_none()
    if row is None:
        raise NotFound.of(name)
    return row


async def find_alone(db: Database, name: OperationName, now: datetime) -> OperationRow:
    """Return what clients poll of an operation, as `get` does, by a hot statement."""
    reach, values = db.reach(OperationRow, "o")
    engine = name.engine
    values |= {
        "engine": engine.engine,
        "operation": name.operation,
        "project": engine.project,
        "location": engine.location,
        "now": now,
    }
    rows = await db.run(*filled(_GET.format(reach=reach), values))
    if not rows:
        raise NotFound.of(name)
    return OperationRow(**dict(zip(_SHOWN.split(", "), rows[0], strict=True)))


def _is_under(engine: EngineName) -> ColumnElement[bool]:
    """Select the engine's operations; name parts other than `-` must match."""
    parts = ((2, engine.project), (4, engine.location))
    return and_(
        OperationRow.engine_id == engine.engine,
        *(
            func.split_part(OperationRow.engine_name, "/", place) == part
            for place, part in parts
            if part != WILDCARD
        ),
    )


def select_operations(engine: EngineName, now: datetime) -> Select[OperationRow]:
    """Select the operations of an engine."""
    return select(OperationRow).where(_is_under(engine), is_kept(now))


async def remove(session: Session, operation: OperationRow | NewOperation) -> None:
    """Remove an ended or a reserved operation."""
    await session.execute(delete(OperationRow).where(_is(operation)))


async def cancel(session: Session, row: OperationRow, now: datetime, keep: timedelta) -> None:
    """Cancel a pending operation; ask a running one to stop; leave an ended one alone.

    The caller has locked the row. An operation without a request is not cancelled: it only cleans
    up after an effect that is already visible, such as a deleted engine.
    """
    if row.request is None:
        return
    is_it = _is(row)
    if row.state == OperationState.RUNNING:
        await session.execute(update(OperationRow).where(is_it).values(cancel_requested=True))
    elif row.state == OperationState.PENDING:
        error = cancelled()
        ended = _end_values(OperationState.CANCELLED, now, keep)
        values = {**ended, "error": error.as_operation_error()}
        await _end(session, is_it, values, error)


def _is(operation: OperationRow | NewOperation) -> ColumnElement[bool]:
    return and_(
        OperationRow.engine_id == operation.engine_id,
        OperationRow.operation_id == operation.operation_id,
    )


def cancelled() -> Cancelled:
    """Return the error of an operation cancelled by its client."""
    return Cancelled("The operation was cancelled.", Reason.OPERATION_CANCELLED)


async def finish(
    session: Session, owned: Owned, ended: Ended, response: dict[str, Any], details: dict[str, Any]
) -> bool:
    """End an operation in the transaction of its effects.

    Returns False if the lease was lost or the client asked to cancel: the caller must then write no
    effects. `ended` is the end time and the retention; `response` has names and counts only;
    `details` are merged into the metadata, where None removes a key.
    """
    values = {
        **_end_values(OperationState.SUCCEEDED, *ended),
        "response": response,
        "details": _merged_details(details),
    }
    return await _end(session, owned.is_mine() & ~OperationRow.cancel_requested, values, None)


async def fail(
    session: Session, owned: Owned, ended: Ended, error: ServiceError, *, keeps: bool = False
) -> bool:
    """End an operation without effects; return False if its lease was lost.

    With `keeps`, the request of a failed (not a cancelled) operation is kept for a retry.
    """
    state = OperationState.CANCELLED if isinstance(error, Cancelled) else OperationState.FAILED
    values = {**_end_values(state, *ended), "error": error.as_operation_error()}
    if keeps and state is OperationState.FAILED:
        del values["request"]
    return await _end(session, owned.is_mine(), values, error)


async def fail_waiting(
    session: Session, engine_id: int, kind: str, ended: Ended, error: ServiceError
) -> None:
    """Fail the pending operations of a kind for an engine that is being deleted."""
    waits = and_(
        OperationRow.engine_id == engine_id,
        OperationRow.kind == kind,
        OperationRow.state == OperationState.PENDING,
    )
    values = {**_end_values(OperationState.FAILED, *ended), "error": error.as_operation_error()}
    await _end(session, waits, values, error)


async def lock_done(session: Session, row: OperationRow) -> OperationRow:
    """Lock an ended operation and return its present row; return `row` if it was removed."""
    statement = select(OperationRow).where(_is(row)).with_for_update()
    # The session may have loaded an older version before.
    statement = statement.execution_options(populate_existing=True)
    return (await session.execute(statement)).scalar_one_or_none() or row


async def extend_done(
    session: Session,
    row: OperationRow,
    now: datetime,
    response: dict[str, Any],
    details: dict[str, Any],
) -> None:
    """Replace the response of an ended operation with further effects; add to its metadata."""
    await audit.insert_events(session, [_end_event(row, now, None)])
    await update_done(session, row, response, details)


async def update_done(
    session: Session, row: OperationRow, response: dict[str, Any], details: dict[str, Any]
) -> None:
    """Update an ended operation without an audit event: its own request continues and has one."""
    values = {"response": response, "details": _merged_details(details)}
    statement = update(OperationRow).where(_is(row)).values(values)
    await session.execute(statement.execution_options(synchronize_session=False))
    leave_word(session, operation=row.name)


async def note(session: Session, owned: Owned, details: dict[str, Any]) -> None:
    """Add to the metadata of a running operation; None removes a key."""
    await session.execute(
        update(OperationRow).where(owned.is_mine()).values(details=_merged_details(details))
    )


async def note_undo(session: Session, row: OperationRow) -> None:
    """Name an undo, unless it is a preview, in the metadata of the operation that it undoes."""
    undone = row.details.get("undoneOperation")
    if undone is None or row.details.get("validateOnly"):
        return
    await session.execute(
        update(OperationRow)
        .where(
            OperationRow.engine_id == row.engine_id,
            OperationRow.operation_id == undone.rpartition("/")[2],
        )
        .values(details=_merged_details({"undoneBy": row.name}))
        .execution_options(synchronize_session=False)
    )


def _merged_details(details: dict[str, Any]) -> ColumnElement[Any]:
    return func.jsonb_strip_nulls(OperationRow.details.op("||")(cast(details, JSONB)))


def _end_values(state: OperationState, now: datetime, keep: timedelta) -> dict[str, Any]:
    """Return the columns to set at an end; the request goes, as its text may need erasure."""
    return {
        "state": state,
        "request": None,
        "owner": None,
        "lease_until": None,
        "update_time": now,
        "remove_time": now + keep,
    }


async def _end(
    session: Session,
    which: ColumnElement[bool],
    values: dict[str, Any],
    error: ServiceError | None,
) -> bool:
    """End operations and audit each; return False if none matched."""
    statement = (
        update(OperationRow)
        .where(which)
        .values(values)
        .returning(
            OperationRow.engine_id,
            OperationRow.operation_id,
            OperationRow.engine_name,
            OperationRow.memory_id,
            OperationRow.kind,
            OperationRow.caller,
            OperationRow.due_time,
            OperationRow.attempts,
        )
        .execution_options(synchronize_session=False)
    )
    ended = (await session.execute(statement)).all()
    now = values["update_time"]
    for row in ended:
        tell(session, row.engine_id, now)  # its key is free for others
    counting.count_ended(session, ended, values["state"], now, error)
    await audit.insert_events(session, [_end_event(row, now, error) for row in ended])
    return bool(ended)


def _end_event(row: Any, now: datetime, error: ServiceError | None) -> NewEvent:  # noqa: ANN401 - columns of an operation
    name = name_of(row.engine_name, row.memory_id, row.operation_id)
    done = Audited(caller=row.caller, method=row.kind, resource=name, engine_id=row.engine_id)
    return NewEvent(done, now, error, operation=name)
