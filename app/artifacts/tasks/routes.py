"""Routes of task memory. Source: design of task memory, section 1.3."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request
from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response, StreamingResponse

from app.artifacts.tasks.schemas import (
    Artifact,
    ExportNamespaceRequest,
    ExportNamespaceResponse,
    ListArtifactsResponse,
    ListNamespacesResponse,
    ListTaskMemoriesResponse,
    ListToolPoliciesResponse,
    Namespace,
    ProcessOutputRequest,
    ProcessOutputResponse,
    StoreArtifactsRequest,
    StoreArtifactsResponse,
    TaskMemory,
    ToolPolicy,
    UpdateNamespaceRequest,
    UpdateToolPolicyRequest,
)
from app.artifacts.tasks.services.exports import ExportService
from app.artifacts.tasks.services.namespace_writes import Beginning
from app.artifacts.tasks.services.policy_service import PolicyService
from app.artifacts.tasks.services.removals import RemovalService
from app.artifacts.tasks.services.storing import StoringService
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.services.uploads import Upload, UploadService
from app.kernel.errors import InvalidArgument
from app.kernel.limits import Counted
from app.kernel.media_types import BYTES, MediaType
from app.kernel.permissions import Permission
from app.kernel.wire.base import Empty
from app.kernel.wire.task_fields import TaskId
from app.platform.engines.logic.config import Ttl
from app.web.body import pieces
from app.web.contents import check_whole, read_digest, read_range, write_digest
from app.web.context import Context, Mutation
from app.web.demands import LIST, WORK, Demand, change
from app.web.errors import ErrorBody, render
from app.web.etag import IfMatch, etag_of
from app.web.names import ArtifactPath, EnginePath, NamespacePath, TaskMemoryPath, ToolPolicyPath
from app.web.paging import Page
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "task memories",
    demands={
        "processOutput": change(Permission.ARTIFACTS_WRITE, adds=(Counted.ARTIFACT_BYTES,)),
        "listTaskMemories": Demand(Permission.ARTIFACTS_REFERENCE, LIST),
        "getTaskMemory": Demand(Permission.ARTIFACTS_REFERENCE, LIST),
        "deleteTaskMemory": change(Permission.ARTIFACTS_WRITE, WORK),
        "listToolPolicies": Demand(Permission.ARTIFACTS_REFERENCE, LIST),
        "getToolPolicy": Demand(Permission.ARTIFACTS_REFERENCE),
        "updateToolPolicy": change(Permission.ENGINES_UPDATE),
        "deleteToolPolicy": change(Permission.ENGINES_UPDATE),
        "listNamespaces": Demand(Permission.ARTIFACTS_REFERENCE, LIST),
        "storeArtifacts": change(
            Permission.ARTIFACTS_WRITE, adds=(Counted.ARTIFACT_BYTES,), is_costly=True
        ),
        "exportNamespace": change(Permission.ARTIFACTS_DERIVE, WORK, is_costly=True),
        "getNamespace": Demand(Permission.ARTIFACTS_REFERENCE),
        "updateNamespace": change(Permission.ARTIFACTS_WRITE),
        "deleteNamespace": change(Permission.ARTIFACTS_WRITE),
        "listArtifacts": Demand(Permission.ARTIFACTS_REFERENCE, LIST),
        "uploadArtifact": change(
            Permission.ARTIFACTS_WRITE,
            WORK,
            adds=(Counted.ARTIFACT_BYTES,),
            is_costly=True,
            is_streamed=True,
        ),
        "getArtifact": Demand(Permission.ARTIFACTS_REFERENCE),
        "downloadArtifact": Demand(Permission.ARTIFACTS_CONTENT, LIST, is_costly=True),
        "deleteArtifact": change(Permission.ARTIFACTS_WRITE),
    },
)

_MEMORIES = ENGINE + "/taskMemories"
_MEMORY = _MEMORIES + "/{task_memory}"
_POLICIES = _MEMORY + "/toolPolicies"
_POLICY = _POLICIES + "/{tool}"
_NAMESPACES = _MEMORY + "/namespaces"
_NAMESPACE = _NAMESPACES + "/{namespace}"
_ARTIFACTS = _NAMESPACE + "/artifacts"
_ARTIFACT = _ARTIFACTS + "/{artifact}"
_TTL = TypeAdapter[timedelta](Ttl)
_ANY_BYTES: dict[str, Any] = {
    "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}
}

_HEADERS = {
    "Accept-Ranges": "bytes",
    # Content may be of any type, and must not open as a page of this service.
    "Content-Disposition": "attachment",
}


@router.post(_MEMORY + ":processOutput", summary="Process an output", operation_id="processOutput")
async def process_output(
    context: Mutation, name: TaskMemoryPath, body: ProcessOutputRequest
) -> ProcessOutputResponse:
    """Return the prompt text for a tool's output; store the output if it is kept off the prompt."""
    service = StoringService(TaskService.of(context.resources))
    return await service.process(name, body, context.once(body.sent), context.caller)


@router.get(_MEMORIES, summary="List task memories", operation_id="listTaskMemories")
async def list_task_memories(
    context: Context, engine: EnginePath, page: Page
) -> ListTaskMemoriesResponse:
    """List the task memories that are not empty."""
    return await TaskService.of(context.resources).list_memories(engine, page)


@router.get(_MEMORY, summary="Get a task memory", operation_id="getTaskMemory")
async def get_task_memory(context: Context, name: TaskMemoryPath) -> TaskMemory:
    """Return the totals of a task memory; 404 while it is empty."""
    return await TaskService.of(context.resources).get_memory(name)


@router.delete(_MEMORY, summary="Delete a task memory", operation_id="deleteTaskMemory")
async def delete_task_memory(context: Mutation, name: TaskMemoryPath) -> Empty:
    """Delete everything in a task memory, beyond recovery; tool policies stay."""
    await RemovalService(TaskService.of(context.resources)).delete_memory(name, context.once({}))
    return Empty()


# Policies of tools


@router.get(_POLICIES, summary="List policies of tools", operation_id="listToolPolicies")
async def list_tool_policies(
    context: Context, name: TaskMemoryPath, page: Page
) -> ListToolPoliciesResponse:
    """List the tool policies of a memory, ordered by tool name."""
    return await PolicyService(TaskService.of(context.resources)).list_page(name, page)


@router.get(_POLICY, summary="Get the policy of a tool", operation_id="getToolPolicy")
async def get_tool_policy(context: Context, name: ToolPolicyPath) -> ToolPolicy:
    """Return the policy for a tool's outputs."""
    return await PolicyService(TaskService.of(context.resources)).get(name)


@router.put(_POLICY, summary="Set the policy of a tool", operation_id="updateToolPolicy")
async def update_tool_policy(
    context: Mutation,
    name: ToolPolicyPath,
    body: UpdateToolPolicyRequest,
    if_match: IfMatch = None,
) -> ToolPolicy:
    """Set the policy for a tool's outputs; it fills what requests omit.

    Requests cannot loosen the handling of a sensitive tool.
    """
    service = PolicyService(TaskService.of(context.resources))
    etag = etag_of(if_match, body.etag)
    return await service.put(name, body, etag, context.once({"body": body.sent(), "etag": etag}))


@router.delete(_POLICY, summary="Delete the policy of a tool", operation_id="deleteToolPolicy")
async def delete_tool_policy(
    context: Mutation, name: ToolPolicyPath, if_match: IfMatch = None
) -> Empty:
    """Delete a tool's policy; from then on only requests decide."""
    service = PolicyService(TaskService.of(context.resources))
    await service.delete(name, if_match, context.once({"etag": if_match}))
    return Empty()


# Namespaces


@router.get(_NAMESPACES, summary="List namespaces", operation_id="listNamespaces")
async def list_namespaces(
    context: Context, name: TaskMemoryPath, page: Page
) -> ListNamespacesResponse:
    """List the namespaces of a memory, newest first, at most 100 a page."""
    return await TaskService.of(context.resources).list_namespaces(name, page)


@router.post(_NAMESPACE + ":store", summary="Store artifacts", operation_id="storeArtifacts")
async def store_artifacts(
    context: Mutation, name: NamespacePath, body: StoreArtifactsRequest
) -> StoreArtifactsResponse:
    """Store small artifacts, all or none."""
    service = StoringService(TaskService.of(context.resources))
    return await service.store(name, body, context.once(body.sent), context.caller)


@router.post(_NAMESPACE + ":export", summary="Export a namespace", operation_id="exportNamespace")
async def export_namespace(
    context: Mutation, name: NamespacePath, body: ExportNamespaceRequest
) -> ExportNamespaceResponse:
    """Write artifacts to a folder of the operator's; the response reveals no content."""
    service = ExportService(TaskService.of(context.resources))
    return await service.export(name, body, context.once(body.sent))


@router.get(_NAMESPACE, summary="Get a namespace", operation_id="getNamespace")
async def get_namespace(context: Context, name: NamespacePath) -> Namespace:
    """Return a namespace, without content."""
    return await TaskService.of(context.resources).get_namespace(name)


@router.patch(_NAMESPACE, summary="Update a namespace", operation_id="updateNamespace")
async def update_namespace(
    context: Mutation,
    name: NamespacePath,
    body: UpdateNamespaceRequest,
    if_match: IfMatch = None,
) -> Namespace:
    """Change the settings of a namespace. Loosening them also needs `engines.update`."""
    service = TaskService.of(context.resources)
    etag = etag_of(if_match, body.etag)
    once = context.once({"body": body.sent(), "etag": etag})
    return await service.update_namespace(name, body, etag, once, context.caller)


@router.delete(_NAMESPACE, summary="Delete a namespace", operation_id="deleteNamespace")
async def delete_namespace(
    context: Mutation, name: NamespacePath, if_match: IfMatch = None
) -> Empty:
    """Delete everything in a namespace, beyond recovery."""
    once = context.once({"etag": if_match})
    service = RemovalService(TaskService.of(context.resources))
    await service.delete_namespace(name, if_match, once)
    return Empty()


# Artifacts


@router.get(_ARTIFACTS, summary="List artifacts", operation_id="listArtifacts")
async def list_artifacts(
    context: Context, name: NamespacePath, page: Page
) -> ListArtifactsResponse:
    """List the artifacts of a namespace, in the order of their arrival."""
    service = TaskService.of(context.resources)
    return await service.list_artifacts(name, page, context.caller)


@dataclass(frozen=True)
class _UploadParameters:
    """Parameters of an upload, beside its bytes."""

    beginning: Beginning
    sha256: bytes | None


async def _upload_parameters(
    *,
    user_id: Annotated[
        str | None,
        Query(
            alias="userId",
            max_length=512,
            description="Owner of a new namespace; required from bound callers.",
        ),
    ] = None,
    tool: Annotated[
        TaskId | None,
        Query(
            description="Tool that produced it; the tool's policy then decides about sensitivity"
            " and time to live.",
        ),
    ] = None,
    sensitive: Annotated[
        bool,
        Query(description="Whether derived artifacts stay off the prompt as well."),
    ] = False,
    local_only: Annotated[
        bool, Query(alias="localOnly", description="Whether no remote model may read it.")
    ] = False,
    ttl: Annotated[str | None, Query(description='Time to live, such as "3600s".')] = None,
    content_digest: Annotated[
        str | None, Header(description="`sha-256=:...:` of the bytes; a mismatch is 400.")
    ] = None,
) -> _UploadParameters:
    try:
        life = _TTL.validate_python(ttl) if ttl else None
    except ValidationError:
        description = 'must be a positive duration, such as "3600s", of a thousand years at most.'
        raise InvalidArgument.of_field("ttl", description) from None
    beginning = Beginning(
        user_id=user_id or None,
        tool=tool,
        sensitive=sensitive,
        local_only=local_only,
        ttl=life,
    )
    return _UploadParameters(beginning, read_digest(content_digest))


UploadParameters = Annotated[_UploadParameters, Depends(_upload_parameters)]


@router.put(
    _ARTIFACT,
    summary="Upload an artifact",
    operation_id="uploadArtifact",
    openapi_extra={"requestBody": {"required": True, **_ANY_BYTES}},
)
async def upload_artifact(
    request: Request,
    response: Response,
    context: Mutation,
    name: ArtifactPath,
    parameters: UploadParameters,
    if_match: IfMatch = None,
) -> Artifact:
    """Store a body of any media type.

    Without `If-Match`, existing content is not replaced. The same bytes again answer 200 and change
    nothing, not even the expiry; other bytes answer 409 ABORTED. The same bytes also answer 409 if
    the caller may not know them: with neither `artifacts.content` nor, unless the namespace is
    sensitive, `artifacts.derive`. Without `Content-Length`, the upload counts as the longest
    possible artifact until it ends.
    """
    check_whole(request.headers)
    service = UploadService(TaskService.of(context.resources))
    upload = Upload(
        name=name,
        media_type=_declared(request.headers.get("content-type")),
        size=_length(request.headers.get("content-length")),
        sha256=parameters.sha256,
        etag=if_match,
        beginning=parameters.beginning,
    )
    artifact = await service.put(upload, pieces(request), context.caller)
    response.headers["ETag"] = f'"{artifact.etag}"'
    return artifact


@router.get(_ARTIFACT, summary="Get an artifact", operation_id="getArtifact")
async def get_artifact(context: Context, name: ArtifactPath) -> Artifact:
    """Return an artifact, without content."""
    return await TaskService.of(context.resources).get_artifact(name, context.caller)


@router.get(
    _ARTIFACT + "/content",
    summary="Download an artifact",
    operation_id="downloadArtifact",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The bytes.", **_ANY_BYTES},
        206: {"description": "The requested range.", **_ANY_BYTES},
        416: {"model": ErrorBody, "description": "The requested range has no bytes."},
    },
)
async def download_artifact(
    context: Context,
    name: ArtifactPath,
    content_range: Annotated[
        str | None, Header(alias="Range", description="One part, such as `bytes=0-1023`.")
    ] = None,
    if_range: Annotated[
        str | None, Header(description="Etag of the content; if it differs, everything is sent.")
    ] = None,
) -> Response:
    """Return the bytes of an artifact, or a part of them."""
    service = TaskService.of(context.resources)
    row = await service.find_content(name)
    etag = f'"{row.content_id}"'
    asked = content_range if if_range in {None, etag} else None
    try:
        part = read_range(asked, row.size_bytes)
    except InvalidArgument as error:
        answer = render(error)
        answer.headers["Content-Range"] = f"bytes */{row.size_bytes}"
        return answer
    start, end = part or (0, row.size_bytes)
    digest = write_digest(row.sha256 or b"")
    headers = {**_HEADERS, "ETag": etag, "Content-Length": str(end - start), "Repr-Digest": digest}
    if part is None:
        headers["Content-Digest"] = digest
    else:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{row.size_bytes}"
    return StreamingResponse(
        service.read_content(row, start, end),
        200 if part is None else 206,
        headers,
        media_type=row.media_type,
    )


@router.delete(_ARTIFACT, summary="Delete an artifact", operation_id="deleteArtifact")
async def delete_artifact(context: Mutation, name: ArtifactPath, if_match: IfMatch = None) -> Empty:
    """Delete an artifact, beyond recovery; the last one takes its namespace with it."""
    once = context.once({"etag": if_match})
    service = RemovalService(TaskService.of(context.resources))
    await service.delete_artifact(name, if_match, once)
    return Empty()


def _declared(content_type: str | None) -> str:
    try:
        return str(MediaType.parse(content_type or BYTES))
    except ValueError as error:
        raise InvalidArgument.of_field("Content-Type", f"{error}.") from None


def _length(content_length: str | None) -> int | None:
    return int(content_length) if content_length and content_length.isdecimal() else None
