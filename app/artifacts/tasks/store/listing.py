"""What is told of the content of namespaces: sums, first artifacts, and whether it can be read.

All functions take part in the caller's transaction.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ARRAY, ColumnElement, Text, and_, cast, func, literal, select, true
from sqlalchemy.dialects.postgresql import JSONPATH

from app.adapters.db.session import Session
from app.artifacts.tasks.logic.kinds import State
from app.artifacts.tasks.store.indexing import list_given_up
from app.artifacts.tasks.store.tables import ArtifactRow
from app.kernel.task_names import TaskMemoryName

_MOST_INDEXING = 1_000


class Listed(NamedTuple):
    """An artifact, as a reference lists it; `sources` as the column `derived_from` has them."""

    name: str
    kind: str
    media_type: str
    size_bytes: int
    token_estimate: int
    sources: list[dict[str, str]] | None


@dataclass
class Contents:
    """What is in a namespace: how many artifacts and bytes, and the first artifacts.

    `has_text`: whether readers can be given a text of any, now or soon.
    """

    count: int
    bytes: int
    has_text: bool
    artifacts: list[Listed] = field(default_factory=list)


async def read_contents(
    session: Session, name: TaskMemoryName, namespaces: Sequence[str], now: datetime, limit: int
) -> dict[str, Contents]:
    """Return what is in namespaces of a memory: of each the first `limit`, and the sums of all."""
    if not namespaces:
        return {}
    found = await _sums(session, name, namespaces, now)
    for namespace, listed in await _first(session, name, list(found), now, limit):
        found[namespace].artifacts.append(listed)
    silent = [one for one, inside in found.items() if not inside.has_text]
    for namespace in await _indexing(session, name, silent, now):
        found[namespace].has_text = True
    return found


async def list_silent(session: Session, rows: Iterable[ArtifactRow]) -> Collection[str]:
    """Return those of an engine's contents whose texts no worker cuts any more, and no other."""
    indexing = [row for row in rows if row.state == State.INDEXING]
    if not indexing:
        return ()
    return await list_given_up(session, indexing[0].engine_id, [row.content_id for row in indexing])


async def _sums(
    session: Session, name: TaskMemoryName, namespaces: Sequence[str], now: datetime
) -> dict[str, Contents]:
    row = ArtifactRow
    statement = (
        select(
            row.namespace,
            func.count(),
            func.sum(row.size_bytes),
            func.bool_or(row.chunks > 0),
        )
        .where(_is_of(name), row.namespace.in_(namespaces), _is_readable(now))
        .group_by(row.namespace)
    )
    return {
        namespace: Contents(count, int(length), has_text=has_text)
        for namespace, count, length, has_text in await session.execute(statement)
    }


async def _first(
    session: Session, name: TaskMemoryName, namespaces: Sequence[str], now: datetime, limit: int
) -> list[tuple[str, Listed]]:
    """Return the first artifacts of each, in their order, with so many of their sources at most."""
    row = ArtifactRow
    asked = func.unnest(literal(namespaces, ARRAY(Text))).column_valued("asked")
    sources: ColumnElement[Any] = func.jsonb_path_query_array(
        row.derived_from, cast(literal(f"$[0 to {limit - 1}]"), JSONPATH)
    )
    its = (
        select(
            row.ordinal,
            row.content_id,
            row.name,
            row.kind,
            row.media_type,
            row.size_bytes,
            row.token_estimate,
            sources.label("sources"),
        )
        .where(_is_of(name), row.namespace == asked, _is_readable(now))
        .order_by(row.ordinal, row.content_id)
        .limit(limit)
        .lateral("its")
    )
    statement = (
        select(
            asked,
            its.c.name,
            its.c.kind,
            its.c.media_type,
            its.c.size_bytes,
            its.c.token_estimate,
            its.c.sources,
        )
        .join(its, true())
        .order_by(asked, its.c.ordinal, its.c.content_id)
    )
    return [(found[0], Listed(*found[1:])) for found in await session.execute(statement)]


async def _indexing(
    session: Session, name: TaskMemoryName, namespaces: Sequence[str], now: datetime
) -> set[str]:
    """Return those of the namespaces that have a text which a worker will cut, or cuts."""
    row = ArtifactRow
    statement = (
        select(row.content_id, row.namespace)
        .where(
            _is_of(name),
            row.namespace.in_(namespaces),
            row.state == State.INDEXING,
            row.expire_time > now,
        )
        # The newest have not been given up most likely.
        .order_by(row.content_id.desc())
        .limit(_MOST_INDEXING)
    )
    found = {one[0]: one[1] for one in await session.execute(statement)} if namespaces else {}
    if not found:
        return set()
    for content_id in await list_given_up(session, name.engine.engine, found):
        del found[content_id]
    return set(found.values())


def _is_of(name: TaskMemoryName) -> ColumnElement[bool]:
    return and_(ArtifactRow.engine_id == name.engine.engine, ArtifactRow.memory == name.memory)


def _is_readable(now: datetime) -> ColumnElement[bool]:
    return and_(ArtifactRow.state != State.UPLOADING, ArtifactRow.expire_time > now)
