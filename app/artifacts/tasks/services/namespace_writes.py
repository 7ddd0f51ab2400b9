"""Placement of artifacts in namespaces, in the caller's transaction: creation, quotas, counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.adapters.llm.embedders import Embedders
from app.artifacts.tasks.logic import narrowed
from app.artifacts.tasks.schemas import BeginsNamespace
from app.artifacts.tasks.services.outputs import OutputLimits, OutputPreferences, handling
from app.artifacts.tasks.services.preparing import check_embedder
from app.artifacts.tasks.store import erasure, repository
from app.artifacts.tasks.store.tables import ArtifactRow, NamespaceRow
from app.kernel.changes import check_etag
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument
from app.kernel.limits import Counted, exhausted
from app.kernel.names import NamespaceName
from app.kernel.wire.scalars import moment_after
from app.platform.limits.services.quotas import check_held
from app.settings.settings import Settings


@dataclass(frozen=True)
class NamespaceDraft:
    """Settings of a request for a namespace that it may create."""

    user_id: str | None = None
    tool: str | None = None
    activity: str | None = None
    sensitive: bool = False
    local_only: bool = False
    allowed_models: Sequence[str] | None = None
    embedding_model: str | None = None
    ttl: timedelta | None = None
    readers: Sequence[str] | None = None

    @classmethod
    def of(cls, request: BeginsNamespace) -> "NamespaceDraft":
        """Return the settings of a request."""
        return cls(
            request.user_id,
            request.tool,
            request.activity,
            bool(request.sensitive),
            bool(request.local_only),
            request.allowed_models,
            request.embedding_model,
            request.ttl,
            request.readers,
        )

    def under(self, policy: OutputPreferences) -> "NamespaceDraft":
        """Return the settings, made stricter by the policy of a tool."""
        wishes = OutputPreferences(sensitive=self.sensitive, ttl=self.ttl)
        held = handling(policy, wishes, OutputLimits())
        return replace(
            self,
            sensitive=held.sensitive,
            ttl=held.ttl,
            local_only=bool(self.local_only or policy.local_only),
            allowed_models=narrowed(policy.allowed_models, self.allowed_models),
            readers=narrowed(policy.readers, self.readers),
        )

    def columns(self, now: datetime, until: datetime) -> dict[str, Any]:
        """Return the columns of a namespace created with these settings."""
        return {
            "user_id": self.user_id,
            "tool": self.tool,
            "activity": self.activity,
            "sensitive": self.sensitive,
            "local_only": self.local_only,
            "allowed_models": self.allowed_models,
            "readers": self.readers,
            "embedding_model": self.embedding_model,
            "version": 1,
            "create_time": now,
            "update_time": now,
            "expire_time": until,
        }


@dataclass(frozen=True)
class NamespaceWrites:
    """Placement of artifacts in namespaces."""

    clock: Clock
    settings: Settings
    embedders: Embedders

    async def begin(
        self,
        session: Session,
        name: NamespaceName,
        beginning: NamespaceDraft,
        now: datetime,
        until: datetime,
    ) -> NamespaceRow:
        """Return a locked namespace; create it from the request if it does not exist.

        The request can make an existing namespace stricter, never looser.

        Raises:
            AlreadyExists: the namespace exists, and this caller has no access to it.
            InvalidArgument: it exists with another user or embedder, or its embedder is unknown.
            NotFound: this caller has no access to the user.
            PermissionDenied: its rules, after the request, do not allow its embedder.
        """
        columns = beginning.columns(now, until)
        await _remove_if_expired(session, name)
        row, is_new = await repository.begin_namespace(session, name, columns)
        if is_new:
            check_embedder(self.embedders, row, is_chosen=True)
            return row
        for field, column in (("userId", "user_id"), ("embeddingModel", "embedding_model")):
            if columns[column] not in {None, getattr(row, column)}:
                raise InvalidArgument.of_field(
                    field, "must match the existing namespace, which has another one."
                )
        if stricter := _stricter(row, beginning):
            row = await repository.update_namespace(session, row, stricter)
            check_embedder(self.embedders, row, is_chosen=False)
        return row

    async def check_room(
        self,
        session: Session,
        row: NamespaceRow,
        length: int,
        artifacts: int,
        but: str | None = None,
    ) -> None:
        """Raise ResourceExhausted if a locked namespace lacks room, counting uploads under way.

        `but` is the content id of an upload being committed, which no longer counts as under way.
        """
        coming = await repository.sum_coming(session, row, self.clock.now(), but)
        artifacts, length = artifacts + coming[0], length + coming[1]
        most = self.settings.task_max_namespace_bytes
        if row.bytes + length > most:
            message = f"namespaces/{row.namespace} must have at most {most} bytes"
            raise exhausted(f"{message}.", "namespace_bytes", limit=most)
        most = self.settings.tuning.task_max_namespace_artifacts
        if row.artifacts + artifacts > most:
            message = f"namespaces/{row.namespace} must have at most {most} artifacts"
            raise exhausted(f"{message}.", "namespace_artifacts", limit=most)

    async def check_engine(self, session: Session, engine_id: int, going: int = 0) -> None:
        """Raise ResourceExhausted if an engine holds too much once `going` bytes are freed."""
        await check_held(session, self.settings, engine_id, Counted.ARTIFACT_BYTES, going)

    async def count(
        self, session: Session, row: NamespaceRow, added: Sequence[int], until: datetime
    ) -> NamespaceRow:
        """Add artifacts of these lengths to the counts of a locked namespace."""
        begins = row.artifacts == 0
        values = {
            "artifacts": row.artifacts + len(added),
            "bytes": row.bytes + sum(added),
            "last_ordinal": row.last_ordinal + len(added),
            "expire_time": until if begins else max(until, row.expire_time),
            "update_time": self.clock.now(),
        }
        return await repository.update_namespace(session, row, values)

    async def uncount(self, session: Session, row: NamespaceRow, gone: ArtifactRow) -> NamespaceRow:
        """Subtract an artifact from the counts of a locked namespace."""
        values: dict[str, Any] = {
            "artifacts": row.artifacts - 1,
            "bytes": row.bytes - gone.size_bytes,
            "update_time": self.clock.now(),
        }
        if gone.expire_time >= row.expire_time:
            # The remaining artifacts may expire earlier.
            latest = await repository.latest_expiry(session, row)
            values["expire_time"] = latest or row.expire_time
        return await repository.update_namespace(session, row, values)

    def expiry(self, ttl: timedelta | None, now: datetime) -> datetime:
        """Return the expiry of content stored now."""
        default = timedelta(seconds=self.settings.task_ttl_seconds)
        return moment_after(now, ttl or default, "ttl")


def check_content_etag(row: ArtifactRow | None, etag: str | None) -> None:
    """Raise Aborted unless an etag matches the stored content; `*` matches any content."""
    if etag is None:
        return
    if row is None or etag not in {row.content_id, "*"}:
        # Raises the error of `check_etag`, which itself compares version numbers.
        check_etag(0, "stale")


async def _remove_if_expired(session: Session, name: NamespaceName) -> None:
    row = await repository.lock_namespace(session, name)
    if row is None or row.expire_time > (now := await database_now(session)):
        return
    coming, _ = await repository.sum_coming(session, row, now)
    if not coming:
        await erasure.remove_namespace(session, row)


def _stricter(row: NamespaceRow, beginning: NamespaceDraft) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if beginning.sensitive and not row.sensitive:
        values["sensitive"] = True
    if beginning.local_only and not row.local_only:
        values["local_only"] = True
    for column in ("allowed_models", "readers"):
        known = getattr(row, column)
        both = narrowed(known, getattr(beginning, column))
        if both != known:
            values[column] = both
    return values
