"""State of a restore, stored in the engine's row.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, literal, select, union_all

from app.adapters.db.session import Session
from app.kernel.wire.scalars import format_timestamp, parse_timestamp
from app.memory.transfer.logic.kinds import ENGINE
from app.memory.transfer.store.tables import renamed_of, table_of
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow

_KEPT = ("memories", "sessions", "user_states", "app_states", "streams", "task_namespaces")
"""Tables that must have no row of the engine before a restore."""
_REPLACED = ("tool_policies", "operations")
"""Tables whose rows the archive's rows replace; in an empty engine they are not needed."""
_OF_ENGINE = ("engines.create", "engines.update")
"""Kinds of operations that are kept: they concern the engine itself and are not archived."""
_OPEN = (OperationState.PENDING, OperationState.RUNNING)


@dataclass(frozen=True)
class RestoreState:
    """The state of a restore that has not ended.

    Attributes:
        next_line: the number of the first line that is not written.
            0: the archive was refused, and its rows are being removed.
        before: the fields of the engine's line before the restore; None: a former release began it.
        model: the model that served the engine before the restore.
    """

    archive_id: str
    next_line: int
    start_time: datetime
    before: Mapping[str, Any] | None = None
    model: str | None = None

    @property
    def is_refused(self) -> bool:
        """True if the restore must be undone."""
        return not self.next_line

    @classmethod
    def of(cls, row: EngineRow) -> "RestoreState | None":
        """Read the state from an engine's row; None: no restore is under way."""
        stored = row.restore
        if stored is None:
            return None
        start = parse_timestamp(stored["startTime"])
        before, model = stored.get("before"), stored.get("model")
        return cls(stored["archiveId"], stored["nextLine"], start, before, model)

    def wire(self) -> dict[str, Any]:
        """Return the column's value."""
        return {
            "archiveId": self.archive_id,
            "nextLine": self.next_line,
            "startTime": format_timestamp(self.start_time),
            "before": self.before,
            "model": self.model,
        }


async def is_empty(session: Session, engine_id: int) -> bool:
    """Return True if a locked engine has no data that a restore would overwrite.

    Recoverable deleted memories and open operations count as data.
    """
    waiting = select(literal(1)).where(
        OperationRow.engine_id == engine_id, OperationRow.state.in_(_OPEN)
    )
    rows = [
        select(literal(1)).where(table_of(name).c.engine_id == engine_id).limit(1).subquery()
        for name in _KEPT
    ]
    either = union_all(*(select(row) for row in rows), waiting)
    return (await session.execute(either.limit(1))).first() is None


async def remove_replaced(session: Session, engine_id: int) -> int:
    """Remove the rows of an empty engine that an archive replaces; return the count."""
    removed = 0
    for name in _REPLACED:
        table = table_of(name)
        replaced = table.c.engine_id == engine_id
        if name == OperationRow.__tablename__:
            replaced &= table.c.kind.not_in(_OF_ENGINE)
        connection = await session.connection()
        removed += (await connection.execute(delete(table).where(replaced))).rowcount
    return removed


async def begin(session: Session, row: EngineRow, state: RestoreState) -> EngineRow:
    """Store the state of a new restore; the engine's new version invalidates caches."""
    return await engines.update_engine(session, row.engine_id, {"restore": state.wire()})


async def advance(session: Session, engine_id: int, state: RestoreState) -> None:
    """Store the progress of a restore, in the transaction that writes its lines."""
    await engines.set_models(session, engine_id, {"restore": state.wire()})


async def reopen(session: Session, row: EngineRow, state: RestoreState, now: datetime) -> None:
    """End a refused restore: return the engine's row to its former state."""
    values: dict[str, Any] = {"restore": None, "update_time": now, "embedding_model": state.model}
    if state.before is not None:
        named = renamed_of(ENGINE.table)
        former = ENGINE.decode(state.before)
        values |= {named.get(column, column): former[column] for column in former}
    await engines.update_engine(session, row.engine_id, values)


def fields_before(row: EngineRow) -> Mapping[str, Any]:
    """Return the fields of an engine's line before a restore replaces them."""
    named = renamed_of(ENGINE.table)
    return ENGINE.encode(
        [getattr(row, named.get(field.column, field.column)) for field in ENGINE.fields]
    )


async def finish(session: Session, engine_id: int, now: datetime) -> EngineRow:
    """End a restore: the engine accepts requests after the commit."""
    return await engines.update_engine(session, engine_id, {"restore": None, "update_time": now})
