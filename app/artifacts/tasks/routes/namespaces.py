"""Routes of task memories, policies of tools and namespaces.

Source: design of task memory, section 1.3.
"""

from app.artifacts.tasks.schemas import (
    ExportNamespaceRequest,
    ExportNamespaceResponse,
    ListNamespacesResponse,
    ListTaskMemoriesResponse,
    ListToolPoliciesResponse,
    LoadFilesRequest,
    LoadFilesResponse,
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
from app.artifacts.tasks.services import exports, loads, removals
from app.artifacts.tasks.services.storing import StoringService
from app.artifacts.tasks.services.tasks import PolicyService, TaskService
from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.kernel.wire.base import Empty
from app.web.context import Context, Mutation
from app.web.demands import LIST, WORK, Demand, change
from app.web.headers import IfMatch, etag_of
from app.web.names import EnginePath, NamespacePath, TaskMemoryPath, ToolPolicyPath
from app.web.paths import ENGINE
from app.web.query import Page
from app.web.routing import Router

router = Router(
    "task memory",
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
        "loadFiles": change(
            Permission.ARTIFACTS_WRITE, WORK, adds=(Counted.ARTIFACT_BYTES,), is_costly=True
        ),
        "exportNamespace": change(Permission.ARTIFACTS_DERIVE, WORK, is_costly=True),
        "getNamespace": Demand(Permission.ARTIFACTS_REFERENCE),
        "updateNamespace": change(Permission.ARTIFACTS_WRITE),
        "deleteNamespace": change(Permission.ARTIFACTS_WRITE),
    },
)

_MEMORIES = ENGINE + "/taskMemories"
_MEMORY = _MEMORIES + "/{task_memory}"
_POLICIES = _MEMORY + "/toolPolicies"
_POLICY = _POLICIES + "/{tool}"
_NAMESPACES = _MEMORY + "/namespaces"
NAMESPACE = _NAMESPACES + "/{namespace}"
"""The path of a namespace."""


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
    tasks = TaskService.of(context.resources)
    await removals.delete_memory(tasks, name, context.once({}))
    return Empty()


# Policies of tools


@router.get(_POLICIES, summary="List policies of tools", operation_id="listToolPolicies")
async def list_tool_policies(
    context: Context, name: TaskMemoryPath, page: Page
) -> ListToolPoliciesResponse:
    """List the tool policies of a memory, ordered by tool name."""
    return await PolicyService(TaskService.of(context.resources)).list_policies(name, page)


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
    """Set the policy for a tool's outputs; it applies where requests omit a field.

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
    return await TaskService.of(context.resources).list_namespaces(name, page, context.caller)


@router.post(NAMESPACE + ":store", summary="Store artifacts", operation_id="storeArtifacts")
async def store_artifacts(
    context: Mutation, name: NamespacePath, body: StoreArtifactsRequest
) -> StoreArtifactsResponse:
    """Store small artifacts, all or none."""
    service = StoringService(TaskService.of(context.resources))
    return await service.store(name, body, context.once(body.sent), context.caller)


@router.post(NAMESPACE + ":load", summary="Load files", operation_id="loadFiles")
async def load_files(
    context: Mutation, name: NamespacePath, body: LoadFilesRequest, if_match: IfMatch = None
) -> LoadFilesResponse:
    """Store a file, or the files of a folder, from a place that the operator has named.

    Each file is stored like an upload, under the same limits and the policy of `tool`: the same
    bytes again change nothing, and other bytes need `If-Match`. Files that were stored before an
    error stay. No link is followed. As for an upload, a request id changes nothing.
    """
    tasks = TaskService.of(context.resources)
    return await loads.load(tasks, name, body, if_match, context.caller)


@router.post(NAMESPACE + ":export", summary="Export a namespace", operation_id="exportNamespace")
async def export_namespace(
    context: Mutation, name: NamespacePath, body: ExportNamespaceRequest
) -> ExportNamespaceResponse:
    """Write artifacts to a folder of the operator's; the response reveals no content."""
    tasks = TaskService.of(context.resources)
    return await exports.export(tasks, name, body, context.once(body.sent))


@router.get(NAMESPACE, summary="Get a namespace", operation_id="getNamespace")
async def get_namespace(context: Context, name: NamespacePath) -> Namespace:
    """Return a namespace, without content."""
    return await TaskService.of(context.resources).get_namespace(name, context.caller)


@router.patch(NAMESPACE, summary="Update a namespace", operation_id="updateNamespace")
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


@router.delete(NAMESPACE, summary="Delete a namespace", operation_id="deleteNamespace")
async def delete_namespace(
    context: Mutation, name: NamespacePath, if_match: IfMatch = None
) -> Empty:
    """Delete everything in a namespace, beyond recovery."""
    once = context.once({"etag": if_match})
    tasks = TaskService.of(context.resources)
    await removals.delete_namespace(tasks, name, if_match, once)
    return Empty()
