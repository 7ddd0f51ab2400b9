"""An opened namespace, its artifacts without text, and the check that it has not changed since.

Model calls are slow and run without an open transaction. Meanwhile the namespace may be deleted and
its name reused, it may become sensitive, or its allowed models may change. So each read, model
call, store and response checks the namespace in its own transaction.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.adapters.db.session import Session
from app.adapters.documents.extracting import is_readable
from app.adapters.llm.models import ReaderHandle
from app.adapters.resources import Resources
from app.artifacts.readers import store
from app.artifacts.readers.schemas import Citation, ReadingCoverage, UnreadableArtifact
from app.artifacts.readers.store import Readable, Texts, Unreadable
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.indexing import failures
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.errors import Aborted, Reason
from app.kernel.media_types import BYTES
from app.kernel.names import NamespaceName

_EXPLAINED = 100
"""Maximum artifacts without text for which the indexing failure is looked up."""
_LISTED = 20


@dataclass(frozen=True)
class ExplainedArtifact:
    """An artifact without text; `failure` is the error of its indexing, or None if unknown."""

    artifact: Unreadable
    failure: str | None

    @property
    def reason(self) -> str:
        """Reason as a sentence."""
        if self.failure is not None:
            return self.failure
        declared, looks_like = self.artifact.media_type, self.artifact.sniffed_type or BYTES
        if not is_readable(declared, looks_like):
            kind = declared if looks_like == BYTES else looks_like
            return f"Nothing is read from files of type {kind}."
        return "No text was found in it, or its indexing was given up."


@dataclass(frozen=True)
class OpenNamespace:
    """A namespace that may be read.

    Attributes:
        name: name with the engine's full name.
        reader: the chosen reader; None: the built-in one.
        artifacts: artifacts with text, in order. Artifacts that arrive later are not read.
        unreadable: number of artifacts without text.
        unread: the newest artifacts without text.
    """

    name: NamespaceName
    row: NamespaceRow
    reader: ReaderHandle | None
    artifacts: Sequence[Readable]
    unreadable: int
    unread: Sequence[ExplainedArtifact]
    may_show: bool

    @property
    def chunks(self) -> int:
        """Number of chunks in the texts."""
        return sum(artifact.chunks for artifact in self.artifacts)

    @property
    def depth(self) -> int:
        """Number of derivations between a result of these texts and the tool's output."""
        return max(artifact.depth for artifact in self.artifacts) + 1

    def coverage(self, chunks_used: int, *, truncated: bool) -> ReadingCoverage:
        """Return the coverage of the texts.

        Numbers that depend on the content are only for callers who may see it: over many questions,
        they would reveal the content.
        """
        return ReadingCoverage(
            chunks_total=self.chunks if self.may_show else None,
            chunks_used=chunks_used if self.may_show else None,
            truncated=truncated if self.may_show else None,
            artifacts_total=len(self.artifacts) + self.unreadable,
            artifacts_unreadable=self.unreadable,
            unreadable=self._listed_unread() if self.may_show and self.unread else None,
        )

    def _listed_unread(self) -> list[UnreadableArtifact]:
        return [
            UnreadableArtifact(artifact=unread.artifact.name, reason=unread.reason)
            for unread in self.unread[:_LISTED]
        ]


@dataclass(frozen=True)
class Reading:
    """Text that a reader made of a namespace.

    Attributes:
        chunks_used: number of chunks read for it.
        truncated: whether some wanted chunks did not fit.
        is_cut: whether the end of the text is missing.
    """

    text: str
    chunks_used: int
    truncated: bool
    citations: Sequence[Citation] = ()
    is_cut: bool = False


@dataclass(frozen=True)
class Unchanged:
    """An opened namespace, verified to be unchanged.

    Attributes:
        expire_time: earliest expiry of these texts.
    """

    row: NamespaceRow
    texts: Texts
    expire_time: datetime


async def unchanged(
    session: Session, opened: OpenNamespace, now: datetime, *, for_update: bool = False
) -> Unchanged:
    """Check that an opened namespace and its texts still exist with the same rules; return it.

    Takes part in the caller's transaction. With `for_update`, the namespace stays locked until the
    transaction ends.

    Raises:
        Aborted: the namespace was deleted or has changed.
    """
    row = await repository.find_namespace(session, opened.name, now, for_update=for_update)
    texts = Texts(opened.name, [artifact.content_id for artifact in opened.artifacts], now)
    count, expire_time = await store.count_there(session, texts)
    is_same = row is not None and inherited(row) == inherited(opened.row)
    if row is None or expire_time is None or not is_same or count != len(opened.artifacts):
        raise changed(opened.name)
    return Unchanged(row, texts, expire_time)


@asynccontextmanager
async def reading(
    resources: Resources, opened: OpenNamespace
) -> AsyncIterator[tuple[Session, Texts]]:
    """Open a snapshot, check that the namespace is unchanged, and yield the readable texts.

    Raises:
        Aborted: the namespace was deleted or has changed.
    """
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        yield session, (await unchanged(session, opened, now)).texts


def changed(name: NamespaceName) -> Aborted:
    """Return the error for a namespace that changed while it was read."""
    message = f"namespaces/{name.namespace} was changed while it was read; send the request again."
    return Aborted(message, Reason.CONCURRENT_CHANGE)


def inherited(row: NamespaceRow) -> list[Any]:
    """Return the settings that results inherit from a namespace, as JSON."""
    models = row.allowed_models
    return [
        row.user_id,
        row.sensitive,
        row.local_only,
        None if models is None else sorted(models),
        row.embedding_model,
    ]


async def list_unread(
    session: Session, name: NamespaceName, now: datetime
) -> list[ExplainedArtifact]:
    """Return the newest artifacts without text; artifacts with failed indexing come first.

    Takes part in the caller's transaction.
    """
    rows = await store.list_unreadable(session, name, now, _EXPLAINED)
    ids = [row.content_id for row in rows]
    failed = await failures(session, name.memory.engine.engine, ids)
    unread = [ExplainedArtifact(row, failed.get(row.content_id)) for row in rows]
    return sorted(unread, key=lambda row: row.failure is None)
