"""Keeps what readers make off the prompt: as an artifact in a namespace of its own.

It is not looser than what it was made of: as sensitive, as local, the same user's, and gone no
later. The same request again is answered with what there is.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.errors import Aborted, Reason
from app.core.ids import new_id
from app.core.names import NamespaceName
from app.db.session import Session, note
from app.documents.chunking import tokens_of
from app.documents.media_types import TEXT
from app.engines import repository as engines
from app.engines.repository import Lock
from app.readers import lookups
from app.readers.opening import Opened
from app.tasks import repository
from app.tasks.kinds import Kind
from app.tasks.outputs import Item
from app.tasks.places import Beginning
from app.tasks.preparing import check_storable, prepare
from app.tasks.references import prompt_text
from app.tasks.schemas import Reference
from app.tasks.service import TaskService
from app.tasks.storing import Batch, Derived, StoringService
from app.tasks.tables import NamespaceRow

_TOOL = "task_memory"
"""What stands in a prompt for the tool that has put out what a reader has made."""


@dataclass(frozen=True)
class Wish:
    """What is to be made, and kept.

    Attributes:
        activity: the reader's method.
        name: of the artifact.
        input_hash: of all that decides what is made.
    """

    activity: str
    name: str
    input_hash: bytes


@dataclass(frozen=True)
class Kept:
    """What is told of a result that is kept off the prompt."""

    reference: Reference
    prompt_text: str


@dataclass(frozen=True)
class Keeping:
    """Keeps results."""

    tasks: TaskService

    def check(self) -> None:
        """Make sure that results can be kept, before anything is made.

        Raises:
            InvalidArgument: texts are not stored here.
        """
        check_storable(self.tasks.settings, Kind.TEXT, "offPrompt")

    async def find(self, opened: Opened, wish: Wish) -> Kept | None:
        """Return what was kept of the same before, if it is still there."""
        now = self.tasks.clock.now()
        async with self.tasks.db.snapshot() as session:
            row = await lookups.find_derived(session, opened.name.memory, wish.input_hash, now)
            return None if row is None else await self._told(session, row, wish, now)

    async def keep(self, opened: Opened, wish: Wish, text: str) -> Kept:
        """Store a result.

        Raises:
            Aborted: what it was made of is gone, or other than it was.
            ResourceExhausted: a quota is used up.
        """
        settings, now = self.tasks.settings, self.tasks.clock.now()
        data = text.encode()
        item = Item(Kind.TEXT, TEXT, data, tokens_of(text), wish.name, 0, text)
        prepared = await prepare(settings, data, len(data), item.kind, item.media_type)
        name = NamespaceName(opened.name.memory, str(new_id(now)))
        sources = [one.name for one in opened.artifacts]
        derived = Derived(opened.name.namespace, sources, opened.depth, wish.input_hash)
        async with self.tasks.db.transaction() as session:
            engine = await engines.get(session, name.memory.engine, Lock.SHARED)
            source = await self._unchanged(session, opened, now)
            batch = Batch(name, self._beginning(source, wish, now), [item], [prepared], derived)
            row = await StoringService(self.tasks).put(session, engine, batch, now)
            note(session, resource=str(name))
            return await self._told(session, row, wish, now)

    async def _unchanged(self, session: Session, opened: Opened, now: datetime) -> NamespaceRow:
        """Return the source, locked, so that it does not go before what is made of it is there."""
        row = await repository.find_namespace(session, opened.name, now, for_update=True)
        found = await lookups.list_readable(session, opened.name, now) if row is not None else []
        kept = {one.content_id for one in found}
        if row is None or not kept.issuperset(one.content_id for one in opened.artifacts):
            message = (
                f"namespaces/{opened.name.namespace} was changed while it was read; ask again."
            )
            raise Aborted(message, Reason.CONCURRENT_CHANGE)
        return row

    def _beginning(self, source: NamespaceRow, wish: Wish, now: datetime) -> Beginning:
        default = timedelta(seconds=self.tasks.settings.task_ttl_seconds)
        return Beginning(
            user_id=source.user_id,
            tool=_TOOL,
            activity=wish.activity,
            sensitive=source.sensitive,
            local_only=source.local_only,
            allowed_models=source.allowed_models,
            embedding_model=source.embedding_model,
            ttl=min(default, source.expire_time - now),
        )

    async def _told(self, session: Session, row: NamespaceRow, wish: Wish, now: datetime) -> Kept:
        reference = await self.tasks.reference(session, row, now)
        return Kept(reference, prompt_text(reference, _TOOL, wish.activity))
