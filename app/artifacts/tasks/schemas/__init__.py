"""Wire types of task memory: policies, namespaces, artifacts.

The methods are this service's own. The types of readers are in `app.artifacts.readers.schemas`.
"""

from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, FailFast, Field, JsonValue, model_validator

from app.artifacts.tasks.logic import (
    MAX_DIRECTORY_CHARS,
    ArtifactState,
    Directory,
    Disposition,
    FileName,
    Kind,
    ModelName,
    OffPrompt,
    OffPromptField,
    Reader,
    SourcePath,
    UserId,
    Warned,
    shown_kind,
)
from app.kernel.tuning import MAX_NAMESPACE_ARTIFACTS
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Base64Bytes, Int64, Timestamp, one_of
from app.kernel.wire.task_fields import MediaTypeField, TaskId, TaskModel
from app.platform.engines.logic.config import Ttl

MAX_MODELS = 50
MAX_ACTIVITIES = 64
MAX_LISTED = 100
"""Artifacts listed in a reference; its count and bytes cover all of them."""
MAX_LISTED_IN_LISTS = 10
"""The same limit in lists of namespaces."""
MAX_ELEMENTS = MAX_NAMESPACE_ARTIFACTS
"""Hard limit of a list, for any configuration; validation stops at the first error."""


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
MAX_INLINE_TOKENS = 1_000_000
MAX_TO_EXPORT = 1_000
MAX_TO_LOAD = 100


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
        description="Kind of the output; `info` and `error` are messages from the tool to the"
        " agent.",
    )
    text: str | None = Field(None, description="Content of `text`, `info` and `error`.")
    json_value: JsonValue = Field(None, alias="json", description="Content of `json`: any value.")
    data: Base64Bytes | None = Field(None, description="Content of `blob`.")
    elements: Annotated[list["Output"] | None, FailFast()] = Field(
        None, max_length=MAX_ELEMENTS, description="Content of `list`; lists cannot be nested."
    )
    media_type: MediaTypeField | None = Field(
        None,
        description="Media type of `text` (default `text/plain`) or `blob` (default"
        " `application/octet-stream`).",
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


Readers = Annotated[list[Annotated[Reader, one_of(Reader)]], Field(max_length=len(Reader))]


class ReadingRules(TaskModel):
    """Rules about the readers of a namespace."""

    local_only: bool | None = Field(
        None, description="True: only models on this machine may read the content."
    )
    allowed_models: list[ModelName] | None = Field(
        None,
        max_length=MAX_MODELS,
        description="Models that may read the content; absent: all configured ones.",
    )
    readers: Readers | None = Field(
        None, description="Ways in which the content may be used; absent: all. Empty: none."
    )


class NamespaceSettings(ReadingRules):
    """Rules for all content of a namespace. Loosening any of them needs `engines.update`."""

    sensitive: bool | None = Field(
        None, description="True: derived content is sensitive as well, and never inline."
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
        None,
        description="Tool that produced it: its policy applies, and a new namespace records it.",
    )
    activity: TaskId | None = Field(
        None, description="The tool's activity, such as `fetch`; recorded with the namespace."
    )


class ProcessOutputRequest(BeginsNamespace):
    """A tool's output; the service decides which part the prompt shows."""

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

    tool: TaskId = Field(description="Tool that made the output; its policy applies.")
    activity: TaskId = Field(description="Name of the tool's activity, such as `fetch`.")
    call_id: str | None = Field(None, max_length=256, description="Id of the call; not stored.")
    namespace: TaskId | None = Field(None, description="Namespace to store in; absent: a new one.")
    off_prompt: OffPromptField | None = Field(
        None,
        description="Rule for storing the output: false, true or `auto`; absent: from the"
        " tool's policy, or false without one.",
    )
    as_: TaskId | None = Field(
        None,
        alias="as",
        description="Name of the artifact if one is stored; without an extension, it gets the one"
        " of the media type. Ignored where nothing is stored.",
    )
    output: Output = Field(description="The tool's output.")


class StoreArtifactsRequest(BeginsNamespace):
    """Small artifacts to store in this order, all or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"artifacts": [{"kind": "text", "text": "Some notes"}]}]}
    )

    artifacts: Annotated[list[Output], FailFast()] = Field(
        min_length=1,
        max_length=MAX_ELEMENTS,
        description="Artifacts to store, each of the kind `text`, `json` or `blob`.",
    )


class ArtifactReference(WireModel):
    """An artifact's properties that reveal no content."""

    name: TaskId = Field(description="Name of the artifact within its namespace.")
    kind: Kind = Field(description="`text`, `json` or `blob`.")
    media_type: str = Field(description="Media type of the content, as declared.")
    size_bytes: Int64 = Field(description="Size of the content in bytes.")
    token_estimate: int = Field(description="A quarter of the characters, or of the bytes.")


class Source(WireModel):
    """A source artifact, of the same task memory, that another artifact was derived from."""

    namespace: TaskId = Field(description="Id of the source's namespace.")
    name: TaskId = Field(description="Name of the source within that namespace.")


class Reference(WireModel):
    """Properties of a namespace that prompts, and callers who may not see content, may know."""

    memory: TaskId = Field(description="Id of the task memory.")
    namespace: TaskId = Field(description="Id of the namespace.")
    artifacts: list[ArtifactReference] = Field(
        description=f"The first {MAX_LISTED} artifacts; where namespaces are listed,"
        f" {MAX_LISTED_IN_LISTS}."
    )
    count: int = Field(description="Number of all its artifacts, from 0.")
    total_bytes: Int64 = Field(description="Size of all its artifacts, in bytes.")
    created_time: Timestamp = Field(description="Time of the namespace's creation.")
    expire_time: Timestamp = Field(description="Time at which the namespace is deleted.")
    readable_with: list[Reader] = Field(
        description="Readers that can use it, and that the caller may use; empty: none."
    )
    derived_from: list[Source] | None = Field(
        None, description=f"The first {MAX_LISTED} sources of the listed artifacts."
    )


class Passed(WireModel):
    """A message from the tool to the agent."""

    kind: Kind = Field(description="`info` or `error`.")
    index: int | None = Field(None, description="Position in the list, from 0.")
    text: str = Field(description="The message, unchanged.")


class ProcessOutputResponse(WireModel):
    """Text for the prompt, and a reference if the output was stored."""

    disposition: Disposition = Field(
        description="`inline`: the prompt shows the output; `stored`: its reference;"
        " `passthrough`: only messages of the tool; `empty`: nothing.",
    )
    prompt_text: str = Field(description="Text for the prompt, unchanged.")
    reference: Reference | None = Field(None, description="Reference to the stored output.")
    passthrough: list[Passed] | None = Field(
        None, description="Info and errors in addition to the stored output."
    )
    warnings: list[Warned] | None = Field(
        None,
        description="`no_reader`: neither the caller nor a configured reader can use the stored"
        " output. Absent: no warning.",
    )


class StoreArtifactsResponse(WireModel):
    """Reference to the stored artifacts."""

    reference: Reference = Field(description="Properties of the namespace that prompts may show.")
    prompt_text: str = Field(description="Text for the prompt that represents the artifacts.")
    warnings: list[Warned] | None = Field(
        None,
        description="`no_reader`: neither the caller nor a configured reader can use the stored"
        " output. Absent: no warning.",
    )


class Artifact(ArtifactReference):
    """An artifact. Properties that reveal content need `artifacts.content`."""

    name: str = Field(description="Full name of the artifact.")
    state: ArtifactState = Field(
        description="`ready` once readers can use it; before that `uploading` or `indexing`.",
    )
    readable_with: list[Reader] = Field(
        description="Readers that can use it, and that the caller may use; empty: none."
    )
    derived_from: list[Source] | None = Field(
        None, description="Artifacts that it was made from; absent: none."
    )
    source_deleted: bool | None = Field(None, description="True if any source was deleted.")
    depth: int | None = Field(None, description="Number of derivations; absent: not derived.")
    sniffed_type: str | None = Field(None, description="Type recognised from the bytes.")
    sha256: str | None = Field(None, description="Digest of the bytes, in hexadecimal digits.")
    create_time: Timestamp = Field(description="Time at which it was stored.")
    expire_time: Timestamp = Field(description="Time at which it is deleted.")
    etag: str = Field(description="Version of the artifact, for conditional requests.")


class ListArtifactsResponse(WireModel):
    """A page of artifacts."""

    artifacts: list[Artifact] = Field(description="The artifacts of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class Namespace(WireModel):
    """A group of artifacts in a task memory."""

    name: str = Field(description="Full name of the namespace.")
    reference: Reference = Field(description="Properties of the namespace that prompts may show.")
    user_id: str | None = Field(None, description="Owner; absent: none.")
    tool: str | None = Field(None, description="Tool that produced its content, if known.")
    activity: str | None = Field(
        None, description="Name of the tool's activity, such as `fetch`, if known."
    )
    sensitive: bool = Field(
        description="True: derived content is sensitive as well, and never inline."
    )
    local_only: bool = Field(description="True: only models on this machine may read it.")
    allowed_models: list[str] | None = Field(
        None, description="Models that may read it; absent: all configured ones."
    )
    readers: list[Reader] | None = Field(
        None, description="Ways in which it may be used; absent: all."
    )
    embedding_model: str | None = Field(
        None,
        description="Id of the model that embeds its chunks and questions; absent: searches"
        " compare words only.",
    )
    create_time: Timestamp = Field(description="Time of its creation.")
    update_time: Timestamp = Field(description="Time of its last change.")
    expire_time: Timestamp = Field(description="Time at which it is deleted with its artifacts.")
    etag: str = Field(description="Version of the namespace, for conditional requests.")


class ListNamespacesResponse(WireModel):
    """A page of namespaces."""

    namespaces: list[Namespace] = Field(description="The namespaces of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class TaskMemory(WireModel):
    """A task memory; it exists as long as it is not empty."""

    name: str = Field(description="Full name of the task memory.")
    namespace_count: int = Field(description="Number of its namespaces, from 1.")
    artifact_count: int = Field(description="Number of artifacts in all of them, from 0.")
    total_bytes: Int64 = Field(description="Size of all its artifacts, in bytes.")


class ListTaskMemoriesResponse(WireModel):
    """A page of task memories."""

    task_memories: list[TaskMemory] = Field(description="The task memories of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class ActivityPolicy(ReadingRules):
    """Handling of the outputs of one activity; its tool gives the fields that it omits."""

    off_prompt: OffPromptField | None = Field(
        None, description="Rule for storing outputs: false, true or `auto`."
    )
    max_inline_tokens: int | None = Field(
        None,
        ge=0,
        le=MAX_INLINE_TOKENS,
        description="With `auto`: tokens of the longest text that the prompt shows.",
    )
    sensitive: bool | None = Field(
        None, description="True: all outputs except info and errors are stored."
    )
    ttl: Ttl | None = Field(None, description="Time to live of outputs.")
    deny: bool = Field(
        False, description="True: outputs of this activity are refused, and nothing is stored."
    )


class PolicyFields(ReadingRules):
    """Handling of a tool's outputs where a request does not specify it."""

    off_prompt: OffPromptField = Field(
        OffPrompt.NEVER, description="Rule for storing outputs: false, true or `auto`."
    )
    max_inline_tokens: int | None = Field(
        None,
        ge=0,
        le=MAX_INLINE_TOKENS,
        description="With `auto`: tokens of the longest text that the prompt shows; absent: the"
        " configured default.",
    )
    sensitive: bool = Field(
        False,
        description="True: all outputs except info and errors are stored; requests cannot loosen"
        " this.",
    )
    ttl: Ttl | None = Field(None, description="Time to live of outputs.")
    activities: dict[TaskId, ActivityPolicy] | None = Field(
        None,
        max_length=MAX_ACTIVITIES,
        description="Policies of single activities by name; others follow the tool's policy.",
    )


class UpdateToolPolicyRequest(PolicyFields):
    """A complete policy; omitted fields take the configured defaults."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "offPrompt": "auto",
                    "maxInlineTokens": 500,
                    "activities": {"fetch": {"offPrompt": True}, "delete": {"deny": True}},
                }
            ]
        }
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time"})

    etag: str | None = Field(None, max_length=64, description="The etag that was read.")


class ToolPolicy(PolicyFields):
    """Policy of a task memory for the outputs of a tool."""

    name: str = Field(description="Full name of the policy; it ends in the tool's id.")
    create_time: Timestamp = Field(description="Time of the policy's creation.")
    update_time: Timestamp = Field(description="Time of its last change.")
    etag: str = Field(description="Version of the policy, for conditional requests.")


class ListToolPoliciesResponse(WireModel):
    """A page of policies."""

    tool_policies: list[ToolPolicy] = Field(description="The policies of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class ExportNamespaceRequest(TaskModel):
    """Destination for the artifacts of a namespace."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"sink": "reports", "directory": "2026/november"}]}
    )

    sink: TaskId = Field(description="Name of a configured sink.")
    directory: Directory | None = Field(
        None,
        description="Folder for the files: names with `/` between them, below"
        " ENGINE/MEMORY/NAMESPACE in the sink.",
    )
    artifacts: list[TaskId] | None = Field(
        None,
        min_length=1,
        max_length=MAX_TO_EXPORT,
        description="Names of the artifacts to export; absent: all.",
    )
    file_name: FileName | None = Field(
        None,
        description="Name of the file, where one artifact is exported; absent: the artifact's"
        " name.",
    )
    overwrite: bool = Field(
        True,
        description="True: existing files are replaced. False: an existing file is ID_TAKEN, and"
        " stays.",
    )


class ExportedFile(WireModel):
    """A file that was written."""

    artifact: TaskId = Field(description="Name of the artifact within its namespace.")
    path: str = Field(description="Path within the sink.")
    size_bytes: Int64 = Field(
        description="Size of the artifact in bytes. The file of a padded result is shorter."
    )


class ExportNamespaceResponse(WireModel):
    """The files that were written."""

    sink: str = Field(description="Name of the sink that was written to.")
    files: list[ExportedFile] = Field(
        description="Written files, one for each artifact, in the order of the artifacts."
    )
    total_bytes: Int64 = Field(description="Sum of `sizeBytes`.")


class LoadFilesRequest(BeginsNamespace):
    """Files of the operator to store as artifacts."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source": "reports", "path": "2026/november.md"}]}
    )

    source: TaskId = Field(description="Name of a configured source.")
    path: SourcePath | None = Field(
        None,
        description="A file below the source, or a folder, of which all files are loaded, at most"
        f" {MAX_TO_LOAD}; folders in it and hidden files are not. Absent: the source's own folder.",
    )
    pattern: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_DIRECTORY_CHARS,
        description="With a folder: only files whose names match, such as `*.md`.",
    )
    as_: TaskId | None = Field(
        None,
        alias="as",
        description="With one file: name of the artifact; without an extension, it gets the one"
        " of the media type. Absent: the file's name, which must have the form of an artifact's.",
    )


class LoadFilesResponse(StoreArtifactsResponse):
    """The artifacts in which files are stored."""

    artifacts: list[Artifact] = Field(description="The artifacts, in the order of their names.")
    skipped_count: int = Field(
        description="Number of entries of the folder that were left out: folders, links, devices,"
        " hidden files, and names that no artifact can have."
    )
