"""Keeps what readers make off the prompt: as an artifact in a namespace of its own.

It is not looser than what it was made of: as sensitive, as local, the same user's, and gone no
later. The same request again is answered with what there is. What is made of sensitive content is
filled up with blanks to the length of the longest result: by many questions, lengths would tell it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.adapters.db.session import Session, note
from app.artifacts.readers.services.opened import Opened, unchanged
from app.artifacts.readers.store import lookups
from app.artifacts.tasks.logic.kinds import Kind
from app.artifacts.tasks.schemas import Reference
from app.artifacts.tasks.services.embedding import embedder_of
from app.artifacts.tasks.services.outputs import Item
from app.artifacts.tasks.services.places import Beginning
from app.artifacts.tasks.services.preparing import check_storable, prepare
from app.artifacts.tasks.services.references import prompt_text
from app.artifacts.tasks.services.storing import Batch, Derived, StoringService, new_namespace
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.limits import Counted
from app.kernel.media_types import TEXT
from app.kernel.task_names import NamespaceName
from app.language.chunking import CHARS_PER_TOKEN
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.limits.services.quotas import check_more

_TOOL = "task_memory"
"""What stands in a prompt for the tool that has put out what a reader has made."""
_NOTHING = "Nothing was found."
"""What is kept where a result has no text: it can be read like any other."""
_MOST_CHARACTER_BYTES = 4
"""In UTF-8."""


@dataclass(frozen=True)
class Wish:
    """What is to be made, and kept.

    Attributes:
        activity: the reader's method.
        name: of the artifact.
        tokens: of the longest result.
        input_hash: of all that decides what is made.
    """

    activity: str
    name: str
    tokens: int
    input_hash: bytes


@dataclass(frozen=True)
class Kept:
    """What is told of a result that is kept off the prompt.

    Attributes:
        is_reused: it was kept before, of another request for the same.
    """

    reference: Reference
    prompt_text: str
    is_reused: bool


@dataclass(frozen=True)
class Keeping:
    """Keeps results."""

    tasks: TaskService

    def check(self) -> None:
        """Make sure that results are kept here at all.

        Raises:
            InvalidArgument: texts are not stored here.
        """
        check_storable(self.tasks.settings, Kind.TEXT, "offPrompt")

    async def check_room(self, opened: Opened) -> None:
        """Make sure that there is room for a result, before a model is paid for it.

        Raises:
            ResourceExhausted: the engine holds as much as it may.
        """
        engine_id = opened.name.memory.engine.engine
        async with self.tasks.db.snapshot() as session:
            await check_more(session, self.tasks.settings, engine_id, Counted.ARTIFACT_BYTES)

    async def find(self, opened: Opened, wish: Wish) -> Kept | None:
        """Return what was kept of the same before, if it is still there."""
        now = self.tasks.clock.now()
        async with self.tasks.db.snapshot() as session:
            row = await lookups.find_derived(session, opened.name.memory, wish.input_hash, now)
            if row is None:
                return None
            return await self._told(session, row, wish, now, is_reused=True)

    async def keep(self, opened: Opened, wish: Wish, text: str) -> Kept:
        """Store a result, unless the same was kept meanwhile: then that is what is told.

        The source is locked, so that it does not go before what is made of it is there.

        Raises:
            Aborted: what it was made of is gone, or other than it was.
            ResourceExhausted: a quota is used up.
        """
        settings, now = self.tasks.settings, self.tasks.clock.now()
        text = text or _NOTHING
        data = text.encode()
        prepared = await prepare(settings, data, len(data), Kind.TEXT, TEXT)
        if opened.row.sensitive:
            data = data.ljust(wish.tokens * CHARS_PER_TOKEN * _MOST_CHARACTER_BYTES)
            prepared = prepared.sized_as(data)
        item = Item(Kind.TEXT, TEXT, data, prepared.token_estimate, wish.name, 0)
        name = NamespaceName(opened.name.memory, new_namespace())
        sources = [one.name for one in opened.artifacts]
        derived = Derived(opened.name.namespace, sources, opened.depth, wish.input_hash)
        async with self.tasks.db.transaction() as session:
            engine = await engines.get(session, name.memory.engine, Lock.SHARED)
            source = await unchanged(session, opened, now, for_update=True)
            row = await lookups.find_derived(session, name.memory, wish.input_hash, now)
            # Else the same was asked at the same time, and answered first.
            is_reused = row is not None
            if row is None:
                beginning = self._beginning(source.row, wish, source.expire_time - now)
                batch = Batch(name, beginning, [item], [prepared], derived)
                row = await StoringService(self.tasks).put(session, engine, batch, now)
            note(session, resource=str(NamespaceName(name.memory, row.namespace)))
            return await self._told(session, row, wish, now, is_reused=is_reused)

    def _beginning(self, source: NamespaceRow, wish: Wish, left: timedelta) -> Beginning:
        default = timedelta(seconds=self.tasks.settings.task_ttl_seconds)
        embedder = embedder_of(self.tasks.embedders, source)
        return Beginning(
            user_id=source.user_id,
            tool=_TOOL,
            activity=wish.activity,
            sensitive=source.sensitive,
            local_only=source.local_only,
            allowed_models=source.allowed_models,
            embedding_model=None if embedder is None else embedder.model_id,
            ttl=min(default, left),
        )

    async def _told(
        self, session: Session, row: NamespaceRow, wish: Wish, now: datetime, *, is_reused: bool
    ) -> Kept:
        reference = await self.tasks.reference(session, row, now)
        return Kept(reference, prompt_text(reference, _TOOL, wish.activity), is_reused)
