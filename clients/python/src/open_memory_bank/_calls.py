"""The operations of the service, and the arguments that each takes.

Written by `make client` from openapi/openapi.json.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from open_memory_bank import types
from open_memory_bank._requests import Call, MetadataValue

if sys.version_info >= (3, 11):
    from typing import Required
else:
    from typing_extensions import Required

APPEND_EVENT: Call[types.Empty] = Call(
    "appendEvent",
    "POST",
    "{engine}/sessions/{session}:appendEvent",
    body={
        "author": "author",
        "invocation_id": "invocationId",
        "timestamp": "timestamp",
        "content": "content",
        "actions": "actions",
        "error_code": "errorCode",
        "error_message": "errorMessage",
        "event_metadata": "eventMetadata",
        "raw_event": "rawEvent",
        "token_count": "tokenCount",
    },
    is_change=True,
)


class AppendEvent(TypedDict, total=False):
    """Arguments of `appendEvent`."""

    author: Required[str]
    """`user`, or the name of the agent."""
    invocation_id: Required[str]
    """Id of the agent's run that the event belongs to."""
    timestamp: Required[str]
    """Time of the event. An offset other than zero is the sender's time zone, and so
    determines the day of "today"; responses show UTC."""
    content: types.Content | None
    """Content of the message; absent if there is none."""
    actions: types.EventActions | None
    """Changes that the event makes, such as changes of the state."""
    error_code: str | None
    """Code of the model's error, as its provider names it."""
    error_message: str | None
    """Text of the model's error."""
    event_metadata: types.EventMetadata | None
    """Details that the model returns with its answer."""
    raw_event: Mapping[str, Any] | None
    """Any JSON object; it is returned as it is."""
    token_count: int | None
    """Tokens it takes in a prompt, for policies with the counter `declared`."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


BATCH_APPEND_EVENTS: Call[types.BatchAppendEventsResponse] = Call(
    "batchAppendEvents",
    "POST",
    "{engine}/sessions/{session}/events:batch",
    body={"events": "events", "expected_last_seq": "expectedLastSeq"},
    is_change=True,
)


class BatchAppendEvents(TypedDict, total=False):
    """Arguments of `batchAppendEvents`."""

    events: Required[Sequence[types.AppendEventRequest]]
    """The events, the oldest first."""
    expected_last_seq: int | None
    """The number of the session's last event as known to the caller; if another event is
    last, nothing is appended: 409."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


BATCH_CREATE_MEMORIES: Call[types.Operation] = Call(
    "batchCreateMemories",
    "POST",
    "{engine}/memories:batchCreate",
    body={"requests": "requests", "atomic": "atomic"},
    is_change=True,
)


class BatchCreateMemories(TypedDict, total=False):
    """Arguments of `batchCreateMemories`."""

    requests: Required[Sequence[types.NewMemory]]
    """The memories, each with an optional id."""
    atomic: bool
    """True: all memories are created or none. False: each is created on its own, and the
    response lists its outcome in `results`."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


BATCH_RETRY_OPERATIONS: Call[types.Operation] = Call(
    "batchRetryOperations",
    "POST",
    "{engine}/operations:batchRetry",
    body={"filter": "filter", "validate_only": "validateOnly"},
    is_change=True,
)


class BatchRetryOperations(TypedDict, total=False):
    """Arguments of `batchRetryOperations`."""

    filter: str | None
    """An AIP-160 filter with the fields of the list of operations; absent: all failed
    operations."""
    validate_only: bool | None
    """True: only count the operations; nothing runs."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


CALL_MEMORY_TOOL: Call[types.CallMemoryToolResponse] = Call(
    "callMemoryTool",
    "POST",
    "{engine}/memoryTools:call",
    body={
        "name": "name",
        "arguments": "arguments",
        "scope": "scope",
        "session": "session",
        "exclude_recent": "excludeRecent",
    },
    is_change=True,
)


class CallMemoryTool(TypedDict, total=False):
    """Arguments of `callMemoryTool`."""

    name: Required[str]
    """Name of the tool that is called."""
    arguments: Mapping[str, Any] | str
    """The arguments: an object, or its JSON as text, as OpenAI sends it. Wrong arguments
    are no error of the request: the response has `isError`."""
    scope: Mapping[str, str] | None
    """Scope of the memories that the call is about, 1 to 5 pairs. Required, unless the
    key's conditions fix it; fixed pairs may be left out."""
    session: str | None
    """Id or name of the session that `recall_conversation` searches; absent: all
    sessions of the scope's `user_id`."""
    exclude_recent: int
    """Number of newest events of `session` to skip, since the prompt has them."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


CALL_TASK_TOOL: Call[types.CallMemoryToolResponse] = Call(
    "callTaskTool",
    "POST",
    "{engine}/taskTools:call",
    body={"name": "name", "arguments": "arguments", "memory": "memory", "sink": "sink"},
    is_change=True,
)


class CallTaskTool(TypedDict, total=False):
    """Arguments of `callTaskTool`."""

    name: Required[str]
    """Name of the tool that is called."""
    arguments: Mapping[str, Any] | str
    """The arguments: an object, or its JSON as text, as OpenAI sends it. Wrong arguments
    are no error of the request: the response has `isError`."""
    memory: str | None
    """The only task memory that the call may name; absent: any."""
    sink: str | None
    """The sink of exports; absent: the only one that is configured."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


CANCEL_OPERATION: Call[types.Empty] = Call(
    "cancelOperation", "POST", "{engine}/operations/{operation}:cancel", is_change=True
)


class CancelOperation(TypedDict, total=False):
    """Arguments of `cancelOperation`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


CLEAR_SESSION: Call[types.Session] = Call(
    "clearSession", "POST", "{engine}/sessions/{session}:clear", is_change=True
)


class ClearSession(TypedDict, total=False):
    """Arguments of `clearSession`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


COMPOSE_CONTEXT: Call[types.ContextResponse] = Call(
    "composeContext",
    "POST",
    "{engine}/sessions/{session}:context",
    body={
        "system_prompt": "systemPrompt",
        "pending_message": "pendingMessage",
        "policy": "policy",
        "token_limit": "tokenLimit",
        "reserve_output_tokens": "reserveOutputTokens",
        "format": "format",
        "framing": "framing",
        "consistency": "consistency",
        "wait_timeout": "waitTimeout",
        "include_memories": "includeMemories",
        "include_raw_events": "includeRawEvents",
        "as_of_seq": "asOfSeq",
        "model": "model",
        "preview": "preview",
    },
)


class ComposeContext(TypedDict, total=False):
    """Arguments of `composeContext`."""

    system_prompt: str | None
    """Instructions that come before everything else; absent: none."""
    pending_message: str | None
    """Message that the model must answer, not yet an event."""
    policy: types.MemoryPolicy | None
    """Policy of this context; absent: the policy of the session or its engine, or
    `inclusive`."""
    token_limit: int | None
    """Tokens of the model's window, in place of the policy's."""
    reserve_output_tokens: int | None
    """Tokens of the window left for the answer, in place of the policy's; absent in
    both: 800 with `agent_summary`, else 0."""
    format: types.Format
    """`messages` with their sources; `openai` or `gemini`, in the provider's format; or
    one `text`. `gemini` includes files unchanged, and only their mention is counted;
    the others show only the mention."""
    framing: bool | None
    """False: summaries without the marks that declare them to be data, in place of the
    policy's `framing`."""
    consistency: types.Consistency
    """`latest`: no model is called. `wait`: summaries that are due are made first."""
    wait_timeout: str | None
    """Time limit of `wait`; absent: the service's maximum."""
    include_memories: types.IncludeMemories | None
    """Facts of the memory bank to include; absent: none."""
    include_raw_events: bool
    """True: each message made from an event has its `rawEvent`, if there is one. Only in
    the format `messages`."""
    as_of_seq: int | None
    """Last event of the context; later ones are ignored. Events cleared or erased since
    are left out, and memories are the current ones."""
    model: str | None
    """Model for `estimatedCost`, as named in the configured prices."""
    preview: bool
    """True: no summary is enqueued, so the call changes nothing and needs no permission
    to update sessions. Not with `consistency: wait`."""


CREATE_EXCHANGE: Call[types.Exchange] = Call(
    "createExchange",
    "POST",
    "{engine}/sessions/{session}/exchanges",
    body={
        "input": "input",
        "output": "output",
        "agent": "agent",
        "invocation_id": "invocationId",
        "timestamp": "timestamp",
        "input_token_count": "inputTokenCount",
        "output_token_count": "outputTokenCount",
        "metadata": "metadata",
        "expected_last_seq": "expectedLastSeq",
    },
    is_change=True,
)


class CreateExchange(TypedDict, total=False):
    """Arguments of `createExchange`."""

    input: Required[str]
    """The user's text."""
    output: Required[str]
    """The agent's text."""
    agent: str
    """The author of the answer."""
    invocation_id: str | None
    """Invocation of both events; absent: a new one."""
    timestamp: str | None
    """Time of the exchange; absent: now."""
    input_token_count: int | None
    """Tokens of the input in a prompt, for the counter `declared`."""
    output_token_count: int | None
    """Tokens of the output, likewise."""
    metadata: Mapping[str, Any] | None
    """Metadata stored with both events, as their `customMetadata`."""
    expected_last_seq: int | None
    """The number of the session's last event as known to the caller; if another event is
    last, nothing is appended: 409."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


CREATE_KEY: Call[types.ApiKey] = Call(
    "createKey",
    "POST",
    "/v1/keys",
    body={
        "display_name": "displayName",
        "roles": "roles",
        "permissions": "permissions",
        "projects": "projects",
        "engines": "engines",
        "scope_conditions": "scopeConditions",
        "expire_time": "expireTime",
        "ttl": "ttl",
    },
    is_repeatable=False,
)


class CreateKey(TypedDict, total=False):
    """Arguments of `createKey`."""

    display_name: Required[str]
    """Name for people; printable, not blank."""
    roles: Sequence[types.Role] | None
    """Roles of the key; at least one of `roles` and `permissions` is needed."""
    permissions: Sequence[types.Permission] | None
    """Permissions in addition to the roles."""
    projects: Sequence[str] | None
    """Projects of the engines; absent: all."""
    engines: Sequence[str] | None
    """Ids or names of engines; absent: all."""
    scope_conditions: Mapping[str, str | list[str]] | None
    """For each scope key, the values that the key may reach: one, or a list. Absent: all
    scopes."""
    expire_time: str | None
    """Time at which the key stops working, in UTC; absent: by `ttl`, else never."""
    ttl: str | None
    """Input only: expiry is now + ttl."""


CREATE_MEMORY: Call[types.Operation] = Call(
    "createMemory",
    "POST",
    "{engine}/memories",
    query={"memory_id": "memoryId"},
    body={
        "revision_labels": "revisionLabels",
        "revision_expire_time": "revisionExpireTime",
        "revision_ttl": "revisionTtl",
        "disable_memory_revisions": "disableMemoryRevisions",
        "fact": "fact",
        "display_name": "displayName",
        "description": "description",
        "topics": "topics",
        "metadata": "metadata",
        "memory_type": "memoryType",
        "structured_content": "structuredContent",
        "context": "context",
        "expire_time": "expireTime",
        "ttl": "ttl",
        "scope": "scope",
    },
    is_change=True,
    has_typed_metadata=True,
)


class CreateMemory(TypedDict, total=False):
    """Arguments of `createMemory`."""

    memory_id: str | None
    """Id of the new memory; generated if absent."""
    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that this request makes."""
    revision_expire_time: str | None
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revision_ttl: str | None
    """Life of those revisions, from now; above zero seconds."""
    disable_memory_revisions: bool | None
    """True: the request makes no revisions."""
    fact: str | None
    """Statement to remember, in one or a few sentences; not blank."""
    display_name: str | None
    """Short name for people."""
    description: str | None
    """Explanation for people."""
    topics: Sequence[types.MemoryTopicId] | None
    """Topics that the fact is about; absent: none."""
    metadata: Mapping[str, MetadataValue] | None
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memory_type: types.MemoryType | None
    """Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be changed
    later."""
    structured_content: types.StructuredContent | None
    """At most 65536 bytes as JSON."""
    context: str | None
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""
    expire_time: str | None
    """Time at which the memory is deleted, in UTC; absent: by `ttl`, else by the
    engine's `ttlConfig`, else never."""
    ttl: str | None
    """Input only: expiry is now + ttl."""
    scope: Required[Mapping[str, str]]
    """Exact key of the collection."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


CREATE_REASONING_ENGINE: Call[types.Operation] = Call(
    "createReasoningEngine",
    "POST",
    "{engines}",
    body={
        "display_name": "displayName",
        "description": "description",
        "labels": "labels",
        "context_spec": "contextSpec",
        "encryption_spec": "encryptionSpec",
        "spec": "spec",
        "traffic_config": "trafficConfig",
    },
    is_change=True,
)


class CreateReasoningEngine(TypedDict, total=False):
    """Arguments of `createReasoningEngine`."""

    display_name: str | None
    """Name for people."""
    description: str | None
    """Explanation for people."""
    labels: Mapping[str, str] | None
    """The caller's own labels."""
    context_spec: types.ContextSpec | None
    """Configuration of its memory bank."""
    encryption_spec: None
    """Not served: this service encrypts no columns. Encrypt the disk or the database."""
    spec: None
    """Not served: no agents run here."""
    traffic_config: None
    """Not served: no agents run here."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


CREATE_SESSION: Call[types.Operation] = Call(
    "createSession",
    "POST",
    "{engine}/sessions",
    query={"session_id": "sessionId"},
    body={
        "display_name": "displayName",
        "labels": "labels",
        "session_state": "sessionState",
        "expire_time": "expireTime",
        "ttl": "ttl",
        "memory_policy": "memoryPolicy",
        "user_id": "userId",
    },
    is_change=True,
)


class CreateSession(TypedDict, total=False):
    """Arguments of `createSession`."""

    session_id: str | None
    """Id of the new session; absent: generated."""
    display_name: str | None
    """Name for people."""
    labels: Mapping[str, str] | None
    """The caller's own labels, of lower-case letters, digits, `_` and `-`."""
    session_state: Mapping[str, Any] | None
    """Values that agents keep: at most 1048576 bytes as JSON. Keys that start with
    `user:` are shared by the user's sessions, and keys with `app:` by all sessions of
    the engine. Keys with `temp:` are not stored."""
    expire_time: str | None
    """Time at which the session is deleted, in UTC; absent: by `ttl`, else by the
    service's setting."""
    ttl: str | None
    """Input only: expiry is now + ttl."""
    memory_policy: types.MemoryPolicy | None
    """Policy of its contexts and summaries; absent: the engine's policy."""
    user_id: Required[str]
    """Id of the user that the session belongs to."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


DELETE_ARTIFACT: Call[types.Empty] = Call(
    "deleteArtifact",
    "DELETE",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}/artifacts/{artifact}",
    is_change=True,
)


class DeleteArtifact(TypedDict, total=False):
    """Arguments of `deleteArtifact`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


DELETE_EVENT: Call[types.Empty] = Call(
    "deleteEvent", "DELETE", "{engine}/sessions/{session}/events/{event}", is_change=True
)


class DeleteEvent(TypedDict, total=False):
    """Arguments of `deleteEvent`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


DELETE_MEMORY: Call[types.Operation] = Call(
    "deleteMemory",
    "DELETE",
    "{engine}/memories/{memory}",
    query={"permanent": "permanent"},
    body={
        "revision_labels": "revisionLabels",
        "revision_expire_time": "revisionExpireTime",
        "revision_ttl": "revisionTtl",
    },
    is_change=True,
)


class DeleteMemory(TypedDict, total=False):
    """Arguments of `deleteMemory`."""

    permanent: bool | None
    """True: erase it and all its history now, beyond recovery."""
    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that this request makes."""
    revision_expire_time: str | None
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revision_ttl: str | None
    """Life of those revisions, from now; above zero seconds."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


DELETE_NAMESPACE: Call[types.Empty] = Call(
    "deleteNamespace",
    "DELETE",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}",
    is_change=True,
)


class DeleteNamespace(TypedDict, total=False):
    """Arguments of `deleteNamespace`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


DELETE_OPERATION: Call[types.Empty] = Call(
    "deleteOperation", "DELETE", "{engine}/operations/{operation}", is_change=True
)


class DeleteOperation(TypedDict, total=False):
    """Arguments of `deleteOperation`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


DELETE_REASONING_ENGINE: Call[types.Operation] = Call(
    "deleteReasoningEngine", "DELETE", "{engine}", query={"force": "force"}, is_change=True
)


class DeleteReasoningEngine(TypedDict, total=False):
    """Arguments of `deleteReasoningEngine`."""

    force: bool | None
    """True: also delete the contents of the engine."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


DELETE_SESSION: Call[types.Operation] = Call(
    "deleteSession", "DELETE", "{engine}/sessions/{session}", is_change=True
)


class DeleteSession(TypedDict, total=False):
    """Arguments of `deleteSession`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


DELETE_TASK_MEMORY: Call[types.Empty] = Call(
    "deleteTaskMemory", "DELETE", "{engine}/taskMemories/{task_memory}", is_change=True
)


class DeleteTaskMemory(TypedDict, total=False):
    """Arguments of `deleteTaskMemory`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


DELETE_TOOL_POLICY: Call[types.Empty] = Call(
    "deleteToolPolicy",
    "DELETE",
    "{engine}/taskMemories/{task_memory}/toolPolicies/{tool}",
    is_change=True,
)


class DeleteToolPolicy(TypedDict, total=False):
    """Arguments of `deleteToolPolicy`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


DOWNLOAD_ARTIFACT: Call[bytes] = Call(
    "downloadArtifact",
    "GET",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}/artifacts/{artifact}/content",
)


ERASE_SCOPE: Call[types.Operation] = Call(
    "eraseScope",
    "POST",
    "{engine}:eraseScope",
    body={"scope": "scope", "validate_only": "validateOnly", "include_sessions": "includeSessions"},
    is_change=True,
)


class EraseScope(TypedDict, total=False):
    """Arguments of `eraseScope`."""

    scope: Required[Mapping[str, str]]
    """Exact key of the collection."""
    validate_only: bool | None
    """True: count, and change nothing."""
    include_sessions: bool | None
    """False: sessions, task memory and state of the user `user_id` are kept; absent:
    they are erased, too."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


ESTIMATE_CONTEXT_COSTS: Call[types.EstimateContextCostsResponse] = Call(
    "estimateContextCosts",
    "POST",
    "{engine}/contextCosts:estimate",
    body={
        "messages": "messages",
        "message_tokens": "messageTokens",
        "system_tokens": "systemTokens",
        "summary_tokens": "summaryTokens",
        "summary_overhead_tokens": "summaryOverheadTokens",
        "prices": "prices",
        "models": "models",
        "model": "model",
        "summary_model": "summaryModel",
        "configured_prices": "configuredPrices",
        "context_window": "contextWindow",
        "strategies": "strategies",
        "accounting": "accounting",
        "find_best_cap": "findBestCap",
    },
)


class EstimateContextCosts(TypedDict, total=False):
    """Arguments of `estimateContextCosts`."""

    messages: Sequence[int]
    """Lengths of sessions, in prompts with their answers."""
    message_tokens: int | dict[str, Any]
    """Tokens of a message, prompt and answer. With one number, all of it counts as
    input. With two halves, the answer is paid for once as output, and as input in
    each later prompt that shows it."""
    system_tokens: int
    """Tokens of the system prompt."""
    summary_tokens: int
    """Tokens of a summary, unless the strategy sets them."""
    summary_overhead_tokens: int
    """Tokens of a summariser's prompt without its input."""
    prices: types.PlainPrices | None
    """Alternative to `models`."""
    models: Mapping[str, types.ModelPrices] | None
    """Prices by model."""
    model: str | None
    """Name of the answering model; required with `models`."""
    summary_model: str | None
    """Name in `models` of the summarising model if a strategy names none, or `builtin`,
    which is free; absent: the answering model."""
    configured_prices: bool
    """True: the prices in the settings of the service, in place of `prices` and
    `models`. `model` may be absent then: the model of the service."""
    context_window: int | None
    """Maximum tokens of a prompt with its answer; a strategy's own `tokenLimit`
    overrides it. `agent_summary` needs one of them."""
    strategies: Sequence[types.MemoryPolicy]
    """Memory policies; absent: `inclusive`, `abstraction_inclusive` and
    `fully_abstracted`."""
    accounting: types.Accounting
    """`per_prompt`: each prompt is paid for once. `published_tables`: the method of the
    tables of Prompt Memory Lab, for comparison with them."""
    find_best_cap: bool
    """True: also find the cheapest `cap` (or `every`) of strategies that have one, up to
    1000."""


EXPORT_ALL_AUDIT_EVENTS: Call[bytes] = Call(
    "exportAllAuditEvents", "GET", "/v1/auditEvents:export", query={"filter": "filter"}
)


class ExportAllAuditEvents(TypedDict, total=False):
    """Arguments of `exportAllAuditEvents`."""

    filter: str | None
    """An AIP-160 filter."""


EXPORT_AUDIT_EVENTS: Call[bytes] = Call(
    "exportAuditEvents", "GET", "{engine}/auditEvents:export", query={"filter": "filter"}
)


class ExportAuditEvents(TypedDict, total=False):
    """Arguments of `exportAuditEvents`."""

    filter: str | None
    """An AIP-160 filter."""


EXPORT_NAMESPACE: Call[types.ExportNamespaceResponse] = Call(
    "exportNamespace",
    "POST",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}:export",
    body={
        "sink": "sink",
        "directory": "directory",
        "artifacts": "artifacts",
        "file_name": "fileName",
        "overwrite": "overwrite",
    },
    is_change=True,
)


class ExportNamespace(TypedDict, total=False):
    """Arguments of `exportNamespace`."""

    sink: Required[str]
    """Name of a configured sink."""
    directory: str | None
    """Folder for the files: names with `/` between them, below ENGINE/MEMORY/NAMESPACE
    in the sink."""
    artifacts: Sequence[str] | None
    """Names of the artifacts to export; absent: all."""
    file_name: str | None
    """Name of the file, where one artifact is exported; absent: the artifact's name."""
    overwrite: bool
    """True: existing files are replaced. False: an existing file is ID_TAKEN, and stays."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


EXPORT_REASONING_ENGINE: Call[bytes] = Call(
    "exportReasoningEngine",
    "GET",
    "{engine}:export",
    query={"vectors": "vectors", "artifacts": "artifacts", "sessions": "sessions"},
)


class ExportReasoningEngine(TypedDict, total=False):
    """Arguments of `exportReasoningEngine`."""

    vectors: bool
    """True: with the vectors of memories."""
    artifacts: bool
    """False: without the artifacts of task memory."""
    sessions: bool
    """False: without sessions, their events, summaries and states."""


EXPORT_REVISIONS: Call[bytes] = Call(
    "exportRevisions", "GET", "{engine}/memories/-/revisions:export", query={"filter": "filter"}
)


class ExportRevisions(TypedDict, total=False):
    """Arguments of `exportRevisions`."""

    filter: str | None
    """An AIP-160 filter."""


EXTRACT_NAMESPACE: Call[types.ExtractNamespaceResponse] = Call(
    "extractNamespace",
    "POST",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}:extract",
    body={
        "model": "model",
        "off_prompt": "offPrompt",
        "as_": "as",
        "wait": "wait",
        "artifacts": "artifacts",
        "schema": "schema",
        "source": "source",
        "format": "format",
        "max_rows": "maxRows",
    },
    is_change=True,
)


class ExtractNamespace(TypedDict, total=False):
    """Arguments of `extractNamespace`."""

    model: str | None
    """A configured model, or `builtin`, which needs none; absent: the first that may
    read the namespace (the first local one if it is sensitive; one that takes images
    if it has no text), or `builtin` without any."""
    off_prompt: bool
    """True: store the result and return only its reference."""
    as_: str | None
    """Name of the stored result, with `offPrompt` only; without an extension, it gets
    `.txt`, or `.json` or `.csv` for `:extract`. No two of a namespace may be equal."""
    wait: bool
    """True: wait for texts that are being indexed; otherwise they are NOT_READY."""
    artifacts: Sequence[str] | None
    """The only artifacts to read; absent: all that the model can read."""
    schema: Required[Mapping[str, Any]]
    """JSON schema of one row: an object with properties. References stay within it, and
    patterns are of RE2 syntax."""
    source: types.RowSource
    """Places of rows and values, which a model does not need."""
    format: types.RowFormat
    """`json`, or `csv`, which has a column for each property and no sources."""
    max_rows: int
    """Maximum number of rows; without `offPrompt`, the response also has at most 1,000
    rows and 256 KiB of them."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


FIND_RESOURCES: Call[types.FindResourcesResponse] = Call(
    "findResources", "POST", "{engine}/resources:find", body={"text": "text"}
)


class FindResources(TypedDict, total=False):
    """Arguments of `findResources`."""

    text: Required[str]
    """Id or full name of a memory, revision, operation, session, key or engine, or a
    value of a scope. If it is none of these, the last digits of the id of a memory,
    revision, operation or session, at least 6."""


FLUSH_STREAM: Call[types.Operation] = Call(
    "flushStream",
    "POST",
    "{engine}/streams:flush",
    body={"scope": "scope", "stream_id": "streamId"},
    is_change=True,
)


class FlushStream(TypedDict, total=False):
    """Arguments of `flushStream`."""

    scope: Required[Mapping[str, str]]
    """Exact key of the collection."""
    stream_id: str | None
    """Id of the stream; absent or empty: `default`."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


GENERATE_MEMORIES: Call[types.Operation] = Call(
    "generateMemories",
    "POST",
    "{engine}/memories:generate",
    body={
        "revision_labels": "revisionLabels",
        "revision_expire_time": "revisionExpireTime",
        "revision_ttl": "revisionTtl",
        "disable_memory_revisions": "disableMemoryRevisions",
        "direct_contents_source": "directContentsSource",
        "direct_memories_source": "directMemoriesSource",
        "vertex_session_source": "vertexSessionSource",
        "scope": "scope",
        "disable_consolidation": "disableConsolidation",
        "validate_only": "validateOnly",
        "metadata": "metadata",
        "metadata_merge_strategy": "metadataMergeStrategy",
        "allowed_topics": "allowedTopics",
        "time_zone": "timeZone",
        "reread_events": "rereadEvents",
    },
    is_change=True,
    has_typed_metadata=True,
)


class GenerateMemories(TypedDict, total=False):
    """Arguments of `generateMemories`."""

    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that this request makes."""
    revision_expire_time: str | None
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revision_ttl: str | None
    """Life of those revisions, from now; above zero seconds."""
    disable_memory_revisions: bool | None
    """True: the request makes no revisions."""
    direct_contents_source: types.DirectContentsSource | None
    """A conversation in the request; one of three sources."""
    direct_memories_source: types.DirectMemoriesSource | None
    """Facts in the request; one of three sources."""
    vertex_session_source: types.VertexSessionSource | None
    """A session, perhaps of another engine in the same project and location; one of
    three sources."""
    scope: Mapping[str, str] | None
    """Exact key of the collection that the memories belong to. Required, unless the
    source is a session: then absent means its `user_id`."""
    disable_consolidation: bool | None
    """True: every result becomes a new memory."""
    validate_only: bool | None
    """True: do the work, but write nothing; respond with the changes and their reasons."""
    metadata: Mapping[str, MetadataValue] | None
    """The caller's own values, stored with each memory that is written."""
    metadata_merge_strategy: types.MetadataMergeStrategy
    """Treatment of the metadata of a memory that is updated. `OVERWRITE` (also when
    absent): these values replace it. `MERGE`: they are added. `REQUIRE_EXACT_MATCH`:
    only memories with equal metadata are updated."""
    allowed_topics: Sequence[types.MemoryTopicId] | None
    """Limits the configured topics to these."""
    time_zone: str | None
    """Time zone of relative dates; absent: the offset of each event's time, if it has
    one other than zero, else the bank's zone."""
    reread_events: bool | None
    """True: read events again that earlier generations have read. This restores facts
    that were deleted or corrected since; preview it with `validateOnly`."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


GET_ARTIFACT: Call[types.Artifact] = Call(
    "getArtifact",
    "GET",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}/artifacts/{artifact}",
)


GET_HEALTH: Call[types.Health] = Call("getHealth", "GET", "/healthz")


GET_KEY: Call[types.ApiKey] = Call("getKey", "GET", "/v1/keys/{key}")


GET_MEMORY: Call[types.Memory] = Call(
    "getMemory", "GET", "{engine}/memories/{memory}", query={"show_deleted": "showDeleted"}
)


class GetMemory(TypedDict, total=False):
    """Arguments of `getMemory`."""

    show_deleted: bool | None
    """True: include deleted memories that can still be recovered; needs
    `revisions.list`."""


GET_MEMORY_REVISION: Call[types.MemoryRevision] = Call(
    "getMemoryRevision", "GET", "{engine}/memories/{memory}/revisions/{revision}"
)


GET_MEMORY_TOOL_SPECS: Call[types.MemoryToolSpecs] = Call(
    "getMemoryToolSpecs",
    "GET",
    "{engine}/memoryToolSpecs",
    query={"format": "format", "tools": "tools", "session": "session"},
)


class GetMemoryToolSpecs(TypedDict, total=False):
    """Arguments of `getMemoryToolSpecs`."""

    format: str | None
    """Only `openai`, `gemini` or `anthropic`."""
    tools: str | None
    """Names of tools with commas between them; absent: all."""
    session: str | None
    """The session of the calls; the model then cannot choose another."""


GET_METRICS: Call[bytes] = Call("getMetrics", "GET", "/metrics")


GET_NAMESPACE: Call[types.Namespace] = Call(
    "getNamespace", "GET", "{engine}/taskMemories/{task_memory}/namespaces/{namespace}"
)


GET_OPERATION: Call[types.Operation] = Call(
    "getOperation", "GET", "{engine}/operations/{operation}"
)


GET_OPERATIONS_USAGE: Call[types.OperationsUsage] = Call(
    "getOperationsUsage", "GET", "{engine}/operations:usage", query={"filter": "filter"}
)


class GetOperationsUsage(TypedDict, total=False):
    """Arguments of `getOperationsUsage`."""

    filter: str | None
    """An AIP-160 filter."""


GET_READINESS: Call[types.Health] = Call("getReadiness", "GET", "/readyz")


GET_REASONING_ENGINE: Call[types.ReasoningEngine] = Call("getReasoningEngine", "GET", "{engine}")


GET_SELF: Call[types.CallerInfo] = Call("getSelf", "GET", "/v1/self")


GET_SERVER: Call[types.ServerInfo] = Call("getServer", "GET", "/v1/server")


GET_SERVER_USAGE: Call[types.UsageOfDays] = Call(
    "getServerUsage",
    "GET",
    "/v1/server:usage",
    query={"start_day": "startDay", "end_day": "endDay", "group_by": "groupBy"},
)


class GetServerUsage(TypedDict, total=False):
    """Arguments of `getServerUsage`."""

    start_day: str | None
    """First day (UTC); absent: 30 days in all."""
    end_day: str | None
    """Last day (UTC), included; absent: today."""
    group_by: str | None
    """Grouping of the sums: some of `day`, `model` and `kind` (of the work), separated
    by commas; absent: `day,model`."""


GET_SESSION: Call[types.Session] = Call("getSession", "GET", "{engine}/sessions/{session}")


GET_SESSION_USAGE: Call[types.SessionUsage] = Call(
    "getSessionUsage", "GET", "{engine}/sessions/{session}/usage"
)


GET_SUMMARY: Call[types.SessionSummary] = Call(
    "getSummary", "GET", "{engine}/sessions/{session}/summaries/{summary}"
)


GET_TASK_MEMORY: Call[types.TaskMemory] = Call(
    "getTaskMemory", "GET", "{engine}/taskMemories/{task_memory}"
)


GET_TOOL_POLICY: Call[types.ToolPolicy] = Call(
    "getToolPolicy", "GET", "{engine}/taskMemories/{task_memory}/toolPolicies/{tool}"
)


GET_TOOL_SPECS: Call[types.ToolSpecs] = Call(
    "getToolSpecs", "GET", "{engine}/toolSpecs", query={"memory": "memory", "format": "format"}
)


class GetToolSpecs(TypedDict, total=False):
    """Arguments of `getToolSpecs`."""

    memory: str | None
    """A task memory; the tools then read only this one."""
    format: types.ToolFormat | None
    """`openai`, `gemini` or `anthropic`; absent: all of them."""


GET_USAGE: Call[types.EngineUsage] = Call(
    "getUsage",
    "GET",
    "{engine}:usage",
    query={"start_day": "startDay", "end_day": "endDay", "group_by": "groupBy"},
)


class GetUsage(TypedDict, total=False):
    """Arguments of `getUsage`."""

    start_day: str | None
    """First day (UTC); absent: 30 days in all."""
    end_day: str | None
    """Last day (UTC), included; absent: today."""
    group_by: str | None
    """Grouping of the sums: some of `day`, `model` and `kind` (of the work), separated
    by commas; absent: `day,model`."""


GROUP_FAILURES: Call[types.GroupFailuresResponse] = Call(
    "groupFailures", "GET", "{engine}/operations:groupFailures", query={"filter": "filter"}
)


class GroupFailures(TypedDict, total=False):
    """Arguments of `groupFailures`."""

    filter: str | None
    """An AIP-160 filter."""


IMPORT_MEMORIES: Call[types.ImportMemoriesResponse] = Call(
    "importMemories",
    "POST",
    "{engine}/memories:import",
    query={
        "import_id": "importId",
        "overwrite": "overwrite",
        "validate_only": "validateOnly",
        "max_errors": "maxErrors",
    },
    is_repeatable=False,
)


class ImportMemories(TypedDict, total=False):
    """Arguments of `importMemories`."""

    import_id: str | None
    """Id of an import of several requests. Requests with the same id, of one caller and
    within 24 hours of the first, are one operation, which can be undone as a whole."""
    overwrite: bool | None
    """True: existing memories with other content get the content of their lines; needs
    `memories.update`. Otherwise they stay unchanged."""
    validate_only: bool | None
    """True: nothing is written, and the counts are what an import would do now. Each
    line is taken by itself: one that repeats the id of an earlier line counts like
    it."""
    max_errors: int
    """Maximum number of failed lines that are listed."""


INGEST_EVENTS: Call[types.Operation] = Call(
    "ingestEvents",
    "POST",
    "{engine}/memories:ingestEvents",
    body={
        "revision_labels": "revisionLabels",
        "revision_expire_time": "revisionExpireTime",
        "revision_ttl": "revisionTtl",
        "disable_memory_revisions": "disableMemoryRevisions",
        "scope": "scope",
        "stream_id": "streamId",
        "direct_contents_source": "directContentsSource",
        "generation_trigger_config": "generationTriggerConfig",
        "force_flush": "forceFlush",
        "metadata": "metadata",
        "metadata_merge_strategy": "metadataMergeStrategy",
    },
    is_change=True,
    has_typed_metadata=True,
)


class IngestEvents(TypedDict, total=False):
    """Arguments of `ingestEvents`."""

    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that this request makes."""
    revision_expire_time: str | None
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revision_ttl: str | None
    """Life of those revisions, from now; above zero seconds."""
    disable_memory_revisions: bool | None
    """True: the request makes no revisions."""
    scope: Required[Mapping[str, str]]
    """Exact key of the collection."""
    stream_id: str | None
    """Id of the stream; absent or empty: `default`."""
    direct_contents_source: types.DirectContentsSource | None
    """A conversation in the request; absent: the request only changes the rule of the
    waiting events."""
    generation_trigger_config: types.GenerationTriggerConfig | None
    """Trigger of generation from the events; absent: the bank's trigger; without any,
    events are processed at once."""
    force_flush: bool | None
    """True: process all waiting events at once."""
    metadata: Mapping[str, MetadataValue] | None
    """The caller's own values, stored with each memory that is written."""
    metadata_merge_strategy: types.MetadataMergeStrategy | None
    """Treatment of the metadata of a memory that is updated, as in `memories:generate`."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


LIST_ALL_AUDIT_EVENTS: Call[types.ListAuditEventsResponse] = Call(
    "listAllAuditEvents",
    "GET",
    "/v1/auditEvents",
    query={"filter": "filter", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListAllAuditEvents(TypedDict, total=False):
    """Arguments of `listAllAuditEvents`."""

    filter: str | None
    """An AIP-160 filter."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_ALL_REVISIONS: Call[types.ListMemoryRevisionsResponse] = Call(
    "listAllRevisions",
    "GET",
    "{engine}/memories/-/revisions",
    query={"filter": "filter", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListAllRevisions(TypedDict, total=False):
    """Arguments of `listAllRevisions`."""

    filter: str | None
    """An AIP-160 filter."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_ARTIFACTS: Call[types.ListArtifactsResponse] = Call(
    "listArtifacts",
    "GET",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}/artifacts",
    query={"page_size": "pageSize", "page_token": "pageToken"},
)


class ListArtifacts(TypedDict, total=False):
    """Arguments of `listArtifacts`."""

    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_AUDIT_EVENTS: Call[types.ListAuditEventsResponse] = Call(
    "listAuditEvents",
    "GET",
    "{engine}/auditEvents",
    query={"filter": "filter", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListAuditEvents(TypedDict, total=False):
    """Arguments of `listAuditEvents`."""

    filter: str | None
    """An AIP-160 filter."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_EVENTS: Call[types.ListEventsResponse] = Call(
    "listEvents",
    "GET",
    "{engine}/sessions/{session}/events",
    query={
        "filter": "filter",
        "order_by": "orderBy",
        "page_size": "pageSize",
        "page_token": "pageToken",
    },
)


class ListEvents(TypedDict, total=False):
    """Arguments of `listEvents`."""

    filter: str | None
    """An AIP-160 filter."""
    order_by: str | None
    """A field, ascending unless followed by ` desc`."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_KEYS: Call[types.ListKeysResponse] = Call(
    "listKeys",
    "GET",
    "/v1/keys",
    query={"filter": "filter", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListKeys(TypedDict, total=False):
    """Arguments of `listKeys`."""

    filter: str | None
    """An AIP-160 filter."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_MEMORIES: Call[types.ListMemoriesResponse] = Call(
    "listMemories",
    "GET",
    "{engine}/memories",
    query={
        "filter": "filter",
        "order_by": "orderBy",
        "show_deleted": "showDeleted",
        "page_size": "pageSize",
        "page_token": "pageToken",
    },
)


class ListMemories(TypedDict, total=False):
    """Arguments of `listMemories`."""

    filter: str | None
    """An AIP-160 filter."""
    order_by: str | None
    """A field, ascending unless followed by ` desc`."""
    show_deleted: bool | None
    """True: include deleted memories that can still be recovered; needs
    `revisions.list`."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_MEMORY_REVISIONS: Call[types.ListMemoryRevisionsResponse] = Call(
    "listMemoryRevisions",
    "GET",
    "{engine}/memories/{memory}/revisions",
    query={"filter": "filter", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListMemoryRevisions(TypedDict, total=False):
    """Arguments of `listMemoryRevisions`."""

    filter: str | None
    """An AIP-160 filter."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_NAMESPACES: Call[types.ListNamespacesResponse] = Call(
    "listNamespaces",
    "GET",
    "{engine}/taskMemories/{task_memory}/namespaces",
    query={"page_size": "pageSize", "page_token": "pageToken"},
)


class ListNamespaces(TypedDict, total=False):
    """Arguments of `listNamespaces`."""

    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_OPERATIONS: Call[types.ListOperationsResponse] = Call(
    "listOperations",
    "GET",
    "{engine}/operations",
    query={"filter": "filter", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListOperations(TypedDict, total=False):
    """Arguments of `listOperations`."""

    filter: str | None
    """An AIP-160 filter."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_REASONING_ENGINES: Call[types.ListReasoningEnginesResponse] = Call(
    "listReasoningEngines",
    "GET",
    "{engines}",
    query={"filter": "filter", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListReasoningEngines(TypedDict, total=False):
    """Arguments of `listReasoningEngines`."""

    filter: str | None
    """An AIP-160 filter."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_REVISION_LABELS: Call[types.ListRevisionLabelsResponse] = Call(
    "listRevisionLabels",
    "GET",
    "{engine}/memories/-/revisions:listLabels",
    query={"key": "key", "prefix": "prefix", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListRevisionLabels(TypedDict, total=False):
    """Arguments of `listRevisionLabels`."""

    key: str | None
    """Key of at most 64 characters: its values are listed; absent or empty: the keys are
    listed."""
    prefix: str
    """Beginning of the keys, or of the values of the key, that are listed; at most 64
    characters for keys and 512 for values."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_SCOPES: Call[types.ListScopesResponse] = Call(
    "listScopes",
    "GET",
    "{engine}/memories:listScopes",
    query={
        "filter": "filter",
        "show_deleted": "showDeleted",
        "page_size": "pageSize",
        "page_token": "pageToken",
    },
)


class ListScopes(TypedDict, total=False):
    """Arguments of `listScopes`."""

    filter: str | None
    """An AIP-160 filter."""
    show_deleted: bool | None
    """True: list the scopes of deleted memories, too, while these can be recovered;
    needs `revisions.list`."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_SESSIONS: Call[types.ListSessionsResponse] = Call(
    "listSessions",
    "GET",
    "{engine}/sessions",
    query={
        "filter": "filter",
        "order_by": "orderBy",
        "page_size": "pageSize",
        "page_token": "pageToken",
    },
)


class ListSessions(TypedDict, total=False):
    """Arguments of `listSessions`."""

    filter: str | None
    """An AIP-160 filter."""
    order_by: str | None
    """A field, ascending unless followed by ` desc`."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_STREAMS: Call[types.ListStreamsResponse] = Call(
    "listStreams",
    "GET",
    "{engine}/streams",
    query={"filter": "filter", "page_size": "pageSize", "page_token": "pageToken"},
)


class ListStreams(TypedDict, total=False):
    """Arguments of `listStreams`."""

    filter: str | None
    """An AIP-160 filter."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_SUMMARIES: Call[types.ListSummariesResponse] = Call(
    "listSummaries",
    "GET",
    "{engine}/sessions/{session}/summaries",
    query={
        "state": "state",
        "policy_key": "policyKey",
        "page_size": "pageSize",
        "page_token": "pageToken",
    },
)


class ListSummaries(TypedDict, total=False):
    """Arguments of `listSummaries`."""

    state: types.StoredSummaryState | None
    """State of the summaries to list; absent: all."""
    policy_key: str | None
    """Key of a policy: only its summaries are listed; absent: all."""
    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_TASK_MEMORIES: Call[types.ListTaskMemoriesResponse] = Call(
    "listTaskMemories",
    "GET",
    "{engine}/taskMemories",
    query={"page_size": "pageSize", "page_token": "pageToken"},
)


class ListTaskMemories(TypedDict, total=False):
    """Arguments of `listTaskMemories`."""

    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LIST_TOOL_POLICIES: Call[types.ListToolPoliciesResponse] = Call(
    "listToolPolicies",
    "GET",
    "{engine}/taskMemories/{task_memory}/toolPolicies",
    query={"page_size": "pageSize", "page_token": "pageToken"},
)


class ListToolPolicies(TypedDict, total=False):
    """Arguments of `listToolPolicies`."""

    page_size: int | None
    """Rows of a page; 0 means the default, and too large a value the maximum."""
    page_token: str | None
    """`nextPageToken` of the previous page."""


LOAD_FILES: Call[types.LoadFilesResponse] = Call(
    "loadFiles",
    "POST",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}:load",
    body={
        "local_only": "localOnly",
        "allowed_models": "allowedModels",
        "readers": "readers",
        "sensitive": "sensitive",
        "embedding_model": "embeddingModel",
        "ttl": "ttl",
        "user_id": "userId",
        "tool": "tool",
        "activity": "activity",
        "source": "source",
        "path": "path",
        "pattern": "pattern",
        "as_": "as",
    },
    is_change=True,
)


class LoadFiles(TypedDict, total=False):
    """Arguments of `loadFiles`."""

    local_only: bool | None
    """True: only models on this machine may read the content."""
    allowed_models: Sequence[str] | None
    """Models that may read the content; absent: all configured ones."""
    readers: Sequence[types.Reader] | None
    """Ways in which the content may be used; absent: all. Empty: none."""
    sensitive: bool | None
    """True: derived content is sensitive as well, and never inline."""
    embedding_model: str | None
    """Id of the embedding model for its chunks and for questions; absent: searches
    compare words only."""
    ttl: str | None
    """Input only: expiry is now + ttl."""
    user_id: str | None
    """Owner; required from callers that are bound to users."""
    tool: str | None
    """Tool that produced it: its policy applies, and a new namespace records it."""
    activity: str | None
    """The tool's activity, such as `fetch`; recorded with the namespace."""
    source: Required[str]
    """Name of a configured source."""
    path: str | None
    """A file below the source, or a folder, of which all files are loaded, at most 100;
    folders in it and hidden files are not. Absent: the source's own folder."""
    pattern: str | None
    """With a folder: only files whose names match, such as `*.md`."""
    as_: str | None
    """With one file: name of the artifact; without an extension, it gets the one of the
    media type. Absent: the file's name, which must have the form of an artifact's."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


PROCESS_OUTPUT: Call[types.ProcessOutputResponse] = Call(
    "processOutput",
    "POST",
    "{engine}/taskMemories/{task_memory}:processOutput",
    body={
        "local_only": "localOnly",
        "allowed_models": "allowedModels",
        "readers": "readers",
        "sensitive": "sensitive",
        "embedding_model": "embeddingModel",
        "ttl": "ttl",
        "user_id": "userId",
        "tool": "tool",
        "activity": "activity",
        "call_id": "callId",
        "namespace": "namespace",
        "off_prompt": "offPrompt",
        "as_": "as",
        "output": "output",
    },
    is_change=True,
)


class ProcessOutput(TypedDict, total=False):
    """Arguments of `processOutput`."""

    local_only: bool | None
    """True: only models on this machine may read the content."""
    allowed_models: Sequence[str] | None
    """Models that may read the content; absent: all configured ones."""
    readers: Sequence[types.Reader] | None
    """Ways in which the content may be used; absent: all. Empty: none."""
    sensitive: bool | None
    """True: derived content is sensitive as well, and never inline."""
    embedding_model: str | None
    """Id of the embedding model for its chunks and for questions; absent: searches
    compare words only."""
    ttl: str | None
    """Input only: expiry is now + ttl."""
    user_id: str | None
    """Owner; required from callers that are bound to users."""
    tool: Required[str]
    """Tool that made the output; its policy applies."""
    activity: Required[str]
    """Name of the tool's activity, such as `fetch`."""
    call_id: str | None
    """Id of the call; not stored."""
    namespace: str | None
    """Namespace to store in; absent: a new one."""
    off_prompt: bool | Literal["auto"] | None
    """Rule for storing the output: false, true or `auto`; absent: from the tool's
    policy, or false without one."""
    as_: str | None
    """Name of the artifact if one is stored; without an extension, it gets the one of
    the media type. Ignored where nothing is stored."""
    output: Required[types.Output]
    """The tool's output."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


PURGE_MEMORIES: Call[types.Operation] = Call(
    "purgeMemories",
    "POST",
    "{engine}/memories:purge",
    body={
        "revision_labels": "revisionLabels",
        "revision_expire_time": "revisionExpireTime",
        "revision_ttl": "revisionTtl",
        "filter": "filter",
        "filter_groups": "filterGroups",
        "force": "force",
        "permanent": "permanent",
        "sample_size": "sampleSize",
    },
    is_change=True,
)


class PurgeMemories(TypedDict, total=False):
    """Arguments of `purgeMemories`."""

    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that this request makes."""
    revision_expire_time: str | None
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revision_ttl: str | None
    """Life of those revisions, from now; above zero seconds."""
    filter: str | None
    """An AIP-160 filter."""
    filter_groups: Sequence[types.FilterGroup] | None
    """Groups of conditions on metadata; a memory must match at least one group."""
    force: bool | None
    """True: delete the memories; otherwise only count them."""
    permanent: bool | None
    """True, with `force`: erase memories and history at once, without recovery."""
    sample_size: int | None
    """Without `force`: matching memories to show, the newest; 0 to 100."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


QUERY_NAMESPACE: Call[types.QueryNamespaceResponse] = Call(
    "queryNamespace",
    "POST",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}:query",
    body={
        "model": "model",
        "off_prompt": "offPrompt",
        "as_": "as",
        "wait": "wait",
        "artifacts": "artifacts",
        "query": "query",
        "top_k": "topK",
        "answer_tokens": "answerTokens",
    },
    is_change=True,
)


class QueryNamespace(TypedDict, total=False):
    """Arguments of `queryNamespace`."""

    model: str | None
    """A configured model, or `builtin`, which needs none; absent: the first that may
    read the namespace (the first local one if it is sensitive; one that takes images
    if it has no text), or `builtin` without any."""
    off_prompt: bool
    """True: store the result and return only its reference."""
    as_: str | None
    """Name of the stored result, with `offPrompt` only; without an extension, it gets
    `.txt`, or `.json` or `.csv` for `:extract`. No two of a namespace may be equal."""
    wait: bool
    """True: wait for texts that are being indexed; otherwise they are NOT_READY."""
    artifacts: Sequence[str] | None
    """The only artifacts to read; absent: all that the model can read."""
    query: Required[str]
    """Question to answer; not blank."""
    top_k: int
    """Maximum number of passages for the reader."""
    answer_tokens: int
    """Maximum length of the answer, in tokens."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


READ_ARTIFACT_TEXT: Call[types.TextPage] = Call(
    "readArtifactText",
    "GET",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}/artifacts/{artifact}:text",
    query={"page": "page"},
)


class ReadArtifactText(TypedDict, total=False):
    """Arguments of `readArtifactText`."""

    page: int
    """Number of the page, from 1."""


RECALL_MEMORIES: Call[types.RecallMemoriesResponse] = Call(
    "recallMemories",
    "POST",
    "{engine}/memories:recall",
    body={
        "query": "query",
        "mode": "mode",
        "top_k": "topK",
        "max_tokens": "maxTokens",
        "model": "model",
        "counter": "counter",
        "scope": "scope",
        "filter": "filter",
        "filter_groups": "filterGroups",
        "include_sessions": "includeSessions",
    },
)


class RecallMemories(TypedDict, total=False):
    """Arguments of `recallMemories`."""

    query: Required[str]
    """Question or words: compared with facts by meaning, with events by words."""
    mode: types.RecallMode
    """`extractive`: passages, word for word. `summary`: a text made from them by one
    model call; without a model, the passages themselves."""
    top_k: int
    """Maximum number of facts, and also of passages; a model gets four times as many,
    but at most 100 facts."""
    max_tokens: int
    """Maximum tokens of all facts and passages, or of the text. If there are both, each
    may take half, and the unused part of the other half."""
    model: str | None
    """Writer of the text: a configured model, or `builtin`; absent: the default model,
    or `builtin` without one."""
    counter: str | None
    """Token counter; absent: `chars4`."""
    scope: Required[Mapping[str, str]]
    """Exact key of the collection."""
    filter: str | None
    """An AIP-160 filter of memories."""
    filter_groups: Sequence[types.FilterGroup] | None
    """Groups of conditions on metadata; a memory must match at least one group."""
    include_sessions: bool
    """True: also search the sessions of the scope's `user_id`, as many as one call of
    `sessions/-:recall` reaches."""


RECALL_SESSION: Call[types.RecallResponse] = Call(
    "recallSession",
    "POST",
    "{engine}/sessions/{session}:recall",
    body={
        "query": "query",
        "mode": "mode",
        "top_k": "topK",
        "max_tokens": "maxTokens",
        "model": "model",
        "counter": "counter",
        "exclude_recent": "excludeRecent",
    },
)


class RecallSession(TypedDict, total=False):
    """Arguments of `recallSession`."""

    query: Required[str]
    """Text to search for, by its words and not by its meaning."""
    mode: types.RecallMode
    """`extractive`: passages, word for word. `summary`: a text made from them by one
    model call; without a model, the passages themselves."""
    top_k: int
    """Maximum number of passages; a model gets four times as many."""
    max_tokens: int
    """Maximum tokens of all passages, or of the text."""
    model: str | None
    """Writer of the text: a configured model, or `builtin`; absent: the default model,
    or `builtin` without one."""
    counter: str | None
    """Token counter; absent: `chars4`."""
    exclude_recent: int
    """Number of newest events to skip; erased ones count as well."""


RECALL_SESSIONS: Call[types.RecallSessionsResponse] = Call(
    "recallSessions",
    "POST",
    "{engine}/sessions/-:recall",
    body={
        "query": "query",
        "mode": "mode",
        "top_k": "topK",
        "max_tokens": "maxTokens",
        "model": "model",
        "counter": "counter",
        "user_id": "userId",
        "filter": "filter",
        "exclude_sessions": "excludeSessions",
        "start_time": "startTime",
        "end_time": "endTime",
        "page_token": "pageToken",
    },
)


class RecallSessions(TypedDict, total=False):
    """Arguments of `recallSessions`."""

    query: Required[str]
    """Text to search for, by its words and not by its meaning."""
    mode: types.RecallMode
    """`extractive`: passages, word for word. `summary`: a text made from them by one
    model call; without a model, the passages themselves."""
    top_k: int
    """Maximum number of passages; a model gets four times as many."""
    max_tokens: int
    """Maximum tokens of all passages, or of the text."""
    model: str | None
    """Writer of the text: a configured model, or `builtin`; absent: the default model,
    or `builtin` without one."""
    counter: str | None
    """Token counter; absent: `chars4`."""
    user_id: str | None
    """User to search; may be absent if the key is restricted to one user."""
    filter: str | None
    """An AIP-160 filter of sessions, with the fields of their list."""
    exclude_sessions: Sequence[str]
    """Ids of sessions to skip, such as the current session."""
    start_time: str | None
    """Time of the first event to search; absent: no limit."""
    end_time: str | None
    """Time of the first event not to search any more; absent: no limit."""
    page_token: str | None
    """`nextPageToken` of the response to the same request, to search the remaining
    sessions; empty or absent: begin with the newest session."""


REEMBED_REASONING_ENGINE: Call[types.Operation] = Call(
    "reembedReasoningEngine", "POST", "{engine}:reembed", is_change=True
)


class ReembedReasoningEngine(TypedDict, total=False):
    """Arguments of `reembedReasoningEngine`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


REGENERATE_SUMMARY: Call[types.Operation] = Call(
    "regenerateSummary",
    "POST",
    "{engine}/sessions/{session}/summaries/{summary}:regenerate",
    is_change=True,
)


class RegenerateSummary(TypedDict, total=False):
    """Arguments of `regenerateSummary`."""

    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


RESTORE_REASONING_ENGINE: Call[types.RestoreReasoningEngineResponse] = Call(
    "restoreReasoningEngine",
    "POST",
    "{engine}:restore",
    query={"extend_recovery": "extendRecovery"},
    is_repeatable=False,
)


class RestoreReasoningEngine(TypedDict, total=False):
    """Arguments of `restoreReasoningEngine`."""

    extend_recovery: bool | None
    """True: deleted memories that could be recovered at the export can be for as long as
    then."""


RETRIEVE_MEMORIES: Call[types.RetrieveMemoriesResponse] = Call(
    "retrieveMemories",
    "POST",
    "{engine}/memories:retrieve",
    body={
        "scope": "scope",
        "similarity_search_params": "similaritySearchParams",
        "simple_retrieval_params": "simpleRetrievalParams",
        "filter": "filter",
        "filter_groups": "filterGroups",
        "memory_types": "memoryTypes",
        "max_tokens": "maxTokens",
        "explain": "explain",
        "ranking": "ranking",
    },
)


class RetrieveMemories(TypedDict, total=False):
    """Arguments of `retrieveMemories`."""

    scope: Required[Mapping[str, str]]
    """Exact key of the collection."""
    similarity_search_params: types.SimilaritySearchParams | None
    """Search by meaning; the best memories come first. At most one of this and
    `simpleRetrievalParams`."""
    simple_retrieval_params: types.SimpleRetrievalParams | None
    """Page through the scope, the newest memories first; so it is also without either."""
    filter: str | None
    """An AIP-160 filter."""
    filter_groups: Sequence[types.FilterGroup] | None
    """Groups of conditions on metadata; a memory must match at least one group."""
    memory_types: Sequence[types.MemoryType] | None
    """Types of memories to return; absent or empty: natural-language memories only."""
    max_tokens: int | None
    """Limit of the tokens of all facts, about four characters each. Memories that would
    exceed it are left out, the best are taken first, and none is cut. 0: no limit."""
    explain: bool
    """True: each memory has an `explanation` of its rank."""
    ranking: types.Ranking | None
    """Order of this search, `hybrid` or `vector`; absent: the engine's order. Only with
    `similaritySearchParams`."""


RETRIEVE_PROFILES: Call[types.RetrieveProfilesResponse] = Call(
    "retrieveProfiles", "POST", "{engine}/memories:retrieveProfiles", body={"scope": "scope"}
)


class RetrieveProfiles(TypedDict, total=False):
    """Arguments of `retrieveProfiles`."""

    scope: Required[Mapping[str, str]]
    """Exact key of the collection."""


RETRY_OPERATION: Call[types.Operation] = Call(
    "retryOperation",
    "POST",
    "{engine}/operations/{operation}:retry",
    body={"validate_only": "validateOnly"},
    is_change=True,
)


class RetryOperation(TypedDict, total=False):
    """Arguments of `retryOperation`."""

    validate_only: bool | None
    """True: run a preview, which writes nothing; only for generations. The failed
    operation keeps its request, and can still be retried."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


REVOKE_KEY: Call[types.ApiKey] = Call("revokeKey", "POST", "/v1/keys/{key}:revoke")


ROLLBACK_MEMORY: Call[types.Operation] = Call(
    "rollbackMemory",
    "POST",
    "{engine}/memories/{memory}:rollback",
    body={
        "revision_labels": "revisionLabels",
        "revision_expire_time": "revisionExpireTime",
        "revision_ttl": "revisionTtl",
        "disable_memory_revisions": "disableMemoryRevisions",
        "target_revision_id": "targetRevisionId",
        "validate_only": "validateOnly",
    },
    is_change=True,
)


class RollbackMemory(TypedDict, total=False):
    """Arguments of `rollbackMemory`."""

    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that this request makes."""
    revision_expire_time: str | None
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revision_ttl: str | None
    """Life of those revisions, from now; above zero seconds."""
    disable_memory_revisions: bool | None
    """True: the request makes no revisions."""
    target_revision_id: Required[str | int]
    """The id of a revision of the memory, or its full name."""
    validate_only: bool | None
    """True: change nothing; return the change that the rollback would make."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


ROTATE_KEY: Call[types.ApiKey] = Call(
    "rotateKey",
    "POST",
    "/v1/keys/{key}:rotate",
    body={"grace_period": "gracePeriod"},
    is_repeatable=False,
)


class RotateKey(TypedDict, total=False):
    """Arguments of `rotateKey`."""

    grace_period: str
    """Time for which the former secrets still work, at most 30 days; absent: none."""


SCAN_PRIVACY: Call[types.Operation] = Call(
    "scanPrivacy",
    "POST",
    "{engine}:scanPrivacy",
    body={"kinds": "kinds", "action": "action", "scope": "scope"},
    is_change=True,
)


class ScanPrivacy(TypedDict, total=False):
    """Arguments of `scanPrivacy`."""

    kinds: Sequence[str] | None
    """Kinds, or names of custom patterns; absent or empty: all that the engine's rules
    mask or refuse at any place."""
    action: Required[types.ScanAction]
    """`REPORT`: the values are counted. `MASK`: their kinds in brackets are put in their
    place, for good."""
    scope: Mapping[str, str] | None
    """Pairs: only scopes that contain them are scanned; absent: the whole engine."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


STORE_ARTIFACTS: Call[types.StoreArtifactsResponse] = Call(
    "storeArtifacts",
    "POST",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}:store",
    body={
        "local_only": "localOnly",
        "allowed_models": "allowedModels",
        "readers": "readers",
        "sensitive": "sensitive",
        "embedding_model": "embeddingModel",
        "ttl": "ttl",
        "user_id": "userId",
        "tool": "tool",
        "activity": "activity",
        "artifacts": "artifacts",
    },
    is_change=True,
)


class StoreArtifacts(TypedDict, total=False):
    """Arguments of `storeArtifacts`."""

    local_only: bool | None
    """True: only models on this machine may read the content."""
    allowed_models: Sequence[str] | None
    """Models that may read the content; absent: all configured ones."""
    readers: Sequence[types.Reader] | None
    """Ways in which the content may be used; absent: all. Empty: none."""
    sensitive: bool | None
    """True: derived content is sensitive as well, and never inline."""
    embedding_model: str | None
    """Id of the embedding model for its chunks and for questions; absent: searches
    compare words only."""
    ttl: str | None
    """Input only: expiry is now + ttl."""
    user_id: str | None
    """Owner; required from callers that are bound to users."""
    tool: str | None
    """Tool that produced it: its policy applies, and a new namespace records it."""
    activity: str | None
    """The tool's activity, such as `fetch`; recorded with the namespace."""
    artifacts: Required[Sequence[types.Output]]
    """Artifacts to store, each of the kind `text`, `json` or `blob`."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


SUMMARIZE_NAMESPACE: Call[types.SummarizeNamespaceResponse] = Call(
    "summarizeNamespace",
    "POST",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}:summarize",
    body={
        "model": "model",
        "off_prompt": "offPrompt",
        "as_": "as",
        "wait": "wait",
        "artifacts": "artifacts",
        "instructions": "instructions",
        "template": "template",
        "max_tokens": "maxTokens",
    },
    is_change=True,
)


class SummarizeNamespace(TypedDict, total=False):
    """Arguments of `summarizeNamespace`."""

    model: str | None
    """A configured model, or `builtin`, which needs none; absent: the first that may
    read the namespace (the first local one if it is sensitive; one that takes images
    if it has no text), or `builtin` without any."""
    off_prompt: bool
    """True: store the result and return only its reference."""
    as_: str | None
    """Name of the stored result, with `offPrompt` only; without an extension, it gets
    `.txt`, or `.json` or `.csv` for `:extract`. No two of a namespace may be equal."""
    wait: bool
    """True: wait for texts that are being indexed; otherwise they are NOT_READY."""
    artifacts: Sequence[str] | None
    """The only artifacts to read; absent: all that the model can read."""
    instructions: str | None
    """Content that the summary should have, or leave out."""
    template: str | None
    """The whole prompt, in place of instructions: with `{text}`, and optionally
    `{previous_summary}` and `{char_limit}`."""
    max_tokens: int
    """Maximum length of the summary, in tokens."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


UNDELETE_MEMORY: Call[types.Operation] = Call(
    "undeleteMemory",
    "POST",
    "{engine}/memories/{memory}:undelete",
    body={
        "revision_labels": "revisionLabels",
        "revision_expire_time": "revisionExpireTime",
        "revision_ttl": "revisionTtl",
        "disable_memory_revisions": "disableMemoryRevisions",
    },
    is_change=True,
)


class UndeleteMemory(TypedDict, total=False):
    """Arguments of `undeleteMemory`."""

    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that this request makes."""
    revision_expire_time: str | None
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revision_ttl: str | None
    """Life of those revisions, from now; above zero seconds."""
    disable_memory_revisions: bool | None
    """True: the request makes no revisions."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


UNDO_OPERATION: Call[types.Operation] = Call(
    "undoOperation",
    "POST",
    "{engine}/operations/{operation}:undo",
    body={"revision_labels": "revisionLabels", "validate_only": "validateOnly"},
    is_change=True,
)


class UndoOperation(TypedDict, total=False):
    """Arguments of `undoOperation`."""

    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that the undo makes."""
    validate_only: bool | None
    """True: change nothing; the operation reports the effect on each memory."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""


UPDATE_MEMORY: Call[types.Operation] = Call(
    "updateMemory",
    "PATCH",
    "{engine}/memories/{memory}",
    query={"update_mask": "updateMask", "memory_id": "memoryId"},
    body={
        "revision_labels": "revisionLabels",
        "revision_expire_time": "revisionExpireTime",
        "revision_ttl": "revisionTtl",
        "disable_memory_revisions": "disableMemoryRevisions",
        "fact": "fact",
        "display_name": "displayName",
        "description": "description",
        "topics": "topics",
        "metadata": "metadata",
        "memory_type": "memoryType",
        "structured_content": "structuredContent",
        "context": "context",
        "expire_time": "expireTime",
        "ttl": "ttl",
        "scope": "scope",
    },
    is_change=True,
    has_typed_metadata=True,
)


class UpdateMemory(TypedDict, total=False):
    """Arguments of `updateMemory`."""

    update_mask: str | None
    """Fields to change, separated by commas; `*` means all."""
    memory_id: str | None
    """Ignored; clients may repeat it."""
    revision_labels: Mapping[str, str] | None
    """Labels of the revisions that this request makes."""
    revision_expire_time: str | None
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revision_ttl: str | None
    """Life of those revisions, from now; above zero seconds."""
    disable_memory_revisions: bool | None
    """True: the request makes no revisions."""
    fact: str | None
    """Statement to remember, in one or a few sentences; not blank."""
    display_name: str | None
    """Short name for people."""
    description: str | None
    """Explanation for people."""
    topics: Sequence[types.MemoryTopicId] | None
    """Topics that the fact is about; absent: none."""
    metadata: Mapping[str, MetadataValue] | None
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memory_type: types.MemoryType | None
    """Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be changed
    later."""
    structured_content: types.StructuredContent | None
    """At most 65536 bytes as JSON."""
    context: str | None
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""
    expire_time: str | None
    """Time at which the memory is deleted, in UTC; absent: by `ttl`, else by the
    engine's `ttlConfig`, else never."""
    ttl: str | None
    """Input only: expiry is now + ttl."""
    scope: Mapping[str, str] | None
    """The memory's own scope; another one is refused."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


UPDATE_NAMESPACE: Call[types.Namespace] = Call(
    "updateNamespace",
    "PATCH",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}",
    body={
        "local_only": "localOnly",
        "allowed_models": "allowedModels",
        "readers": "readers",
        "sensitive": "sensitive",
        "embedding_model": "embeddingModel",
        "ttl": "ttl",
    },
    is_change=True,
)


class UpdateNamespace(TypedDict, total=False):
    """Arguments of `updateNamespace`."""

    local_only: bool | None
    """True: only models on this machine may read the content."""
    allowed_models: Sequence[str] | None
    """Models that may read the content; absent: all configured ones."""
    readers: Sequence[types.Reader] | None
    """Ways in which the content may be used; absent: all. Empty: none."""
    sensitive: bool | None
    """True: derived content is sensitive as well, and never inline."""
    embedding_model: str | None
    """Id of the embedding model for its chunks and for questions; absent: searches
    compare words only."""
    ttl: str | None
    """Input only: expiry is now + ttl."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


UPDATE_REASONING_ENGINE: Call[types.Operation] = Call(
    "updateReasoningEngine",
    "PATCH",
    "{engine}",
    query={"update_mask": "updateMask"},
    body={
        "display_name": "displayName",
        "description": "description",
        "labels": "labels",
        "context_spec": "contextSpec",
        "encryption_spec": "encryptionSpec",
        "spec": "spec",
        "traffic_config": "trafficConfig",
    },
    is_change=True,
)


class UpdateReasoningEngine(TypedDict, total=False):
    """Arguments of `updateReasoningEngine`."""

    update_mask: str | None
    """Fields to change, separated by commas; `*` means all."""
    display_name: str | None
    """Name for people."""
    description: str | None
    """Explanation for people."""
    labels: Mapping[str, str] | None
    """The caller's own labels."""
    context_spec: types.ContextSpec | None
    """Configuration of its memory bank."""
    encryption_spec: None
    """Not served: this service encrypts no columns. Encrypt the disk or the database."""
    spec: None
    """Not served: no agents run here."""
    traffic_config: None
    """Not served: no agents run here."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


UPDATE_SESSION: Call[types.Session] = Call(
    "updateSession",
    "PATCH",
    "{engine}/sessions/{session}",
    query={"update_mask": "updateMask", "session_id": "sessionId"},
    body={
        "display_name": "displayName",
        "labels": "labels",
        "session_state": "sessionState",
        "expire_time": "expireTime",
        "ttl": "ttl",
        "memory_policy": "memoryPolicy",
        "user_id": "userId",
    },
    is_change=True,
)


class UpdateSession(TypedDict, total=False):
    """Arguments of `updateSession`."""

    update_mask: str | None
    """Fields to change, separated by commas; `*` means all."""
    session_id: str | None
    """Ignored; clients may repeat it."""
    display_name: str | None
    """Name for people."""
    labels: Mapping[str, str] | None
    """The caller's own labels, of lower-case letters, digits, `_` and `-`."""
    session_state: Mapping[str, Any] | None
    """Values that agents keep: at most 1048576 bytes as JSON. Keys that start with
    `user:` are shared by the user's sessions, and keys with `app:` by all sessions of
    the engine. Keys with `temp:` are not stored."""
    expire_time: str | None
    """Time at which the session is deleted, in UTC; absent: by `ttl`, else by the
    service's setting."""
    ttl: str | None
    """Input only: expiry is now + ttl."""
    memory_policy: types.MemoryPolicy | None
    """Policy of its contexts and summaries; absent: the engine's policy."""
    user_id: str | None
    """The session's own user; another one is refused."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


UPDATE_TOOL_POLICY: Call[types.ToolPolicy] = Call(
    "updateToolPolicy",
    "PUT",
    "{engine}/taskMemories/{task_memory}/toolPolicies/{tool}",
    body={
        "local_only": "localOnly",
        "allowed_models": "allowedModels",
        "readers": "readers",
        "off_prompt": "offPrompt",
        "max_inline_tokens": "maxInlineTokens",
        "sensitive": "sensitive",
        "ttl": "ttl",
        "activities": "activities",
    },
    is_change=True,
)


class UpdateToolPolicy(TypedDict, total=False):
    """Arguments of `updateToolPolicy`."""

    local_only: bool | None
    """True: only models on this machine may read the content."""
    allowed_models: Sequence[str] | None
    """Models that may read the content; absent: all configured ones."""
    readers: Sequence[types.Reader] | None
    """Ways in which the content may be used; absent: all. Empty: none."""
    off_prompt: bool | Literal["auto"]
    """Rule for storing outputs: false, true or `auto`."""
    max_inline_tokens: int | None
    """With `auto`: tokens of the longest text that the prompt shows; absent: the
    configured default."""
    sensitive: bool
    """True: all outputs except info and errors are stored; requests cannot loosen this."""
    ttl: str | None
    """Time to live of outputs."""
    activities: Mapping[str, Any] | None
    """Policies of single activities by name; others follow the tool's policy."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""


UPLOAD_ARTIFACT: Call[types.Artifact] = Call(
    "uploadArtifact",
    "PUT",
    "{engine}/taskMemories/{task_memory}/namespaces/{namespace}/artifacts/{artifact}",
    query={
        "user_id": "userId",
        "tool": "tool",
        "sensitive": "sensitive",
        "local_only": "localOnly",
        "ttl": "ttl",
    },
    is_change=True,
)


class UploadArtifact(TypedDict, total=False):
    """Arguments of `uploadArtifact`."""

    user_id: str | None
    """Owner of a new namespace; required from bound callers."""
    tool: str | None
    """Tool that produced it; recorded with a new namespace. Its policy decides about
    sensitivity and time to live."""
    sensitive: bool
    """True: derived artifacts stay off the prompt as well."""
    local_only: bool
    """True: no remote model may read it."""
    ttl: str | None
    """Time to live, such as "3600s"."""
    idempotency_key: str | None
    """Id of the request, of at most 128 characters; absent: a random one."""
    etag: str | None
    """Version that is changed; the change of another one is refused."""
    content_digest: str | None
    """Digest of the bytes, as `sha-256=:...:`."""


VALIDATE_REASONING_ENGINE: Call[types.Empty] = Call(
    "validateReasoningEngine",
    "POST",
    "{engine}:validate",
    query={"update_mask": "updateMask"},
    body={
        "display_name": "displayName",
        "description": "description",
        "labels": "labels",
        "context_spec": "contextSpec",
        "encryption_spec": "encryptionSpec",
        "spec": "spec",
        "traffic_config": "trafficConfig",
    },
)


class ValidateReasoningEngine(TypedDict, total=False):
    """Arguments of `validateReasoningEngine`."""

    update_mask: str | None
    """Fields to change, separated by commas; `*` means all."""
    display_name: str | None
    """Name for people."""
    description: str | None
    """Explanation for people."""
    labels: Mapping[str, str] | None
    """The caller's own labels."""
    context_spec: types.ContextSpec | None
    """Configuration of its memory bank."""
    encryption_spec: None
    """Not served: this service encrypts no columns. Encrypt the disk or the database."""
    spec: None
    """Not served: no agents run here."""
    traffic_config: None
    """Not served: no agents run here."""


WAIT_OPERATION: Call[types.Operation] = Call(
    "waitOperation", "POST", "{engine}/operations/{operation}:wait", query={"timeout": "timeout"}
)


class WaitOperation(TypedDict, total=False):
    """Arguments of `waitOperation`."""

    timeout: str | None
    """Longest wait; a duration such as `10s`."""
