"""Use cases of sessions: create, list, update, delete."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.adapters.db.lists import list_page
from app.adapters.db.session import Database, note
from app.adapters.db.session import Session as DatabaseSession
from app.adapters.llm.models import TextModels, check_policy
from app.adapters.resources import Resources
from app.kernel.changes import IdempotencyKey, changed_fields, check_etag
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.ids import bucket_of_user, new_id
from app.kernel.names import EngineName, SessionName, check_session_id
from app.kernel.paging import PageRequest
from app.kernel.permissions import Permission
from app.kernel.wire.privacy_config import Place
from app.kernel.wire.scalars import format_timestamp, moment_after
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow, name_of
from app.platform.operations.logic.states import EMPTY, type_url
from app.platform.operations.services.mutation import Method, mutate, write
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic import noted
from app.platform.privacy.service import PrivacyService
from app.platform.sessions.logic.states import StateParts
from app.platform.sessions.schemas.sessions import (
    CreateSessionRequest,
    ListSessionsResponse,
    Session,
    SessionFields,
    UpdateSessionRequest,
    check_state_size,
)
from app.platform.sessions.store import erasure, repository, shared
from app.platform.sessions.store.shared import StateChange
from app.platform.sessions.store.tables import SessionRow
from app.settings.settings import Settings

_EXPIRY_FIELDS = frozenset({"ttl", "expire_time"})
_COLUMNS = frozenset({"display_name", "labels", "session_state", "memory_policy"})
_STATE_FIELD = "sessionState"
_MASKABLE = _COLUMNS | _EXPIRY_FIELDS | {"user_id"}
TEXT_FIELDS = {"display_name", "session_state"}
"""Fields in which the engine's rules about sensitive values are applied."""
CREATE = "sessions.create"
"""The kind of the operation that creates a session."""


@dataclass(frozen=True)
class SessionService:
    """Use cases of sessions, except their events."""

    db: Database
    clock: Clock
    settings: Settings
    models: TextModels
    privacy: PrivacyService

    @classmethod
    def of(cls, resources: Resources) -> "SessionService":
        """Build the service from the process's resources."""
        privacy = PrivacyService.of(resources)
        return cls(resources.db, resources.clock, resources.settings, resources.models, privacy)

    async def create(
        self,
        name: EngineName,
        session_id: str | None,
        request: CreateSessionRequest,
        once: IdempotencyKey | None,
    ) -> OperationRow:
        """Create a session; the operation is done.

        Raises:
            AlreadyExists: the chosen id is taken.
            InvalidArgument: the policy names something unknown, or a state is too large.
            PermissionDenied: a restricted caller would change the state that all users share.
        """
        now = self.clock.now()
        self._check_policy(request)
        place = Place.SESSION_EVENTS
        request, masked = await self.privacy.admit(name, place, request, TEXT_FIELDS)
        columns = request.columns()
        parts = StateParts.of(columns["session_state"])
        chosen = _made_id(request, now) if session_id is None else session_id
        check_session_id("sessionId", chosen)
        opened = mutate(
            self,
            engines.locked(name),
            _CREATE,
            once,
            scopes={"user_id": [request.user_id]},
            details=noted(masked),
            now=now,
        )
        async with opened as change:
            if change.replayed is not None:
                return change.replayed
            session, engine = change.session, change.engine
            values = {
                "engine_id": engine.engine_id,
                "session_id": chosen,
                "user_id": request.user_id,
                **columns,
                "session_state": parts.own,
                "version": 1,
                "create_time": now,
                "update_time": now,
                "shown_update_time": now,
                "expire_time": self._expiry(request, now),
            }
            row = await repository.insert_session(session, values, is_chosen=session_id is not None)
            await self._check_and_share(session, row, parts, Permission.SESSIONS_CREATE)
            response = {
                "@type": type_url("Session"),
                "name": str(SessionName(name_of(engine), row.session_id)),
                "createTime": format_timestamp(row.create_time),
            }
            note(session, resource=response["name"])
            return await change.done(response)

    async def update(
        self,
        name: SessionName,
        request: UpdateSessionRequest,
        mask: str | None,
        etag: str | None,
        once: IdempotencyKey | None,
    ) -> Session:
        """Change the masked fields; without a mask, the fields sent.

        In the shared state, sent keys change and null keys are removed; all others stay. A repeated
        request changes nothing and gets the present session.

        Raises:
            Aborted: the etag is stale.
            InvalidArgument: the user differs, the policy is unknown, or a state is too large.
            PermissionDenied: a restricted caller would change the state that all users share.
        """
        now = self.clock.now()
        self._check_policy(request)
        changed = changed_fields(mask, request.model_fields_set, _MASKABLE)
        fields = TEXT_FIELDS & changed
        request, _ = await self.privacy.admit(name.engine, Place.SESSION_EVENTS, request, fields)
        async with write(self, engines.locked(name.engine), once, now=now) as change:
            session, engine = change.session, change.engine
            row = await repository.get(session, name, now, for_update=True)
            if change.replayed is not None:
                return await self._session(session, name_of(engine), row)
            check_etag(row.version, etag)
            if request.user_id not in {None, row.user_id}:
                raise InvalidArgument.of_field(
                    "userId", "must not change; omit it or repeat the present value."
                )
            columns = request.columns()
            values = {column: columns[column] for column in changed & _COLUMNS}
            parts = StateParts.of(values.get("session_state", {}))
            if "session_state" in values:
                values["session_state"] = parts.own
            if changed & _EXPIRY_FIELDS:
                values["expire_time"] = self._expiry(request, now)
            row = await repository.update_session(session, row, values, now)
            if "session_state" in values:
                await self._check_and_share(session, row, parts, Permission.SESSIONS_UPDATE)
            return await self._session(session, name_of(engine), row)

    async def delete(
        self, name: SessionName, etag: str | None, once: IdempotencyKey | None
    ) -> OperationRow:
        """Delete a session with its events, beyond recovery; raise Aborted for a stale etag."""
        now = self.clock.now()
        async with mutate(self, engines.locked(name.engine), _DELETE, once, now=now) as change:
            if change.replayed is not None:
                return change.replayed
            row = await repository.get(change.session, name, now, for_update=True)
            change.concerns({"user_id": row.user_id})
            check_etag(row.version, etag)
            await erasure.remove(change.session, row)
            return await change.done(EMPTY)

    async def list_sessions(
        self,
        name: EngineName,
        filter_text: str | None,
        order_by: str | None,
        page: PageRequest,
    ) -> ListSessionsResponse:
        """Return a page of sessions that have not expired."""
        now = self.clock.now()
        listed = repository.SESSIONS.ordered(order_by)
        asked = listed.filtered_page(page, self.settings, filter_text, engine=name.engine)
        statement = repository.select_sessions(name.engine, now)
        size = repository.size_with_shared_state(name.engine)
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name))
            rows, token = await list_page(session, statement, asked, size)
            users = {row.user_id for row in rows}
            held = await shared.read(session, name.engine, users)
        return ListSessionsResponse(
            sessions=[Session.from_row(engine, row, held) for row in rows], next_page_token=token
        )

    async def read_response(
        self, session: DatabaseSession, stored: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Fill the response of an operation with the present session, if it still exists."""
        name = SessionName.parse(stored["name"])
        row = await repository.find(session, name, self.clock.now())
        if row is not None and await engines.is_live(session, name.engine.engine):
            wire = (await self._session(session, name.engine, row)).wire()
            if wire["createTime"] == stored["createTime"]:
                return {**stored, **wire}
        return dict(stored)

    @staticmethod
    async def _session(session: DatabaseSession, engine: EngineName, row: SessionRow) -> Session:
        held = await shared.read(session, row.engine_id, [row.user_id])
        return Session.from_row(engine, row, held)

    async def _check_and_share(
        self, session: DatabaseSession, row: SessionRow, parts: StateParts, permission: Permission
    ) -> None:
        check_state_size(row.session_state, _STATE_FIELD)
        change = StateChange(
            engine_id=row.engine_id,
            user_id=row.user_id,
            parts=parts,
            field=_STATE_FIELD,
            permission=permission,
            most_bytes=self.settings.max_shared_state_bytes,
            removes_nulls=permission is Permission.SESSIONS_UPDATE,
        )
        await shared.write(session, change)

    def _check_policy(self, request: SessionFields) -> None:
        check_policy(request.memory_policy, self.models, self.settings, "memoryPolicy")

    def _expiry(self, request: SessionFields, now: datetime) -> datetime:
        if request.expire_time is not None:
            if request.expire_time <= now:
                raise InvalidArgument.of_field("expireTime", "must lie in the future.")
            return request.expire_time
        default = timedelta(seconds=self.settings.session_ttl_seconds)
        return moment_after(now, request.ttl or default, "ttl")


def _made_id(request: CreateSessionRequest, now: datetime) -> str:
    return str(new_id(now, bucket_of_user(request.user_id)))


_CREATE = Method(CREATE, "CreateSession")
_DELETE = Method("sessions.delete", "Delete")


async def check(_: Resources, session: DatabaseSession, engine: EngineRow) -> None:
    """Raise InvalidArgument if the numbers of an engine's sessions differ from their events."""
    wrong = await repository.find_miscounted(session, engine.engine_id)
    if wrong is not None:
        message = f"sessions/{wrong}: lastSeq and exchanges must agree with its last event."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
