"""Routes of artifacts. Source: design of task memory, section 1.3."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request
from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response, StreamingResponse

from app.artifacts.tasks.routes.namespaces import NAMESPACE
from app.artifacts.tasks.schemas import Artifact, ListArtifactsResponse
from app.artifacts.tasks.services import removals, uploads
from app.artifacts.tasks.services.namespace_writes import NamespaceDraft
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.services.uploads import Upload
from app.kernel.errors import InvalidArgument
from app.kernel.limits import Counted
from app.kernel.media_types import BYTES, MediaType
from app.kernel.permissions import Permission
from app.kernel.wire.base import Empty
from app.kernel.wire.task_fields import TaskId
from app.platform.engines.logic.config import Ttl
from app.web.body import pieces
from app.web.context import Context, Mutation
from app.web.demands import LIST, WORK, Demand, change
from app.web.errors import ErrorBody, render
from app.web.headers import IfMatch, check_whole, read_digest, read_range, write_digest
from app.web.names import ArtifactPath, NamespacePath
from app.web.query import Page
from app.web.routing import Router

router = Router(
    "task memory",
    demands={
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

_ARTIFACTS = NAMESPACE + "/artifacts"
_ARTIFACT = _ARTIFACTS + "/{artifact}"
_TTL = TypeAdapter[timedelta](Ttl)
_ANY_BYTES: dict[str, Any] = {
    "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}
}

_HEADERS = {
    "Accept-Ranges": "bytes",
    # Content of any type must not be rendered as a page of this service.
    "Content-Disposition": "attachment",
}


@router.get(_ARTIFACTS, summary="List artifacts", operation_id="listArtifacts")
async def list_artifacts(
    context: Context, name: NamespacePath, page: Page
) -> ListArtifactsResponse:
    """List the artifacts of a namespace, in the order of their arrival."""
    service = TaskService.of(context.resources)
    return await service.list_artifacts(name, page, context.caller)


async def _beginning(
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
            description="Tool that produced it; recorded with a new namespace. Its policy decides"
            " about sensitivity and time to live.",
        ),
    ] = None,
    sensitive: Annotated[
        bool,
        Query(description="True: derived artifacts stay off the prompt as well."),
    ] = False,
    local_only: Annotated[
        bool, Query(alias="localOnly", description="True: no remote model may read it.")
    ] = False,
    ttl: Annotated[str | None, Query(description='Time to live, such as "3600s".')] = None,
) -> NamespaceDraft:
    try:
        life = _TTL.validate_python(ttl) if ttl else None
    except ValidationError:
        description = 'must be a positive duration, such as "3600s", of a thousand years at most.'
        raise InvalidArgument.of_field("ttl", description) from None
    return NamespaceDraft(
        user_id=user_id or None,
        tool=tool,
        sensitive=sensitive,
        local_only=local_only,
        ttl=life,
    )


async def _sha256(
    content_digest: Annotated[
        str | None, Header(description="`sha-256=:...:` of the bytes; a mismatch is 400.")
    ] = None,
) -> bytes | None:
    return read_digest(content_digest)


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
    beginning: Annotated[NamespaceDraft, Depends(_beginning)],
    sha256: Annotated[bytes | None, Depends(_sha256)],
    if_match: IfMatch = None,
) -> Artifact:
    """Store a body of any media type.

    Without `If-Match`, existing content is not replaced. The same bytes return 200 and change
    nothing, not even the expiry; other bytes return 409 ABORTED. The same bytes also return 409 if
    the caller may not know them. To know them, it needs `artifacts.content` or, unless the
    namespace is sensitive, `artifacts.derive`. Without `Content-Length`, the upload counts as the
    longest possible artifact until it ends.

    A request id changes nothing: the bytes decide whether a request is a repetition.
    """
    check_whole(request.headers)
    tasks = TaskService.of(context.resources)
    upload = Upload(
        name=name,
        media_type=_declared(request.headers.get("content-type")),
        size=_length(request.headers.get("content-length")),
        sha256=sha256,
        etag=if_match,
        beginning=await tasks.under_policy(name.namespace.memory, beginning),
    )
    artifact = await uploads.put(tasks, upload, pieces(request), context.caller)
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
    tasks = TaskService.of(context.resources)
    await removals.delete_artifact(tasks, name, if_match, once)
    return Empty()


def _declared(content_type: str | None) -> str:
    try:
        return str(MediaType.parse(content_type or BYTES))
    except ValueError as error:
        raise InvalidArgument.of_field("Content-Type", f"{error}.") from None


def _length(content_length: str | None) -> int | None:
    return int(content_length) if content_length and content_length.isdecimal() else None
