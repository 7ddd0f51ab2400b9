"""Artifacts without text for readers, each with a reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.adapters.db.session import Session
from app.adapters.documents.extracting import is_readable
from app.artifacts.readers.schemas import UnreadableArtifact
from app.artifacts.readers.store import lookups
from app.artifacts.readers.store.lookups import Unreadable
from app.artifacts.tasks.store.indexing import failures
from app.kernel.media_types import BYTES
from app.kernel.task_names import NamespaceName

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


async def list_unread(
    session: Session, name: NamespaceName, now: datetime
) -> list[ExplainedArtifact]:
    """Return the newest artifacts without text; artifacts with failed indexing come first.

    Takes part in the caller's transaction.
    """
    found = await lookups.list_unreadable(session, name, now, _EXPLAINED)
    ids = [one.content_id for one in found]
    failed = await failures(session, name.memory.engine.engine, ids)
    unread = [ExplainedArtifact(one, failed.get(one.content_id)) for one in found]
    return sorted(unread, key=lambda one: one.failure is None)


def listed(unread: Sequence[ExplainedArtifact]) -> list[UnreadableArtifact]:
    """Return the first artifacts without text, in the form of responses."""
    return [
        UnreadableArtifact(artifact=one.artifact.name, reason=one.reason)
        for one in unread[:_LISTED]
    ]
