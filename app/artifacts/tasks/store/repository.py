"""Statements on namespaces, artifacts and policies of tools, but not on pages and chunks."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Select,
    Text,
    and_,
    any_,
    case,
    delete,
    exists,
    false,
    func,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by, insert

from app.adapters.db.bulk import any_of, insert_drawn_rows
from app.adapters.db.conditions import check_scope, conditions_of
from app.adapters.db.lists import List, ReadRows, Slice, read_page
from app.adapters.db.session import Session
from app.artifacts.tasks.logic import ArtifactState
from app.artifacts.tasks.store.contents import PAGE_BYTES
from app.artifacts.tasks.store.tables import (
    ArtifactRow,
    ContentPlace,
    NamespaceRow,
    PageRow,
    ToolPolicyRow,
    is_in,
    is_readable,
)
from app.kernel.errors import Aborted, AlreadyExists, NotFound, Reason
from app.kernel.ids import NO_BUCKET, new_id
from app.kernel.names import ArtifactName, EngineName, NamespaceName, TaskMemoryName, ToolPolicyName

_TRIES = 2
"""Attempts to create a namespace that other requests delete at the same time."""
MEMORIES = List("taskMemories", (NamespaceRow.memory,))
NAMESPACES = List(
    "namespaces",
    (NamespaceRow.create_time, NamespaceRow.namespace),
    is_descending=True,
    max_size=100,
)
ARTIFACTS = List("artifacts", (ArtifactRow.ordinal, ArtifactRow.content_id))
_DIGESTED_BYTES = 16 * 1024**2


class MemorySums(NamedTuple):
    """Name of a memory, and its number of namespaces, artifacts and bytes."""

    memory: str
    namespaces: int
    artifacts: int
    length: int


# Namespaces


async def get_namespace(
    session: Session, name: NamespaceName, now: datetime, *, for_update: bool = False
) -> NamespaceRow:
    """Return a namespace, or raise NotFound if it does not exist or is empty."""
    row = await find_namespace(session, name, now, for_update=for_update)
    if row is None:
        raise NotFound.of(name)
    return row


async def find_namespace(
    session: Session, name: NamespaceName, now: datetime, *, for_update: bool = False
) -> NamespaceRow | None:
    """Return a namespace, or None if it does not exist or is empty."""
    statement = select(NamespaceRow).where(is_in(NamespaceRow, name), _is_there(now))
    if for_update:
        statement = statement.with_for_update()
    return (await session.execute(statement)).scalar_one_or_none()


async def begin_namespace(
    session: Session, name: NamespaceName, values: Mapping[str, Any]
) -> tuple[NamespaceRow, bool]:
    """Return a locked namespace, and True if this call created it.

    Raises:
        Aborted: other requests create and delete it at the same time.
        AlreadyExists: it exists, but the session's caller has no access to it.
        NotFound: the session's caller has no access to the user.
    """
    user = values["user_id"]
    if user is None and conditions_of(session):
        # A caller restricted to users may add to an existing namespace without naming its user.
        existing = await lock_namespace(session, name)
        if existing is not None:
            return existing, False
    check_scope(session, {} if user is None else {"user_id": user})
    key = {"engine_id": name.memory.engine.engine, "memory": name.memory.memory}
    given = {**key, "namespace": name.namespace, **values}
    statement = insert(NamespaceRow).values(given).on_conflict_do_nothing()
    for _ in range(_TRIES):
        made = (await session.execute(statement.returning(NamespaceRow))).scalar_one_or_none()
        if made is not None:
            return made, True
        row = await lock_namespace(session, name)
        if row is not None:
            return row, False
        # It was deleted meanwhile, or belongs to another user.
    if conditions_of(session):
        raise AlreadyExists(
            f"namespaces/{name.namespace} exists; choose another name.", Reason.ID_TAKEN
        )
    message = f"namespaces/{name.namespace} was deleted meanwhile; send the request again."
    raise Aborted(message, Reason.CONCURRENT_CHANGE)


async def lock_namespace(session: Session, name: NamespaceName) -> NamespaceRow | None:
    """Return a locked namespace, which may be empty, or None."""
    statement = select(NamespaceRow).where(is_in(NamespaceRow, name)).with_for_update()
    return (await session.execute(statement)).scalar_one_or_none()


async def lock_for_upload(session: Session, name: NamespaceName) -> NamespaceRow:
    """Lock and return the namespace of this caller's upload, or raise Aborted if it is gone."""
    row = await lock_namespace(session, name)
    if row is None:
        raise gone_meanwhile()
    return row


def gone_meanwhile() -> Aborted:
    """Return the error for an upload after its namespace or row was deleted."""
    message = "The upload took too long, or its namespace was deleted; send it again."
    return Aborted(message, Reason.CONCURRENT_CHANGE)


async def update_namespace(
    session: Session, row: NamespaceRow, values: Mapping[str, Any]
) -> NamespaceRow:
    """Update a namespace that the caller has locked."""
    statement = (
        update(NamespaceRow)
        .where(is_in(NamespaceRow, row))
        .values(**values, version=NamespaceRow.version + 1)
        .returning(NamespaceRow)
        .execution_options(populate_existing=True, synchronize_session=False)
    )
    return (await session.execute(statement)).scalar_one()


def select_namespaces(name: TaskMemoryName, now: datetime) -> Select[NamespaceRow]:
    """Select the namespaces of a memory."""
    return select(NamespaceRow).where(_is_in_memory(name), _is_there(now))


async def list_memories(
    session: Session, engine: EngineName, now: datetime, page: Slice
) -> ReadRows[MemorySums]:
    """Return a page of an engine's memories, with their totals."""
    statement = _sums().where(NamespaceRow.engine_id == engine.engine, _is_there(now))
    statement = statement.group_by(NamespaceRow.memory)
    return await read_page(session, statement, page, made=_as_sums)


async def get_memory(session: Session, name: TaskMemoryName, now: datetime) -> MemorySums:
    """Return the totals of a memory, or raise NotFound if it is empty."""
    statement = _sums().where(_is_in_memory(name), _is_there(now)).group_by(NamespaceRow.memory)
    row = (await session.execute(statement)).first()
    if row is None:
        raise NotFound.of(name)
    return _as_sums(row)


async def has_any(session: Session, name: TaskMemoryName, now: datetime) -> bool:
    """Return True if a memory has a namespace that is not empty."""
    statement = select(NamespaceRow.namespace).where(_is_in_memory(name), _is_there(now))
    return (await session.execute(statement.limit(1))).first() is not None


def _sums() -> Any:  # noqa: ANN401 - a select of four columns
    row = NamespaceRow
    return select(row.memory, func.count(), func.sum(row.artifacts), func.sum(row.bytes))


def _as_sums(row: Any) -> MemorySums:  # noqa: ANN401 - as above
    return MemorySums(row[0], int(row[1]), int(row[2]), int(row[3]))


async def exists_any(session: Session, engine_id: int, now: datetime) -> bool:
    """Return True if an engine has any task memory."""
    statement = select(NamespaceRow.namespace).where(
        NamespaceRow.engine_id == engine_id, _is_there(now)
    )
    return (await session.execute(statement.limit(1))).first() is not None


def _is_in_memory(name: TaskMemoryName) -> ColumnElement[bool]:
    return and_(
        NamespaceRow.engine_id == name.engine.engine,
        NamespaceRow.memory == name.memory,
    )


def _is_there(now: datetime) -> ColumnElement[bool]:
    return and_(NamespaceRow.expire_time > now, NamespaceRow.artifacts > 0)


# Artifacts


async def get_artifact(
    session: Session, name: ArtifactName, now: datetime, *, for_update: bool = False
) -> ArtifactRow:
    """Return an artifact that is completely uploaded and has not expired, or raise NotFound."""
    row = await find_artifact(session, name, now, for_update=for_update)
    if row is None:
        raise NotFound.of(name)
    return row


async def find_artifact(
    session: Session, name: ArtifactName, now: datetime, *, for_update: bool = False
) -> ArtifactRow | None:
    """Return an artifact that is completely uploaded and has not expired, or None."""
    statement = select(ArtifactRow).where(
        is_in(ArtifactRow, name.namespace), ArtifactRow.name == name.artifact, is_readable(now)
    )
    if for_update:
        statement = statement.with_for_update(of=ArtifactRow)
    return (await session.execute(statement)).scalar_one_or_none()


def select_artifacts(name: NamespaceName, now: datetime) -> Select[ArtifactRow]:
    """Select the artifacts of a namespace."""
    return select(ArtifactRow).where(is_in(ArtifactRow, name), is_readable(now))


async def find_names(
    session: Session, name: NamespaceName, names: Sequence[str]
) -> dict[str, ArtifactRow]:
    """Return the completely uploaded artifacts of these names, expired ones included."""
    statement = select(ArtifactRow).where(
        is_in(ArtifactRow, name),
        ArtifactRow.name.in_(names),
        ArtifactRow.state != ArtifactState.UPLOADING,
    )
    return {row.name: row for row in (await session.execute(statement)).scalars()}


async def insert_artifacts(
    session: Session, namespace: NamespaceRow, now: datetime, rows: Sequence[Mapping[str, Any]]
) -> list[ContentPlace]:
    """Insert artifacts into a namespace that the caller has locked; return their places."""
    engine_id, memory, name = namespace.engine_id, namespace.memory, namespace.namespace
    drawn = [
        {
            **row,
            "engine_id": engine_id,
            "memory": memory,
            "namespace": name,
            "content_id": str(new_id(now, NO_BUCKET)),
        }
        for row in rows
    ]
    await insert_drawn_rows(ArtifactRow, session, drawn, "content_id")
    return [ContentPlace(engine_id, memory, name, row["content_id"]) for row in drawn]


async def lock_content(session: Session, engine_id: int, content_id: str) -> ArtifactRow | None:
    """Lock and return the artifact with a content id, in any state."""
    statement = (
        select(ArtifactRow)
        .where(ArtifactRow.engine_id == engine_id, ArtifactRow.content_id == content_id)
        .with_for_update(of=ArtifactRow)
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def set_expiry(session: Session, name: NamespaceName, until: datetime, now: datetime) -> None:
    """Set the expiry of all artifacts in a namespace that the caller has locked."""
    await session.execute(
        update(ArtifactRow)
        .where(is_in(ArtifactRow, name), is_readable(now))
        .values(expire_time=until)
        .execution_options(synchronize_session=False)
    )


async def update_artifact(
    session: Session, row: ArtifactRow, values: Mapping[str, Any]
) -> ArtifactRow:
    """Update an artifact that the caller has locked."""
    statement = (
        update(ArtifactRow)
        .where(ArtifactRow.engine_id == row.engine_id, ArtifactRow.content_id == row.content_id)
        .values(**values)
        .returning(ArtifactRow)
        .execution_options(populate_existing=True, synchronize_session=False)
    )
    return (await session.execute(statement)).scalar_one()


# Counts and expiry times; the caller has locked the namespace


async def sum_coming(
    session: Session, row: NamespaceRow, now: datetime, but: str | None = None
) -> tuple[int, int]:
    """Return the number and bytes of uploads under way into a namespace, except `but`."""
    statement = select(func.count(), func.coalesce(func.sum(ArtifactRow.size_bytes), 0)).where(
        is_in(ArtifactRow, row),
        # Needed to use the index.
        ArtifactRow.ordinal == 0,
        ArtifactRow.state == ArtifactState.UPLOADING,
        ArtifactRow.expire_time > now,
        ArtifactRow.content_id != (but or ""),
    )
    totals = (await session.execute(statement)).one()
    return int(totals[0]), int(totals[1])


async def latest_expiry(session: Session, row: NamespaceRow) -> datetime | None:
    """Return the latest expiry in a namespace; uploads count only if there are no artifacts."""
    latest = func.max(ArtifactRow.expire_time)
    whole = latest.filter(ArtifactRow.state != ArtifactState.UPLOADING)
    statement = select(func.coalesce(whole, latest)).where(is_in(ArtifactRow, row))
    return (await session.execute(statement)).scalar_one()


async def earliest_expiry(session: Session, row: NamespaceRow, now: datetime) -> datetime | None:
    """Return the earliest expiry among a namespace's readable artifacts."""
    statement = select(func.min(ArtifactRow.expire_time)).where(
        is_in(ArtifactRow, row), is_readable(now)
    )
    return (await session.execute(statement)).scalar_one()


async def has_lost_source(session: Session, name: NamespaceName, artifacts: Sequence[str]) -> bool:
    """Return True if any of the artifacts has lost a source.

    Locks the artifacts until the transaction ends: if a source is deleted meanwhile, the deletion
    also marks new artifacts derived from them.
    """
    row = ArtifactRow
    statement = (
        select(row.source_deleted)
        .where(
            is_in(row, name),
            row.name == any_(literal(artifacts, ARRAY(Text))),
            row.origin.is_not(None),
        )
        .with_for_update(read=True, of=row)
    )
    return any((await session.execute(statement)).scalars())


async def find_incomplete(session: Session, engine_id: int) -> str | None:
    """Return the name, in its engine, of an artifact with pages that do not match it, or None.

    The digests of long artifacts are not checked: Postgres would need as much memory.
    """
    of_it = and_(PageRow.engine_id == engine_id, PageRow.content_id == ArtifactRow.content_id)
    length = func.octet_length(PageRow.data)
    # All pages but the last are full.
    expected = func.least(PAGE_BYTES, ArtifactRow.size_bytes - PageRow.page * PAGE_BYTES)
    count = select(func.count()).where(of_it).scalar_subquery()
    data = func.string_agg(PageRow.data, aggregate_order_by(literal(b""), PageRow.page))
    digest = select(func.sha256(func.coalesce(data, literal(b"")))).where(of_it).scalar_subquery()
    has_wrong_digest = case(
        (ArtifactRow.size_bytes <= _DIGESTED_BYTES, ArtifactRow.sha256 != digest), else_=false()
    )
    statement = (
        select(ArtifactRow.memory, ArtifactRow.namespace, ArtifactRow.name)
        .where(
            ArtifactRow.engine_id == engine_id,
            or_(
                count * PAGE_BYTES - ArtifactRow.size_bytes >= PAGE_BYTES,
                count * PAGE_BYTES < ArtifactRow.size_bytes,
                exists().where(of_it, length != expected),
                has_wrong_digest,
            ),
        )
        .limit(1)
    )
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else "taskMemories/{}/namespaces/{}/artifacts/{}".format(*row)


async def count_again(session: Session, engine_id: int) -> None:
    """Recompute the counts of each namespace from its artifacts."""
    of_it = is_in(ArtifactRow, NamespaceRow)
    count = select(func.count()).where(of_it).scalar_subquery()
    size = select(func.coalesce(func.sum(ArtifactRow.size_bytes), 0)).where(of_it)
    await session.execute(
        update(NamespaceRow)
        .where(NamespaceRow.engine_id == engine_id)
        .values(artifacts=count, bytes=size.scalar_subquery())
        .execution_options(synchronize_session=False)
    )


async def list_begun(
    session: Session, engine_id: int
) -> Sequence[tuple[NamespaceRow, ArtifactRow]]:
    """Return the artifacts in state `indexing`, with their namespaces."""
    statement = (
        select(NamespaceRow, ArtifactRow)
        .join(
            ArtifactRow,
            is_in(ArtifactRow, NamespaceRow),
        )
        .where(NamespaceRow.engine_id == engine_id, ArtifactRow.state == ArtifactState.INDEXING)
    )
    return [(row[0], row[1]) for row in await session.execute(statement)]


async def make_ready(session: Session, engine_id: int, content_ids: Sequence[str]) -> None:
    """Mark artifacts without text ready."""
    if not content_ids:
        return
    await session.execute(
        update(ArtifactRow)
        .where(ArtifactRow.engine_id == engine_id, ArtifactRow.content_id == any_of(content_ids))
        .values(state=ArtifactState.READY)
        .execution_options(synchronize_session=False)
    )


async def find(
    session: Session, name: ToolPolicyName, *, for_update: bool = False
) -> ToolPolicyRow | None:
    """Return the policy of a tool, or None."""
    statement = select(ToolPolicyRow).where(_is_policy(name))
    if for_update:
        statement = statement.with_for_update()
    return (await session.execute(statement)).scalar_one_or_none()


async def put(session: Session, name: ToolPolicyName, values: Mapping[str, Any]) -> ToolPolicyRow:
    """Set the policy of a tool."""
    key = {
        "engine_id": name.memory.engine.engine,
        "memory": name.memory.memory,
        "tool": name.tool,
    }
    inserted = insert(ToolPolicyRow).values({**key, **values, "version": 1})
    statement = inserted.on_conflict_do_update(
        index_elements=list(key),
        set_={
            **{column: inserted.excluded[column] for column in values if column != "create_time"},
            "version": ToolPolicyRow.version + 1,
        },
    ).returning(ToolPolicyRow)
    options = {"populate_existing": True}
    return (await session.execute(statement, execution_options=options)).scalar_one()


POLICIES = List("toolPolicies", (ToolPolicyRow.tool,))


def select_policies(name: TaskMemoryName) -> Select[ToolPolicyRow]:
    """Select the policies of a memory."""
    return select(ToolPolicyRow).where(
        ToolPolicyRow.engine_id == name.engine.engine, ToolPolicyRow.memory == name.memory
    )


async def remove(session: Session, name: ToolPolicyName) -> None:
    """Remove the policy of a tool."""
    await session.execute(delete(ToolPolicyRow).where(_is_policy(name)))


def _is_policy(name: ToolPolicyName) -> ColumnElement[bool]:
    return and_(
        ToolPolicyRow.engine_id == name.memory.engine.engine,
        ToolPolicyRow.memory == name.memory.memory,
        ToolPolicyRow.tool == name.tool,
    )
