"""Deletion of task memories, namespaces and artifacts on request."""

from dataclasses import dataclass

from app.adapters.db.clock import database_now
from app.adapters.db.lists import list_page
from app.adapters.db.pages import Slice
from app.artifacts.tasks.services.namespace_writes import check_content_etag
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.store import erasure, repository
from app.kernel.errors import NotFound
from app.kernel.etags import check_etag
from app.kernel.idempotency import IdempotencyKey
from app.kernel.task_names import ArtifactName, NamespaceName, TaskMemoryName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.store import idempotency

_NAMESPACES_AT_ONCE = 100


@dataclass(frozen=True)
class RemovalService:
    """Permanent deletion on behalf of callers."""

    tasks: TaskService

    async def delete_memory(self, name: TaskMemoryName, once: IdempotencyKey | None) -> None:
        """Delete all namespaces of a memory that the caller can see; tool policies stay.

        Each namespace is deleted in its own transaction, to avoid blocking other requests while a
        large memory is deleted. The last transaction records the whole deletion.

        Raises:
            AlreadyExists: the request id was used with another request; no data is deleted.
            NotFound: the memory is empty.
        """
        # A retry must not delete content stored after the first request.
        removed = 0 if await self._is_repeated(name, once) else await self._remove(name)
        async with self.tasks.db.transaction() as session:
            engine = await engines.get(session, name.engine, Lock.SHARED)
            now = await database_now(session)
            is_repeated = await idempotency.claim(session, engine.engine_id, once, now) is not None
            if not removed and not is_repeated:
                raise NotFound.of(name)

    async def _is_repeated(self, name: TaskMemoryName, once: IdempotencyKey | None) -> bool:
        async with self.tasks.db.snapshot() as session:
            engine = await engines.get(session, name.engine)
            now = await database_now(session)
            return await idempotency.lookup(session, engine.engine_id, once, now) is not None

    async def _remove(self, name: TaskMemoryName) -> int:
        removed = 0
        while batch := await self._remove_some(name):
            removed += batch
        return removed

    async def _remove_some(self, name: TaskMemoryName) -> int:
        """Delete a batch of the oldest namespaces of a memory; return the count."""
        parts = self.tasks.db.in_parts()
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
        self, name: NamespaceName, etag: str | None, once: IdempotencyKey | None
    ) -> None:
        """Delete a namespace with all its content permanently.

        Raises:
            Aborted: the etag is stale.
            NotFound: the namespace does not exist.
        """
        async with self.tasks.db.transaction() as session:
            await engines.get(session, name.memory.engine, Lock.SHARED)
            now = await database_now(session)
            if await idempotency.claim(session, name.memory.engine.engine, once, now):
                return
            row = await repository.get_namespace(session, name, now, for_update=True)
            check_etag(row.version, etag)
            await erasure.remove_namespace(session, row)

    async def delete_artifact(
        self, name: ArtifactName, etag: str | None, once: IdempotencyKey | None
    ) -> None:
        """Delete an artifact permanently, and its namespace if it was the last artifact.

        Raises:
            Aborted: the etag is stale.
            NotFound: the artifact does not exist.
        """
        engine_id = name.namespace.memory.engine.engine
        async with self.tasks.db.transaction() as session:
            await engines.get(session, name.namespace.memory.engine, Lock.SHARED)
            now = await database_now(session)
            if await idempotency.claim(session, engine_id, once, now):
                return
            namespace = await repository.find_namespace(
                session, name.namespace, now, for_update=True
            )
            row = await repository.get_artifact(session, name, now, for_update=True)
            assert namespace is not None, "every artifact belongs to an existing namespace"
            check_content_etag(row, etag)
            await erasure.remove_artifact(session, namespace, row)
            namespace = await self.tasks.places.uncount(session, namespace, row)
            await erasure.remove_if_empty(session, namespace)
