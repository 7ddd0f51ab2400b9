"""Summaries of namespaces' contents: totals, first artifacts, and readability."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ARRAY, ColumnElement, Text, and_, cast, func, literal, select, true
from sqlalchemy.dialects.postgresql import JSONPATH

from app.adapters.db.session import Session
from app.artifacts.tasks.logic import ArtifactState
from app.artifacts.tasks.store.indexing import list_given_up
from app.artifacts.tasks.store.tables import ArtifactRow, is_readable
from app.kernel.names import TaskMemoryName

_MOST_INDEXING = 1_000


class ListedArtifact(NamedTuple):
    """An artifact listed in a reference; `sources` has the form of the column `derived_from`."""

    name: str
    kind: str
    media_type: str
    size_bytes: int
    token_estimate: int
    sources: list[dict[str, str]] | None


@dataclass
class Contents:
    """Totals and first artifacts of a namespace; `has_text`: for readers, or being indexed."""

    count: int
    bytes: int
    has_text: bool
    has_image: bool | None = None
    artifacts: list[ListedArtifact] = field(default_factory=list)


async def read_contents(
    session: Session, name: TaskMemoryName, namespaces: Sequence[str], now: datetime, limit: int
) -> dict[str, Contents]:
    """Return totals and the first `limit` artifacts of each of the given namespaces."""
    if not namespaces:
        return {}
    summaries = await _sums(session, name, namespaces, now)
    for namespace, listed in await _first_artifacts(session, name, list(summaries), now, limit):
        summaries[namespace].artifacts.append(listed)
    silent = [namespace for namespace, inside in summaries.items() if not inside.has_text]
    for namespace in await _still_indexing(session, name, silent, now):
        summaries[namespace].has_text = True
    return summaries


async def list_indexing_failed(session: Session, rows: Iterable[ArtifactRow]) -> Collection[str]:
    """Return the content ids of rows in state `indexing` that no worker will index any more."""
    indexing = [row for row in rows if row.state == ArtifactState.INDEXING]
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
            func.bool_or(row.is_image),
        )
        .where(_is_of(name), row.namespace.in_(namespaces), is_readable(now))
        .group_by(row.namespace)
    )
    return {
        namespace: Contents(count, int(length), has_text=has_text, has_image=has_image)
        for namespace, count, length, has_text, has_image in await session.execute(statement)
    }


async def _first_artifacts(
    session: Session, name: TaskMemoryName, namespaces: Sequence[str], now: datetime, limit: int
) -> list[tuple[str, ListedArtifact]]:
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
        .where(_is_of(name), row.namespace == asked, is_readable(now))
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
    return [(values[0], ListedArtifact(*values[1:])) for values in await session.execute(statement)]


async def _still_indexing(
    session: Session, name: TaskMemoryName, namespaces: Sequence[str], now: datetime
) -> set[str]:
    row = ArtifactRow
    statement = (
        select(row.content_id, row.namespace)
        .where(
            _is_of(name),
            row.namespace.in_(namespaces),
            row.state == ArtifactState.INDEXING,
            row.expire_time > now,
        )
        # The indexing of the newest is least likely to have been given up.
        .order_by(row.content_id.desc())
        .limit(_MOST_INDEXING)
    )
    content_namespaces = (
        {values[0]: values[1] for values in await session.execute(statement)} if namespaces else {}
    )
    if not content_namespaces:
        return set()
    for content_id in await list_given_up(session, name.engine.engine, content_namespaces):
        del content_namespaces[content_id]
    return set(content_namespaces.values())


def _is_of(name: TaskMemoryName) -> ColumnElement[bool]:
    return and_(ArtifactRow.engine_id == name.engine.engine, ArtifactRow.memory == name.memory)
