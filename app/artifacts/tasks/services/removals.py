"""Deletion of task memories, namespaces and artifacts on request."""

from app.adapters.db.clock import database_now
from app.adapters.db.lists import Slice, list_page
from app.artifacts.tasks.services.namespace_writes import check_content_etag
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.store import erasure, repository
from app.kernel.changes import IdempotencyKey, check_etag
from app.kernel.errors import NotFound
from app.kernel.names import ArtifactName, NamespaceName, TaskMemoryName
from app.platform.engines.store import repository as engines
from app.platform.operations.services.mutation import write

_NAMESPACES_AT_ONCE = 100


async def delete_memory(
    tasks: TaskService, name: TaskMemoryName, once: IdempotencyKey | None
) -> None:
    """Delete all namespaces of a memory that the caller can see; tool policies stay.

    Each namespace is deleted in its own transaction, to avoid blocking other requests. The last
    transaction records the whole deletion.

    Raises:
        AlreadyExists: the request id was used with another request; no data is deleted.
        NotFound: the memory is empty.
    """
    # A retry must not delete content stored after the first request.
    removed = 0 if await tasks.seen(name.engine, once) else await _remove(tasks, name)
    async with write(tasks, engines.locked(name.engine), once) as change:
        if not removed and change.replayed is None:
            raise NotFound.of(name)


async def _remove(tasks: TaskService, name: TaskMemoryName) -> int:
    removed = 0
    while batch := await _remove_some(tasks, name):
        removed += batch
    return removed


async def _remove_some(tasks: TaskService, name: TaskMemoryName) -> int:
    parts = tasks.db.in_parts()
    oldest = Slice(repository.NAMESPACES.key, _NAMESPACES_AT_ONCE)
    async with parts.snapshot() as session:
        await engines.get(session, name.engine)
        now = await database_now(session)
        statement = repository.select_namespaces(name, now)
        rows, _ = await list_page(session, statement, oldest)
    for row in rows:
        async with parts.transaction() as session:
            namespace = await repository.find_namespace(
                session, NamespaceName(name, row.namespace), now, for_update=True
            )
            if namespace is not None:
                await erasure.remove_namespace(session, namespace)
    return len(rows)


async def delete_namespace(
    tasks: TaskService, name: NamespaceName, etag: str | None, once: IdempotencyKey | None
) -> None:
    """Delete a namespace with all its content permanently; raise Aborted for a stale etag."""
    async with write(tasks, engines.locked(name.memory.engine), once) as change:
        if change.replayed is not None:
            return
        session, now = change.session, await database_now(change.session)
        row = await repository.get_namespace(session, name, now, for_update=True)
        check_etag(row.version, etag)
        await erasure.remove_namespace(session, row)


async def delete_artifact(
    tasks: TaskService, name: ArtifactName, etag: str | None, once: IdempotencyKey | None
) -> None:
    """Delete an artifact permanently, and its namespace if it was the last; check the etag."""
    locked = engines.locked(name.namespace.memory.engine)
    async with write(tasks, locked, once) as change:
        if change.replayed is not None:
            return
        session, now = change.session, await database_now(change.session)
        namespace = await repository.find_namespace(session, name.namespace, now, for_update=True)
        row = await repository.get_artifact(session, name, now, for_update=True)
        assert namespace is not None, "every artifact belongs to an existing namespace"
        check_content_etag(row, etag)
        await erasure.remove_artifact(session, namespace, row)
        namespace = await tasks.places.uncount(session, namespace, row)
        await erasure.remove_if_empty(session, namespace)
