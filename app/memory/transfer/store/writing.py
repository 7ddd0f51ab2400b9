"""Insertion of an archive's lines. All functions take part in the caller's transaction."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import numpy as np
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from app.adapters.db.bulk import Conflict, insert_rows
from app.adapters.db.errors import state_of
from app.adapters.db.session import Session, is_distributed
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.names import EngineName
from app.memory.memories.logic.restored import RestoredMemory
from app.memory.memories.store import ledger, vectors
from app.memory.memories.store.vectors import Vector
from app.memory.transfer.logic.failures import RefusedArchive, refused
from app.memory.transfer.logic.fields import Kind
from app.memory.transfer.logic.kinds import ARTIFACT, OMITTED, OPERATION, PAGE, USAGE
from app.memory.transfer.logic.memory_kinds import ENGINE, MEMORY, MEMORY_VECTOR, REVISION
from app.memory.transfer.logic.reading import Line
from app.memory.transfer.logic.tallying import Recovery
from app.memory.transfer.store.tables import renamed_of, row_of, table_of
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow

_OF_VALUES = {"22", "23", "54"}
"""Classes of SQLSTATE for values that do not fit: data, constraints, limits."""
_USED = ("calls", "input_tokens", "output_tokens", "milliseconds", "cost")
_INDEXING = "indexing"
"""The state of an artifact whose text is not cut yet; the end of the restore has it cut."""

_FORGET_PLANS = text("discard plans")
_PLAN_FOR_ANY = text("set local plan_cache_mode = force_generic_plan")
_COMMIT_AT_ONCE = text("set local synchronous_commit = off")

Values = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """The engine that is written to, and how.

    Attributes:
        name: its full name.
        language: its text-search configuration; None detects it from each fact.
        model_id: the model whose vectors are used; None: facts are embedded anew.
        windows: the ends of windows of recovery.
        now: the present time.
    """

    name: EngineName
    language: str | None
    model_id: str | None
    windows: Recovery
    now: datetime


async def write_engine(session: Session, engine_id: int, line: Line) -> EngineRow:
    """Replace the configuration of an engine, which the caller has locked, by the archive's."""
    values = _attributes(ENGINE, [line.values])[0]
    return await engines.update_engine(session, engine_id, values)


async def write(session: Session, target: Target, lines: Sequence[Line]) -> None:
    """Insert lines but the engine's; the caller has locked the engine.

    Raises:
        RefusedArchive: a line cannot be stored; the message has their numbers, but no content.
    """
    await _prepare_connection(session)
    with _named(lines):
        for kind, alike in groupby(lines, lambda line: line.kind):
            await _write_kind(session, target, kind, list(alike))


async def _prepare_connection(session: Session) -> None:
    """Have the transaction check foreign keys by their keys, and commit without waiting.

    The checks keep their plans, made while the tables were small. And before the next `analyze` no
    statistics know the engine: a plan for its id alone, not for any, takes whichever index begins
    with the engine, and reads all that is written so far for each row.

    A crash loses the newest blocks with the number of the next line; the end of the restore, whose
    commit waits, makes all of them last.

    A cluster gets neither: it finds the node by the values, and writes to a shard that moves would
    wait for a log that is late.
    """
    await session.execute(_FORGET_PLANS)
    if not is_distributed(session):
        await session.execute(_PLAN_FOR_ANY)
        await session.execute(_COMMIT_AT_ONCE)


@contextmanager
def _named(lines: Sequence[Line]) -> Iterator[None]:
    """Turn errors about values into one that names the lines, but no content."""
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


def _broken(kind: Kind, error: DBAPIError) -> str:
    """Return the name of the field that breaks a constraint, or of the key if none is known."""
    name = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
    table = table_of(kind.table)
    parts: list[Any] = [*table.constraints, *table.indexes]
    known = {one.column for one in kind.fields}
    broken = next((part.columns for part in parts if part.name == name), ())
    columns = [column.name for column in broken if column.name in known]
    return kind.path_of((columns or [*kind.key, kind.name])[-1])


async def _write_kind(session: Session, target: Target, kind: Kind, lines: Sequence[Line]) -> None:
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


def _attributes(kind: Kind, rows: Sequence[Values]) -> Sequence[Values]:
    """Give values the names of their class's attributes, in place, and return them."""
    for column, attribute in renamed_of(kind.table).items():
        for row in rows:
            # A second attempt finds them renamed.
            if column in row:
                row[attribute] = row.pop(column)
    return rows


def _later(target: Target, memory: Values) -> Values:
    """Return a memory with the end that its window of recovery has here."""
    if (until := memory["recover_until"]) is None:
        return memory
    return {**memory, "recover_until": target.windows.end(until)}


async def _write_vectors(session: Session, target: Target, rows: Sequence[Values]) -> None:
    """Store the vectors of the model that serves; memories without one stay in the queue."""
    used = {row["memory_id"]: row["vector"] for row in rows if row["model_id"] == target.model_id}
    if not used or target.model_id is None:
        return
    engine_id = target.name.engine
    memories = table_of(MEMORY.table)
    statement = select(memories.c.memory_id, memories.c.fact).where(
        memories.c.engine_id == engine_id, memories.c.memory_id.in_(list(used))
    )
    places = {row[0]: row[1] for row in await session.execute(statement)}
    given = {
        memory_id: (places[memory_id], Vector(np.asarray(vector, np.float32)))
        for memory_id, vector in used.items()
        if places.get(memory_id) is not None
    }
    if given.keys() != used.keys():
        message = "memoryId must name a live memory with a fact."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
    length = await engines.find_length(session, target.model_id)
    if any(len(vector) != length for vector in used.values()):
        message = "vector has another length than its model's other vectors."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
    ids = list(given)
    done = await vectors.embed(session, engine_id, target.model_id, given, target.now)
    await vectors.end_waits(session, engine_id, ids, done, target.now)


async def _placed_pages(session: Session, target: Target, rows: Sequence[Values]) -> list[Values]:
    """Return pages with the places of their artifacts.

    Raises:
        InvalidArgument: an artifact is not in the engine.
    """
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
    """Return the artifacts whose bytes are in the archive, to be cut into chunks at the end."""
    kept = [row for row in rows if row[OMITTED] is None]
    return [
        {**{name: row[name] for name in row if name != OMITTED}, "state": _INDEXING} for row in kept
    ]


async def _named_operations(_: Session, target: Target, rows: Sequence[Values]) -> list[Values]:
    """Return operations of the engine that is written to."""
    return [
        {**row, "engine_name": str(target.name), "due_time": row["create_time"]} for row in rows
    ]


async def _most_usage(session: Session, target: Target, rows: Sequence[Values]) -> list[Values]:
    """Return usage with the larger of each number and the engine's own.

    What the engine has used today still counts against its budget.
    """
    table = table_of(USAGE.table)
    own = await session.execute(select(table).where(table.c.engine_id == target.name.engine))
    known = {tuple(row[name] for name in USAGE.key): row for row in own.mappings()}

    def larger(row: Values) -> Values:
        other = known.get(USAGE.key_of(row), row)
        # A cost that is not known stays so.
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
"""By kind: what completes its rows by what the archive does not know."""
_TAKEN = {USAGE.name: Conflict(("engine_id", *USAGE.key), _USED)}
"""By kind: the handling of rows that an empty engine may have."""
