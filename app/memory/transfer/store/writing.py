"""Insertion of archive lines, and the state of a restore, stored in the engine's row."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import numpy as np
from sqlalchemy import delete, literal, select, text, union_all
from sqlalchemy.exc import DBAPIError

from app.adapters.db.bulk import Conflict, insert_rows
from app.adapters.db.errors import state_of
from app.adapters.db.session import Session, is_distributed
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.names import MAX_ID_CHARS, EngineName
from app.kernel.wire.scalars import format_timestamp, parse_timestamp
from app.memory.memories.logic.restored import RestoredMemory
from app.memory.memories.store import ledger, vectors
from app.memory.memories.store.vectors import Vector
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.format import RefusedArchive, refused
from app.memory.transfer.logic.kinds import (
    ARTIFACT,
    ENGINE,
    MEMORY,
    MEMORY_VECTOR,
    OMITTED,
    OPERATION,
    PAGE,
    REVISION,
    USAGE,
)
from app.memory.transfer.logic.reading import Line
from app.memory.transfer.logic.tallying import Recovery
from app.memory.transfer.store.tables import renamed_of, row_of, table_of
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
        next_line: the number of the first line that is not written; 0: the archive was refused,
            and its rows are being removed.
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
    """Return True if a locked engine has no data that a restore would overwrite."""
    # Recoverable deleted memories and open operations count as data.
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


_OF_VALUES = {"22", "23", "54"}
"""SQLSTATE classes of invalid values: data exceptions, constraints, program limits."""
_USED = ("calls", "input_tokens", "output_tokens", "milliseconds", "cost", "unpriced_calls")
_INDEXING = "indexing"
"""State of an artifact without chunks; the end of the restore has its text indexed."""

_FORGET_PLANS = text("discard plans")
_PLAN_FOR_ANY = text("set local plan_cache_mode = force_generic_plan")
_COMMIT_AT_ONCE = text("set local synchronous_commit = off")

Values = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """Target engine of a restore, and how its rows are written.

    Attributes:
        language: the text-search configuration; None detects the language of each fact.
        model_id: the model whose vectors are used; None: facts are embedded again.
    """

    name: EngineName
    language: str | None
    model_id: str | None
    windows: Recovery
    now: datetime


async def write_engine(session: Session, engine_id: int, line: Line) -> EngineRow:
    """Replace the configuration of a locked engine with the archive's."""
    values = _attributes(ENGINE, [line.values])[0]
    return await engines.update_engine(session, engine_id, values)


async def write(session: Session, target: Target, lines: Sequence[Line]) -> None:
    """Insert all lines except the engine's; the caller has locked the engine.

    Raises:
        RefusedArchive: a line cannot be stored. The message has line numbers, but no content.
    """
    await _prepare_connection(session)
    with _named(lines):
        for kind, alike in groupby(lines, lambda line: line.kind):
            await _write_kind(session, target, kind, list(alike))


async def _prepare_connection(session: Session) -> None:
    """Make the transaction check foreign keys with good plans, and commit asynchronously."""
    # Cached plans of the checks date from small tables.
    await session.execute(_FORGET_PLANS)
    # A cluster needs the values to find the node, and its writes to a shard that is being moved
    # would wait for a late log.
    if not is_distributed(session):
        # Before the next `analyze` the statistics lack the engine. A custom plan would then use any
        # index that begins with the engine, and scan all rows written so far for each new row.
        await session.execute(_PLAN_FOR_ANY)
        # A crash can lose the newest blocks, together with the stored number of the next line. The
        # end of the restore commits synchronously, which makes all blocks durable.
        await session.execute(_COMMIT_AT_ONCE)


@contextmanager
def _named(lines: Sequence[Line]) -> Iterator[None]:
    """Convert errors about values into an error with line numbers, but no content."""
    try:
        yield
    except InvalidArgument as error:
        raise _refused(lines, error.message) from error
    except DBAPIError as error:
        if (state_of(error.orig) or "")[:2] not in _OF_VALUES:
            raise
        field = _broken(lines[0].kind, error)
        raise _refused(lines, f"{field} does not fit to the lines before it.") from error


def _refused(lines: Sequence[Line], reason: str) -> RefusedArchive:
    first, last = lines[0].number, lines[-1].number
    kinds = ", ".join(dict.fromkeys(line.kind.name for line in lines))
    numbers = f"Line {first}" if first == last else f"Lines {first} to {last}"
    return refused(f"{numbers} ({kinds}): {reason}", lines=f"{first}-{last}", kinds=kinds)


def _broken(kind: LineKind, error: DBAPIError) -> str:
    """Return the field that violates a constraint, or a field of the key if none is known."""
    name = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
    table = table_of(kind.table)
    parts: list[Any] = [*table.constraints, *table.indexes]
    known = {field.column for field in kind.fields}
    broken = next((part.columns for part in parts if part.name == name), ())
    columns = [column.name for column in broken if column.name in known]
    return kind.path_of((columns or [*kind.key, kind.name])[-1])


async def _write_kind(
    session: Session, target: Target, kind: LineKind, lines: Sequence[Line]
) -> None:
    engine_id = target.name.engine
    rows = _attributes(kind, [line.values for line in lines])
    if kind is MEMORY:
        restored = [
            RestoredMemory(_later(target, row), _attributes(REVISION, line.revisions))
            for row, line in zip(rows, lines, strict=True)
        ]
        await ledger.restore(session, engine_id, target.language, restored)
    elif kind is REVISION:
        await ledger.restore_more(session, engine_id, rows)
    elif kind is MEMORY_VECTOR:
        await _write_vectors(session, target, rows)
    elif kind is not ENGINE:
        rows = (
            await _COMPLETING[kind.name](session, target, rows)
            if kind.name in _COMPLETING
            else rows
        )
        whole = [{**row, "engine_id": engine_id} for row in rows]
        await insert_rows(row_of(kind.table), session, whole, _TAKEN.get(kind.name), as_sent=True)


def _attributes(kind: LineKind, rows: Sequence[Values]) -> Sequence[Values]:
    """Rename columns to their class's attributes, in place, and return the rows."""
    for column, attribute in renamed_of(kind.table).items():
        for row in rows:
            # A second attempt receives rows that are already renamed.
            if column in row:
                row[attribute] = row.pop(column)
    return rows


def _later(target: Target, memory: Values) -> Values:
    if (until := memory["recover_until"]) is None:
        return memory
    return {**memory, "recover_until": target.windows.end(until)}


async def _write_vectors(session: Session, target: Target, rows: Sequence[Values]) -> None:
    # Memories without a vector stay queued.
    used = {row["memory_id"]: row["vector"] for row in rows if row["model_id"] == target.model_id}
    if not used or target.model_id is None:
        return
    engine_id = target.name.engine
    memories = table_of(MEMORY.table)
    statement = select(memories.c.memory_id, memories.c.fact).where(
        memories.c.engine_id == engine_id, memories.c.memory_id.in_(list(used))
    )
    facts = {row[0]: row[1] for row in await session.execute(statement)}
    embedded = {
        memory_id: (facts[memory_id], Vector(np.asarray(vector, np.float32)))
        for memory_id, vector in used.items()
        if facts.get(memory_id) is not None
    }
    if embedded.keys() != used.keys():
        message = "memoryId must name a live memory with a fact."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
    length = await engines.find_length(session, target.model_id)
    if any(len(vector) != length for vector in used.values()):
        message = "vector has another length than its model's other vectors."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
    done = await vectors.embed(session, engine_id, target.model_id, embedded, target.now)
    await vectors.end_waits(session, engine_id, list(embedded), done, target.now)


async def _placed_pages(session: Session, target: Target, rows: Sequence[Values]) -> list[Values]:
    artifacts = table_of(ARTIFACT.table)
    ids = {row["content_id"] for row in rows}
    statement = select(artifacts.c.content_id, artifacts.c.memory, artifacts.c.namespace).where(
        artifacts.c.engine_id == target.name.engine, artifacts.c.content_id.in_(ids)
    )
    places = {content_id: place for content_id, *place in await session.execute(statement)}
    if ids - places.keys():
        message = "contentId must name an artifact in the archive."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
    return [
        {**row, **dict(zip(("memory", "namespace"), places[row["content_id"]], strict=True))}
        for row in rows
    ]


async def _begun_artifacts(_: Session, __: Target, rows: Sequence[Values]) -> list[Values]:
    # Artifacts whose bytes are in the archive are indexed at the end.
    kept = [row for row in rows if row[OMITTED] is None]
    return [
        {**{name: row[name] for name in row if name != OMITTED}, "state": _INDEXING} for row in kept
    ]


async def _named_operations(_: Session, target: Target, rows: Sequence[Values]) -> list[Values]:
    name = str(target.name)
    return [
        {
            **row,
            "engine_name": name,
            "due_time": row["create_time"],
            "details": _without_foreign_session(name, row["details"]),
        }
        for row in rows
    ]


def _without_foreign_session(engine: str, details: Values) -> Values:
    # The removal of a session in another engine would not reach this one.
    source = details.get("source")
    if not isinstance(source, dict) or "session" not in source:
        return details
    parent, _, session_id = str(source["session"]).rpartition("/sessions/")
    if parent == engine and len(session_id) <= MAX_ID_CHARS:
        return details
    return {key: value for key, value in details.items() if key != "source"}


async def _most_usage(session: Session, target: Target, rows: Sequence[Values]) -> list[Values]:
    # The engine's own usage of today still counts against its budget.
    table = table_of(USAGE.table)
    own = await session.execute(select(table).where(table.c.engine_id == target.name.engine))
    known = {tuple(row[name] for name in USAGE.key): row for row in own.mappings()}

    def larger(row: Values) -> Values:
        if row["unpriced_calls"] is None and row["cost"] is not None:
            # A former release kept a cost only if each call had a price.
            row = {**row, "unpriced_calls": 0}
        other = known.get(USAGE.key_of(row), row)
        # What is unknown on either side stays unknown.
        most = {
            name: None if None in (row[name], other[name]) else max(row[name], other[name])
            for name in _USED
        }
        return {**row, **most}

    return [larger(row) for row in rows]


_COMPLETING: Mapping[
    str, Callable[[Session, Target, Sequence[Values]], Awaitable[list[Values]]]
] = {
    PAGE.name: _placed_pages,
    ARTIFACT.name: _begun_artifacts,
    OPERATION.name: _named_operations,
    USAGE.name: _most_usage,
}
"""Functions that add the values that archives lack, by kind."""
_TAKEN = {USAGE.name: Conflict(("engine_id", *USAGE.key), _USED)}
"""Conflict handling for rows that an empty engine may have, by kind."""
