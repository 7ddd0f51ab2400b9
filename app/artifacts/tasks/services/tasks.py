"""Reads of task memories, settings of their namespaces, and policies for the outputs of tools."""

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from app.adapters.db.lists import list_page
from app.adapters.db.session import Database, Session
from app.adapters.documents.extracting import is_readable
from app.adapters.llm.embedders import Embedders
from app.adapters.resources import Resources
from app.artifacts.tasks.logic import OffPrompt, narrowed
from app.artifacts.tasks.schemas import (
    MAX_LISTED,
    MAX_LISTED_IN_LISTS,
    ActivityPolicy,
    Artifact,
    ListArtifactsResponse,
    ListNamespacesResponse,
    ListTaskMemoriesResponse,
    ListToolPoliciesResponse,
    Namespace,
    Reference,
    TaskMemory,
    ToolPolicy,
    UpdateNamespaceRequest,
    UpdateToolPolicyRequest,
)
from app.artifacts.tasks.services.namespace_writes import NamespaceDraft, NamespaceWrites
from app.artifacts.tasks.services.outputs import OutputPreferences
from app.artifacts.tasks.services.preparing import check_embedder
from app.artifacts.tasks.services.views import artifact_of, namespace_of, policy_of, reference_of
from app.artifacts.tasks.store import indexing, listing, repository
from app.artifacts.tasks.store.contents import Pages
from app.artifacts.tasks.store.indexing import embed_later, index_restored
from app.artifacts.tasks.store.tables import ArtifactRow, ContentPlace, NamespaceRow
from app.kernel.auth import Caller
from app.kernel.changes import IdempotencyKey, check_etag
from app.kernel.clock import Clock
from app.kernel.errors import FieldViolation, InvalidArgument, NotFound, PermissionDenied, Reason
from app.kernel.media_types import BYTES
from app.kernel.names import ArtifactName, EngineName, NamespaceName, TaskMemoryName, ToolPolicyName
from app.kernel.paging import PageRequest
from app.kernel.permissions import Permission
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow, name_of
from app.platform.operations.services.mutation import write
from app.platform.operations.store import idempotency
from app.platform.operations.store.idempotency import Replayed
from app.platform.privacy.service import PrivacyService
from app.settings.settings import Settings


@dataclass(frozen=True)
class TaskService:
    """Task memories as visible to a caller."""

    db: Database
    clock: Clock
    settings: Settings
    embedders: Embedders
    privacy: PrivacyService

    @classmethod
    def of(cls, resources: Resources) -> "TaskService":
        """Build the service from the process's resources."""
        privacy = PrivacyService.of(resources)
        return cls(resources.db, resources.clock, resources.settings, resources.embedders, privacy)

    @property
    def places(self) -> NamespaceWrites:
        """Placement of artifacts."""
        return NamespaceWrites(self.clock, self.settings, self.embedders)

    async def reference(self, session: Session, row: NamespaceRow, now: datetime) -> Reference:
        """Return the reference of a namespace."""
        memory = TaskMemoryName(EngineName("-", "-", row.engine_id), row.memory)
        contents = await listing.read_contents(session, memory, [row.namespace], now, MAX_LISTED)
        return reference_of(self.settings, row, contents.get(row.namespace))

    async def seen(self, name: EngineName, once: IdempotencyKey | None) -> Replayed | None:
        """Return the earlier request on an engine with this id, if there is one."""
        async with self.db.snapshot() as session:
            engine = await engines.get(session, name)
            return await idempotency.seen(session, once, engine.engine_id)

    async def under_policy(self, memory: TaskMemoryName, said: NamespaceDraft) -> NamespaceDraft:
        """Return a namespace's settings, made stricter by the policy of the tool if it has one."""
        if said.tool is None:
            return said
        async with self.db.snapshot() as session:
            await engines.get(session, memory.engine)
            policy = await self.policy(session, ToolPolicyName(memory, said.tool), said.activity)
        return said.under(policy)

    async def policy(
        self, session: Session, name: ToolPolicyName, activity: str | None
    ) -> OutputPreferences:
        """Return the policy for an activity of a tool, empty if the tool has none.

        Raises:
            PermissionDenied: the policy denies the activity.
        """
        row = await repository.find(session, name)
        if row is None:
            return OutputPreferences()
        own = ActivityPolicy.model_validate((row.activities or {}).get(activity or "", {}))
        if own.deny:
            description = f"must be one that toolPolicies/{name.tool} does not deny."
            raise PermissionDenied(
                f"activity: {description} Nothing was stored.",
                Reason.ACTIVITY_DENIED,
                violations=[FieldViolation("activity", description)],
            )
        names = [field.name for field in fields(OutputPreferences)]
        held = {name: getattr(row, name) for name in names}
        held["off_prompt"] = OffPrompt(row.off_prompt)
        said = {name: getattr(own, name) for name in names}
        chosen = {name: value for name, value in said.items() if value is not None}
        return OutputPreferences(**held | chosen)

    # Task memories

    async def list_memories(self, name: EngineName, page: PageRequest) -> ListTaskMemoriesResponse:
        """Return a page of the memories that are not empty, ordered by name."""
        asked = repository.MEMORIES.page(page, engine=name.engine)
        now = self.clock.now()
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name))
            memories, token = asked.cut(await repository.list_memories(session, engine, now, asked))
        return ListTaskMemoriesResponse(
            task_memories=[_memory_of(engine, sums) for sums in memories], next_page_token=token
        )

    async def get_memory(self, name: TaskMemoryName) -> TaskMemory:
        """Return a memory, or raise NotFound if it is empty."""
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.engine))
            return _memory_of(engine, await repository.get_memory(session, name, self.clock.now()))

    # Namespaces

    async def list_namespaces(
        self, name: TaskMemoryName, page: PageRequest, caller: Caller
    ) -> ListNamespacesResponse:
        """Return a page of namespaces, newest first, each with its first artifacts."""
        asked = repository.NAMESPACES.page(page, memory=f"{name.engine.engine}/{name.memory}")
        now = self.clock.now()
        async with self.db.snapshot() as session:
            memory = TaskMemoryName(name_of(await engines.get(session, name.engine)), name.memory)
            rows, token = await list_page(session, repository.select_namespaces(name, now), asked)
            inside = await listing.read_contents(
                session, name, [row.namespace for row in rows], now, MAX_LISTED_IN_LISTS
            )
        return ListNamespacesResponse(
            namespaces=[
                namespace_of(self.settings, memory, row, inside.get(row.namespace), caller)
                for row in rows
            ],
            next_page_token=token,
        )

    async def get_namespace(self, name: NamespaceName, caller: Caller) -> Namespace:
        """Return a namespace, or raise NotFound."""
        async with self.db.snapshot() as session:
            return await self._read_namespace(session, name, self.clock.now(), caller)

    async def update_namespace(
        self,
        name: NamespaceName,
        request: UpdateNamespaceRequest,
        etag: str | None,
        once: IdempotencyKey | None,
        caller: Caller,
    ) -> Namespace:
        """Change the settings of a namespace; omitted settings stay.

        Raises:
            Aborted: the etag is stale.
            InvalidArgument: no embedder has this name.
            PermissionDenied: it would become looser, which the caller may not do; or its new rules
                do not allow its embedder.
        """
        now = self.clock.now()
        async with write(self, engines.locked(name.memory.engine), once, now=now) as change:
            session, engine = change.session, change.engine
            if change.replayed is None:
                row = await repository.get_namespace(session, name, now, for_update=True)
                # Artifacts may have expired while the transaction waited for the lock.
                now = self.clock.now()
                check_etag(row.version, etag)
                before = row.embedding_model
                values = self._changed(request, now)
                if not caller.may(Permission.ENGINES_UPDATE):
                    await _check_no_looser(session, row, values, now)
                if "expire_time" in values:
                    await repository.set_expiry(session, name, values["expire_time"], now)
                changed = {**values, "update_time": now}
                row = await repository.update_namespace(session, row, changed)
                is_chosen = row.embedding_model != before
                check_embedder(self.embedders, row, is_chosen=is_chosen)
                if is_chosen:
                    await indexing.remove(session, name)
                if "embedding_model" in values:
                    await embed_later(session, self.settings, name_of(engine), row, now)
            return await self._read_namespace(session, name, now, caller)

    def _changed(self, request: UpdateNamespaceRequest, now: datetime) -> dict[str, Any]:
        sent = request.model_fields_set
        columns = ("allowed_models", "readers", "embedding_model")
        values: dict[str, Any] = {
            column: getattr(request, column) for column in columns if column in sent
        }
        for flag in ("sensitive", "local_only"):
            if getattr(request, flag) is not None:
                values[flag] = getattr(request, flag)
        if request.ttl is not None:
            values["expire_time"] = self.places.expiry(request.ttl, now)
        return values

    async def _read_namespace(
        self, session: Session, name: NamespaceName, now: datetime, caller: Caller
    ) -> Namespace:
        engine = await engines.get(session, name.memory.engine)
        row = await repository.get_namespace(session, name, now)
        inside = await listing.read_contents(
            session, name.memory, [name.namespace], now, MAX_LISTED
        )
        memory = TaskMemoryName(name_of(engine), name.memory.memory)
        return namespace_of(self.settings, memory, row, inside.get(row.namespace), caller)

    # Artifacts

    async def list_artifacts(
        self, name: NamespaceName, page: PageRequest, caller: Caller
    ) -> ListArtifactsResponse:
        """Return a page of a namespace's artifacts, in order of arrival."""
        where = f"{name.memory.engine.engine}/{name.memory.memory}/{name.namespace}"
        asked = repository.ARTIFACTS.page(page, namespace=where)
        now = self.clock.now()
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.memory.engine))
            namespace = await repository.get_namespace(session, name, now)
            rows, token = await list_page(session, repository.select_artifacts(name, now), asked)
            indexing_failed = await listing.list_indexing_failed(session, rows)
        return ListArtifactsResponse(
            artifacts=[self.shown(engine, namespace, row, caller, indexing_failed) for row in rows],
            next_page_token=token,
        )

    async def get_artifact(self, name: ArtifactName, caller: Caller) -> Artifact:
        """Return an artifact, without content, or raise NotFound."""
        now = self.clock.now()
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.namespace.memory.engine))
            row = await repository.get_artifact(session, name, now)
            namespace = await repository.get_namespace(session, name.namespace, now)
            indexing_failed = await listing.list_indexing_failed(session, [row])
        return self.shown(engine, namespace, row, caller, indexing_failed)

    def shown(
        self,
        engine: EngineName,
        namespace: NamespaceRow,
        row: ArtifactRow,
        caller: Caller,
        indexing_failed: Collection[str] = (),
    ) -> Artifact:
        """Return an artifact with the properties that the caller may see.

        `indexing_failed` is the result of `listing.list_indexing_failed`.
        """
        return artifact_of(
            self.settings,
            TaskMemoryName(engine, namespace.memory),
            namespace,
            row,
            caller,
            is_silent=row.content_id in indexing_failed,
        )

    async def find_content(self, name: ArtifactName) -> ArtifactRow:
        """Return the row of an artifact with readable content, or raise NotFound."""
        async with self.db.snapshot() as session:
            await engines.get(session, name.namespace.memory.engine)
            return await repository.get_artifact(session, name, self.clock.now())

    def read_content(self, row: ArtifactRow, start: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes of an artifact from `start` up to `end`, a page at a time.

        Raises:
            Aborted: the artifact was deleted meanwhile.
        """
        return Pages(self.db, ContentPlace.of(row)).read(start, end)


async def _check_no_looser(
    session: Session, row: NamespaceRow, values: dict[str, Any], now: datetime
) -> None:
    earliest = await repository.earliest_expiry(session, row, now)
    if _loosens(row, values, earliest or row.expire_time):
        raise PermissionDenied(
            "Settings of a namespace can only be loosened with engines.update.",
            Reason.PERMISSION_MISSING,
            metadata={"permission": Permission.ENGINES_UPDATE.value},
        )


def _loosens(row: NamespaceRow, values: dict[str, Any], earliest: datetime) -> bool:
    flags = (flag for flag in ("sensitive", "local_only") if not values.get(flag, True))
    if any(getattr(row, flag) for flag in flags):
        return True
    if row.sensitive and values.get("expire_time", earliest) > earliest:
        # The policy of its tool may have limited its lifetime.
        return True
    if values.get("embedding_model", row.embedding_model) not in {None, row.embedding_model}:
        return True
    return any(
        name in values and known is not None and narrowed(known, values[name]) != values[name]
        for name, known in (("allowed_models", row.allowed_models), ("readers", row.readers))
    )


def _memory_of(engine: EngineName, sums: repository.MemorySums) -> TaskMemory:
    name, namespaces, artifacts, length = sums
    return TaskMemory(
        name=str(TaskMemoryName(engine, name)),
        namespace_count=namespaces,
        artifact_count=artifacts,
        total_bytes=length,
    )


async def complete(resources: Resources, session: Session, engine: EngineRow) -> None:
    """Recompute the counts of an engine's namespaces, and enqueue the chunking of texts.

    Raises:
        InvalidArgument: the pages of an artifact do not match its size or digest.
    """
    wrong = await repository.find_incomplete(session, engine.engine_id)
    if wrong is not None:
        message = f"{wrong}: sizeBytes and sha256 must agree with its pages."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
    await repository.count_again(session, engine.engine_id)
    readable, others = [], []
    for namespace, artifact in await repository.list_begun(session, engine.engine_id):
        if is_readable(artifact.media_type, artifact.sniffed_type or BYTES):
            readable.append((namespace, ContentPlace.of(artifact)))
        else:
            others.append(artifact.content_id)
    await repository.make_ready(session, engine.engine_id, others)
    if readable:
        now = resources.clock.now()
        await index_restored(session, resources.settings, engine, readable, now)


@dataclass(frozen=True)
class PolicyService:
    """Reads and writes of tool policies."""

    tasks: TaskService

    async def list_policies(
        self, name: TaskMemoryName, page: PageRequest
    ) -> ListToolPoliciesResponse:
        """Return a page of a memory's policies, ordered by tool name."""
        asked = repository.POLICIES.page(page, memory=f"{name.engine.engine}/{name.memory}")
        async with self.tasks.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.engine))
            if not await self._is_seen(session, name):
                return ListToolPoliciesResponse(tool_policies=[])
            rows, token = await list_page(session, repository.select_policies(name), asked)
        memory = TaskMemoryName(engine, name.memory)
        return ListToolPoliciesResponse(
            tool_policies=[policy_of(memory, row) for row in rows], next_page_token=token
        )

    async def get(self, name: ToolPolicyName) -> ToolPolicy:
        """Return the policy of a tool, or raise NotFound."""
        async with self.tasks.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.memory.engine))
            row = await repository.find(session, name)
            if row is None or not await self._is_seen(session, name.memory):
                raise NotFound.of(name)
        return policy_of(TaskMemoryName(engine, name.memory.memory), row)

    async def _is_seen(self, session: Session, name: TaskMemoryName) -> bool:
        tasks = self.tasks
        return tasks.db.sees_all or await repository.has_any(session, name, tasks.clock.now())

    async def put(
        self,
        name: ToolPolicyName,
        request: UpdateToolPolicyRequest,
        etag: str | None,
        once: IdempotencyKey | None,
    ) -> ToolPolicy:
        """Replace the policy of a tool, or raise Aborted for a stale etag."""
        now = self.tasks.clock.now()
        async with write(self.tasks, engines.locked(name.memory.engine), once, now=now) as change:
            session, engine = change.session, change.engine
            row = await repository.find(session, name, for_update=True)
            if change.replayed is None or row is None:
                check_etag(0 if row is None else row.version, etag)
                values = {
                    "off_prompt": request.off_prompt,
                    "max_inline_tokens": request.max_inline_tokens,
                    "sensitive": request.sensitive,
                    "ttl": request.ttl,
                    "local_only": request.local_only,
                    "allowed_models": request.allowed_models,
                    "readers": request.readers,
                    "activities": request.wire().get("activities"),
                    "create_time": now,
                    "update_time": now,
                }
                row = await repository.put(session, name, values)
            return policy_of(TaskMemoryName(name_of(engine), name.memory.memory), row)

    async def delete(
        self, name: ToolPolicyName, etag: str | None, once: IdempotencyKey | None
    ) -> None:
        """Delete the policy of a tool, or raise Aborted for a stale etag, or NotFound."""
        async with write(self.tasks, engines.locked(name.memory.engine), once) as change:
            if change.replayed is not None:
                return
            row = await repository.find(change.session, name, for_update=True)
            if row is None:
                raise NotFound.of(name)
            check_etag(row.version, etag)
            await repository.remove(change.session, name)
