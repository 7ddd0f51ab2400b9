"""Routes of sessions and their events. Source: wire specification, section 13."""

from dataclasses import replace
from typing import Annotated

from fastapi import Query

from app.kernel.limits import Counted
from app.kernel.names import SESSION_ID
from app.kernel.permissions import Permission
from app.kernel.wire.base import Empty
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.schemas import Operation
from app.platform.operations.services.operations import OperationService
from app.platform.sessions.schemas.events import (
    AppendEventRequest,
    BatchAppendEventsRequest,
    BatchAppendEventsResponse,
    CreateExchangeRequest,
    Exchange,
    ListEventsResponse,
)
from app.platform.sessions.schemas.sessions import (
    CreateSessionRequest,
    ListSessionsResponse,
    Session,
    UpdateSessionRequest,
)
from app.platform.sessions.services.history import EventService
from app.platform.sessions.services.sessions import SessionService
from app.platform.sessions.store import repository, shared
from app.web.context import Context, Mutation
from app.web.demands import EVERY_FIELD, LIST, WORK, Demand, change
from app.web.headers import IfMatch, etag_of
from app.web.names import EnginePath, EventPath, SessionPath
from app.web.paths import ENGINE
from app.web.query import Filter, OrderBy, Page, UpdateMask
from app.web.routing import Router

_APPEND = change(Permission.EVENTS_APPEND, adds=(Counted.EVENTS,)).with_said(EVERY_FIELD)

router = Router(
    "sessions",
    demands={
        "createSession": change(Permission.SESSIONS_CREATE, adds=(Counted.SESSIONS,)),
        "listSessions": Demand(Permission.SESSIONS_LIST, LIST),
        "appendEvent": _APPEND,
        "createExchange": _APPEND,
        "batchAppendEvents": replace(_APPEND, cost=WORK, is_costly=True),
        "listEvents": Demand(Permission.EVENTS_LIST, LIST),
        "deleteEvent": change(Permission.SESSIONS_UPDATE),
        "getSession": Demand(Permission.SESSIONS_GET),
        "updateSession": change(Permission.SESSIONS_UPDATE, adds=(Counted.BYTES,)),
        "deleteSession": change(Permission.SESSIONS_DELETE),
    },
)

_COLLECTION = ENGINE + "/sessions"
_ONE = _COLLECTION + "/{session}"


@router.post(_COLLECTION, summary="Create a session", operation_id="createSession")
async def create_session(
    context: Mutation,
    engine: EnginePath,
    body: CreateSessionRequest,
    session_id: Annotated[
        str | None,
        Query(
            alias="sessionId",
            description="Id of the new session; absent: generated.",
            json_schema_extra={"pattern": f"^{SESSION_ID}$"},
        ),
    ] = None,
) -> Operation:
    """Start a session of a user."""
    once = context.once({"body": body.sent(), "id": session_id})
    row = await SessionService.of(context.resources).create(engine, session_id, body, once)
    return await OperationService.of(context.resources).render(row)


@router.get(_COLLECTION, summary="List sessions", operation_id="listSessions")
async def list_sessions(
    context: Context,
    engine: EnginePath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
    order_by: OrderBy = None,
) -> ListSessionsResponse:
    """List sessions, newest first unless ordered by `create_time` or `update_time`."""
    service = SessionService.of(context.resources)
    return await service.list_sessions(engine, filter, order_by, page)


@router.post(_ONE + ":appendEvent", summary="Append an event", operation_id="appendEvent")
async def append_event(context: Mutation, name: SessionPath, body: AppendEventRequest) -> Empty:
    """Append an event to a session; its `stateDelta` is applied to the session's state."""
    once = context.once(body.sent())
    await EventService.of(context.resources).append(name, body, once)
    return Empty()


@router.post(_ONE + "/exchanges", summary="Append an exchange", operation_id="createExchange")
async def create_exchange(
    context: Mutation, name: SessionPath, body: CreateExchangeRequest
) -> Exchange:
    """Append a user's text and the agent's answer: two events, or none."""
    once = context.once(body.sent)
    return await EventService.of(context.resources).exchange(name, body, once)


@router.post(
    _ONE + "/events:batch", summary="Append events at once", operation_id="batchAppendEvents"
)
async def batch_append_events(
    context: Mutation, name: SessionPath, body: BatchAppendEventsRequest
) -> BatchAppendEventsResponse:
    """Append events in order, all or none; each `stateDelta` is applied in turn."""
    once = context.once(body.sent)
    return await EventService.of(context.resources).append_all(name, body, once)


@router.get(_ONE + "/events", summary="List events", operation_id="listEvents")
async def list_events(
    context: Context,
    name: SessionPath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
    order_by: OrderBy = None,
) -> ListEventsResponse:
    """List the events of a session, oldest first unless ordered by `timestamp desc`."""
    service = EventService.of(context.resources)
    return await service.list_events(name, filter, order_by, page)


@router.delete(_ONE + "/events/{event}", summary="Erase an event", operation_id="deleteEvent")
async def delete_event(context: Mutation, name: EventPath) -> Empty:
    """Erase the content of an event for good, from all lists and contexts.

    Its number stays in use, and its change of the session's state remains. Summaries that cover the
    event lose their texts and are regenerated without it.
    """
    await EventService.of(context.resources).erase(name, context.once({}))
    return Empty()


@router.get(_ONE, summary="Get a session", operation_id="getSession")
async def get_session(context: Context, name: SessionPath) -> Session:
    """Return a session; 404 if it is deleted or expired."""
    now = context.resources.clock.now()
    async with context.resources.db.snapshot() as session:
        engine = await engines.get(session, name.engine)
        row = await repository.get(session, name, now)
        held = await shared.read(session, engine.engine_id, [row.user_id])
        return Session.from_row(name_of(engine), row, held)


@router.patch(_ONE, summary="Update a session", operation_id="updateSession")
async def update_session(
    context: Mutation,
    name: SessionPath,
    body: UpdateSessionRequest | None = None,
    if_match: IfMatch = None,
    update_mask: UpdateMask = None,
    session_id: Annotated[
        str | None, Query(alias="sessionId", description="Ignored; clients may repeat it.")
    ] = None,
) -> Session:
    """Change the masked fields; without a mask, the fields sent."""
    del session_id
    # The Python client sends no body if a mask names only fields to clear.
    request = body or UpdateSessionRequest()
    etag = etag_of(if_match, request.etag)
    once = context.once({"body": request.sent(), "mask": update_mask, "etag": etag})
    service = SessionService.of(context.resources)
    return await service.update(name, request, update_mask, etag, once)


@router.delete(_ONE, summary="Delete a session", operation_id="deleteSession")
async def delete_session(
    context: Mutation, name: SessionPath, if_match: IfMatch = None
) -> Operation:
    """Delete a session and its events at once; unlike memories, they cannot be recovered."""
    once = context.once({"etag": if_match})
    row = await SessionService.of(context.resources).delete(name, if_match, once)
    return Operation.from_row(row)
