"""Task memory: outputs of tools that stay off the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from open_memory_bank import _calls, types
from open_memory_bank._async.group import MODEL_SECONDS, AsyncGroup
from open_memory_bank._async.paging import AsyncItems
from open_memory_bank._async.transport import AsyncTransport
from open_memory_bank._twins import AsyncContent

if TYPE_CHECKING:
    from typing_extensions import Unpack


_INDEXING_SECONDS = 60.0
"""Time that a reader waits for texts being indexed, with `wait`."""
_LOADING_SECONDS = 60.0
"""Time that the files of a folder may take."""
_MOST_CALLS = 10
"""Calls of a model, one after another, that a summary is waited for."""


class AsyncToolPolicies(AsyncGroup):
    """Rules for the outputs of single tools."""

    async def get(self, task_memory: str, tool: str) -> types.ToolPolicy:
        """Return the policy of a tool."""
        return await self._ask(_calls.GET_TOOL_POLICY, {"task_memory": task_memory, "tool": tool})

    def list(
        self, task_memory: str, **options: Unpack[_calls.ListToolPolicies]
    ) -> AsyncItems[types.ToolPolicy]:
        """List the policies of a task memory."""
        ids = {"task_memory": task_memory}
        return self._items(_calls.LIST_TOOL_POLICIES, "toolPolicies", options, ids)

    async def update(
        self, task_memory: str, tool: str, **options: Unpack[_calls.UpdateToolPolicy]
    ) -> types.ToolPolicy:
        """Set the policy of a tool as a whole."""
        ids = {"task_memory": task_memory, "tool": tool}
        return await self._ask(_calls.UPDATE_TOOL_POLICY, ids, options)

    async def delete(
        self, task_memory: str, tool: str, **options: Unpack[_calls.DeleteToolPolicy]
    ) -> None:
        """Delete the policy of a tool."""
        ids = {"task_memory": task_memory, "tool": tool}
        await self._ask(_calls.DELETE_TOOL_POLICY, ids, options)


class AsyncNamespaces(AsyncGroup):
    """Namespaces: artifacts that belong together."""

    async def get(self, task_memory: str, namespace: str) -> types.Namespace:
        """Return a namespace."""
        return await self._ask(_calls.GET_NAMESPACE, _in(task_memory, namespace))

    def list(
        self, task_memory: str, **options: Unpack[_calls.ListNamespaces]
    ) -> AsyncItems[types.Namespace]:
        """List the namespaces of a task memory."""
        ids = {"task_memory": task_memory}
        return self._items(_calls.LIST_NAMESPACES, "namespaces", options, ids)

    async def update(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.UpdateNamespace]
    ) -> types.Namespace:
        """Change the rules of a namespace."""
        return await self._ask(_calls.UPDATE_NAMESPACE, _in(task_memory, namespace), options)

    async def delete(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.DeleteNamespace]
    ) -> None:
        """Delete a namespace with its artifacts."""
        await self._ask(_calls.DELETE_NAMESPACE, _in(task_memory, namespace), options)


class AsyncTaskMemory(AsyncGroup):
    """Task memories, each with namespaces of artifacts."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
        self.policies = AsyncToolPolicies(transport)
        self.namespaces = AsyncNamespaces(transport)

    async def get(self, task_memory: str) -> types.TaskMemory:
        """Return a task memory."""
        return await self._ask(_calls.GET_TASK_MEMORY, {"task_memory": task_memory})

    def list(self, **options: Unpack[_calls.ListTaskMemories]) -> AsyncItems[types.TaskMemory]:
        """List task memories."""
        return self._items(_calls.LIST_TASK_MEMORIES, "taskMemories", options)

    async def delete(self, task_memory: str, **options: Unpack[_calls.DeleteTaskMemory]) -> None:
        """Delete a task memory with all that it holds."""
        await self._ask(_calls.DELETE_TASK_MEMORY, {"task_memory": task_memory}, options)

    async def process_output(
        self, task_memory: str, **options: Unpack[_calls.ProcessOutput]
    ) -> types.ProcessOutputResponse:
        """Decide whether a tool's output goes into the prompt, and store it if not."""
        return await self._ask(_calls.PROCESS_OUTPUT, {"task_memory": task_memory}, options)

    async def store(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.StoreArtifacts]
    ) -> types.StoreArtifactsResponse:
        """Store artifacts."""
        return await self._ask(_calls.STORE_ARTIFACTS, _in(task_memory, namespace), options)

    async def query(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.QueryNamespace]
    ) -> types.QueryNamespaceResponse:
        """Answer a question from the artifacts of a namespace."""
        ids = _in(task_memory, namespace)
        seconds = MODEL_SECONDS + _INDEXING_SECONDS
        return await self._ask(_calls.QUERY_NAMESPACE, ids, options, more_seconds=seconds)

    async def summarize(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.SummarizeNamespace]
    ) -> types.SummarizeNamespaceResponse:
        """Summarise the artifacts of a namespace."""
        ids = _in(task_memory, namespace)
        seconds = _MOST_CALLS * MODEL_SECONDS + _INDEXING_SECONDS
        return await self._ask(_calls.SUMMARIZE_NAMESPACE, ids, options, more_seconds=seconds)

    async def extract(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.ExtractNamespace]
    ) -> types.ExtractNamespaceResponse:
        """Extract rows of a JSON schema from the artifacts of a namespace."""
        ids = _in(task_memory, namespace)
        seconds = _MOST_CALLS * MODEL_SECONDS + _INDEXING_SECONDS
        return await self._ask(_calls.EXTRACT_NAMESPACE, ids, options, more_seconds=seconds)

    async def load(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.LoadFiles]
    ) -> types.LoadFilesResponse:
        """Store files from a folder that the service is set up with."""
        ids = _in(task_memory, namespace)
        return await self._ask(_calls.LOAD_FILES, ids, options, more_seconds=_LOADING_SECONDS)

    async def export(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.ExportNamespace]
    ) -> types.ExportNamespaceResponse:
        """Write artifacts into a folder that the service is set up with."""
        return await self._ask(_calls.EXPORT_NAMESPACE, _in(task_memory, namespace), options)

    def artifacts(
        self, task_memory: str, namespace: str, **options: Unpack[_calls.ListArtifacts]
    ) -> AsyncItems[types.Artifact]:
        """List the artifacts of a namespace."""
        ids = _in(task_memory, namespace)
        return self._items(_calls.LIST_ARTIFACTS, "artifacts", options, ids)

    async def artifact(self, task_memory: str, namespace: str, artifact: str) -> types.Artifact:
        """Return the facts of an artifact."""
        return await self._ask(_calls.GET_ARTIFACT, _in(task_memory, namespace, artifact))

    async def upload(
        self,
        task_memory: str,
        namespace: str,
        artifact: str,
        content: AsyncContent,
        *,
        media_type: str = "application/octet-stream",
        **options: Unpack[_calls.UploadArtifact],
    ) -> types.Artifact:
        """Store a body.

        A file or an iterable is sent as it is read.
        """
        ids = _in(task_memory, namespace, artifact)
        return await self._transport.upload(
            _calls.UPLOAD_ARTIFACT, ids, options, content, media_type
        )

    async def download(self, task_memory: str, namespace: str, artifact: str) -> bytes:
        """Return the bytes of an artifact."""
        ids = _in(task_memory, namespace, artifact)
        return await self._transport.content(_calls.DOWNLOAD_ARTIFACT, ids)

    async def text(
        self,
        task_memory: str,
        namespace: str,
        artifact: str,
        **options: Unpack[_calls.ReadArtifactText],
    ) -> types.TextPage:
        """Return a page of the text that readers get of an artifact."""
        ids = _in(task_memory, namespace, artifact)
        return await self._ask(_calls.READ_ARTIFACT_TEXT, ids, options)

    async def delete_artifact(
        self,
        task_memory: str,
        namespace: str,
        artifact: str,
        **options: Unpack[_calls.DeleteArtifact],
    ) -> None:
        """Delete an artifact."""
        ids = _in(task_memory, namespace, artifact)
        await self._ask(_calls.DELETE_ARTIFACT, ids, options)

    async def tool_specs(self, **options: Unpack[_calls.GetToolSpecs]) -> types.ToolSpecs:
        """Return the tools with which a model reads what was stored."""
        return await self._ask(_calls.GET_TOOL_SPECS, {}, options)

    async def call_tool(
        self, **options: Unpack[_calls.CallTaskTool]
    ) -> types.CallMemoryToolResponse:
        """Run a tool that a model called; `text` of the answer goes to the model."""
        seconds = _MOST_CALLS * MODEL_SECONDS
        return await self._ask(_calls.CALL_TASK_TOOL, {}, options, more_seconds=seconds)


def _in(task_memory: str, namespace: str, artifact: str | None = None) -> dict[str, str]:
    ids = {"task_memory": task_memory, "namespace": namespace}
    return ids if artifact is None else {**ids, "artifact": artifact}
