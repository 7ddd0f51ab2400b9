"""Wire types of task memory: policies, outputs, namespaces and their artifacts.

The methods are this service's own. The types of readers are in `app.artifacts.readers.schemas`.
"""

from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, FailFast, Field, JsonValue, model_validator

from app.artifacts.tasks.logic.fields import Directory, ModelName, OffPromptField, UserId
from app.artifacts.tasks.logic.kinds import (
    ArtifactState,
    Disposition,
    Kind,
    OffPrompt,
    Reader,
    Warned,
    shown_kind,
)
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Base64Bytes, Int64, Timestamp
from app.kernel.wire.task_fields import MediaTypeField, TaskId, TaskModel
from app.platform.engines.logic.config import Ttl
from app.settings.task_settings import MAX_NAMESPACE_ARTIFACTS

MAX_MODELS = 50
MAX_LISTED = 100
"""Artifacts listed in a reference; its count and bytes cover all of them."""
MAX_LISTED_IN_LISTS = 10
"""The same limit in lists of namespaces."""
MAX_INLINE_TOKENS = 1_000_000
MAX_TO_EXPORT = 1_000
MAX_ELEMENTS = MAX_NAMESPACE_ARTIFACTS
"""Hard limit of a list, whatever the configuration; validation stops at the first error."""


class PolicyFields(TaskModel):
    """Handling of a tool's outputs where a request does not specify it."""

    off_prompt: OffPromptField = Field(
        OffPrompt.NEVER, description="Whether outputs are stored: false, true or `auto`."
    )
    max_inline_tokens: int | None = Field(
        None,
        ge=0,
        le=MAX_INLINE_TOKENS,
        description="With `auto`: longer texts are stored; absent: the configured default.",
    )
    sensitive: bool = Field(
        False,
        description="All outputs except info and errors are stored; requests cannot loosen this.",
    )
    ttl: Ttl | None = Field(None, description="Time to live of outputs.")


class UpdateToolPolicyRequest(PolicyFields):
    """A complete policy; omitted fields take the configured defaults."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"offPrompt": "auto", "maxInlineTokens": 500}]}
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time"})

    etag: str | None = Field(None, max_length=64, description="The etag that was read.")


class ToolPolicy(PolicyFields):
    """Policy of a task memory for the outputs of a tool."""

    name: str
    create_time: Timestamp
    update_time: Timestamp
    etag: str


class ListToolPoliciesResponse(WireModel):
    """A page of policies."""

    tool_policies: list[ToolPolicy]
    next_page_token: str | None = None


_CONTENT_OF = {
    Kind.TEXT: "text",
    Kind.JSON: "json_value",
    Kind.BLOB: "data",
    Kind.LIST: "elements",
    Kind.INFO: "text",
    Kind.ERROR: "text",
}
_ALSO_TAKEN: dict[Kind, frozenset[str]] = {
    Kind.TEXT: frozenset({"name", "media_type"}),
    Kind.JSON: frozenset({"name"}),
    Kind.BLOB: frozenset({"name", "media_type"}),
}
_SHOWN = {"json_value": "json", "media_type": "mediaType"}


class Output(TaskModel):
    """Output of a tool: its kind, and the one field for content of that kind."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"kind": "text", "text": "A long page ..."},
                {"kind": "list", "elements": [{"kind": "json", "json": {"rows": 3}}]},
            ]
        }
    )

    kind: str = Field(
        json_schema_extra={"enum": list(Kind)},
        description="`info` and `error` are messages from the tool to the agent.",
    )
    text: str | None = Field(None, description="Content of `text`, `info` and `error`.")
    json_value: JsonValue = Field(None, alias="json", description="Content of `json`: any value.")
    data: Base64Bytes | None = Field(None, description="Content of `blob`.")
    elements: Annotated[list["Output"] | None, FailFast()] = Field(
        None, max_length=MAX_ELEMENTS, description="Content of `list`; lists cannot be nested."
    )
    media_type: MediaTypeField | None = Field(
        None,
        description="For `text` (default `text/plain`) and `blob` (`application/octet-stream`).",
    )
    name: TaskId | None = Field(
        None, description="Name of the artifact, if it is stored; absent: the service makes one."
    )

    @model_validator(mode="before")
    @classmethod
    def _look_only_at_known_kinds(cls, data: Any) -> Any:  # noqa: ANN401 - pydantic hands over anything
        # Unsupported kinds may have any fields; the error is raised later, where the position is
        # known.
        if isinstance(data, dict) and isinstance(data.get("kind"), str):
            kind = data["kind"]
            return data if kind in set(Kind) else {"kind": shown_kind(kind)}
        return data

    @model_validator(mode="after")
    def _has_what_its_kind_has(self) -> Self:
        if self.kind not in set(Kind):
            return self
        kind = Kind(self.kind)
        needed = _CONTENT_OF[kind]
        given = {
            name
            for name in self.model_fields_set - {"kind"}
            if name == "json_value" or getattr(self, name) is not None
        }
        if needed not in given or not given <= {needed} | _ALSO_TAKEN.get(kind, frozenset()):
            names = [needed, *sorted(_ALSO_TAKEN.get(kind, ()))]
            also = [_SHOWN.get(name, name) for name in names]
            raise ValueError(
                f"must have {also[0]} where its kind is {kind}"
                + (f", and may have {' and '.join(also[1:])}" if also[1:] else "")
                + "; nothing else"
            )
        return self


class NamespaceSettings(TaskModel):
    """Rules for all content of a namespace. Loosening any of them needs `engines.update`."""

    sensitive: bool | None = Field(
        None, description="Derived content is sensitive as well, and never inline."
    )
    local_only: bool | None = Field(None, description="Only models on this machine may read it.")
    allowed_models: list[ModelName] | None = Field(
        None,
        max_length=MAX_MODELS,
        description="Only these may read it; absent: all configured ones.",
    )
    embedding_model: ModelName | None = Field(
        None,
        description="Id of the embedding model for its chunks and for questions; absent: searches"
        " compare words only.",
    )
    ttl: Ttl | None = Field(None, description="Input only: expiry is now + ttl.")


class UpdateNamespaceRequest(NamespaceSettings):
    """Settings to change."""

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time"})

    etag: str | None = Field(None, max_length=64, description="The etag that was read.")


class BeginsNamespace(NamespaceSettings):
    """A request that adds to a namespace, and creates it if it does not exist."""

    user_id: UserId | None = Field(
        None, description="Owner; required from callers that are bound to users."
    )
    tool: TaskId | None = Field(
        None, description="Tool that produced it; the tool's policy applies."
    )
    activity: TaskId | None = None


class ProcessOutputRequest(BeginsNamespace):
    """A tool's output, for which the service decides what the prompt shows."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "tool": "web",
                    "activity": "fetch",
                    "offPrompt": "auto",
                    "output": {"kind": "text", "text": "A long page ..."},
                }
            ]
        }
    )

    tool: TaskId
    activity: TaskId
    call_id: str | None = Field(None, max_length=256, description="Id of the call; not stored.")
    namespace: TaskId | None = Field(None, description="Namespace to store in; absent: a new one.")
    off_prompt: OffPromptField | None = Field(
        None, description="Absent: from the tool's policy, or false without one."
    )
    output: Output


class StoreArtifactsRequest(BeginsNamespace):
    """Small artifacts to store in this order, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"artifacts": [{"kind": "text", "text": "Some notes"}]}]}
    )

    artifacts: Annotated[list[Output], FailFast()] = Field(
        min_length=1, max_length=MAX_ELEMENTS, description="Of kind text, json or blob."
    )


class ArtifactReference(WireModel):
    """An artifact's properties that reveal no content."""

    name: TaskId
    kind: Kind
    media_type: str
    size_bytes: Int64
    token_estimate: int = Field(description="A quarter of the characters, or of the bytes.")


class Source(WireModel):
    """A source artifact, of the same task memory, that another artifact was derived from."""

    namespace: TaskId
    name: TaskId


class Reference(WireModel):
    """Properties of a namespace that prompts, and callers who may not see content, may know."""

    memory: TaskId
    namespace: TaskId
    artifacts: list[ArtifactReference] = Field(
        description=f"The first {MAX_LISTED}; where namespaces are listed, {MAX_LISTED_IN_LISTS}."
    )
    count: int
    total_bytes: Int64
    created_time: Timestamp
    expire_time: Timestamp
    readable_with: list[Reader] = Field(description="Empty if nothing can read it.")
    derived_from: list[Source] | None = Field(
        None, description=f"The first {MAX_LISTED} sources of the listed artifacts."
    )


class Passed(WireModel):
    """A message from the tool to the agent."""

    kind: Kind
    index: int | None = Field(None, description="Position in the list, from 0.")
    text: str


class ProcessOutputResponse(WireModel):
    """Text for the prompt, and a reference if the output was stored."""

    disposition: Disposition
    prompt_text: str = Field(description="Text for the prompt, unchanged.")
    reference: Reference | None = Field(None, description="Reference to the stored output.")
    passthrough: list[Passed] | None = Field(
        None, description="Info and errors beside the stored output."
    )
    warnings: list[Warned] | None = None


class StoreArtifactsResponse(WireModel):
    """Reference to the stored artifacts."""

    reference: Reference
    prompt_text: str
    warnings: list[Warned] | None = None


class Artifact(ArtifactReference):
    """An artifact. Properties that reveal content need `artifacts.content`."""

    name: str
    state: ArtifactState
    readable_with: list[Reader]
    derived_from: list[Source] | None = None
    source_deleted: bool | None = Field(None, description="Whether any source was deleted.")
    depth: int | None = Field(None, description="Number of derivations; absent: not derived.")
    sniffed_type: str | None = Field(None, description="Type recognised from the bytes.")
    sha256: str | None = Field(None, description="Digest of the bytes, in hexadecimal digits.")
    create_time: Timestamp
    expire_time: Timestamp
    etag: str


class ListArtifactsResponse(WireModel):
    """A page of artifacts."""

    artifacts: list[Artifact]
    next_page_token: str | None = None


class Namespace(WireModel):
    """A group of artifacts in a task memory."""

    name: str
    reference: Reference
    user_id: str | None = None
    tool: str | None = None
    activity: str | None = None
    sensitive: bool
    local_only: bool
    allowed_models: list[str] | None = None
    embedding_model: str | None = None
    create_time: Timestamp
    update_time: Timestamp
    expire_time: Timestamp
    etag: str


class ListNamespacesResponse(WireModel):
    """A page of namespaces."""

    namespaces: list[Namespace]
    next_page_token: str | None = None


class TaskMemory(WireModel):
    """A task memory; it exists as long as it is not empty."""

    name: str
    namespace_count: int
    artifact_count: int
    total_bytes: Int64


class ListTaskMemoriesResponse(WireModel):
    """A page of task memories."""

    task_memories: list[TaskMemory]
    next_page_token: str | None = None


class ExportNamespaceRequest(TaskModel):
    """Destination for the artifacts of a namespace."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"sink": "reports", "directory": "2026/november"}]}
    )

    sink: TaskId = Field(description="Name of a configured sink.")
    directory: Directory | None = Field(
        None,
        description="Names with `/` between them, below ENGINE/MEMORY/NAMESPACE in the sink.",
    )
    artifacts: list[TaskId] | None = Field(
        None, min_length=1, max_length=MAX_TO_EXPORT, description="Only these; absent: all."
    )


class ExportedFile(WireModel):
    """A file that was written."""

    artifact: TaskId
    path: str = Field(description="Path within the sink.")
    size_bytes: Int64


class ExportNamespaceResponse(WireModel):
    """The files that were written."""

    sink: str
    files: list[ExportedFile]
    total_bytes: Int64
