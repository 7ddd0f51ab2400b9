"""Routes of readers. Source: design of task memory, section 1.3."""

from typing import Annotated

from fastapi import Query
from fastapi import Request as HttpRequest

from app.artifacts.readers.schemas import (
    MAX_TEXT_PAGE,
    ExtractNamespaceRequest,
    ExtractNamespaceResponse,
    QueryNamespaceRequest,
    QueryNamespaceResponse,
    SummarizeNamespaceRequest,
    SummarizeNamespaceResponse,
    TextPage,
    ToolFormat,
    ToolSpecs,
)
from app.artifacts.readers.services import texts
from app.artifacts.readers.services.readers import ReaderService
from app.artifacts.readers.services.tool_specs import tool_specs
from app.kernel.names import check_task_id
from app.kernel.permissions import Permission
from app.kernel.wire.scalars import one_of
from app.platform.engines.store import repository as engines
from app.web.context import Context, Mutation
from app.web.demands import LIST, WORK, Demand, change
from app.web.names import ArtifactPath, EnginePath, NamespacePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "task memory",
    demands={
        # Results kept off the prompt are counted when they are stored.
        "queryNamespace": change(Permission.ARTIFACTS_DERIVE, WORK, is_costly=True),
        "summarizeNamespace": change(Permission.ARTIFACTS_DERIVE, WORK, is_costly=True),
        "extractNamespace": change(Permission.ARTIFACTS_DERIVE, WORK, is_costly=True),
        "getToolSpecs": Demand(Permission.ARTIFACTS_REFERENCE),
        "readArtifactText": Demand(Permission.ARTIFACTS_CONTENT, LIST, is_costly=True),
    },
)

_NAMESPACE = ENGINE + "/taskMemories/{task_memory}/namespaces/{namespace}"


@router.post(_NAMESPACE + ":query", summary="Query a namespace", operation_id="queryNamespace")
async def query_namespace(
    context: Mutation, name: NamespacePath, body: QueryNamespaceRequest, request: HttpRequest
) -> QueryNamespaceResponse:
    """Answer a question from a namespace, with citations of passages as evidence.

    Passages are found by their words, and by vectors if the namespace has an embedding model. With
    `offPrompt`, the answer is stored and not returned.
    """
    once, is_given_up = context.once(body.sent), request.is_disconnected
    service = ReaderService(context.resources, name, context.caller, once, is_given_up)
    return await service.query(body)


@router.post(
    _NAMESPACE + ":summarize", summary="Summarize a namespace", operation_id="summarizeNamespace"
)
async def summarize_namespace(
    context: Mutation, name: NamespacePath, body: SummarizeNamespaceRequest, request: HttpRequest
) -> SummarizeNamespaceResponse:
    """Summarise everything in a namespace, in as many model calls as needed.

    With `offPrompt`, the summary is stored and not returned.
    """
    once, is_given_up = context.once(body.sent), request.is_disconnected
    service = ReaderService(context.resources, name, context.caller, once, is_given_up)
    return await service.summarize(body)


@router.post(
    _NAMESPACE + ":extract",
    summary="Extract rows from a namespace",
    operation_id="extractNamespace",
)
async def extract_namespace(
    context: Mutation, name: NamespacePath, body: ExtractNamespaceRequest, request: HttpRequest
) -> ExtractNamespaceResponse:
    """Extract rows of a JSON schema, each with its place in an artifact.

    A model reads texts of all kinds. Without one, rows come from JSON, CSV and HTML tables, whose
    keys, columns and headers have the names of properties. A row that does not meet the schema is
    listed as rejected, with the reason. With `offPrompt`, the rows are stored and not returned.
    """
    once, is_given_up = context.once(body.sent), request.is_disconnected
    service = ReaderService(context.resources, name, context.caller, once, is_given_up)
    return await service.extract(body)


@router.get(
    _NAMESPACE + "/artifacts/{artifact}:text",
    summary="Read the text of an artifact",
    operation_id="readArtifactText",
)
async def read_artifact_text(
    context: Context,
    name: ArtifactPath,
    page: Annotated[
        int, Query(ge=1, le=MAX_TEXT_PAGE, description="Number of the page, from 1.")
    ] = 1,
) -> TextPage:
    """Return a page of the text that readers get, in which citations can be followed.

    A PDF has its own pages; any other text is shown in pages of 10,000 characters.
    """
    return await texts.read_page(context.resources, name, page)


@router.get(ENGINE + "/toolSpecs", summary="Get tools of readers", operation_id="getToolSpecs")
async def get_tool_specs(
    context: Context,
    engine: EnginePath,
    memory: Annotated[
        str | None, Query(description="A task memory; the tools then read only this one.")
    ] = None,
    format: Annotated[  # noqa: A002 - the name on the wire
        Annotated[ToolFormat, one_of(ToolFormat)] | None,
        Query(description="`openai`, `gemini` or `anthropic`; absent: all of them."),
    ] = None,
) -> ToolSpecs:
    """Return the readers, the list, the export and the loading as tool declarations for agents.

    A key gets only the tools that it may use, and the last two only where a sink or a source is
    configured. `taskTools:call` runs them.
    """
    async with context.resources.db.snapshot() as session:
        await engines.get(session, engine)
    settings = context.resources.settings
    may_derive = context.caller.may(Permission.ARTIFACTS_DERIVE)
    may_load = context.caller.may(Permission.ARTIFACTS_WRITE)
    return tool_specs(
        None if memory is None else check_task_id("memory", memory),
        format,
        may_read=may_derive,
        may_export=may_derive and bool(settings.task_export_sinks),
        sources=sorted(settings.task_import_sources) if may_load else (),
    )
