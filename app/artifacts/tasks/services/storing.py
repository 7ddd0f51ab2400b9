"""Storage of tool outputs sent as JSON; a request stores all of its artifacts or none."""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from app.adapters.db.clock import database_now
from app.adapters.db.session import Session, note
from app.artifacts.tasks.logic import Disposition, Kind, OffPrompt
from app.artifacts.tasks.schemas import (
    BeginsNamespace,
    Output,
    ProcessOutputRequest,
    ProcessOutputResponse,
    Reference,
    StoreArtifactsRequest,
    StoreArtifactsResponse,
)
from app.artifacts.tasks.services.namespace_writes import NamespaceDraft
from app.artifacts.tasks.services.outputs import (
    OutputDecision,
    OutputItem,
    OutputLimits,
    OutputPreferences,
    decide,
    handling,
    items_of,
    named_as,
)
from app.artifacts.tasks.services.preparing import Prepared, check_choice, prepare
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.services.views import prompt_text, usable, warned
from app.artifacts.tasks.store import contents, erasure, repository
from app.artifacts.tasks.store.indexing import embed_later, index_later
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.auth import Caller
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import AlreadyExists, Reason, ResourceExhausted
from app.kernel.names import EngineName, NamespaceName, TaskMemoryName, ToolPolicyName
from app.kernel.wire.privacy_config import Place
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow, name_of
from app.platform.operations.services.mutation import write
from app.platform.operations.store import idempotency

Begins = TypeVar("Begins", bound=BeginsNamespace)

_STORED = "store"
"""Tool name shown in prompts for requests without one."""
_NAME_BYTES = 16
TEXT_FIELDS = {"text", "json_value"}
"""Fields of an output to which the engine's rules about sensitive values apply."""


def new_namespace() -> str:
    """Return a random, unique name for a namespace; it reveals no content."""
    return secrets.token_hex(_NAME_BYTES)


@dataclass(frozen=True)
class Derived:
    """Derivation of an artifact made by a reader.

    Attributes:
        origin: namespace of the sources, in the same memory.
        depth: number of derivations since the tool's output.
        input_hash: digest of the derivation's inputs; equal inputs give the same artifact.
    """

    origin: str
    sources: Sequence[str]
    depth: int
    input_hash: bytes

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the artifact for its derivation."""
        return {
            "derived_from": [{"namespace": self.origin, "name": name} for name in self.sources],
            "depth": self.depth,
            "input_hash": self.input_hash,
        }


@dataclass(frozen=True)
class ArtifactBatch:
    """Artifacts to store; `derived` is set if they were made by a reader."""

    name: NamespaceName
    beginning: NamespaceDraft
    items: Sequence[OutputItem]
    prepared: Sequence[Prepared]
    derived: Derived | None = None

    @property
    def lengths(self) -> list[int]:
        """Size of each artifact in bytes."""
        return [content.size for content in self.prepared]


@dataclass(frozen=True)
class StoringService:
    """Storage of tool outputs."""

    tasks: TaskService

    async def process(
        self,
        name: TaskMemoryName,
        request: ProcessOutputRequest,
        once: IdempotencyKey | None,
        caller: Caller,
    ) -> ProcessOutputResponse:
        """Return the prompt text for an output; store the output if it is kept off the prompt.

        A retry returns the first response, even if rules have changed since.

        Raises:
            AlreadyExists: one of the names is taken.
            InvalidArgument: the output has an unsupported kind, or `as` cannot name it.
            NotFound: the engine does not exist, or the caller has no access to the user.
            PermissionDenied: the tool's policy denies the activity, or the request names a remote
                embedder, which the caller may not choose.
            ResourceExhausted: the output is too long, or a quota is used up.
        """
        check_choice(self.tasks.embedders, request.embedding_model, caller)
        output = await self._masked(name.engine, request.output)
        # The policy names activities as the agent does, before masking.
        activity = request.activity
        request = await self.named(name.engine, request.model_copy(update={"output": output}))
        decided, beginning = await self._decide(name, request, activity, once)
        if decided.disposition is not Disposition.STORED:
            await self._remember(name, once)
            return ProcessOutputResponse(
                disposition=decided.disposition, prompt_text=decided.prompt_text
            )
        namespace = request.namespace or new_namespace()
        place = NamespaceName(name, namespace)
        items = named_as(decided.items, request.as_)
        reference = await self._store(place, beginning, items, once)
        return ProcessOutputResponse(
            disposition=Disposition.STORED,
            passthrough=list(decided.passed) or None,
            **shown(reference, request, caller),
        )

    async def store(
        self,
        name: NamespaceName,
        request: StoreArtifactsRequest,
        once: IdempotencyKey | None,
        caller: Caller,
    ) -> StoreArtifactsResponse:
        """Store artifacts in a namespace, all or none; retries and errors are as for `process`."""
        check_choice(self.tasks.embedders, request.embedding_model, caller)
        sent = [(f"artifacts[{n}]", artifact) for n, artifact in enumerate(request.artifacts)]
        artifacts = await self._admitted(name.memory.engine, sent)
        beginning = NamespaceDraft.of(request)
        if once is None or await self.tasks.seen(name.memory.engine, once) is None:
            beginning = await self.tasks.under_policy(name.memory, beginning)
        request = await self.named(name.memory.engine, request)
        beginning = replace(beginning, activity=request.activity)
        items = await asyncio.to_thread(items_of, artifacts, self._limits)
        reference = await self._store(name, beginning, items, once)
        return StoreArtifactsResponse(**shown(reference, request, caller))

    async def _masked(self, name: EngineName, output: Output) -> Output:
        if output.elements is None:
            [masked] = await self._admitted(name, [("output", output)])
            return masked
        sent = [(f"output.elements[{n}]", element) for n, element in enumerate(output.elements)]
        return output.model_copy(update={"elements": await self._admitted(name, sent)})

    async def named(self, name: EngineName, request: Begins) -> Begins:
        """Return a request with the name of its activity masked by the engine's rules."""
        if request.activity is None:
            return request
        place, path = Place.ARTIFACTS, "activity"
        activity = await self.tasks.privacy.admit_id(name, place, path, request.activity)
        return request.model_copy(update={"activity": activity})

    async def _admitted(
        self, name: EngineName, outputs: Sequence[tuple[str, Output]]
    ) -> Sequence[Output]:
        done, _ = await self.tasks.privacy.admit_all(name, Place.ARTIFACTS, outputs, TEXT_FIELDS)
        return done

    @property
    def _limits(self) -> OutputLimits:
        settings = self.tasks.settings
        return OutputLimits(
            storable=frozenset(map(Kind, settings.task_storable)),
            max_inline_tokens=settings.tuning.task_max_inline_tokens,
            max_passing_bytes=settings.tuning.task_max_passthrough_bytes,
            max_elements=settings.tuning.task_max_namespace_artifacts,
        )

    async def _decide(
        self,
        name: TaskMemoryName,
        request: ProcessOutputRequest,
        activity: str,
        once: IdempotencyKey | None,
    ) -> tuple[OutputDecision, NamespaceDraft]:
        policy = OutputPreferences()
        is_sensitive = bool(request.sensitive)
        now = self.tasks.clock.now()
        async with self.tasks.db.snapshot() as session:
            await engines.get(session, name.engine)
            before = await idempotency.seen(session, once, name.engine.engine)
            if before is None:
                named = ToolPolicyName(name, request.tool)
                policy = await self.tasks.policy(session, named, activity)
            if request.namespace is not None:
                place = NamespaceName(name, request.namespace)
                known = await repository.find_namespace(session, place, now)
                is_sensitive = is_sensitive or (known is not None and known.sensitive)
        wishes = OutputPreferences(request.off_prompt, is_sensitive, request.ttl)
        held = handling(policy, wishes, self._limits)
        if before is not None:
            is_stored = before.record.answer is not None
            off_prompt = OffPrompt.ALWAYS if is_stored else OffPrompt.NEVER
            held = replace(held, off_prompt=off_prompt, sensitive=held.sensitive and is_stored)
        decided = await asyncio.to_thread(decide, request.output, held, self._limits)
        beginning = NamespaceDraft.of(request).under(policy)
        beginning = replace(beginning, sensitive=held.sensitive, ttl=held.ttl)
        return decided, beginning

    async def _remember(self, name: TaskMemoryName, once: IdempotencyKey | None) -> None:
        """Store the id of a request without stored content, to reject its use by others."""
        if once is not None:
            async with write(self.tasks, engines.locked(name.engine), once):
                pass

    async def _store(
        self,
        name: NamespaceName,
        beginning: NamespaceDraft,
        items: Sequence[OutputItem],
        once: IdempotencyKey | None,
    ) -> Reference:
        settings = self.tasks.settings
        most = settings.tuning.task_max_inline_bytes
        if sum(len(item.data) for item in items) > most:
            raise ResourceExhausted(
                f"The artifacts of one request must have at most {most} bytes; upload longer ones.",
                Reason.BODY_TOO_LARGE,
                http=413,
            )
        prepared = [
            await prepare(settings, item.data, len(item.data), item.kind, item.media_type)
            for item in items
        ]
        batch = ArtifactBatch(name, beginning, items, prepared)
        now = self.tasks.clock.now()
        async with write(self.tasks, engines.locked(name.memory.engine), once, now=now) as change:
            session, engine = change.session, change.engine
            memory = TaskMemoryName(name_of(engine), name.memory.memory)
            note(session, resource=str(NamespaceName(memory, name.namespace)))
            if change.replayed is not None:
                return Reference.model_validate(change.replayed.answer)
            row = await self.put(session, engine, batch, now)
            reference = await self.tasks.reference(session, row, now)
            await change.answer(reference.wire())
            return reference

    async def put(
        self, session: Session, engine: EngineRow, batch: ArtifactBatch, now: datetime
    ) -> NamespaceRow:
        """Insert a batch into its namespace, like `store`; the caller has locked the engine."""
        places = self.tasks.places
        until = places.expiry(batch.beginning.ttl, now)
        row = await places.begin(session, batch.name, batch.beginning, now, until)
        row = await self._remove_expired_names(session, batch, row)
        await places.check_room(session, row, sum(batch.lengths), len(batch.items))
        names = await _names(session, batch, row)
        common: dict[str, Any] = {"version": 1, "create_time": now, "expire_time": until}
        if batch.derived is not None:
            origin = replace(batch.name, namespace=batch.derived.origin)
            is_lost = await repository.has_lost_source(session, origin, batch.derived.sources)
            common |= batch.derived.columns | {"source_deleted": is_lost}
        values = [
            {
                **prepared.columns,
                **common,
                "name": name,
                "ordinal": number,
                "media_type": item.media_type,
                "state": prepared.state,
            }
            for number, (name, item, prepared) in enumerate(
                zip(names, batch.items, batch.prepared, strict=True),
                start=row.last_ordinal + 1,
            )
        ]
        placed = await repository.insert_artifacts(session, row, now, values)
        for place, item, prepared in zip(placed, batch.items, batch.prepared, strict=True):
            await contents.insert_pages(session, place, 0, contents.pages_of(item.data))
            await contents.insert_chunks(session, place, prepared.language, prepared.chunks)
            if prepared.is_indexed_later:
                await index_later(session, self.tasks.settings, engine, row, place, now)
        if any(prepared.chunks for prepared in batch.prepared):
            await embed_later(session, self.tasks.settings, name_of(engine), row, now)
        row = await places.count(session, row, batch.lengths, until)
        await places.check_engine(session, row.engine_id)
        return row

    async def _remove_expired_names(
        self, session: Session, batch: ArtifactBatch, row: NamespaceRow
    ) -> NamespaceRow:
        """Delete expired artifacts with the batch's names; raise AlreadyExists for others."""
        chosen = [item.name for item in batch.items if item.name is not None]
        known = await repository.find_names(session, batch.name, chosen) if chosen else {}
        if not known:
            return row
        now = await database_now(session)
        for name, artifact in known.items():
            if artifact.expire_time > now:
                raise taken(name)
            await erasure.remove_artifact(session, row, artifact)
            row = await self.tasks.places.uncount(session, row, artifact)
        return row


def taken(name: str) -> AlreadyExists:
    """Return the error for a chosen name that another artifact has."""
    return AlreadyExists(f"artifacts/{name} exists; choose another name.", Reason.ID_TAKEN)


def shown(reference: Reference, request: BeginsNamespace, caller: Caller) -> dict[str, Any]:
    """Return the fields of a response about stored artifacts."""
    tool, activity = request.tool or _STORED, request.activity or _STORED
    # A repeated request may come with another key than the first one.
    reference = reference.model_copy(
        update={"readable_with": usable(reference.readable_with, caller)}
    )
    return {
        "reference": reference,
        "prompt_text": prompt_text(reference, tool, activity),
        "warnings": warned(reference) or None,
    }


async def _names(session: Session, batch: ArtifactBatch, row: NamespaceRow) -> list[str]:
    names = [f"artifact-{row.last_ordinal + n}" for n in range(1, len(batch.items) + 1)]
    taken = {item.name for item in batch.items if item.name is not None}
    taken |= (await repository.find_names(session, batch.name, names)).keys()
    return [
        # A suffix is added if the numbered name is already taken.
        item.name or (f"{name}-{secrets.token_hex(4)}" if name in taken else name)
        for item, name in zip(batch.items, names, strict=True)
    ]
