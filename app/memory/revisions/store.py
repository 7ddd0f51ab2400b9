"""Statements that read revisions and their labels."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, ScalarSelect, and_, exists, func, literal, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.filter_fields import (
    EnumField,
    MapField,
    TextField,
    TimestampField,
)
from app.adapters.db.filters import Fields
from app.adapters.db.lists import ROW_BYTES, Key, List, ReadRows, Slice, read_page
from app.adapters.db.resource_fields import OptionalResourceField, ResourceField
from app.adapters.db.session import Session
from app.kernel.errors import NotFound
from app.kernel.names import EngineName, RevisionName
from app.kernel.text import after_all_with
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import Action
from app.memory.memories.store.repository import is_known
from app.memory.memories.store.tables import MemoryRow, RevisionLabelRow, RevisionRow


@dataclass(frozen=True)
class ReadRevision:
    """A revision, with its memory's scope; `has_fact` is False for structured content alone."""

    row: RevisionRow
    scope: dict[str, str]
    has_fact: bool

    @property
    def create_time(self) -> datetime:
        """First part of the key of a list of all memories' revisions."""
        return self.row.create_time

    @property
    def revision_id(self) -> int:
        """Second part of this key."""
        return self.row.revision_id

    @property
    def version(self) -> int:
        """The key of a list of one memory's revisions."""
        return self.row.version


def _has_label(key: str, value: str) -> ColumnElement[bool]:
    return exists().where(
        RevisionLabelRow.engine_id == RevisionRow.engine_id,
        RevisionLabelRow.revision_id == RevisionRow.revision_id,
        RevisionLabelRow.key == key,
        RevisionLabelRow.value == value,
    )


_FIELDS: Fields = {
    "labels": MapField(RevisionRow.labels, _has_label),
    "action": EnumField(RevisionRow.action, tuple(Action)),
    "author": TextField(RevisionRow.author),
    "caller": TextField(RevisionRow.caller),
    "create_time": TimestampField(RevisionRow.create_time),
    "scope": memories.FILTER_FIELDS["scope"],
}
_OF_MEMORY = r"memories/([^/]+)"
_OF_OPERATION = r"(?:(?:memories|sessions)/[^/]+/)?operations/([^/]+)"


def revisions(engine: EngineName, memory_id: str | None) -> List:
    """Return the list of a memory's revisions; without `memory_id`, of all memories' revisions."""
    operation = OptionalResourceField(RevisionRow.operation_id, engine, _OF_OPERATION)
    fields: Fields = {**_FIELDS, "operation": operation}
    key: Key = (RevisionRow.version,)
    if memory_id is None:
        fields = {**fields, "memory": ResourceField(RevisionRow.memory_id, engine, _OF_MEMORY)}
        # Ids are ordered only within one process.
        key = (RevisionRow.create_time, RevisionRow.revision_id)
    return List("revisions", key, is_descending=True, fields=fields, may_scan=True)


async def get(session: Session, name: RevisionName, now: datetime) -> RevisionRow:
    """Return a revision that has not expired."""
    row = await find(session, name, now)
    if row is None:
        raise NotFound.of(name)
    return row


async def find(session: Session, name: RevisionName, now: datetime) -> RevisionRow | None:
    """Return a revision, or None if it does not exist or has expired."""
    statement = select(RevisionRow).where(
        RevisionRow.engine_id == name.memory.engine.engine,
        RevisionRow.revision_id == name.revision,
        RevisionRow.memory_id == name.memory.memory,
        RevisionRow.expire_time > now,
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def latest_ids(
    session: Session, engine_id: int, memory_ids: Sequence[str], now: datetime
) -> dict[str, int]:
    """Return the id of each memory's newest unexpired revision, if it has one."""
    if not memory_ids:
        return {}
    statement = (
        select(RevisionRow.memory_id, RevisionRow.revision_id)
        .ext(distinct_on(RevisionRow.memory_id))
        .where(
            RevisionRow.engine_id == engine_id,
            RevisionRow.memory_id.in_(memory_ids),
            RevisionRow.expire_time > now,
        )
        .order_by(RevisionRow.memory_id, RevisionRow.version.desc())
    )
    return {row.memory_id: row.revision_id for row in await session.execute(statement)}


async def latest_facts(
    session: Session, engine_id: int, memory_ids: Sequence[str], count: int, now: datetime
) -> dict[str, list[str]]:
    """Return the facts of memories before their current fact, newest first.

    Only the newest `count` revisions of each memory are read; repeated facts appear once.
    """
    place = func.row_number().over(
        partition_by=RevisionRow.memory_id, order_by=RevisionRow.version.desc()
    )
    newest = (
        select(RevisionRow.memory_id, RevisionRow.fact, place.label("place"))
        .where(
            RevisionRow.engine_id == engine_id,
            RevisionRow.memory_id.in_(memory_ids),
            RevisionRow.expire_time > now,
        )
        .subquery()
    )
    rows = await session.execute(
        select(newest.c.memory_id, newest.c.fact)
        .where(newest.c.place <= count, newest.c.fact.is_not(None))
        .order_by(newest.c.memory_id, newest.c.place)
    )
    by_memory: dict[str, list[str]] = {}
    for memory_id, fact in rows:
        facts = by_memory.setdefault(memory_id, [])
        if fact not in facts:
            facts.append(fact)
    return {memory_id: facts[1:] for memory_id, facts in by_memory.items()}


async def read_revisions(
    session: Session, engine_id: int, memory_id: str | None, now: datetime, page: Slice
) -> ReadRows[ReadRevision]:
    """Return a page of readable revisions; without `memory_id`, of all memories."""
    of_memory = and_(
        MemoryRow.engine_id == RevisionRow.engine_id, MemoryRow.memory_id == RevisionRow.memory_id
    )
    statement = (
        select(RevisionRow, MemoryRow.scope, MemoryRow.fact.is_not(None))
        .join(MemoryRow, of_memory)
        .where(
            RevisionRow.engine_id == engine_id,
            MemoryRow.engine_id == engine_id,
            RevisionRow.expire_time > now,
            memories.is_known(now),
        )
    )
    if memory_id is not None:
        statement = statement.where(
            RevisionRow.memory_id == memory_id, MemoryRow.memory_id == memory_id
        )
    return await read_page(session, statement, page, made=_as_revision)


def _as_revision(row: tuple[RevisionRow, dict[str, str], bool]) -> ReadRevision:
    revision, scope, has_fact, *_ = row
    return ReadRevision(revision, scope, has_fact)


KEYS = List("revisionLabels", (RevisionLabelRow.key,))
VALUES = List("revisionLabels", (RevisionLabelRow.value,))
"""The values of one key."""


@dataclass(frozen=True)
class WantedLabels:
    """The labels to list, by prefix, of readable revisions: keys, or the values of a `key`."""

    engine_id: int
    key: str | None
    prefix: str
    now: datetime


async def read_labels(session: Session, wanted: WantedLabels, page: Slice) -> ReadRows[Row[Any]]:
    """Return a page of the distinct keys or values of readable revisions."""
    # Not `read_page`, since many rows have the same entry. Each recursion step looks up the
    # next entry in the index: the time depends on the length of the page, not on the number of
    # revisions.
    (column,) = page.key
    first = column >= wanted.prefix if page.after is None else column > page.after[0]
    entries = select(
        _next(wanted, column, first).label(column.key), literal(1).label("number")
    ).cte("entries", recursive=True)
    last = entries.c[column.key]
    entries = entries.union_all(
        select(_next(wanted, column, column > last), entries.c.number + 1).where(
            last.is_not(None), entries.c.number < page.limit
        )
    )
    entry = entries.c[column.key]
    statement = select(entry).where(entry.is_not(None)).order_by(entries.c.number)
    rows = (await session.execute(statement)).all()
    return page.fitting(rows, [len(json.dumps(value)) + ROW_BYTES for (value,) in rows])


def _next(
    wanted: WantedLabels, column: InstrumentedAttribute[str], bound: ColumnElement[bool]
) -> ScalarSelect[str]:
    end = after_all_with(wanted.prefix)
    of_revision = and_(
        RevisionRow.engine_id == RevisionLabelRow.engine_id,
        RevisionRow.revision_id == RevisionLabelRow.revision_id,
    )
    of_memory = and_(
        MemoryRow.engine_id == RevisionRow.engine_id, MemoryRow.memory_id == RevisionRow.memory_id
    )
    statement = (
        select(column)
        .join(RevisionRow, of_revision)
        .join(MemoryRow, of_memory)
        .where(
            RevisionLabelRow.engine_id == wanted.engine_id,
            RevisionRow.engine_id == wanted.engine_id,
            MemoryRow.engine_id == wanted.engine_id,
            RevisionRow.expire_time > wanted.now,
            is_known(wanted.now),
            bound,
        )
        .order_by(column)
        .limit(1)
    )
    if wanted.key is not None:
        statement = statement.where(RevisionLabelRow.key == wanted.key)
    if end is not None:
        statement = statement.where(column < end)
    return statement.scalar_subquery()
