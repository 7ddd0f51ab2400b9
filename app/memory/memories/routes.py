"""Routes of memories. Source: wire specification, section 5."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from app.kernel.limits import Counted
from app.kernel.names import CHOSEN_ID
from app.kernel.permissions import Permission
from app.memory.memories.schemas.fast_json import memory_json
from app.memory.memories.schemas.memories import (
    CreateMemoryRequest,
    DeleteMemoryRequest,
    ListMemoriesResponse,
    ListScopesResponse,
    Memory,
    UndeleteMemoryRequest,
    UpdateMemoryRequest,
)
from app.memory.memories.services import listing
from app.memory.memories.services.memories import MemoryService, undelete
from app.memory.memories.store import fast_sql
from app.platform.operations.schemas import Operation
from app.platform.operations.services.operations import OperationService
from app.web.answers import JsonAnswer, json_answer
from app.web.context import Context, Mutation
from app.web.demands import LIST, Demand, change
from app.web.headers import IfMatch, etag_of
from app.web.names import EnginePath, MemoryPath
from app.web.paths import ENGINE
from app.web.query import Filter, OrderBy, Page, UpdateMask
from app.web.routing import Router

router = Router(
    "memories",
    demands={
        "createMemory": change(Permission.MEMORIES_CREATE, adds=(Counted.MEMORIES,)),
        "listMemories": Demand(Permission.MEMORIES_LIST, LIST),
        "listScopes": Demand(Permission.MEMORIES_LIST, LIST),
        "getMemory": Demand(Permission.MEMORIES_GET),
        "updateMemory": change(Permission.MEMORIES_UPDATE, adds=(Counted.BYTES,)),
        "deleteMemory": change(Permission.MEMORIES_DELETE),
        "undeleteMemory": change(Permission.MEMORIES_ROLLBACK, adds=(Counted.MEMORIES,)),
    },
)

_COLLECTION = ENGINE + "/memories"
_ONE = _COLLECTION + "/{memory}"
ShowDeleted = Annotated[
    bool | None,
    Query(
        alias="showDeleted",
        description="True: include deleted memories that can still be recovered; needs"
        " `revisions.list`.",
    ),
]


@router.post(
    _COLLECTION,
    summary="Create a memory",
    operation_id="createMemory",
    response_model=Operation,
)
async def create_memory(
    context: Mutation,
    engine: EnginePath,
    body: CreateMemoryRequest,
    memory_id: Annotated[
        str | None,
        Query(
            alias="memoryId",
            description="Id of the new memory; generated if absent.",
            json_schema_extra={"pattern": f"^{CHOSEN_ID}$"},
        ),
    ] = None,
) -> JsonAnswer:
    """Store a memory as it is given: no extraction, no consolidation."""
    once = context.once({"body": body.sent(), "id": memory_id})
    created = await MemoryService.of(context.resources).create(engine, memory_id, body, once)
    if created.response is not None:
        return JsonAnswer(Operation.from_row(created.row, created.response).wire())
    operation = await OperationService.of(context.resources).render(created.row)
    return JsonAnswer(operation.wire())


@router.get(
    _COLLECTION,
    summary="List memories",
    operation_id="listMemories",
    response_model=ListMemoriesResponse,
)
async def list_memories(
    context: Context,
    engine: EnginePath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
    order_by: OrderBy = None,
    show_deleted: ShowDeleted = None,
) -> Response:
    """List memories of all scopes, newest first unless ordered otherwise.

    With `showDeleted`, filters may also name `delete_time` (`delete_time:*`: is deleted) and
    `recover_until`, and `orderBy` may name `delete_time`, which sorts live memories last.
    """
    if show_deleted:
        context.require(Permission.REVISIONS_LIST)
    listed = await listing.list_memories(
        context.resources, engine, filter, order_by, page, shows_deleted=bool(show_deleted)
    )
    return await json_answer(listed)


@router.get(
    _COLLECTION + ":listScopes",
    summary="List scopes",
    operation_id="listScopes",
    response_model=ListScopesResponse,
)
async def list_scopes(
    context: Context,
    engine: EnginePath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
    show_deleted: Annotated[
        bool | None,
        Query(
            alias="showDeleted",
            description="True: list the scopes of deleted memories, too, while these can be"
            " recovered; needs `revisions.list`.",
        ),
    ] = None,
) -> JsonAnswer:
    """List the scopes that memories have, with the number of live memories of each.

    Filter by `scope` and `scope."key"`. The order is stable and has no meaning.
    """
    if show_deleted:
        context.require(Permission.REVISIONS_LIST)
    listed = await listing.list_scopes(
        context.resources, engine, filter, page, show_deleted=bool(show_deleted)
    )
    return JsonAnswer(listed)


@router.get(_ONE, summary="Get a memory", operation_id="getMemory", response_model=Memory)
async def get_memory(
    context: Context, name: MemoryPath, show_deleted: ShowDeleted = None
) -> JsonAnswer:
    """Return a memory; 404 when it is deleted or expired."""
    resources = context.resources
    if show_deleted:
        context.require(Permission.REVISIONS_LIST)
        memory = await listing.get_known(resources, name)
        return JsonAnswer(memory.wire())
    return JsonAnswer(memory_json(*await fast_sql.find(resources.db, name, resources.clock.now())))


@router.patch(_ONE, summary="Update a memory", operation_id="updateMemory")
async def update_memory(
    context: Mutation,
    name: MemoryPath,
    body: UpdateMemoryRequest | None = None,
    if_match: IfMatch = None,
    update_mask: UpdateMask = None,
    memory_id: Annotated[
        str | None, Query(alias="memoryId", description="Ignored; clients may repeat it.")
    ] = None,
) -> Operation:
    """Change the masked fields; without a mask, the fields that are sent."""
    del memory_id
    # The Python client sends no body if a mask names only fields to clear.
    request = body or UpdateMemoryRequest()
    etag = etag_of(if_match, request.etag)
    once = context.once({"body": request.sent(), "mask": update_mask, "etag": etag})
    service = MemoryService.of(context.resources)
    row = await service.update(name, request, update_mask, etag, once)
    return await OperationService.of(context.resources).render(row)


@router.delete(_ONE, summary="Delete a memory", operation_id="deleteMemory")
async def delete_memory(
    context: Mutation,
    name: MemoryPath,
    body: DeleteMemoryRequest | None = None,
    if_match: IfMatch = None,
    permanent: Annotated[
        bool | None, Query(description="True: erase it and all its history now, beyond recovery.")
    ] = None,
) -> Operation:
    """Delete a memory; for 48 hours it can be brought back, and its revisions can be read."""
    if permanent:
        context.require(Permission.MEMORIES_PURGE)
    request = body or DeleteMemoryRequest()
    once = context.once({**request.sent(), "permanent": bool(permanent), "etag": if_match})
    service = MemoryService.of(context.resources)
    row = await service.delete(name, request, if_match, once, permanent=bool(permanent))
    return await OperationService.of(context.resources).render(row)


@router.post(_ONE + ":undelete", summary="Undelete a memory", operation_id="undeleteMemory")
async def undelete_memory(
    context: Mutation,
    name: MemoryPath,
    body: UndeleteMemoryRequest | None = None,
    if_match: IfMatch = None,
) -> Operation:
    """Bring a deleted memory back as it was last, even if no revision of it was kept."""
    request = body or UndeleteMemoryRequest()
    once = context.once({"body": request.sent(), "etag": if_match})
    row = await undelete(context.resources, name, request, if_match, once)
    return await OperationService.of(context.resources).render(row)
