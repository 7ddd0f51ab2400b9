"""Storage of readers' results off the prompt, each as an artifact in its own namespace.

A result inherits sensitivity, local-only rule, user and expiry from its sources. A repeated request
returns the stored result. Results from sensitive content are padded with spaces to the maximum
length, since the lengths of many results would reveal the content.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.adapters.db.session import Session, note
from app.artifacts.readers.services.open_namespace import OpenNamespace, unchanged
from app.artifacts.readers.store import lookups
from app.artifacts.tasks.logic.kinds import Kind
from app.artifacts.tasks.schemas.tasks import Reference
from app.artifacts.tasks.services.embedding import embedder_of
from app.artifacts.tasks.services.namespace_writes import NamespaceDraft
from app.artifacts.tasks.services.outputs import OutputItem
from app.artifacts.tasks.services.preparing import check_storable, prepare
from app.artifacts.tasks.services.references import prompt_text
from app.artifacts.tasks.services.storing import (
    ArtifactBatch,
    Derived,
    StoringService,
    new_namespace,
)
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.limits import Counted
from app.kernel.media_types import TEXT
from app.kernel.names import NamespaceName
from app.language.tokens import CHARS_PER_TOKEN
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.limits.services.quotas import check_more

_TOOL = "task_memory"
"""Tool name shown in prompts for a reader's result."""
_NOTHING = "Nothing was found."
"""Content stored for an empty result, which makes it readable like any other."""
_MOST_CHARACTER_BYTES = 4
"""Maximum size of a character in UTF-8, in bytes."""


@dataclass(frozen=True)
class DerivedRequest:
    """Parameters of a result to make and store.

    Attributes:
        activity: the reader's method.
        name: name of the artifact.
        tokens: maximum length of the result.
        input_hash: digest of everything that determines the result.
    """

    activity: str
    name: str
    tokens: int
    input_hash: bytes


@dataclass(frozen=True)
class DerivedResult:
    """Result stored off the prompt.

    Attributes:
        is_reused: whether it was stored by another, equal request.
    """

    reference: Reference
    prompt_text: str
    is_reused: bool


@dataclass(frozen=True)
class DerivedStore:
    """Storage of results."""

    tasks: TaskService

    def check(self) -> None:
        """Check that this service is configured to store texts.

        Raises:
            InvalidArgument: texts cannot be stored.
        """
        check_storable(self.tasks.settings, Kind.TEXT, "offPrompt")

    async def check_room(self, opened: OpenNamespace) -> None:
        """Check that the engine has room for a result, before paying a model for it.

        Raises:
            ResourceExhausted: the engine's quota is used up.
        """
        engine_id = opened.name.memory.engine.engine
        async with self.tasks.db.snapshot() as session:
            await check_more(session, self.tasks.settings, engine_id, Counted.ARTIFACT_BYTES)

    async def find(self, opened: OpenNamespace, wish: DerivedRequest) -> DerivedResult | None:
        """Return the stored result of an equal earlier request, or None if there is none."""
        now = self.tasks.clock.now()
        async with self.tasks.db.snapshot() as session:
            row = await lookups.find_derived(session, opened.name.memory, wish.input_hash, now)
            if row is None:
                return None
            return await self._stored_result(session, row, wish, now, is_reused=True)

    async def keep(self, opened: OpenNamespace, wish: DerivedRequest, text: str) -> DerivedResult:
        """Store a result, or return the result that an equal request has stored meanwhile.

        Locks the source namespace, to prevent its deletion before the result is stored.

        Raises:
            Aborted: the source namespace was deleted or has changed.
            ResourceExhausted: a quota is used up.
        """
        settings, now = self.tasks.settings, self.tasks.clock.now()
        text = text or _NOTHING
        data = text.encode()
        prepared = await prepare(settings, data, len(data), Kind.TEXT, TEXT)
        if opened.row.sensitive:
            data = data.ljust(wish.tokens * CHARS_PER_TOKEN * _MOST_CHARACTER_BYTES)
            prepared = prepared.sized_as(data)
        item = OutputItem(Kind.TEXT, TEXT, data, prepared.token_estimate, wish.name, 0)
        name = NamespaceName(opened.name.memory, new_namespace())
        sources = [artifact.name for artifact in opened.artifacts]
        derived = Derived(opened.name.namespace, sources, opened.depth, wish.input_hash)
        async with self.tasks.db.transaction() as session:
            engine = await engines.get(session, name.memory.engine, Lock.SHARED)
            source = await unchanged(session, opened, now, for_update=True)
            row = await lookups.find_derived(session, name.memory, wish.input_hash, now)
            # A row exists if an equal, concurrent request stored its result first.
            is_reused = row is not None
            if row is None:
                beginning = self._beginning(source.row, wish, source.expire_time - now)
                batch = ArtifactBatch(name, beginning, [item], [prepared], derived)
                row = await StoringService(self.tasks).put(session, engine, batch, now)
            note(session, resource=str(NamespaceName(name.memory, row.namespace)))
            return await self._stored_result(session, row, wish, now, is_reused=is_reused)

    def _beginning(
        self, source: NamespaceRow, wish: DerivedRequest, left: timedelta
    ) -> NamespaceDraft:
        default = timedelta(seconds=self.tasks.settings.task_ttl_seconds)
        embedder = embedder_of(self.tasks.embedders, source)
        return NamespaceDraft(
            user_id=source.user_id,
            tool=_TOOL,
            activity=wish.activity,
            sensitive=source.sensitive,
            local_only=source.local_only,
            allowed_models=source.allowed_models,
            embedding_model=None if embedder is None else embedder.model_id,
            ttl=min(default, left),
        )

    async def _stored_result(
        self,
        session: Session,
        row: NamespaceRow,
        wish: DerivedRequest,
        now: datetime,
        *,
        is_reused: bool,
    ) -> DerivedResult:
        reference = await self.tasks.reference(session, row, now)
        # The caller may use readers, since it made this request.
        text = prompt_text(reference, _TOOL, wish.activity, may_derive=True)
        return DerivedResult(reference, text, is_reused)
