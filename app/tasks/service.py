"""What can be told of task memories, what holds for their namespaces, and their removal.

What writes artifacts is above this: `storing.py` and `uploads.py`.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core.auth import Caller
from app.core.clock import Clock
from app.core.errors import NotFound, PermissionDenied, Reason
from app.core.etags import check_etag
from app.core.names import ArtifactName, EngineName, NamespaceName, TaskMemoryName
from app.core.once import Once
from app.core.paging import PageRequest, clamp_page_size, decode_token, encode_token, typed_key
from app.core.permissions import Permission
from app.db.pages import Slice
from app.db.session import Database, Session
from app.engines import repository as engines
from app.engines.repository import Lock
from app.engines.schemas import name_of
from app.operations import repeats
from app.resources import Resources
from app.settings import Settings
from app.tasks import erasure, repository
from app.tasks.contents import Pages, Place
from app.tasks.places import Places, check_content_etag
from app.tasks.schemas import (
    MAX_LISTED,
    Artifact,
    ListArtifactsResponse,
    ListNamespacesResponse,
    ListTaskMemoriesResponse,
    Namespace,
    Reference,
    TaskMemory,
    UpdateNamespaceRequest,
)
from app.tasks.tables import ArtifactRow, NamespaceRow
from app.tasks.views import artifact_of, namespace_of, reference_of

MAX_NAMESPACE_PAGE = 100


@dataclass(frozen=True)
class TaskService:
    """Task memories, as their caller sees them."""

    db: Database
    clock: Clock
    settings: Settings

    @classmethod
    def of(cls, resources: Resources) -> "TaskService":
        """Build the service from the process's resources."""
        return cls(resources.db, resources.clock, resources.settings)

    @property
    def places(self) -> Places:
        """Where artifacts are put."""
        return Places(self.clock, self.settings)

    async def reference(self, session: Session, row: NamespaceRow, now: datetime) -> Reference:
        """Return what may be known of a namespace."""
        memory = TaskMemoryName(EngineName("-", "-", row.engine_id), row.memory)
        found = await repository.read_contents(session, memory, [row.namespace], now, MAX_LISTED)
        return reference_of(self.settings, row, found.get(row.namespace))

    # Task memories

    async def list_memories(self, name: EngineName, page: PageRequest) -> ListTaskMemoriesResponse:
        """Return a page of the memories that have something in them, by their names."""
        limit = clamp_page_size(page.size, maximum=self.settings.max_page_size)
        query = {"list": "taskMemories", "engine": name.engine}
        after = typed_key(decode_token(page.token, query), str)[0] if page.token else ""
        now = self.clock.now()
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name))
            found = await repository.list_memories(session, engine, now, limit + 1, after)
        return ListTaskMemoriesResponse(
            task_memories=[_memory_of(engine, sums) for sums in found[:limit]],
            next_page_token=encode_token(query, [found[limit - 1][0]])
            if len(found) > limit
            else None,
        )

    async def get_memory(self, name: TaskMemoryName) -> TaskMemory:
        """Return a memory that has something in it.

        Raises:
            NotFound: there is nothing in it.
        """
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.engine))
            return _memory_of(engine, await repository.get_memory(session, name, self.clock.now()))

    async def delete_memory(self, name: TaskMemoryName, once: Once | None) -> None:
        """Erase all namespaces of a memory that the caller sees; policies of tools stay.

        Each is a transaction of its own, so that a large memory holds nobody up; the last one tells
        of all.

        Raises:
            NotFound: there is nothing in it.
        """
        now = self.clock.now()
        removed = 0
        while batch := await self._remove_some(name, now):
            removed += batch
        async with self.db.transaction() as session:
            engine = await engines.get(session, name.engine, Lock.SHARED)
            is_repeated = await repeats.is_repeated(session, engine.engine_id, once, now)
            if not removed and not is_repeated:
                raise NotFound.of(name)

    async def _remove_some(self, name: TaskMemoryName, now: datetime) -> int:
        """Remove the oldest namespaces of a memory; return how many there were."""
        parts = self.db.in_parts()
        oldest = Slice[tuple[datetime, str]](MAX_NAMESPACE_PAGE, None, is_descending=False)
        async with parts.snapshot() as session:
            await engines.get(session, name.engine)
            rows = await repository.list_namespaces(session, name, now, oldest)
        for row in rows:
            async with parts.transaction() as session:
                found = await repository.find_namespace(
                    session, NamespaceName(name, row.namespace), now, for_update=True
                )
                if found is not None:
                    await erasure.remove_namespace(session, found)
        return len(rows)

    # Namespaces

    async def list_namespaces(
        self, name: TaskMemoryName, page: PageRequest
    ) -> ListNamespacesResponse:
        """Return a page of namespaces, newest first."""
        limit = clamp_page_size(page.size, maximum=MAX_NAMESPACE_PAGE)
        query = {"list": "namespaces", "memory": f"{name.engine.engine}/{name.memory}"}
        after = typed_key(decode_token(page.token, query), datetime, str) if page.token else None
        now = self.clock.now()
        async with self.db.snapshot() as session:
            memory = TaskMemoryName(name_of(await engines.get(session, name.engine)), name.memory)
            asked = Slice(limit + 1, after, is_descending=True)
            rows = await repository.list_namespaces(session, name, now, asked)
            shown = rows[:limit]
            inside = await repository.read_contents(
                session, name, [row.namespace for row in shown], now, MAX_LISTED
            )
        last = shown[-1] if len(rows) > limit else None
        return ListNamespacesResponse(
            namespaces=[
                namespace_of(self.settings, memory, row, inside.get(row.namespace)) for row in shown
            ],
            next_page_token=last and encode_token(query, [last.create_time, last.namespace]),
        )

    async def get_namespace(self, name: NamespaceName) -> Namespace:
        """Return a namespace.

        Raises:
            NotFound: there is none.
        """
        async with self.db.snapshot() as session:
            return await self._read_namespace(session, name, self.clock.now())

    async def update_namespace(
        self,
        name: NamespaceName,
        request: UpdateNamespaceRequest,
        etag: str | None,
        once: Once | None,
        caller: Caller,
    ) -> Namespace:
        """Change what holds for a namespace; what is not sent stays as it is.

        Raises:
            Aborted: the etag is stale.
            NotFound: there is none.
            PermissionDenied: it would become looser, and the caller may not do that.
        """
        now = self.clock.now()
        async with self.db.transaction() as session:
            await engines.get(session, name.memory.engine, Lock.SHARED)
            if not await repeats.is_repeated(session, name.memory.engine.engine, once, now):
                row = await repository.get_namespace(session, name, now, for_update=True)
                check_etag(row.version, etag)
                values = self._changed(request, now)
                if _loosens(row, values) and not caller.may(Permission.ENGINES_UPDATE):
                    raise PermissionDenied(
                        "What is set for a namespace can be loosened with engines.update only.",
                        Reason.PERMISSION_MISSING,
                        metadata={"permission": Permission.ENGINES_UPDATE.value},
                    )
                if "expire_time" in values:
                    await repository.set_expiry(session, name, values["expire_time"], now)
                await repository.update_namespace(session, row, {**values, "update_time": now})
            return await self._read_namespace(session, name, now)

    def _changed(self, request: UpdateNamespaceRequest, now: datetime) -> dict[str, Any]:
        """Return the columns that a request changes."""
        sent = request.model_fields_set
        columns = ("allowed_models", "embedding_model")
        values: dict[str, Any] = {one: getattr(request, one) for one in columns if one in sent}
        for flag in ("sensitive", "local_only"):
            if getattr(request, flag) is not None:
                values[flag] = getattr(request, flag)
        if request.ttl is not None:
            values["expire_time"] = self.places.expiry(request.ttl, now)
        return values

    async def delete_namespace(
        self, name: NamespaceName, etag: str | None, once: Once | None
    ) -> None:
        """Erase a namespace with all that is in it, beyond recovery.

        Raises:
            Aborted: the etag is stale.
            NotFound: there is none.
        """
        now = self.clock.now()
        async with self.db.transaction() as session:
            await engines.get(session, name.memory.engine, Lock.SHARED)
            if await repeats.is_repeated(session, name.memory.engine.engine, once, now):
                return
            row = await repository.get_namespace(session, name, now, for_update=True)
            check_etag(row.version, etag)
            await erasure.remove_namespace(session, row)

    async def _read_namespace(
        self, session: Session, name: NamespaceName, now: datetime
    ) -> Namespace:
        engine = await engines.get(session, name.memory.engine)
        row = await repository.get_namespace(session, name, now)
        inside = await repository.read_contents(
            session, name.memory, [name.namespace], now, MAX_LISTED
        )
        memory = TaskMemoryName(name_of(engine), name.memory.memory)
        return namespace_of(self.settings, memory, row, inside.get(row.namespace))

    # Artifacts

    async def list_artifacts(
        self, name: NamespaceName, page: PageRequest, caller: Caller
    ) -> ListArtifactsResponse:
        """Return a page of what is in a namespace, in the order in which it came.

        Raises:
            NotFound: there is no such namespace.
        """
        limit = clamp_page_size(page.size, maximum=self.settings.max_page_size)
        where = f"{name.memory.engine.engine}/{name.memory.memory}/{name.namespace}"
        query = {"list": "artifacts", "namespace": where}
        after = typed_key(decode_token(page.token, query), int, str) if page.token else None
        now = self.clock.now()
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.memory.engine))
            await repository.get_namespace(session, name, now)
            asked = Slice(limit + 1, after, is_descending=False)
            rows = await repository.list_artifacts(session, name, now, asked)
        last = rows[limit - 1] if len(rows) > limit else None
        stored = NamespaceName(TaskMemoryName(engine, name.memory.memory), name.namespace)
        return ListArtifactsResponse(
            artifacts=[self.shown(stored, row, caller) for row in rows[:limit]],
            next_page_token=last and encode_token(query, [last.ordinal, last.content_id]),
        )

    async def get_artifact(self, name: ArtifactName, caller: Caller) -> Artifact:
        """Return what may be known of an artifact.

        Raises:
            NotFound: there is none.
        """
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.namespace.memory.engine))
            row = await repository.get_artifact(session, name, self.clock.now())
        memory = TaskMemoryName(engine, name.namespace.memory.memory)
        return self.shown(NamespaceName(memory, name.namespace.namespace), row, caller)

    def shown(self, namespace: NamespaceName, row: ArtifactRow, caller: Caller) -> Artifact:
        """Return what a caller may know of an artifact."""
        may_see_content = caller.may(Permission.ARTIFACTS_CONTENT)
        return artifact_of(self.settings, namespace, row, may_see_content=may_see_content)

    async def find_content(self, name: ArtifactName) -> ArtifactRow:
        """Return an artifact whose content can be read.

        Raises:
            NotFound: there is none.
        """
        async with self.db.snapshot() as session:
            await engines.get(session, name.namespace.memory.engine)
            return await repository.get_artifact(session, name, self.clock.now())

    def read_content(self, row: ArtifactRow, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes of an artifact from `start` up to `end`, a page at a time.

        Raises:
            Aborted: it was deleted meanwhile.
        """
        return Pages(self.db, Place.of(row)).read(start, end)

    async def delete_artifact(
        self, name: ArtifactName, etag: str | None, once: Once | None
    ) -> None:
        """Erase an artifact, beyond recovery; with the last one, its namespace goes.

        Raises:
            Aborted: the etag is stale.
            NotFound: there is none.
        """
        now = self.clock.now()
        engine_id = name.namespace.memory.engine.engine
        async with self.db.transaction() as session:
            await engines.get(session, name.namespace.memory.engine, Lock.SHARED)
            if await repeats.is_repeated(session, engine_id, once, now):
                return
            namespace = await repository.find_namespace(
                session, name.namespace, now, for_update=True
            )
            row = await repository.get_artifact(session, name, now, for_update=True)
            assert namespace is not None, "an artifact is in a namespace that is there"
            check_content_etag(row, etag)
            await erasure.remove_artifact(session, namespace, row)
            namespace = await self.places.uncount(session, namespace, row)
            await erasure.remove_if_empty(session, namespace)


def _loosens(row: NamespaceRow, values: dict[str, Any]) -> bool:
    """Say whether a change lets more be done with a namespace than may be now."""
    flags = (flag for flag in ("sensitive", "local_only") if not values.get(flag, True))
    if any(getattr(row, flag) for flag in flags):
        return True
    if row.sensitive and values.get("expire_time", row.expire_time) > row.expire_time:
        # The policy of its tool may have said how long it is kept.
        return True
    if values.get("embedding_model", row.embedding_model) not in {None, row.embedding_model}:
        return True
    if "allowed_models" not in values or row.allowed_models is None:
        return False
    allowed = values["allowed_models"]
    return allowed is None or not set(allowed) <= set(row.allowed_models)


def _memory_of(engine: EngineName, sums: repository.Sums) -> TaskMemory:
    name, namespaces, artifacts, length = sums
    return TaskMemory(
        name=str(TaskMemoryName(engine, name)),
        namespace_count=namespaces,
        artifact_count=artifacts,
        total_bytes=length,
    )
