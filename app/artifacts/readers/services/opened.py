"""What a reader has opened, and the one rule by which that is still what it was.

A request takes as long as its models, with no transaction open: the namespace may meanwhile be
deleted, and another may have its name; it may become sensitive, or be for other models. So all that
is read, shown to a model, kept or told is checked in the transaction that does it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.adapters.db.session import Session
from app.adapters.llm.readers import Reader
from app.adapters.resources import Resources
from app.artifacts.readers.schemas import Coverage
from app.artifacts.readers.store import lookups
from app.artifacts.readers.store.lookups import Readable, Texts
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.errors import Aborted, Reason
from app.kernel.task_names import NamespaceName


@dataclass(frozen=True)
class Opened:
    """A namespace that may be read.

    Attributes:
        name: with the engine's full name.
        row: as it was when it was opened.
        reader: None: the built-in one.
        artifacts: those that have a text, in their order. What comes later is not read.
        unreadable: how many others there are.
        may_show: whether the caller may be shown what is made of it.
    """

    name: NamespaceName
    row: NamespaceRow
    reader: Reader | None
    artifacts: Sequence[Readable]
    unreadable: int
    may_show: bool

    @property
    def chunks(self) -> int:
        """How many pieces the texts have."""
        return sum(one.chunks for one in self.artifacts)

    @property
    def depth(self) -> int:
        """How many derivations a result of these is away from what a tool has put out."""
        return max(one.depth for one in self.artifacts) + 1

    def coverage(self, chunks_used: int, *, truncated: bool) -> Coverage:
        """Return how much of it was read.

        What depends on the content is only for who may be shown that: by what many questions find,
        it could be guessed.
        """
        return Coverage(
            chunks_total=self.chunks if self.may_show else None,
            chunks_used=chunks_used if self.may_show else None,
            truncated=truncated if self.may_show else None,
            artifacts_total=len(self.artifacts) + self.unreadable,
            artifacts_unreadable=self.unreadable,
        )


@dataclass(frozen=True)
class Unchanged:
    """What was opened, found again.

    Attributes:
        row: of the namespace.
        texts: what may be read of it, and nothing else.
        expire_time: when the first of these goes.
    """

    row: NamespaceRow
    texts: Texts
    expire_time: datetime


async def unchanged(
    session: Session, opened: Opened, now: datetime, *, for_update: bool = False
) -> Unchanged:
    """Make sure that what was opened is still there, as strict as it was, and return it.

    Takes part in the caller's transaction. With `for_update`, the namespace is locked, so that it
    stays until that has ended.

    Raises:
        Aborted: it is not.
    """
    row = await repository.find_namespace(session, opened.name, now, for_update=for_update)
    texts = Texts(opened.name, [one.content_id for one in opened.artifacts], now)
    count, expire_time = await lookups.count_there(session, texts)
    is_same = row is not None and inherited(row) == inherited(opened.row)
    if row is None or expire_time is None or not is_same or count != len(opened.artifacts):
        raise changed(opened.name)
    return Unchanged(row, texts, expire_time)


@asynccontextmanager
async def reading(resources: Resources, opened: Opened) -> AsyncIterator[tuple[Session, Texts]]:
    """Open a snapshot in which what was opened is there unchanged; give what may be read in it.

    Raises:
        Aborted: it is not.
    """
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        yield session, (await unchanged(session, opened, now)).texts


def changed(name: NamespaceName) -> Aborted:
    """Return what says that a namespace is not any more what was read."""
    message = f"namespaces/{name.namespace} was changed while it was read; ask again."
    return Aborted(message, Reason.CONCURRENT_CHANGE)


def inherited(row: NamespaceRow) -> list[Any]:
    """Return what of a namespace holds for what is made of it, too, as JSON."""
    models = row.allowed_models
    return [
        row.user_id,
        row.sensitive,
        row.local_only,
        None if models is None else sorted(models),
        row.embedding_model,
    ]
