"""Routes of revisions. Source: wire specification, section 6."""

from typing import Annotated

from fastapi import Depends, Query, Response

from app.kernel.limits import Counted
from app.kernel.names import MemoryName, RevisionName, parse_revision_id
from app.kernel.permissions import Permission
from app.kernel.wire.objects import MAX_LABEL_CHARS, MAX_REVISION_LABEL_CHARS
from app.memory.revisions import service
from app.memory.revisions.schemas import (
    ListMemoryRevisionsResponse,
    ListRevisionLabelsResponse,
    MemoryRevision,
    RollbackMemoryRequest,
)
from app.memory.revisions.service import ALL_MEMORIES
from app.platform.operations.schemas import Operation
from app.platform.operations.services.operations import OperationService
from app.web.answers import documented, ndjson
from app.web.context import Context, Mutation
from app.web.demands import LIST, WORK, Demand, change
from app.web.headers import IfMatch
from app.web.names import EnginePath, MemoryPath, RevisionPart
from app.web.paths import ENGINE
from app.web.query import Filter, Page
from app.web.routing import Router

router = Router(
    "revisions",
    demands={
        "listAllRevisions": Demand(Permission.REVISIONS_LIST, LIST),
        "exportRevisions": Demand(Permission.REVISIONS_LIST, WORK, is_costly=True),
        "listRevisionLabels": Demand(Permission.REVISIONS_LIST, LIST),
        "listMemoryRevisions": Demand(Permission.REVISIONS_LIST, LIST),
        "getMemoryRevision": Demand(Permission.REVISIONS_GET),
        "rollbackMemory": change(Permission.MEMORIES_ROLLBACK, adds=(Counted.BYTES,)),
    },
)

_MEMORY = ENGINE + "/memories/{memory}"
_COLLECTION = _MEMORY + "/revisions"
_ALL = ENGINE + f"/memories/{ALL_MEMORIES}/revisions"


async def _revision(memory: MemoryPath, revision: RevisionPart) -> RevisionName:
    return RevisionName(memory, parse_revision_id(revision))


@router.get(_ALL, summary="List revisions of all memories", operation_id="listAllRevisions")
async def list_all_revisions(
    context: Context,
    engine: EnginePath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> ListMemoryRevisionsResponse:
    """List revisions of every memory of an engine, newest first.

    Filters name `labels."key"`, `memory`, `action`, `author`, `caller`, `operation`, `create_time`,
    `scope` and `scope."key"`.
    """
    parent = MemoryName(engine, ALL_MEMORIES)
    return await service.list_revisions(context.resources, parent, filter, page)


@router.get(
    _ALL + ":export",
    summary="Export revisions of all memories",
    operation_id="exportRevisions",
    response_class=Response,
    responses=documented(MemoryRevision),
)
async def export_revisions(
    context: Context,
    engine: EnginePath,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> Response:
    """Export the revisions until now, oldest first, one revision a line; filter as in the list."""
    return await ndjson(service.export(context.resources, engine, filter))


@router.get(
    _ALL + ":listLabels", summary="List labels of revisions", operation_id="listRevisionLabels"
)
async def list_labels(
    context: Context,
    engine: EnginePath,
    page: Page,
    key: Annotated[
        str | None,
        Query(
            description=f"Key of at most {MAX_LABEL_CHARS} characters: its values are listed;"
            " absent or empty: the keys are listed.",
            json_schema_extra={"maxLength": MAX_LABEL_CHARS},
        ),
    ] = None,
    prefix: Annotated[
        str,
        Query(
            description="Beginning of the keys, or of the values of the key, that are listed; at"
            f" most {MAX_LABEL_CHARS} characters for keys and {MAX_REVISION_LABEL_CHARS}"
            " for values.",
            json_schema_extra={"maxLength": MAX_REVISION_LABEL_CHARS},
        ),
    ] = "",
) -> ListRevisionLabelsResponse:
    """List the keys of labels in use, or the values of a key, in the order of their bytes.

    Labels of expired revisions and of erased memories are not in use.
    """
    return await service.list_labels(context.resources, engine, key or None, prefix, page)


@router.get(_COLLECTION, summary="List a memory's revisions", operation_id="listMemoryRevisions")
async def list_revisions(
    context: Context,
    memory: MemoryPath,
    page: Page,
    filter: Filter = None,  # noqa: A002 - the name on the wire
) -> ListMemoryRevisionsResponse:
    """List the revisions of a memory, newest first; also of one deleted in the last 48 hours.

    Filters name the fields of the list of all memories' revisions, but for `memory`.
    """
    return await service.list_revisions(context.resources, memory, filter, page)


@router.get(_COLLECTION + "/{revision}", summary="Get a revision", operation_id="getMemoryRevision")
async def get_revision(
    context: Context, name: Annotated[RevisionName, Depends(_revision)]
) -> MemoryRevision:
    """Return a revision."""
    return await service.get(context.resources, name)


@router.post(_MEMORY + ":rollback", summary="Roll a memory back", operation_id="rollbackMemory")
async def roll_back(
    context: Mutation, name: MemoryPath, body: RollbackMemoryRequest, if_match: IfMatch = None
) -> Operation:
    """Restore a memory to a revision; a deleted memory is recovered.

    With `validateOnly`, nothing changes: the response has the change as `plannedChanges`.
    """
    once = context.once({"body": body.sent(), "etag": if_match})
    row = await service.roll_back(context.resources, name, body, if_match, once)
    return await OperationService.of(context.resources).render(row)
