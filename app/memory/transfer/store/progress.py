"""The state of a restore, in the engine's row.

All functions take part in the caller's transaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, literal, select, union_all

from app.adapters.db.session import Session
from app.kernel.wire.scalars import format_timestamp, parse_timestamp
from app.memory.transfer.logic.memory_kinds import ENGINE
from app.memory.transfer.store.tables import renamed_of, table_of
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import OperationState
from app.platform.operations.store.tables import OperationRow

_KEPT = ("memories", "sessions", "user_states", "app_states", "streams", "task_namespaces")
"""Tables of which an engine has no row that is to be filled."""
_REPLACED = ("tool_policies", "operations")
"""Tables whose rows the archive's replace: without the former, they tell of nothing."""
_OF_ENGINE = ("engines.create", "engines.update")
"""Kinds of operations that are not in an archive: they tell of this engine."""
_OPEN = (OperationState.PENDING, OperationState.RUNNING)


@dataclass(frozen=True)
class RestoreState:
    """The state of a restore that has not ended.

    Attributes:
        archive_id: of the archive.
        next_line: the number of the first line that is not written.
            0: the archive was refused, and what it has brought is being removed.
        start_time: the beginning of the restore.
        before: the fields of the engine's line as it was before; None: a former release began.
        model: the model that served it before.
    """

    archive_id: str
    next_line: int
    start_time: datetime
    before: Mapping[str, Any] | None = None
    model: str | None = None

    @property
    def is_refused(self) -> bool:
        """True if the engine is to be as it was before."""
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
    """Return True if an engine, which the caller has locked, has nothing that could be lost.

    Deleted memories that can be recovered count, as do operations that have not ended.
    """
    waiting = select(literal(1)).where(
        OperationRow.engine_id == engine_id, OperationRow.state.in_(_OPEN)
    )
    rows = [
        select(literal(1)).where(table_of(name).c.engine_id == engine_id).limit(1).subquery()
        for name in _KEPT
    ]
    found = union_all(*(select(row) for row in rows), waiting)
    return (await session.execute(found.limit(1))).first() is None


async def remove_replaced(session: Session, engine_id: int) -> int:
    """Remove what else an empty engine has of the kinds of an archive; return the count."""
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
    """Store the state of a new restore; the engine gets a new version, so that caches notice."""
    return await engines.update_engine(session, row.engine_id, {"restore": state.wire()})


async def advance(session: Session, engine_id: int, state: RestoreState) -> None:
    """Store that lines are written, in their transaction."""
    await engines.set_models(session, engine_id, {"restore": state.wire()})


async def reopen(session: Session, row: EngineRow, state: RestoreState, now: datetime) -> None:
    """End a restore whose archive was refused: the engine is as it was before."""
    values: dict[str, Any] = {"restore": None, "update_time": now, "embedding_model": state.model}
    if state.before is not None:
        named = renamed_of(ENGINE.table)
        former = ENGINE.decode(state.before)
        values |= {named.get(column, column): former[column] for column in former}
    await engines.update_engine(session, row.engine_id, values)


def fields_before(row: EngineRow) -> Mapping[str, Any]:
    """Return the fields of an engine's line, as they are before a restore replaces them."""
    named = renamed_of(ENGINE.table)
    return ENGINE.encode(
        [getattr(row, named.get(field.column, field.column)) for field in ENGINE.fields]
    )


async def finish(session: Session, engine_id: int, now: datetime) -> EngineRow:
    """End a restore: the engine serves from the commit on."""
    return await engines.update_engine(session, engine_id, {"restore": None, "update_time": now})
