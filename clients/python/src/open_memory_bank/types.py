"""Shapes of requests and answers, with the names that they have on the wire.

Written by `make client` from openapi/openapi.json.
"""

from __future__ import annotations

import sys
from typing import Any, Literal, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired

Accounting = Literal["per_prompt", "published_tables"]

ArtifactState = Literal["uploading", "indexing", "ready"]

CarryOver = Literal["LAST", "ALL", "ABSTRACTION"]

Consistency = Literal["latest", "wait"]

Disposition = Literal["inline", "stored", "passthrough", "empty"]

Format = Literal["messages", "openai", "gemini", "text"]

FormerSummaryRole = Literal["assistant", "system"]

FoundKind = Literal["MEMORY", "REVISION", "OPERATION", "SESSION", "KEY", "ENGINE", "SCOPE"]

JsonValue = Any

Kind = Literal["text", "json", "blob", "list", "info", "error"]

Language = Literal[
    "simple",
    "ar",
    "ca",
    "da",
    "de",
    "el",
    "en",
    "es",
    "et",
    "eu",
    "fi",
    "fr",
    "ga",
    "hi",
    "hu",
    "hy",
    "id",
    "it",
    "lt",
    "ne",
    "nl",
    "no",
    "pt",
    "ro",
    "ru",
    "sr",
    "sv",
    "ta",
    "tr",
    "yi",
]

ManagedTopic = Literal[
    "MANAGED_TOPIC_ENUM_UNSPECIFIED",
    "USER_PERSONAL_INFO",
    "USER_PREFERENCES",
    "KEY_CONVERSATION_DETAILS",
    "EXPLICIT_INSTRUCTIONS",
]

MemoryType = Literal["MEMORY_TYPE_UNSPECIFIED", "NATURAL_LANGUAGE_COLLECTION", "STRUCTURED_PROFILE"]

MetadataMergeStrategy = Literal[
    "METADATA_MERGE_STRATEGY_UNSPECIFIED", "OVERWRITE", "MERGE", "REQUIRE_EXACT_MATCH"
]

MetadataOperator = Literal["OPERATOR_UNSPECIFIED", "EQUAL", "GREATER_THAN", "LESS_THAN"]

OffPrompt = Literal["false", "auto", "true"]

Overflow = Literal["error", "omit"]

Permission = Literal[
    "engines.get",
    "engines.list",
    "memories.get",
    "memories.list",
    "memories.retrieve",
    "revisions.get",
    "revisions.list",
    "sessions.get",
    "sessions.list",
    "events.list",
    "operations.get",
    "operations.list",
    "usage.get",
    "memories.create",
    "memories.generate",
    "memories.ingest",
    "sessions.create",
    "sessions.update",
    "sessions.delete",
    "events.append",
    "operations.cancel",
    "memories.update",
    "memories.delete",
    "memories.rollback",
    "operations.undo",
    "operations.delete",
    "engines.create",
    "engines.update",
    "engines.delete",
    "engines.export",
    "engines.restore",
    "memories.purge",
    "memories.import",
    "keys.manage",
    "audit.list",
    "audit.listAll",
    "metrics.get",
    "server.get",
    "artifacts.write",
    "artifacts.reference",
    "artifacts.derive",
    "artifacts.content",
]

Place = Literal["GENERATION", "DIRECT", "SESSION_EVENTS", "ARTIFACTS"]

PrivacyAction = Literal["OFF", "MASK", "REJECT"]

Ranking = Literal["hybrid", "vector"]

Reader = Literal["query", "summarize", "extract", "export"]

RecallMode = Literal["extractive", "summary"]

Recompute = Literal["full_until_overflow", "recursive"]

Refresh = Literal["append", "whole"]

Role = Literal["viewer", "user", "editor", "admin"]

RowFormat = Literal["json", "csv"]

ScanAction = Literal["REPORT", "MASK"]

StoredSummaryState = Literal["active", "superseded", "stale", "failed"]

Strategy = Literal[
    "none",
    "inclusive",
    "window",
    "every_n",
    "abstraction_inclusive",
    "fully_abstracted",
    "agent_summary",
]

SummaryRole = Literal["user", "system"]

SummaryState = Literal["current", "pending", "failed"]

ToolFormat = Literal["openai", "gemini", "anthropic"]

VectorsUse = Literal["USED", "EMBEDDING"]

Warned = Literal["no_reader"]


class ActivityPolicy(TypedDict):
    """Handling of the outputs of one activity; its tool gives the fields that it omits."""

    localOnly: NotRequired[bool | None]
    """True: only models on this machine may read the content."""
    allowedModels: NotRequired[list[str] | None]
    """Models that may read the content; absent: all configured ones."""
    readers: NotRequired[list[Reader] | None]
    """Ways in which the content may be used; absent: all. Empty: none."""
    offPrompt: NotRequired[bool | Literal["auto"] | None]
    """Rule for storing outputs: false, true or `auto`."""
    maxInlineTokens: NotRequired[int | None]
    """With `auto`: tokens of the longest text that the prompt shows."""
    sensitive: NotRequired[bool | None]
    """True: all outputs except info and errors are stored."""
    ttl: NotRequired[str | None]
    """Time to live of outputs."""
    deny: NotRequired[bool]
    """True: outputs of this activity are refused, and nothing is stored."""


_AnsweredEmptyBase = TypedDict(
    "_AnsweredEmptyBase", {"@type": Literal["type.googleapis.com/google.protobuf.Empty"]}
)


class AnsweredEmpty(_AnsweredEmptyBase):
    """An empty result: the work has ended."""


_AnsweredEngineBase = TypedDict(
    "_AnsweredEngineBase",
    {"@type": Literal["type.googleapis.com/google.cloud.aiplatform.v1beta1.ReasoningEngine"]},
)


class AnsweredEngine(_AnsweredEngineBase):
    """An engine as an operation left it."""

    name: str
    """Full name of the engine."""
    displayName: NotRequired[str | None]
    """Name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    labels: NotRequired[dict[str, str] | None]
    """The caller's own labels; absent: none."""
    createTime: str
    """Time of its creation."""
    updateTime: str
    """Time of its last change."""
    etag: str
    """Version of the engine, for conditional requests."""
    contextSpec: NotRequired[ContextSpec | None]
    """Configuration of its memory bank; absent: none was sent."""
    encryptionSpec: NotRequired[EncryptionSpec | None]
    """Settings from an earlier release or an archive; they have no effect."""


_AnsweredImportBase = TypedDict(
    "_AnsweredImportBase",
    {
        "@type": Literal[
            "type.googleapis.com/google.cloud.aiplatform.v1beta1.ImportMemoriesResponse"
        ]
    },
)


class AnsweredImport(_AnsweredImportBase):
    """The counts of an import, in the operation that records it."""

    imported: int
    """Number of memories that were created."""
    restored: NotRequired[int]
    """Number of deleted memories that were brought back with their lines' content."""
    overwritten: NotRequired[int]
    """Number of memories that got the content of their lines, with `overwrite`."""


_AnsweredMemoryBase = TypedDict(
    "_AnsweredMemoryBase",
    {"@type": Literal["type.googleapis.com/google.cloud.aiplatform.v1beta1.Memory"]},
)


class AnsweredMemory(_AnsweredMemoryBase):
    """A memory in the result of an operation, as the operation left it."""

    name: str
    """Full name of the resource."""
    fact: NotRequired[str | None]
    """Statement that is remembered; absent where `structuredContent` is the content."""
    displayName: NotRequired[str | None]
    """Short name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memoryType: NotRequired[MemoryType]
    """`NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one
    field of a profile. It never changes."""
    structuredContent: NotRequired[StructuredContent | None]
    """Content of a profile, by the schema that it names; absent where `fact` is the
    content."""
    context: NotRequired[str | None]
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""
    scope: NotRequired[dict[str, str]]
    """Exact key of the collection that it belongs to. It never changes."""
    createTime: NotRequired[str]
    """Time of its creation."""
    updateTime: NotRequired[str]
    """Time of its last change."""
    eventTime: NotRequired[str | None]
    """Output only: the time at which the fact was said, or the time in its metadata;
    absent: it was not said in a conversation."""
    expireTime: NotRequired[str | None]
    """Time at which it is deleted; absent: never."""
    etag: NotRequired[str]
    """Version of the memory, for conditional requests."""
    deleteTime: NotRequired[str | None]
    """The time of the deletion; absent of a live memory, as the next three."""
    recoverUntil: NotRequired[str | None]
    """The end of the time in which it can be recovered."""
    deleteOperation: NotRequired[str | None]
    """The operation that deleted it; absent if no revision was kept."""
    deleteCaller: NotRequired[str | None]
    """Caller that deleted it: the id of a key, `jwt:` and the subject of a token, or
    `command-line`; absent also where the service itself deleted it."""


_AnsweredSessionBase = TypedDict(
    "_AnsweredSessionBase",
    {"@type": Literal["type.googleapis.com/google.cloud.aiplatform.v1beta1.Session"]},
)


class AnsweredSession(_AnsweredSessionBase):
    """A session that an operation created; only its name and time if it is deleted."""

    name: str
    """Full name of the session."""
    userId: NotRequired[str]
    """Id of the user that it belongs to."""
    displayName: NotRequired[str | None]
    """Name for people."""
    labels: NotRequired[dict[str, str] | None]
    """The caller's own labels; absent: none."""
    sessionState: NotRequired[dict[str, Any]]
    """Its own state merged with the shared keys, which start with `user:` and `app:`."""
    memoryPolicy: NotRequired[MemoryPolicy | None]
    """Policy of its contexts and summaries; absent: the engine's policy."""
    createTime: NotRequired[str]
    """Time of its creation."""
    updateTime: NotRequired[str]
    """A microsecond after the `timestamp` of the newest event, or the time of a later
    change; not before the creation. Filters and orders use the time of the last
    change."""
    expireTime: NotRequired[str]
    """Time at which it is deleted with its events."""
    etag: NotRequired[str]
    """Version of the session, for conditional requests."""


class ApiKey(TypedDict):
    """An API key with its permissions and its reach."""

    name: str
    """Name of the key: `keys/` and its id."""
    displayName: str
    """Name for people."""
    roles: NotRequired[list[str] | None]
    """Roles of the key; absent: none."""
    permissions: NotRequired[list[str] | None]
    """Permissions in addition to its roles; absent: none."""
    projects: NotRequired[list[str] | None]
    """Projects of the engines that it reaches; absent: all."""
    engines: NotRequired[list[str] | None]
    """Ids of the engines that it reaches; absent: all."""
    scopeConditions: NotRequired[dict[str, list[str]] | None]
    """For each scope key, the values that it may reach; absent: all scopes."""
    creator: NotRequired[str | None]
    """Id of the key that made it, `jwt:` and the subject of a token, or `command-line`;
    absent: made by a start of the service."""
    createTime: str
    """Time of its creation."""
    expireTime: NotRequired[str | None]
    """Time at which it stops working; absent: never."""
    revokeTime: NotRequired[str | None]
    """Time at which it was revoked; absent: it was not."""
    lastUseTime: NotRequired[str | None]
    """Time of the last use, up to a minute early."""
    secret: NotRequired[str | None]
    """The credential to send; present only when the key is created or rotated."""


class AppendEventRequest(TypedDict):
    """An event as sent by clients. Its name and numbers are ignored: the service sets
    them."""

    author: str
    """`user`, or the name of the agent."""
    invocationId: str
    """Id of the agent's run that the event belongs to."""
    timestamp: str
    """Time of the event. An offset other than zero is the sender's time zone, and so
    determines the day of "today"; responses show UTC."""
    content: NotRequired[Content | None]
    """Content of the message; absent if there is none."""
    actions: NotRequired[EventActions | None]
    """Changes that the event makes, such as changes of the state."""
    errorCode: NotRequired[str | None]
    """Code of the model's error, as its provider names it."""
    errorMessage: NotRequired[str | None]
    """Text of the model's error."""
    eventMetadata: NotRequired[EventMetadata | None]
    """Details that the model returns with its answer."""
    rawEvent: NotRequired[dict[str, Any] | None]
    """Any JSON object; it is returned as it is."""
    tokenCount: NotRequired[int | None]
    """Tokens it takes in a prompt, for policies with the counter `declared`."""


class AppendedEvent(TypedDict):
    """An appended event with its number."""

    name: str
    """Full name of the event."""
    seq: int
    """Its number in the session: from 1, without gaps."""
    exchange: int
    """The number of its exchange; 0 before a user's first event."""


class Artifact(TypedDict):
    """An artifact. Properties that reveal content need `artifacts.content`."""

    name: str
    """Full name of the artifact."""
    kind: Kind
    """`text`, `json` or `blob`."""
    mediaType: str
    """Media type of the content, as declared."""
    sizeBytes: str
    """Size of the content in bytes."""
    tokenEstimate: int
    """A quarter of the characters, or of the bytes."""
    state: ArtifactState
    """`ready` once readers can use it; before that `uploading` or `indexing`."""
    readableWith: list[Reader]
    """Readers that can use it, and that the caller may use; empty: none."""
    derivedFrom: NotRequired[list[Source] | None]
    """Artifacts that it was made from; absent: none."""
    sourceDeleted: NotRequired[bool | None]
    """True if any source was deleted."""
    depth: NotRequired[int | None]
    """Number of derivations; absent: not derived."""
    sniffedType: NotRequired[str | None]
    """Type recognised from the bytes."""
    sha256: NotRequired[str | None]
    """Digest of the bytes, in hexadecimal digits."""
    createTime: str
    """Time at which it was stored."""
    expireTime: str
    """Time at which it is deleted."""
    etag: str
    """Version of the artifact, for conditional requests."""


class ArtifactRef(TypedDict):
    """A namespace of task memory; prompts show only its names and sizes.

    It is stored as sent. Nothing checks that the namespace exists, and nothing loads it.
    """

    memory: str
    """Id of the task memory."""
    namespace: str
    """Id of the namespace."""
    artifacts: NotRequired[list[ReferredArtifact] | None]
    """Artifacts of the namespace: the first ones, or the ones referred to."""
    count: NotRequired[int | None]
    """Number of all artifacts; absent: as many as are listed."""
    totalBytes: NotRequired[str | None]
    """Size of all artifacts, in bytes."""
    createdTime: NotRequired[str | None]
    """Time of the namespace's creation."""
    expireTime: NotRequired[str | None]
    """Time at which the namespace is deleted."""
    readableWith: NotRequired[list[Literal["query", "summarize", "extract", "export"]] | None]
    """Readers that can use it; empty: none."""
    derivedFrom: NotRequired[list[ReferredSource] | None]
    """Source artifacts of the listed ones."""


class ArtifactReference(TypedDict):
    """An artifact's properties that reveal no content."""

    name: str
    """Name of the artifact within its namespace."""
    kind: Kind
    """`text`, `json` or `blob`."""
    mediaType: str
    """Media type of the content, as declared."""
    sizeBytes: str
    """Size of the content in bytes."""
    tokenEstimate: int
    """A quarter of the characters, or of the bytes."""


class AuditEvent(TypedDict):
    """An audited action: caller, method, resource, time, address and result, without
    content."""

    name: str
    """Name of the event, below its engine if it has one."""
    createTime: str
    """Time at which the request or the operation ended."""
    caller: NotRequired[str | None]
    """Id of the API key; `jwt:` and the subject, of a token; `command-line`; absent: the
    service itself."""
    method: str
    """Method of the API, or the kind of the operation that has ended."""
    resource: NotRequired[str | None]
    """Name of the method's target, or of the resource created; where a generation read a
    session of another engine, that engine, and in its own log the session. Path parts
    that cannot be an id are `?`."""
    operation: NotRequired[str | None]
    """Name of the long-running operation."""
    address: NotRequired[str | None]
    """IP address of the caller."""
    requestId: NotRequired[str | None]
    """Id of the request, as in `x-request-id` and in the log."""
    result: str
    """Name of the canonical code."""
    reason: NotRequired[str | None]
    """Reason of the error."""
    replayed: NotRequired[bool | None]
    """True: a repeated request that got its first response again."""
    surface: NotRequired[str | None]
    """Interface that sent the request; absent: the API itself."""


class BatchAppendEventsRequest(TypedDict):
    """Events to append in order: all or none."""

    events: list[AppendEventRequest]
    """The events, the oldest first."""
    expectedLastSeq: NotRequired[int | None]
    """The number of the session's last event as known to the caller; if another event is
    last, nothing is appended: 409."""


class BatchAppendEventsResponse(TypedDict):
    """The appended events of a batch, in order."""

    events: list[AppendedEvent]
    """The appended events, in the order of the request."""
    lastSeq: int
    """The number of the last of them."""


class BatchCreateMemoriesRequest(TypedDict):
    """Memories to create at once."""

    requests: list[NewMemory]
    """The memories, each with an optional id."""
    atomic: NotRequired[bool]
    """True: all memories are created or none. False: each is created on its own, and the
    response lists its outcome in `results`."""


_BatchCreateMemoriesResponseBase = TypedDict(
    "_BatchCreateMemoriesResponseBase",
    {
        "@type": Literal[
            "type.googleapis.com/google.cloud.aiplatform.v1beta1.BatchCreateMemoriesResponse"
        ]
    },
)


class BatchCreateMemoriesResponse(_BatchCreateMemoriesResponseBase):
    """The memories that a batch created."""

    memories: list[KnownMemory]
    """Created memories, in the request's order."""
    results: NotRequired[list[BatchResult] | None]
    """Without `atomic`: the outcome of each memory of the request, in order."""


class BatchResult(TypedDict):
    """The outcome of one memory of a batch: its name or its error."""

    memory: NotRequired[NamedMemory | None]
    """The memory that was created."""
    error: NotRequired[OperationError | None]
    """Error of a memory that was not created."""


class BatchRetryOperationsRequest(TypedDict):
    """The failed operations to run again."""

    filter: NotRequired[str | None]
    """An AIP-160 filter with the fields of the list of operations; absent: all failed
    operations."""
    validateOnly: NotRequired[bool | None]
    """True: only count the operations; nothing runs."""


_BatchRetryOperationsResponseBase = TypedDict(
    "_BatchRetryOperationsResponseBase",
    {
        "@type": Literal[
            "type.googleapis.com/google.cloud.aiplatform.v1beta1.BatchRetryOperationsResponse"
        ]
    },
)


class BatchRetryOperationsResponse(_BatchRetryOperationsResponseBase):
    """The effect of a retry of many operations."""

    retryCount: int
    """Number of operations that were queued again; with `validateOnly`, that would be."""
    refusedCounts: NotRequired[dict[str, int] | None]
    """Operations that could not run again, by the reason of the error, such as
    `REQUEST_NOT_KEPT`; absent: none."""
    isCapped: NotRequired[bool | None]
    """True: more than 10,000 match, of which the oldest are taken; send the request
    again for the others."""


class BestCap(TypedDict):
    """The cheapest cap for a strategy."""

    cap: int
    """Number of exchanges that a summary replaces, from 1."""
    totalTokens: int
    """All tokens billed with this cap."""
    cost: str
    """Cost of the whole session with this cap, in the currency of the prices."""


class BilledTokens(TypedDict):
    """The billed tokens."""

    promptIn: int
    """All prompts; with unsplit messages, their answers as well."""
    promptOut: int
    """Answers; 0 if they are not counted separately."""
    summaryIn: int
    """Input of summarisers."""
    summaryOut: int
    """Output of summarisers."""


class Blob(TypedDict):
    """A file inside the request."""

    mimeType: NotRequired[str | None]
    """Media type of the file, such as `image/png`."""
    data: NotRequired[str | None]
    """Bytes of the file, in base64."""
    displayName: NotRequired[str | None]
    """Name of the file for people."""


class CallMemoryToolRequest(TypedDict):
    """A call of a tool, as a model made it."""

    name: str
    """Name of the tool that is called."""
    arguments: NotRequired[dict[str, Any] | str]
    """The arguments: an object, or its JSON as text, as OpenAI sends it. Wrong arguments
    are no error of the request: the response has `isError`."""
    scope: NotRequired[dict[str, str] | None]
    """Scope of the memories that the call is about, 1 to 5 pairs. Required, unless the
    key's conditions fix it; fixed pairs may be left out."""
    session: NotRequired[str | None]
    """Id or name of the session that `recall_conversation` searches; absent: all
    sessions of the scope's `user_id`."""
    excludeRecent: NotRequired[int]
    """Number of newest events of `session` to skip, since the prompt has them."""


class CallMemoryToolResponse(TypedDict):
    """The result of a tool."""

    text: str
    """Text for the model, as the tool's message."""
    result: NotRequired[dict[str, Any] | None]
    """The same as JSON; absent where `isError` is true."""
    isError: bool
    """True if the tool failed."""
    tokens: int
    """Tokens of `text`, about four characters each."""


class CallTaskToolRequest(TypedDict):
    """A call of a tool of task memory, as a model made it."""

    name: str
    """Name of the tool that is called."""
    arguments: NotRequired[dict[str, Any] | str]
    """The arguments: an object, or its JSON as text, as OpenAI sends it. Wrong arguments
    are no error of the request: the response has `isError`."""
    memory: NotRequired[str | None]
    """The only task memory that the call may name; absent: any."""
    sink: NotRequired[str | None]
    """The sink of exports; absent: the only one that is configured."""


class CallerInfo(TypedDict):
    """The caller, by the key or token that it sent."""

    name: str
    """Name of the key, or `jwt:` and the subject of the token."""
    kind: Literal["KEY", "TOKEN"]
    """`KEY`: an API key; `TOKEN`: a JWT of an issuer."""
    displayName: NotRequired[str | None]
    """Name of the key; absent: a token."""
    roles: NotRequired[list[Role] | None]
    """Roles, beginning with the fewest permissions; absent: none."""
    permissions: list[Permission]
    """Permissions that work, sorted: permissions of the roles and single ones, without
    permissions that need a larger reach."""
    projects: NotRequired[list[str] | None]
    """Projects of the engines within reach, sorted; absent: all."""
    engines: NotRequired[list[str] | None]
    """Ids of the engines within reach, ascending; absent: all."""
    scopeConditions: NotRequired[dict[str, list[str]] | None]
    """For each scope key, the allowed values, sorted; absent: all."""
    expireTime: NotRequired[str | None]
    """Time at which the key, the secret sent or the token ends; absent: never."""
    version: str
    """Release of the responding process."""


class CarriedOver(TypedDict):
    """Content of former sessions in a context; no event of the session itself is in it."""

    sessions: list[CarriedSession]
    """Former sessions that it came from, oldest first; of an `ABSTRACTION`, all from
    which its sentences were selected. Empty: none."""
    omittedEvents: int
    """Number of the other events of the sessions read, erased ones included."""


class CarriedSession(TypedDict):
    """A former session whose content the context has, with its first and last event
    there."""

    firstSeq: int
    """Number of the first event."""
    lastSeq: int
    """Number of the last event."""
    session: str
    """Name of the session."""
    summaries: list[str]
    """Ids of its summaries there; empty: its events."""


class Citation(TypedDict):
    """A passage as evidence of an answer.

    `start` and `end` count characters (code points, not bytes or UTF-16 units) of the text that
    was read from the artifact. This is its content without a byte order mark and with LF line
    ends. JSON, CSV, HTML and PDF are rewritten for readers, so their offsets differ from the
    content. An image is cited as a whole: `chunk`, `start` and `end` are 0.
    """

    artifact: str
    """Name of the artifact within the namespace."""
    chunk: int
    """Number of the artifact's chunk, from 0."""
    start: int
    """The first character, from 0, in code points of the text that was read. That text
    has no byte order mark and LF line ends; for JSON, CSV, HTML and PDF it differs
    from the content."""
    end: int
    """The first character after the passage, counted like `start`."""
    page: int
    """Page with the first character, from 1: of the PDF, or of the text of another
    artifact as `:text` shows it."""


class ComposeContextRequest(TypedDict):
    """Parameters of a context to compose."""

    systemPrompt: NotRequired[str | None]
    """Instructions that come before everything else; absent: none."""
    pendingMessage: NotRequired[str | None]
    """Message that the model must answer, not yet an event."""
    policy: NotRequired[MemoryPolicy | None]
    """Policy of this context; absent: the policy of the session or its engine, or
    `inclusive`."""
    tokenLimit: NotRequired[int | None]
    """Tokens of the model's window, in place of the policy's."""
    reserveOutputTokens: NotRequired[int | None]
    """Tokens of the window left for the answer, in place of the policy's; absent in
    both: 800 with `agent_summary`, else 0."""
    format: NotRequired[Format]
    """`messages` with their sources; `openai` or `gemini`, in the provider's format; or
    one `text`. `gemini` includes files unchanged, and only their mention is counted;
    the others show only the mention."""
    framing: NotRequired[bool | None]
    """False: summaries without the marks that declare them to be data, in place of the
    policy's `framing`."""
    consistency: NotRequired[Consistency]
    """`latest`: no model is called. `wait`: summaries that are due are made first."""
    waitTimeout: NotRequired[str | None]
    """Time limit of `wait`; absent: the service's maximum."""
    includeMemories: NotRequired[IncludeMemories | None]
    """Facts of the memory bank to include; absent: none."""
    includeRawEvents: NotRequired[bool]
    """True: each message made from an event has its `rawEvent`, if there is one. Only in
    the format `messages`."""
    asOfSeq: NotRequired[int | None]
    """Last event of the context; later ones are ignored. Events cleared or erased since
    are left out, and memories are the current ones."""
    model: NotRequired[str | None]
    """Model for `estimatedCost`, as named in the configured prices."""
    preview: NotRequired[bool]
    """True: no summary is enqueued, so the call changes nothing and needs no permission
    to update sessions. Not with `consistency: wait`."""


class ConsolidationConfig(TypedDict):
    """Consolidation of candidates with the memories that exist."""

    revisionsPerCandidateCount: NotRequired[int | None]
    """Number of past revisions of a memory that the model sees; absent: 1."""


class Content(TypedDict):
    """A turn of `user` (the default role) or `model`."""

    role: NotRequired[str | None]
    """Role of the speaker: `user` (also when absent) or `model`."""
    parts: NotRequired[list[Part] | None]
    """Texts, files and calls of tools, in order."""


class ContentEvent(TypedDict):
    """A turn of a conversation."""

    content: Content
    """Content of the turn."""
    eventId: NotRequired[str | None]
    """Id that the caller chose; a stream takes an event of the same id once."""
    eventTime: NotRequired[str | None]
    """Time of the turn. Its offset is the speaker's time zone, and so determines the day
    of "today"; an offset of zero is ignored."""


class ContextCost(TypedDict):
    """Estimate for one strategy and one session length."""

    strategy: Strategy
    """Strategy that the row is about."""
    policy: MemoryPolicy
    """Policy of the strategy, with all settings that were assumed."""
    messages: int
    """Length of the session, in prompts with their answers."""
    lastPromptTokens: NotRequired[int | None]
    """Tokens of the last prompt with its answer; the window must hold both."""
    largestPromptTokens: NotRequired[int | None]
    """Tokens of the largest prompt with its answer."""
    totalTokens: NotRequired[int | None]
    """All billed tokens."""
    billedTokens: NotRequired[BilledTokens | None]
    """Billed tokens by their source; absent with `published_tables`."""
    finalTokens: NotRequired[int | None]
    """`published_tables`: the running total at the last message."""
    lastCost: NotRequired[str | None]
    """`published_tables`: cost of the last message."""
    cost: str
    """Cost of the whole session, in the currency of the prices."""
    summaries: int
    """Calls of a summariser, merges included."""
    firstOverflowMessage: NotRequired[int | None]
    """The first message that does not fit the window; absent: all fit."""
    savedVsInclusive: NotRequired[str | None]
    """Saved share of the cost of `inclusive`, to six digits: `0.318974`; negative if it
    costs more. Absent for `inclusive` itself, or if that is free."""
    bestCap: NotRequired[BestCap | None]
    """Also absent if no cap costs less than having no summaries."""
    note: NotRequired[str | None]
    """Assumptions of the estimate; absent: none."""


class ContextCoverage(TypedDict):
    """Fate of each event up to `lastSeq`: it is in exactly one of the three lists."""

    verbatim: list[SeqRange]
    """Events shown word for word."""
    summarised: list[SummarisedRange]
    """Events shown by a summary in their place."""
    omitted: list[SeqRange]
    """All other events, including erased and cleared ones."""


class ContextMessage(TypedDict):
    """A message in the format `messages` or `openai`."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    content: NotRequired[Any]
    """Text of the message, or its parts in the provider's format; null where the message
    only calls tools."""
    source: NotRequired[dict[str, Any] | None]
    """`kind` (`system`, `summary`, `event`, `memory` or `pending`), and its source: the
    `summary` (of several, the oldest, and all as `summaries`), the former `sessions`
    carried over from, the `event` and `seq`, or the `memories`; only in `messages`."""
    rawEvent: NotRequired[dict[str, Any] | None]
    """The event's `rawEvent`, with `includeRawEvents`; absent if it has none, if it is
    shortened, or if newer raw events have 16 MiB. Its tokens are not counted."""
    tool_calls: NotRequired[list[dict[str, Any]] | None]
    """Calls of tools by the agent, in OpenAI's format."""
    tool_call_id: NotRequired[str | None]
    """Id of the call that this message answers."""


class ContextResponse(TypedDict):
    """A context, and the account of its content; one of the first four is set, by the
    format."""

    messages: NotRequired[list[ContextMessage] | None]
    """The context in the formats `messages` and `openai`, the oldest first."""
    contents: NotRequired[list[dict[str, Any]] | None]
    """The context in the format `gemini`, the oldest first."""
    systemInstruction: NotRequired[dict[str, Any] | None]
    """The system prompt in the format `gemini`; absent: none."""
    text: NotRequired[str | None]
    """The context in the format `text`."""
    sources: NotRequired[list[dict[str, Any]] | None]
    """Source of each message, in `openai` and `gemini`."""
    tokens: ContextTokens
    """Tokens that the context takes of the model's window."""
    coverage: ContextCoverage
    """Events by their treatment: shown word for word, shown by a summary, or left out."""
    summaryState: SummaryState
    """`current`: nothing is due; `pending`: summaries are being made; `failed`: the last
    attempt failed and will be retried."""
    carriedOver: NotRequired[CarriedOver | None]
    """Account of former sessions; absent without `carryOver`."""
    truncatedEvents: list[TruncatedEvent]
    """Events that are shown only in part, from their beginning; empty: none."""
    policy: MemoryPolicy
    """Policy that was applied."""
    policyKey: str
    """Key of the policy's summaries."""
    lastSeq: int
    """The session's last event."""
    estimatedCost: NotRequired[EstimatedCost | None]
    """Price of the context as input; absent without `model` or a configured price of it."""
    isPreview: NotRequired[bool | None]
    """True: the answer to a `preview`."""
    warnings: NotRequired[list[str] | None]
    """`template_needs_model`: the policy has a template, but its summaries are made
    without a model, which alone could follow it. Absent: none."""


class ContextSpec(TypedDict):
    """The location of the bank's configuration within an engine."""

    memoryBankConfig: NotRequired[MemoryBankConfig | None]
    """The bank's configuration; absent: the service's defaults."""


class ContextTokens(TypedDict):
    """Tokens of a context in the model's window, by its counter."""

    total: int
    """Tokens of all parts, with the marks around summaries."""
    system: int
    """Tokens of the system prompt."""
    carriedOver: NotRequired[int | None]
    """Tokens of former sessions' content; absent without `carryOver`."""
    summaries: int
    """Tokens of summaries."""
    events: int
    """Tokens of events shown word for word."""
    memories: int
    """Tokens of facts of the memory bank."""
    pending: int
    """Tokens of the pending message."""
    framingTokens: int
    """Tokens of the marks around summaries and between them, a part of `total`."""
    limit: NotRequired[int | None]
    """Maximum tokens of the prompt with its answer; absent: no limit."""
    reserved: int
    """Tokens kept free for the model's answer."""
    stmBudget: NotRequired[int | None]
    """`agent_summary`: the events' share."""
    ltsBudget: NotRequired[int | None]
    """`agent_summary`: the summary's share."""
    counter: str
    """Token counter that all these figures are counted by."""


class ConversationSource(TypedDict):
    """The conversation of an example."""

    events: NotRequired[list[ExampleEvent] | None]
    """The turns, the oldest first."""


class Covered(TypedDict):
    """A range of a session's events; both ends are included."""

    firstSeq: int
    """Number of the first event."""
    lastSeq: int
    """Number of the last event."""


class CreateExchangeRequest(TypedDict):
    """The text of a user and the answer of the agent."""

    input: str
    """The user's text."""
    output: str
    """The agent's text."""
    agent: NotRequired[str]
    """The author of the answer."""
    invocationId: NotRequired[str | None]
    """Invocation of both events; absent: a new one."""
    timestamp: NotRequired[str | None]
    """Time of the exchange; absent: now."""
    inputTokenCount: NotRequired[int | None]
    """Tokens of the input in a prompt, for the counter `declared`."""
    outputTokenCount: NotRequired[int | None]
    """Tokens of the output, likewise."""
    metadata: NotRequired[dict[str, Any] | None]
    """Metadata stored with both events, as their `customMetadata`."""
    expectedLastSeq: NotRequired[int | None]
    """The number of the session's last event as known to the caller; if another event is
    last, nothing is appended: 409."""


class CreateKeyRequest(TypedDict):
    """A key as described by its creator. Output-only fields are ignored."""

    displayName: str
    """Name for people; printable, not blank."""
    roles: NotRequired[list[Role] | None]
    """Roles of the key; at least one of `roles` and `permissions` is needed."""
    permissions: NotRequired[list[Permission] | None]
    """Permissions in addition to the roles."""
    projects: NotRequired[list[str] | None]
    """Projects of the engines; absent: all."""
    engines: NotRequired[list[str] | None]
    """Ids or names of engines; absent: all."""
    scopeConditions: NotRequired[dict[str, str | list[str]] | None]
    """For each scope key, the values that the key may reach: one, or a list. Absent: all
    scopes."""
    expireTime: NotRequired[str | None]
    """Time at which the key stops working, in UTC; absent: by `ttl`, else never."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""


class CreateMemoryRequest(TypedDict):
    """A memory as its creator sends it, with `fact` or `structuredContent`.

    Fields that only responses have are ignored.
    """

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that this request makes."""
    revisionExpireTime: NotRequired[str | None]
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revisionTtl: NotRequired[str | None]
    """Life of those revisions, from now; above zero seconds."""
    disableMemoryRevisions: NotRequired[bool | None]
    """True: the request makes no revisions."""
    fact: NotRequired[str | None]
    """Statement to remember, in one or a few sentences; not blank."""
    displayName: NotRequired[str | None]
    """Short name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about; absent: none."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memoryType: NotRequired[MemoryType | None]
    """Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be changed
    later."""
    structuredContent: NotRequired[StructuredContent | None]
    """At most 65536 bytes as JSON."""
    context: NotRequired[str | None]
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""
    expireTime: NotRequired[str | None]
    """Time at which the memory is deleted, in UTC; absent: by `ttl`, else by the
    engine's `ttlConfig`, else never."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""
    scope: dict[str, str]
    """Exact key of the collection."""


class CreateSessionRequest(TypedDict):
    """A session as sent by its creator. Output-only fields are ignored."""

    displayName: NotRequired[str | None]
    """Name for people."""
    labels: NotRequired[dict[str, str] | None]
    """The caller's own labels, of lower-case letters, digits, `_` and `-`."""
    sessionState: NotRequired[dict[str, Any] | None]
    """Values that agents keep: at most 1048576 bytes as JSON. Keys that start with
    `user:` are shared by the user's sessions, and keys with `app:` by all sessions of
    the engine. Keys with `temp:` are not stored."""
    expireTime: NotRequired[str | None]
    """Time at which the session is deleted, in UTC; absent: by `ttl`, else by the
    service's setting."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""
    memoryPolicy: NotRequired[MemoryPolicy | None]
    """Policy of its contexts and summaries; absent: the engine's policy."""
    userId: str
    """Id of the user that the session belongs to."""


class CustomMemoryTopic(TypedDict):
    """A topic of the bank's own."""

    label: str
    """Name of the topic; facts refer to it."""
    description: NotRequired[str | None]
    """Explanation of the topic for the model."""


class CustomPattern(TypedDict):
    """A kind of sensitive value of an operator's own."""

    name: str
    """Name of the kind: capital letters and underscores."""
    pattern: str
    """A pattern of RE2 syntax."""


class CustomizationConfig(TypedDict):
    """Extraction settings for the scopes that have all of `scopeKeys`."""

    scopeKeys: NotRequired[list[str] | None]
    """Keys that a scope must have; absent or empty: none. If several entries match, the
    one with the most keys counts."""
    memoryTopics: NotRequired[list[MemoryTopic] | None]
    """Topics to extract; absent or empty: the managed topics."""
    generateMemoriesExamples: NotRequired[list[GenerateMemoriesExample] | None]
    """Conversations with the memories that should result from them."""
    enableThirdPersonMemories: NotRequired[bool | None]
    """True: facts are written as "The user ..."; otherwise as "I ..."."""
    consolidationConfig: NotRequired[ConsolidationConfig | None]
    """Settings for the comparison of new facts with present memories."""
    disableNaturalLanguageMemories: NotRequired[bool | None]
    """True: only profiles are made, no facts."""


class DeleteEngineRequest(TypedDict):
    """The body of a delete, as the Python client sends it."""

    force: NotRequired[bool]
    """True: delete the engine with its whole content; otherwise only an empty engine is
    deleted."""


class DeleteMemoryRequest(TypedDict):
    """Options of a deletion; none with `permanent`, which leaves no revision."""

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that this request makes."""
    revisionExpireTime: NotRequired[str | None]
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revisionTtl: NotRequired[str | None]
    """Life of those revisions, from now; above zero seconds."""


class DirectContentsSource(TypedDict):
    """A conversation in the request."""

    events: list[ContentEvent]
    """The turns, the oldest first; their texts have a greatest length in all,
    `MEMORY_BANK_MAX_GENERATION_CHARS`. Sessions and streams have none."""


class DirectMemoriesSource(TypedDict):
    """Facts in the request: they skip extraction, but are consolidated."""

    directMemories: list[DirectMemory]
    """The facts, which are stored unchanged unless they are already known."""


class DirectMemory(TypedDict):
    """A fact in the request."""

    fact: str
    """Statement to remember, in one or a few sentences; not blank."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about; absent: none."""


class DroppedFact(TypedDict):
    """A fact that would become no memory."""

    fact: str
    """The fact as it was extracted."""
    quote: str
    """Text that the model quoted as its source."""
    reason: str
    """Reason for dropping the fact."""
    detail: NotRequired[str | None]
    """The number or date that has no source."""
    memory: NotRequired[NamedMemory | None]
    """With the reason `OLDER`: the memory with a later time."""


class DroppedField(TypedDict):
    """A statement about a profile's field that would change nothing."""

    schemaId: str
    """Profile that the statement is about."""
    field: str
    """Field that the statement is about."""
    quote: str
    """Text that was named as its source."""
    reason: str
    """Reason for dropping it."""
    memory: NotRequired[NamedMemory | None]
    """With the reason `OLDER`: the memory with a later time."""


class Empty(TypedDict):
    """A message without fields. Source: google.protobuf.Empty."""


class EncryptionSpec(TypedDict):
    """Encryption settings of an engine of an earlier release or an archive; they have no
    effect."""

    kmsKeyName: str
    """Name of a key of a key management service."""


class EngineEmbedding(TypedDict):
    """The state of the vectors of an engine's memories."""

    model: NotRequired[str | None]
    """Id of the model for searches; absent: there are no vectors."""
    target: NotRequired[str | None]
    """Id of the new model of an unfinished re-embedding; until its end, `model` serves.
    Absent: none is running."""
    waitingMemoryCount: int
    """Memories that wait for their vectors, up to 1,000; searches find them only by
    words."""
    isCapped: NotRequired[bool | None]
    """True: more of them wait; absent: no."""


class EngineGeneration(TypedDict):
    """The model that writes the memories of an engine."""

    model: str
    """Id of the model that writes, or `builtin-rules/N`."""
    availableModels: list[str]
    """Names of configured models that `generationConfig.model` can have; without it, the
    default of the service writes."""


class EngineQuotas(TypedDict):
    """The stored amounts of the engine with their limits."""

    memories: QuotaUse
    """Live memories, without deleted ones."""
    sessions: QuotaUse
    """Sessions that have not expired."""
    events: QuotaUse
    """Events of sessions, and ingested events not yet processed."""
    bytes: QuotaUse
    """Content of all of them, with revisions and states."""
    artifactBytes: QuotaUse
    """Artifacts of task memory."""


class EngineUsage(TypedDict):
    """The model usage of an engine in a range of days, and its stored amounts."""

    usage: list[ModelUsage]
    """Sums by the fields in `groupBy`; groups without calls are left out."""
    total: UsageSums
    """Sums over all that `usage` could list."""
    previousTotal: UsageSums
    """Sums over as many days, just before the first day."""
    unpricedModels: list[str]
    """Ids of the models in `total` some of whose calls had no price, or may have had
    none."""
    budget: NotRequired[TokenBudget | None]
    """Tokens of today; absent: the service sets no budget."""
    quotas: EngineQuotas
    """Stored amounts, each with its limit."""
    embedding: EngineEmbedding
    """State of the vectors of its memories."""
    generation: EngineGeneration
    """Model that writes its memories."""


class EraseScopeRequest(TypedDict):
    """The scope to erase: everything in scopes that contain its pairs."""

    scope: dict[str, str]
    """Exact key of the collection."""
    validateOnly: NotRequired[bool | None]
    """True: count, and change nothing."""
    includeSessions: NotRequired[bool | None]
    """False: sessions, task memory and state of the user `user_id` are kept; absent:
    they are erased, too."""


_EraseScopeResponseBase = TypedDict(
    "_EraseScopeResponseBase",
    {"@type": Literal["type.googleapis.com/google.cloud.aiplatform.v1beta1.EraseScopeResponse"]},
)


class EraseScopeResponse(_EraseScopeResponseBase):
    """The certificate of an erasure; it contains no scope, id or text of the erased
    items."""

    certificateId: NotRequired[str | None]
    """Id of the certificate; absent in a preview."""
    subject: NotRequired[str | None]
    """Pseudonym of the scope; who has the key can test a guess."""
    engine: str
    """Full name of the engine."""
    startTime: str
    """Time at which the erasure began."""
    endTime: str
    """Time at which its last count was done."""
    release: str
    """Release of the service that erased."""
    counts: dict[str, int]
    """Removed rows, by table."""
    pseudonymised: dict[str, int]
    """Rows that stay without the person, by table."""
    verified: bool
    """True if a last count of all tables found nothing."""
    notCovered: list[str]
    """Data that the erasure left out: `sessions` (the user's sessions, namespaces of
    task memory and state) and `api_keys` (keys that are bound to the scope)."""
    residue: list[str]
    """Places in which erased data may remain."""


class ErrorBody(TypedDict):
    """The body of every error response."""

    error: ErrorStatus
    """The error."""


class ErrorStatus(TypedDict):
    """A google.rpc.Status in HTTP responses."""

    code: int
    """The HTTP status."""
    message: str
    """Explanation for people, which names the field that is at fault."""
    status: str
    """The name of the canonical code."""
    details: list[dict[str, Any]]
    """ErrorInfo first, then field violations."""


class EstimateContextCostsRequest(TypedDict):
    """Parameters of an estimate: lengths of sessions, token sizes, prices and
    strategies."""

    messages: NotRequired[list[int]]
    """Lengths of sessions, in prompts with their answers."""
    messageTokens: NotRequired[int | dict[str, Any]]
    """Tokens of a message, prompt and answer. With one number, all of it counts as
    input. With two halves, the answer is paid for once as output, and as input in
    each later prompt that shows it."""
    systemTokens: NotRequired[int]
    """Tokens of the system prompt."""
    summaryTokens: NotRequired[int]
    """Tokens of a summary, unless the strategy sets them."""
    summaryOverheadTokens: NotRequired[int]
    """Tokens of a summariser's prompt without its input."""
    prices: NotRequired[PlainPrices | None]
    """Alternative to `models`."""
    models: NotRequired[dict[str, ModelPrices] | None]
    """Prices by model."""
    model: NotRequired[str | None]
    """Name of the answering model; required with `models`."""
    summaryModel: NotRequired[str | None]
    """Name in `models` of the summarising model if a strategy names none, or `builtin`,
    which is free; absent: the answering model."""
    configuredPrices: NotRequired[bool]
    """True: the prices in the settings of the service, in place of `prices` and
    `models`. `model` may be absent then: the model of the service."""
    contextWindow: NotRequired[int | None]
    """Maximum tokens of a prompt with its answer; a strategy's own `tokenLimit`
    overrides it. `agent_summary` needs one of them."""
    strategies: NotRequired[list[MemoryPolicy]]
    """Memory policies; absent: `inclusive`, `abstraction_inclusive` and
    `fully_abstracted`."""
    accounting: NotRequired[Accounting]
    """`per_prompt`: each prompt is paid for once. `published_tables`: the method of the
    tables of Prompt Memory Lab, for comparison with them."""
    findBestCap: NotRequired[bool]
    """True: also find the cheapest `cap` (or `every`) of strategies that have one, up to
    1000."""


class EstimateContextCostsResponse(TypedDict):
    """Estimates for each length and strategy, in this order."""

    accounting: Accounting
    """Method of counting, as requested."""
    rows: list[ContextCost]
    """Estimates by length, and of each length by strategy."""
    note: NotRequired[str | None]
    """Warning about `published_tables`."""
    currency: NotRequired[str | None]
    """Currency of configured prices; absent: the request has the prices."""
    pricedModels: NotRequired[list[str] | None]
    """Models with a configured price; absent: the request has the prices."""
    model: NotRequired[str | None]
    """Answering model whose configured price counts; absent: none is known."""
    unpricedModels: NotRequired[list[str] | None]
    """Models of the estimate without a configured price: all amounts take them as free.
    Absent: none."""


class EstimatedCost(TypedDict):
    """Estimated cost of a context's tokens as input."""

    amount: float
    """Price in the currency, rounded to nine decimal places."""
    currency: str
    """Currency of the configured prices, as a code of three letters."""


class EventActions(TypedDict):
    """Effects of an event besides its content."""

    stateDelta: NotRequired[dict[str, Any] | None]
    """New values of these keys of the session's state, of its user's (`user:`) and of
    the engine's (`app:`); keys that start with `temp:` are not stored."""
    artifactDelta: NotRequired[dict[str, int] | None]
    """Files written, with their versions."""
    transferAgent: NotRequired[str | None]
    """Name of the agent that takes over."""
    escalate: NotRequired[bool | None]
    """True: the agent hands over to the one above it."""
    skipSummarization: NotRequired[bool | None]
    """True: the framework should not summarise the tool's answer."""
    requestedAuthConfigs: NotRequired[dict[str, Any] | None]
    """Requests of tools for a sign-in, by the id of their call."""


class EventLoopLag(TypedDict):
    """Lag of the event loop within the last minute."""

    p50: float
    """Median, in seconds."""
    p99: float
    """Lag that 99 of 100 moments did not exceed, in seconds."""


class EventMetadata(TypedDict):
    """Metadata of an event created by a model."""

    partial: NotRequired[bool | None]
    """True: the text is a piece of an answer that is still being written."""
    turnComplete: NotRequired[bool | None]
    """True: the model has finished its turn."""
    interrupted: NotRequired[bool | None]
    """True: the user cut the model short."""
    branch: NotRequired[str | None]
    """Path of agents that the event belongs to, such as `root.planner`."""
    customMetadata: NotRequired[dict[str, Any] | None]
    """The caller's own values."""
    longRunningToolIds: NotRequired[list[str] | None]
    """Ids of calls of tools that return later."""
    groundingMetadata: NotRequired[dict[str, Any] | None]
    """Sources of the answer, as the model's provider returns them."""
    inputTranscription: NotRequired[dict[str, Any] | None]
    """Text of the user's speech, as the model's provider returns it."""
    outputTranscription: NotRequired[dict[str, Any] | None]
    """Text of the model's speech, as its provider returns it."""


class ExampleEvent(TypedDict):
    """A turn of an example."""

    content: Content
    """Content of the turn."""


class ExampleMemory(TypedDict):
    """A memory expected from an example."""

    fact: str
    """Statement to extract."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about."""


class Exchange(TypedDict):
    """An appended exchange."""

    events: list[AppendedEvent]
    """The appended events, in the order of the request."""
    lastSeq: int
    """The number of the last of them."""
    exchange: int
    """Its number in the session."""


class Explanation(TypedDict):
    """The reasons for a memory's place. Not in the API's definition; only with
    `explain`."""

    ranking: NotRequired[Ranking | None]
    """The ranking of the search; only with a search."""
    vectorsUnavailable: NotRequired[bool | None]
    """True: the model could not embed the query, so only words and signals count."""
    vectorsUnsuited: NotRequired[bool | None]
    """True: the model of the vectors is not known to understand the language of the
    query. The vectors count as usual, but matching words are more reliable."""
    vectorDistance: NotRequired[float | None]
    """Euclidean distance of the embeddings, 0 to 2, if they were compared."""
    lexicalScore: NotRequired[float | None]
    """Weight of the words that it shares with the query; only in `hybrid`."""
    signals: NotRequired[dict[str, float] | None]
    """Contribution of each signal to its score, by name; only in `hybrid`."""
    tokens: int
    """Tokens that it takes of `maxTokens`."""
    eventTime: NotRequired[str | None]
    """Time of the statement, if known; output only."""
    sourceEvent: NotRequired[SourceEvent | None]
    """Source of the statement, if known; output only."""


class ExportNamespaceRequest(TypedDict):
    """Destination for the artifacts of a namespace."""

    sink: str
    """Name of a configured sink."""
    directory: NotRequired[str | None]
    """Folder for the files: names with `/` between them, below ENGINE/MEMORY/NAMESPACE
    in the sink."""
    artifacts: NotRequired[list[str] | None]
    """Names of the artifacts to export; absent: all."""
    fileName: NotRequired[str | None]
    """Name of the file, where one artifact is exported; absent: the artifact's name."""
    overwrite: NotRequired[bool]
    """True: existing files are replaced. False: an existing file is ID_TAKEN, and stays."""


class ExportNamespaceResponse(TypedDict):
    """The files that were written."""

    sink: str
    """Name of the sink that was written to."""
    files: list[ExportedFile]
    """Written files, one for each artifact, in the order of the artifacts."""
    totalBytes: str
    """Sum of `sizeBytes`."""


class ExportedFile(TypedDict):
    """A file that was written."""

    artifact: str
    """Name of the artifact within its namespace."""
    path: str
    """Path within the sink."""
    sizeBytes: str
    """Size of the artifact in bytes. The file of a padded result is shorter."""


_ExtractNamespaceRequestBase = TypedDict("_ExtractNamespaceRequestBase", {"as": str | None})


class ExtractNamespaceRequest(_ExtractNamespaceRequestBase):
    """A schema of rows to extract from a namespace."""

    model: NotRequired[str | None]
    """A configured model, or `builtin`, which needs none; absent: the first that may
    read the namespace (the first local one if it is sensitive; one that takes images
    if it has no text), or `builtin` without any."""
    offPrompt: NotRequired[bool]
    """True: store the result and return only its reference."""
    wait: NotRequired[bool]
    """True: wait for texts that are being indexed; otherwise they are NOT_READY."""
    artifacts: NotRequired[list[str] | None]
    """The only artifacts to read; absent: all that the model can read."""
    schema: dict[str, Any]
    """JSON schema of one row: an object with properties. References stay within it, and
    patterns are of RE2 syntax."""
    source: NotRequired[RowSource]
    """Places of rows and values, which a model does not need."""
    format: NotRequired[RowFormat]
    """`json`, or `csv`, which has a column for each property and no sources."""
    maxRows: NotRequired[int]
    """Maximum number of rows; without `offPrompt`, the response also has at most 1,000
    rows and 256 KiB of them."""


class ExtractNamespaceResponse(TypedDict):
    """Extracted rows, in text order.

    Of a sensitive namespace, a key without `artifacts.content` gets neither counts nor
    rejections.
    """

    model: str
    """Id of the model that was called; `builtin:extractive`: none was."""
    coverage: ReadingCoverage
    """Part of the namespace that was read."""
    usage: ReaderUsage
    """Model calls made for this request."""
    reference: NotRequired[Reference | None]
    """Reference to the result, if it is kept off the prompt."""
    promptText: NotRequired[str | None]
    """Text for the prompt that names the result, if it is kept off the prompt."""
    reused: NotRequired[bool | None]
    """True if this is the result of an equal request. After an earlier one, this request
    is free; after a concurrent one, `usage` shows the cost of this request."""
    rows: NotRequired[list[ExtractedRow] | None]
    """The rows; absent if they are kept off the prompt, or are `csv`."""
    csv: NotRequired[str | None]
    """The rows as CSV with a header. A cell that spreadsheets would compute begins with
    an apostrophe."""
    rowCount: NotRequired[int | None]
    """Number of rows in the result, from 0."""
    truncated: NotRequired[bool | None]
    """True if there are more rows, or text was not read; `offPrompt`, `maxRows` or
    `artifacts` get the others."""
    rejected: NotRequired[list[RejectedRow] | None]
    """The first rejected rows, up to 20; absent if there are none."""
    rejectedCount: NotRequired[int | None]
    """Number of all rejected rows, from 0."""


class ExtractedMemory(TypedDict):
    """A memory as generation extracted it, before it was merged with present memories."""

    fact: NotRequired[str | None]
    """Statement as it was extracted; absent for a field of a profile."""
    context: NotRequired[str | None]
    """Quotation from the conversation as evidence; absent for a given fact."""
    structuredData: NotRequired[dict[str, Any] | None]
    """Value of a field of a profile; absent for a fact."""


class ExtractedRow(TypedDict):
    """A row that meets the schema, and its place."""

    artifact: str
    """Name of the artifact within the namespace."""
    start: int
    """First character, counted like `start` of a citation."""
    end: int
    """First character after it; 0: the whole artifact."""
    values: dict[str, JsonValue]
    """Values by property."""


class FailureGroup(TypedDict):
    """Operations that failed for the same reason, with the same model, within the same
    hour."""

    reason: NotRequired[str | None]
    """Reason of the error, as `error.reason` in filters; absent: it has none."""
    author: NotRequired[str | None]
    """Id of the model, as `author` in filters; absent: no model was needed."""
    startTime: str
    """Beginning of the hour, in UTC, within which the operations ended."""
    operationCount: int
    """Number of these operations."""


class FileData(TypedDict):
    """A file stored elsewhere."""

    mimeType: NotRequired[str | None]
    """Media type of the file, such as `image/png`."""
    fileUri: NotRequired[str | None]
    """Address of the file, passed to the model unchanged; the service fetches nothing."""
    displayName: NotRequired[str | None]
    """Name of the file for people."""


class FilterGroup(TypedDict):
    """Conditions that must all hold; of several groups, at least one must hold."""

    filters: list[MetadataCondition]
    """The conditions."""


class FindResourcesRequest(TypedDict):
    """The text to find."""

    text: str
    """Id or full name of a memory, revision, operation, session, key or engine, or a
    value of a scope. If it is none of these, the last digits of the id of a memory,
    revision, operation or session, at least 6."""


class FindResourcesResponse(TypedDict):
    """The resources and scopes that the text names."""

    resources: list[Found]
    """At most 10; empty: the key reaches nothing of this name."""


class FlushStreamRequest(TypedDict):
    """A stream to process at once, with all its waiting events."""

    scope: dict[str, str]
    """Exact key of the collection."""
    streamId: NotRequired[str | None]
    """Id of the stream; absent or empty: `default`."""


class Found(TypedDict):
    """A resource or a scope that the text names."""

    kind: FoundKind
    """Kind of the resource, or `SCOPE`."""
    name: NotRequired[str | None]
    """Full name of the resource; absent for `SCOPE`."""
    scope: NotRequired[dict[str, str] | None]
    """Only with `SCOPE`: the pair with the value, which scopes of memories contain, or
    which is the user of sessions."""
    isDeleted: NotRequired[bool | None]
    """True: a deleted memory that can still be recovered."""


class GenerateMemoriesExample(TypedDict):
    """An example of an extraction; an example may also have no memories."""

    conversationSource: NotRequired[ConversationSource | None]
    """The conversation."""
    generatedMemories: NotRequired[list[ExampleMemory] | None]
    """Memories that should result from it; absent or empty: none."""


class GenerateMemoriesRequest(TypedDict):
    """The source, the scope and the options of a generation.

    Exactly one of `directContentsSource`, `directMemoriesSource` and `vertexSessionSource` is
    required, and `scope` with the first two.
    """

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that this request makes."""
    revisionExpireTime: NotRequired[str | None]
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revisionTtl: NotRequired[str | None]
    """Life of those revisions, from now; above zero seconds."""
    disableMemoryRevisions: NotRequired[bool | None]
    """True: the request makes no revisions."""
    directContentsSource: NotRequired[DirectContentsSource | None]
    """A conversation in the request; one of three sources."""
    directMemoriesSource: NotRequired[DirectMemoriesSource | None]
    """Facts in the request; one of three sources."""
    vertexSessionSource: NotRequired[VertexSessionSource | None]
    """A session, perhaps of another engine in the same project and location; one of
    three sources."""
    scope: NotRequired[dict[str, str] | None]
    """Exact key of the collection that the memories belong to. Required, unless the
    source is a session: then absent means its `user_id`."""
    disableConsolidation: NotRequired[bool | None]
    """True: every result becomes a new memory."""
    validateOnly: NotRequired[bool | None]
    """True: do the work, but write nothing; respond with the changes and their reasons."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, stored with each memory that is written."""
    metadataMergeStrategy: NotRequired[MetadataMergeStrategy]
    """Treatment of the metadata of a memory that is updated. `OVERWRITE` (also when
    absent): these values replace it. `MERGE`: they are added. `REQUIRE_EXACT_MATCH`:
    only memories with equal metadata are updated."""
    allowedTopics: NotRequired[list[MemoryTopicId] | None]
    """Limits the configured topics to these."""
    timeZone: NotRequired[str | None]
    """Time zone of relative dates; absent: the offset of each event's time, if it has
    one other than zero, else the bank's zone."""
    rereadEvents: NotRequired[bool | None]
    """True: read events again that earlier generations have read. This restores facts
    that were deleted or corrected since; preview it with `validateOnly`."""


_GenerateMemoriesResponseBase = TypedDict(
    "_GenerateMemoriesResponseBase",
    {
        "@type": Literal[
            "type.googleapis.com/google.cloud.aiplatform.v1beta1.GenerateMemoriesResponse"
        ]
    },
)


class GenerateMemoriesResponse(_GenerateMemoriesResponseBase):
    """The changes of a generation, or the planned changes of a preview."""

    author: NotRequired[str | None]
    """Id of the model that wrote the facts, or `engine`; absent: no change."""
    generatedMemories: NotRequired[list[GeneratedMemory] | None]
    """The changes, in order; absent: none."""
    plannedChanges: NotRequired[list[PlannedMemoryChange] | None]
    """Only in a preview: the changes, in order; absent: none."""
    droppedFacts: NotRequired[list[DroppedFact] | None]
    """Only in a preview: facts that would become no memory; absent: none."""
    droppedFields: NotRequired[list[DroppedField] | None]
    """Only in a preview: statements about fields of profiles that would change nothing;
    absent: none."""
    refusedDecisions: NotRequired[list[RefusedDecision] | None]
    """Only in a preview: decisions that would not be carried out; absent: none."""
    withdrawn: NotRequired[bool | None]
    """True: the texts of this preview were erased together with their subject."""


class GeneratedMemory(TypedDict):
    """A change that a generation made."""

    memory: NamedMemory
    """The memory that it changed."""
    action: str
    """`CREATED`, `UPDATED` or `DELETED`."""
    previousRevision: NotRequired[str | None]
    """Full name of the previous revision; absent: there is none."""


class GenerationConfig(TypedDict):
    """The model that writes memories, and when it runs."""

    model: NotRequired[str | None]
    """Name of a configured model; absent, or a name of Google's that is not configured:
    the service's own."""
    generationTriggerConfig: NotRequired[GenerationTriggerConfig | None]
    """Trigger of generation from ingested events; absent: they become memories at once."""


class GenerationRule(TypedDict):
    """Conditions on which buffered events become memories."""

    idleDuration: NotRequired[str | None]
    """Time without a new event; whole minutes. Not together with `fixedInterval`."""
    fixedInterval: NotRequired[str | None]
    """Time since the oldest waiting event; whole minutes. Not together with
    `idleDuration`."""
    eventCount: NotRequired[int | None]
    """Number of waiting events."""
    overlapEventCount: NotRequired[int | None]
    """Number of processed events that are read again with the next ones; less than
    `eventCount`."""


class GenerationTriggerConfig(TypedDict):
    """The trigger of memory generation for the bank's streams."""

    generationRule: NotRequired[GenerationRule | None]
    """The conditions, of which one is enough; absent: events are processed at once."""


class GranularTtlConfig(TypedDict):
    """Lifetimes of memories by the way they were created."""

    createTtl: NotRequired[str | None]
    """Life of memories that `memories.create` makes, from now; above zero, at most a
    thousand years."""
    generateCreatedTtl: NotRequired[str | None]
    """Life of memories that generation makes; above zero, at most a thousand years."""
    generateUpdatedTtl: NotRequired[str | None]
    """Life of memories from the time that generation updates them; above zero, at most a
    thousand years."""


class GroupFailuresResponse(TypedDict):
    """The failed operations of an engine in groups."""

    failureGroups: list[FailureGroup]
    """The groups, the newest hour first, and the largest group first within an hour; at
    most 100."""
    operationCount: int
    """Number of the operations in all groups, also in those beyond the first 100."""
    isCapped: NotRequired[bool | None]
    """True: more than 10,000 match, and only the newest were counted."""


class Health(TypedDict):
    """The response to a probe."""

    status: str
    """`ok`; `degraded`: a standby serves reads, and writes fail; any other state is an
    error response."""
    checks: NotRequired[dict[str, str]]
    """State of each part, by name: `ok`, or the problem."""


class ImportMemoriesResponse(TypedDict):
    """The result of an import."""

    imported: int
    """Number of memories that were created."""
    restored: NotRequired[int]
    """Number of deleted memories that were brought back with their lines' content."""
    overwritten: NotRequired[int]
    """Number of memories that got the content of their lines, with `overwrite`."""
    existing: int
    """Memories that existed already, with their ids and this content."""
    expired: int
    """Number of lines with an `expireTime` in the past; they were not stored."""
    changedHere: int
    """Memories that existed with other content; they were kept, unless the request had
    `overwrite`."""
    failed: int
    """Number of lines that were refused; they were not stored."""
    errors: list[LineError]
    """Errors of the lines that failed, the first `maxErrors` of them."""
    operation: NotRequired[str | None]
    """Name of the operation that records the import and can be undone; absent if this
    request changed nothing."""


class IncludeMemories(TypedDict):
    """Selection of memory bank facts to include if there is room."""

    query: NotRequired[str]
    """Search query; `auto`: the pending message, or else the user's last message."""
    topK: NotRequired[int]
    """Maximum number of facts."""
    maxTokens: NotRequired[int | None]
    """Maximum tokens of the facts; absent: all that are left."""
    scope: NotRequired[dict[str, str] | None]
    """Scope of the memories; absent: only the session's `user_id`."""


class IngestEventsRequest(TypedDict):
    """Events for a stream, and when and how to turn them into memories."""

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that this request makes."""
    revisionExpireTime: NotRequired[str | None]
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revisionTtl: NotRequired[str | None]
    """Life of those revisions, from now; above zero seconds."""
    disableMemoryRevisions: NotRequired[bool | None]
    """True: the request makes no revisions."""
    scope: dict[str, str]
    """Exact key of the collection."""
    streamId: NotRequired[str | None]
    """Id of the stream; absent or empty: `default`."""
    directContentsSource: NotRequired[DirectContentsSource | None]
    """A conversation in the request; absent: the request only changes the rule of the
    waiting events."""
    generationTriggerConfig: NotRequired[GenerationTriggerConfig | None]
    """Trigger of generation from the events; absent: the bank's trigger; without any,
    events are processed at once."""
    forceFlush: NotRequired[bool | None]
    """True: process all waiting events at once."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, stored with each memory that is written."""
    metadataMergeStrategy: NotRequired[MetadataMergeStrategy | None]
    """Treatment of the metadata of a memory that is updated, as in `memories:generate`."""


_IngestEventsResponseBase = TypedDict(
    "_IngestEventsResponseBase",
    {"@type": Literal["type.googleapis.com/google.cloud.aiplatform.v1beta1.IngestEventsResponse"]},
)


class IngestEventsResponse(_IngestEventsResponseBase):
    """The end of a stream's wait."""

    generateMemoriesOperation: NotRequired[str | None]
    """Full name of the operation that made memories from the events; absent: there were
    none to read."""


class KnownMemory(TypedDict):
    """A memory as an operation left it; without its content if that is no longer known."""

    name: str
    """Full name of the resource."""
    fact: NotRequired[str | None]
    """Statement that is remembered; absent where `structuredContent` is the content."""
    displayName: NotRequired[str | None]
    """Short name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memoryType: NotRequired[MemoryType]
    """`NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one
    field of a profile. It never changes."""
    structuredContent: NotRequired[StructuredContent | None]
    """Content of a profile, by the schema that it names; absent where `fact` is the
    content."""
    context: NotRequired[str | None]
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""
    scope: NotRequired[dict[str, str]]
    """Exact key of the collection that it belongs to. It never changes."""
    createTime: NotRequired[str]
    """Time of its creation."""
    updateTime: NotRequired[str]
    """Time of its last change."""
    eventTime: NotRequired[str | None]
    """Output only: the time at which the fact was said, or the time in its metadata;
    absent: it was not said in a conversation."""
    expireTime: NotRequired[str | None]
    """Time at which it is deleted; absent: never."""
    etag: NotRequired[str]
    """Version of the memory, for conditional requests."""
    deleteTime: NotRequired[str | None]
    """The time of the deletion; absent of a live memory, as the next three."""
    recoverUntil: NotRequired[str | None]
    """The end of the time in which it can be recovered."""
    deleteOperation: NotRequired[str | None]
    """The operation that deleted it; absent if no revision was kept."""
    deleteCaller: NotRequired[str | None]
    """Caller that deleted it: the id of a key, `jwt:` and the subject of a token, or
    `command-line`; absent also where the service itself deleted it."""


class LineError(TypedDict):
    """The error of a line."""

    line: int
    """Number of the line, from 1."""
    error: OperationError
    """Reason of the refusal."""


class ListArtifactsResponse(TypedDict):
    """A page of artifacts."""

    artifacts: list[Artifact]
    """The artifacts of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListAuditEventsResponse(TypedDict):
    """A page of events, newest first."""

    auditEvents: list[AuditEvent]
    """The events of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListEventsResponse(TypedDict):
    """A page of events."""

    sessionEvents: list[SessionEvent]
    """The events of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListKeysResponse(TypedDict):
    """A page of keys."""

    keys: list[ApiKey]
    """The keys of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListMemoriesResponse(TypedDict):
    """A page of memories."""

    memories: list[Memory]
    """The memories of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListMemoryRevisionsResponse(TypedDict):
    """A page of revisions, newest first."""

    memoryRevisions: list[MemoryRevision]
    """The revisions of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListNamespacesResponse(TypedDict):
    """A page of namespaces."""

    namespaces: list[Namespace]
    """The namespaces of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListOperationsResponse(TypedDict):
    """A page of operations, newest first."""

    operations: list[Operation]
    """The operations of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListReasoningEnginesResponse(TypedDict):
    """A page of engines, newest first."""

    reasoningEngines: list[ReasoningEngine]
    """The engines of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListRevisionLabelsResponse(TypedDict):
    """A page of the labels in use, in the order of their bytes."""

    labels: list[RevisionLabel]
    """The labels of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListScopesResponse(TypedDict):
    """A page of scopes, in a stable order without a meaning."""

    scopes: list[ScopeInUse]
    """The scopes of the page."""
    nextPageToken: NotRequired[str | None]
    """`pageToken` of the next page; absent on the last one."""


class ListSessionsResponse(TypedDict):
    """A page of sessions."""

    sessions: list[Session]
    """The sessions of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListStreamsResponse(TypedDict):
    """A page of streams, latest arrival first."""

    streams: list[Stream]
    """The streams of the page."""
    nextPageToken: NotRequired[str | None]
    """`pageToken` of the next page; absent on the last one."""


class ListSummariesResponse(TypedDict):
    """A page of summaries, oldest first."""

    summaries: list[SessionSummary]
    """The summaries of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListTaskMemoriesResponse(TypedDict):
    """A page of task memories."""

    taskMemories: list[TaskMemory]
    """The task memories of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


class ListToolPoliciesResponse(TypedDict):
    """A page of policies."""

    toolPolicies: list[ToolPolicy]
    """The policies of this page."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page, for `pageToken`; absent on the last page."""


_LoadFilesRequestBase = TypedDict("_LoadFilesRequestBase", {"as": str | None})


class LoadFilesRequest(_LoadFilesRequestBase):
    """Files of the operator to store as artifacts."""

    localOnly: NotRequired[bool | None]
    """True: only models on this machine may read the content."""
    allowedModels: NotRequired[list[str] | None]
    """Models that may read the content; absent: all configured ones."""
    readers: NotRequired[list[Reader] | None]
    """Ways in which the content may be used; absent: all. Empty: none."""
    sensitive: NotRequired[bool | None]
    """True: derived content is sensitive as well, and never inline."""
    embeddingModel: NotRequired[str | None]
    """Id of the embedding model for its chunks and for questions; absent: searches
    compare words only."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""
    userId: NotRequired[str | None]
    """Owner; required from callers that are bound to users."""
    tool: NotRequired[str | None]
    """Tool that produced it: its policy applies, and a new namespace records it."""
    activity: NotRequired[str | None]
    """The tool's activity, such as `fetch`; recorded with the namespace."""
    source: str
    """Name of a configured source."""
    path: NotRequired[str | None]
    """A file below the source, or a folder, of which all files are loaded, at most 100;
    folders in it and hidden files are not. Absent: the source's own folder."""
    pattern: NotRequired[str | None]
    """With a folder: only files whose names match, such as `*.md`."""


class LoadFilesResponse(TypedDict):
    """The artifacts in which files are stored."""

    reference: Reference
    """Properties of the namespace that prompts may show."""
    promptText: str
    """Text for the prompt that represents the artifacts."""
    warnings: NotRequired[list[Warned] | None]
    """`no_reader`: neither the caller nor a configured reader can use the stored output.
    Absent: no warning."""
    artifacts: list[Artifact]
    """The artifacts, in the order of their names."""
    skippedCount: int
    """Number of entries of the folder that were left out: folders, links, devices,
    hidden files, and names that no artifact can have."""


class ManagedMemoryTopic(TypedDict):
    """A topic that the API defines."""

    managedTopicEnum: ManagedTopic
    """The topic."""


class Memory(TypedDict):
    """A memory."""

    name: str
    """Full name of the resource."""
    fact: NotRequired[str | None]
    """Statement that is remembered; absent where `structuredContent` is the content."""
    displayName: NotRequired[str | None]
    """Short name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memoryType: MemoryType
    """`NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one
    field of a profile. It never changes."""
    structuredContent: NotRequired[StructuredContent | None]
    """Content of a profile, by the schema that it names; absent where `fact` is the
    content."""
    context: NotRequired[str | None]
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""
    scope: dict[str, str]
    """Exact key of the collection that it belongs to. It never changes."""
    createTime: str
    """Time of its creation."""
    updateTime: str
    """Time of its last change."""
    eventTime: NotRequired[str | None]
    """Output only: the time at which the fact was said, or the time in its metadata;
    absent: it was not said in a conversation."""
    expireTime: NotRequired[str | None]
    """Time at which it is deleted; absent: never."""
    etag: str
    """Version of the memory, for conditional requests."""
    deleteTime: NotRequired[str | None]
    """The time of the deletion; absent of a live memory, as the next three."""
    recoverUntil: NotRequired[str | None]
    """The end of the time in which it can be recovered."""
    deleteOperation: NotRequired[str | None]
    """The operation that deleted it; absent if no revision was kept."""
    deleteCaller: NotRequired[str | None]
    """Caller that deleted it: the id of a key, `jwt:` and the subject of a token, or
    `command-line`; absent also where the service itself deleted it."""


class MemoryBankConfig(TypedDict):
    """The configuration of a bank; every part is optional.

    No part has defaults: the response contains only the fields that were sent.
    """

    generationConfig: NotRequired[GenerationConfig | None]
    """The model, and when it runs."""
    similaritySearchConfig: NotRequired[SimilaritySearchConfig | None]
    """Settings of searches."""
    ttlConfig: NotRequired[TtlConfig | None]
    """Life of memories and of revisions; absent: memories stay, revisions by the
    service's setting."""
    disableMemoryRevisions: NotRequired[bool | None]
    """True: no change makes a revision."""
    customizationConfigs: NotRequired[list[CustomizationConfig] | None]
    """Topics and examples by scope; at most one entry without `scopeKeys`."""
    structuredMemoryConfigs: NotRequired[list[StructuredMemoryConfig] | None]
    """Schemas of profiles by scope."""
    memoryPolicy: NotRequired[MemoryPolicy | None]
    """The context policy of sessions without a policy of their own."""
    timeZone: NotRequired[str | None]
    """Time zone of relative dates, if neither the request nor its events name one;
    absent: UTC."""
    privacyConfig: NotRequired[PrivacyConfig | None]
    """Treatment of secrets and personal data; kinds that it does not name follow the
    service's defaults. An update without it keeps it."""


class MemoryMetadataValue(TypedDict):
    """A value of the user's metadata: exactly one of four kinds."""

    stringValue: NotRequired[str | None]
    """A text."""
    doubleValue: NotRequired[float | None]
    """A finite number."""
    boolValue: NotRequired[bool | None]
    """True or false."""
    timestampValue: NotRequired[str | None]
    """A moment in UTC; comparisons ignore fractions of seconds."""


class MemoryPolicy(TypedDict):
    """A strategy and its settings; each belongs to the strategies that its description
    names."""

    strategy: Strategy
    """Strategy for fitting a session into a prompt."""
    tokenLimit: NotRequired[int | None]
    """Tokens of the model's window; absent: no limit."""
    reserveOutputTokens: NotRequired[int | None]
    """Tokens of the window left for the answer; 0, and 800 for `agent_summary`."""
    counter: NotRequired[str | None]
    """Token counter: `chars4` (the default), `declared`, or the name of a tiktoken
    encoding with an installed file."""
    perMessageOverhead: NotRequired[int | None]
    """Tokens of each message, without its text."""
    humanLabel: NotRequired[str | None]
    """Label before a user's text; default `Human`."""
    aiLabel: NotRequired[str | None]
    """Label before the agent's text; default `AI`."""
    onOverflow: NotRequired[Overflow | None]
    """`inclusive`: behaviour where not all events fit: `error` (the default), or `omit`
    the oldest."""
    window: NotRequired[int | None]
    """`window`: number of complete exchanges; one under way is shown besides."""
    windowTokens: NotRequired[int | None]
    """`window`: maximum tokens of events."""
    every: NotRequired[int | None]
    """`every_n`: number of complete exchanges that a summary replaces; default 3."""
    refresh: NotRequired[Refresh | None]
    """`every_n`: `append` another summary (the default), or make one summary of the
    `whole` session."""
    cap: NotRequired[int | None]
    """`abstraction_inclusive`, `fully_abstracted`: number of complete exchanges that a
    summary takes up; default 10."""
    keepRecent: NotRequired[int | None]
    """Strategies by exchange: number of the newest exchanges that stay as they are;
    default 0."""
    maxAbstractions: NotRequired[int | None]
    """Strategies that append: maximum number of summaries; older ones are merged."""
    summaryTokens: NotRequired[int | None]
    """Strategies by exchange: maximum tokens of a summary; default 250."""
    charsPerToken: NotRequired[int | None]
    """Summaries: characters for each token of the limit; default 4."""
    joiner: NotRequired[str | None]
    """Separator of summaries; default: a newline."""
    framing: NotRequired[bool | None]
    """False: summaries without the marks that declare them to be data, each as it was
    written; default true: one pair of marks around all of them."""
    carryOver: NotRequired[CarryOver | None]
    """Content of the user's former sessions that stands first, within the marks of
    summaries: `LAST`: the last summary of the newest one, or its newest messages if
    it has none; `ALL`: the newest messages of all; `ABSTRACTION`: the most important
    sentences of the summaries of all, and of messages where there are none. Absent:
    none."""
    carryOverTokens: NotRequired[int | None]
    """`carryOver`: maximum tokens of that content; default 500."""
    summaryRole: NotRequired[SummaryRole | None]
    """Summaries: role of their message, `user` (the default) or `system`; marked as data
    in both."""
    ltsRole: NotRequired[FormerSummaryRole | None]
    """Former name of `summaryRole`, read only where that is absent; `assistant` means
    `user`."""
    summaryModel: NotRequired[str | None]
    """Summariser: a model of the settings, or `builtin`; absent: the settings' own
    model, and without one `builtin`."""
    systemInstruction: NotRequired[bool | None]
    """Summaries: false for a summariser that takes no system instruction, such as BART:
    its instructions come first in the user's text; default true."""
    template: NotRequired[str | None]
    """Prompt of the summariser: it has `{chat_transcript}`, and may have `{char_limit}`
    and `{previous_summary}`, each once."""
    recursiveTemplate: NotRequired[str | None]
    """`agent_summary`: prompt of the summariser where it takes up the previous summary."""
    split: NotRequired[Split | None]
    """`agent_summary`: division of the budget between events and their summary; default
    3 to 1."""
    lowWater: NotRequired[float | None]
    """`agent_summary`: part of the events' share that stays once it is full; default
    1.0. With less, summaries are made more seldom."""
    countPending: NotRequired[bool | None]
    """`agent_summary`: true (the default): the pending message is counted."""
    recompute: NotRequired[Recompute | None]
    """`agent_summary`: source of the next summary: all events until they are too many
    for the model (the default), or always the previous summary and later events."""


class MemoryProfile(TypedDict):
    """A profile. Clients refuse any other field here. Source: wire specification,
    section 2.3."""

    schemaId: str
    """Id of the schema in the engine's `structuredMemoryConfigs`."""
    profile: dict[str, Any]
    """Values of the fields, by name."""


class MemoryRevision(TypedDict):
    """A snapshot of a memory after one change.

    It only changes if a scan masks sensitive values, or an erasure the name of its caller. The
    API's definition has `name`, `createTime`, `expireTime`, `fact`, `labels`,
    `extractedMemories`, `structuredData` and `context`; the other fields are this service's
    own.
    """

    name: str
    """Full name of the resource."""
    fact: NotRequired[str | None]
    """Statement after the change; empty in the revision of a deletion; absent where
    there was none."""
    displayName: NotRequired[str | None]
    """Short name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memoryType: MemoryType
    """`NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one
    field of a profile. It never changes."""
    structuredContent: NotRequired[StructuredContent | None]
    """Content of a profile, by the schema that it names; absent where `fact` is the
    content."""
    context: NotRequired[str | None]
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""
    scope: dict[str, str]
    """The scope of the memory, which never changes."""
    createTime: str
    """Time of the change."""
    expireTime: str
    """Time at which the revision is deleted."""
    labels: NotRequired[dict[str, str] | None]
    """Labels that the change was given."""
    extractedMemories: NotRequired[list[ExtractedMemory] | None]
    """Extracted memories from which generation made this change; absent: another method
    made it."""
    structuredData: NotRequired[dict[str, Any] | None]
    """Values of the profile's fields after the change; absent: the memory is no profile."""
    action: str
    """The kind of the change: `CREATED`, `UPDATED`, `DELETED`, `ROLLED_BACK`,
    `UNDELETED`, `REDACTED`."""
    memoryExpireTime: NotRequired[str | None]
    """Time at which the memory was to be deleted, as of this change; absent: never."""
    author: NotRequired[str | None]
    """The engine or model that wrote the fact."""
    promptVersion: NotRequired[str | None]
    """Version of the prompts that the model was given."""
    operation: NotRequired[str | None]
    """The operation that made the change."""
    caller: NotRequired[str | None]
    """Caller that requested the change: id of the API key; `jwt:` and the subject, of a
    token; `command-line`; absent: the service itself, or a revision of an earlier
    release."""
    restoredRevision: NotRequired[str | None]
    """The revision that a rollback restored."""
    redactTime: NotRequired[str | None]
    """Time at which a scan masked sensitive values in this revision; absent: none did."""


class MemoryToolSpecs(TypedDict):
    """Declarations of the tools, in the formats of model APIs, or only in the requested
    format."""

    openai: NotRequired[list[dict[str, Any]] | None]
    """Declarations for `tools` in a request to OpenAI's chat completions."""
    gemini: NotRequired[list[dict[str, Any]] | None]
    """Declarations for `functionDeclarations` of Gemini."""
    anthropic: NotRequired[list[dict[str, Any]] | None]
    """Declarations for `tools` in a request to Anthropic."""


class MemoryTopic(TypedDict):
    """A topic that memories may be about."""

    customMemoryTopic: NotRequired[CustomMemoryTopic | None]
    """A topic of the bank's own."""
    managedMemoryTopic: NotRequired[ManagedMemoryTopic | None]
    """A topic that the API defines."""


class MemoryTopicId(TypedDict):
    """The name of a topic: one of a custom label and a managed topic."""

    customMemoryTopicLabel: NotRequired[str | None]
    """Label of a topic of the bank's own."""
    managedMemoryTopic: NotRequired[ManagedTopic | None]
    """A topic that the API defines."""


class MessageTokens(TypedDict):
    """A message in two halves."""

    user: int
    """Tokens of the prompt."""
    assistant: int
    """Tokens of its answer."""


class MetadataCondition(TypedDict):
    """A condition on one key of the metadata."""

    key: str
    """Name of the value in the memory's metadata."""
    op: NotRequired[MetadataOperator]
    """`EQUAL` (also when absent), `GREATER_THAN` or `LESS_THAN`."""
    value: MemoryMetadataValue
    """Value to compare with; only stored values of its kind match."""
    negate: NotRequired[bool | None]
    """True: the condition is negated; memories without the key then match."""


class ModelPrices(TypedDict):
    """Prices of a thousand tokens of one model."""

    inputPer1k: str
    """Price of a thousand tokens of input."""
    outputPer1k: str
    """Price of a thousand tokens of output."""


class ModelSums(TypedDict):
    """Usage of one model."""

    callCount: int
    """Requests to models, including failed ones."""
    inputTokenCount: int
    """Tokens sent to models."""
    outputTokenCount: int
    """Tokens that models wrote."""
    modelMilliseconds: int
    """Time that the calls took together, in milliseconds."""
    cost: NotRequired[Money | None]
    """Absent unless every call's model had a configured price at the time."""
    knownCost: NotRequired[Money | None]
    """Cost of the calls whose model had a price; absent: no such cost is known."""
    unpricedCallCount: NotRequired[int | None]
    """Calls whose model had no price, which `knownCost` lacks; absent: unknown for calls
    that an earlier release recorded."""
    model: str
    """Id of the model: its provider and its name."""


class ModelUsage(TypedDict):
    """Usage of model calls, by the fields in `groupBy`: usually of one model on one day."""

    callCount: int
    """Requests to models, including failed ones."""
    inputTokenCount: int
    """Tokens sent to models."""
    outputTokenCount: int
    """Tokens that models wrote."""
    modelMilliseconds: int
    """Time that the calls took together, in milliseconds."""
    cost: NotRequired[Money | None]
    """Absent unless every call's model had a configured price at the time."""
    knownCost: NotRequired[Money | None]
    """Cost of the calls whose model had a price; absent: no such cost is known."""
    unpricedCallCount: NotRequired[int | None]
    """Calls whose model had no price, which `knownCost` lacks; absent: unknown for calls
    that an earlier release recorded."""
    day: NotRequired[str | None]
    """Day, of UTC; absent: all."""
    model: NotRequired[str | None]
    """Id of the model; absent: all."""
    kind: NotRequired[str | None]
    """Kind of the operation that called, `recall`, `query` (of task memory), or
    `unknown`: recorded by an earlier release; absent: all."""


class Money(TypedDict):
    """An amount of money, rounded to nine decimal places."""

    amount: float
    """Sum in the currency."""
    currency: str
    """Currency of the configured prices, as a code of three letters."""


class NamedMemory(TypedDict):
    """A memory by its name."""

    name: str
    """Full name of the memory."""


class Namespace(TypedDict):
    """A group of artifacts in a task memory."""

    name: str
    """Full name of the namespace."""
    reference: Reference
    """Properties of the namespace that prompts may show."""
    userId: NotRequired[str | None]
    """Owner; absent: none."""
    tool: NotRequired[str | None]
    """Tool that produced its content, if known."""
    activity: NotRequired[str | None]
    """Name of the tool's activity, such as `fetch`, if known."""
    sensitive: bool
    """True: derived content is sensitive as well, and never inline."""
    localOnly: bool
    """True: only models on this machine may read it."""
    allowedModels: NotRequired[list[str] | None]
    """Models that may read it; absent: all configured ones."""
    readers: NotRequired[list[Reader] | None]
    """Ways in which it may be used; absent: all."""
    embeddingModel: NotRequired[str | None]
    """Id of the model that embeds its chunks and questions; absent: searches compare
    words only."""
    createTime: str
    """Time of its creation."""
    updateTime: str
    """Time of its last change."""
    expireTime: str
    """Time at which it is deleted with its artifacts."""
    etag: str
    """Version of the namespace, for conditional requests."""


class NewMemory(TypedDict):
    """A memory of a batch."""

    memory: CreateMemoryRequest
    """The memory."""
    memoryId: NotRequired[str | None]
    """Id of the new memory; absent: a new one."""


class Operation(TypedDict):
    """A long-running operation. When done, it has either `response` or `error`."""

    name: str
    """Full name of the operation."""
    metadata: OperationMetadata
    """Report of the work, with fields of its method. Every operation has
    `genericMetadata` (its times); `kind`; `state` (`PENDING`, `RUNNING`, `SUCCEEDED`,
    `FAILED` or `CANCELLED`); `attemptCount`, the runs since the last progress (0: it
    ran within its request, or has not run); `startTime` of its first run, if it ran
    outside its request; `caller`, the id of the key that requested it, `jwt:` with
    the subject of a token, or `command-line` (absent: the service itself); `scope`,
    the pairs that all its scopes have (absent: there are none). `source` is the
    origin of the memories that it writes: `session` and `events` (`first`, `last`),
    `stream`, `directEvents` or `directMemories`."""
    done: NotRequired[bool]
    """False: it waits or runs; poll again later."""
    response: NotRequired[
        BatchCreateMemoriesResponse
        | BatchRetryOperationsResponse
        | AnsweredEmpty
        | EraseScopeResponse
        | GenerateMemoriesResponse
        | AnsweredImport
        | IngestEventsResponse
        | AnsweredMemory
        | PurgeMemoriesResponse
        | AnsweredEngine
        | ReembedReasoningEngineResponse
        | RegenerateSummaryResponse
        | RollbackMemoryResponse
        | ScanPrivacyResponse
        | AnsweredSession
        | SummarizeSessionResponse
        | UndoOperationResponse
    ]
    """Result of the work, by its `@type`; absent until it is done, or if it failed."""
    error: NotRequired[OperationError]
    """Error of the work; absent: it has not failed."""


class OperationError(TypedDict):
    """The reason that an operation failed: a google.rpc.Status."""

    code: int
    """Number of the canonical code, 1 to 16."""
    message: str
    """Explanation for people."""
    details: NotRequired[list[dict[str, Any]] | None]
    """ErrorInfo first, then further details, each by its `@type`."""


_OperationMetadataBase = TypedDict("_OperationMetadataBase", {"@type": str})


class OperationMetadata(_OperationMetadataBase):
    """The account of an operation's work. Each method adds fields of its own."""

    genericMetadata: OperationTimes
    """Times of the operation."""
    validateOnly: NotRequired[bool | None]
    """True: it is a preview and writes nothing."""
    source: NotRequired[OperationSource | None]
    """Origin of the memories that it writes; absent: it writes none, their origin is a
    session of another engine, or a former release did the work."""
    scope: NotRequired[dict[str, str] | None]
    """The pairs that all its scopes have; absent: they have none in common."""
    author: NotRequired[str | None]
    """Id of the model that wrote, or `engine`."""
    promptVersion: NotRequired[str | None]
    """Version of the prompts that the model was given."""
    modelCallCount: NotRequired[int | None]
    """Requests to models, from 0."""
    inputTokenCount: NotRequired[int | None]
    """Tokens sent to models."""
    outputTokenCount: NotRequired[int | None]
    """Tokens that models wrote."""
    modelMilliseconds: NotRequired[int | None]
    """Time of the requests together, in milliseconds."""
    createdCount: NotRequired[int | None]
    """Memories that it created; absent: none."""
    updatedCount: NotRequired[int | None]
    """Memories that it updated; absent: none."""
    deletedCount: NotRequired[int | None]
    """Memories that it deleted or erased; absent: none."""
    pendingEventCount: NotRequired[int | None]
    """Ingested events that wait in the stream."""
    undoneOperation: NotRequired[str | None]
    """Full name of the operation that is undone."""
    undoneBy: NotRequired[str | None]
    """Full name of the newest operation that was to undo it, which may have failed;
    absent: there is none."""
    retriedOperation: NotRequired[str | None]
    """Full name of the failed operation that is run again."""


class OperationSource(TypedDict):
    """The origin of the memories that an operation writes."""

    session: NotRequired[str | None]
    """Full name of the session; removed when the session is deleted or expires."""
    events: NotRequired[OperationSourceEvents | None]
    """Events of the session that were read; absent: none yet."""
    stream: NotRequired[str | None]
    """Id of the stream of ingested events."""
    directEvents: NotRequired[int | None]
    """Number of events in the request."""
    directMemories: NotRequired[int | None]
    """Number of memories in the request."""


class OperationSourceEvents(TypedDict):
    """The first and the last event that a generation read, by time."""

    first: str
    """Full name of the first event."""
    last: str
    """Full name of the last event."""


class OperationTimes(TypedDict):
    """The times of an operation."""

    createTime: str
    """Time of the request for it."""
    updateTime: str
    """Time of its last change."""


class OperationsUsage(TypedDict):
    """The consumption of operations together."""

    callCount: int
    """Requests to models, including failed ones."""
    inputTokenCount: int
    """Tokens sent to models."""
    outputTokenCount: int
    """Tokens that models wrote."""
    modelMilliseconds: int
    """Time that the calls took together, in milliseconds."""
    cost: NotRequired[Money | None]
    """Absent unless every call's model had a configured price at the time."""
    knownCost: NotRequired[Money | None]
    """Cost of the calls whose model had a price; absent: no such cost is known."""
    unpricedCallCount: int
    """Calls that `knownCost` lacks: of operations without a known cost, or with one in
    another currency than the configured prices have."""
    operationCount: int
    """Operations that were summed up."""
    firstTime: NotRequired[str | None]
    """Creation time of the first of them; earlier ones are no longer kept. Absent: there
    are none."""


class Output(TypedDict):
    """Output of a tool: its kind, and the one field for content of that kind."""

    kind: Literal["text", "json", "blob", "list", "info", "error"]
    """Kind of the output; `info` and `error` are messages from the tool to the agent."""
    text: NotRequired[str | None]
    """Content of `text`, `info` and `error`."""
    json: NotRequired[JsonValue]
    """Content of `json`: any value."""
    data: NotRequired[str | None]
    """Content of `blob`."""
    elements: NotRequired[list[Output] | None]
    """Content of `list`; lists cannot be nested."""
    mediaType: NotRequired[str | None]
    """Media type of `text` (default `text/plain`) or `blob` (default
    `application/octet-stream`)."""
    name: NotRequired[str | None]
    """Name of the artifact, if it is stored; absent: the service makes one."""


class Part(TypedDict):
    """One part. Unknown kinds of part are kept, since models gain new ones."""

    text: NotRequired[str | None]
    """Text of the part."""
    thought: NotRequired[bool | None]
    """True: the text is the model's thinking, which contexts leave out."""
    inlineData: NotRequired[Blob | None]
    """A file within the request."""
    fileData: NotRequired[FileData | None]
    """A file stored elsewhere."""
    functionCall: NotRequired[dict[str, Any] | None]
    """Call of a tool: `name`, `args` and an optional `id`."""
    functionResponse: NotRequired[dict[str, Any] | None]
    """Answer of a tool: `name`, `response` and an optional `id`."""
    artifactRef: NotRequired[ArtifactRef | None]
    """Reference to content in task memory; the part has no other field."""


class Passed(TypedDict):
    """A message from the tool to the agent."""

    kind: Kind
    """`info` or `error`."""
    index: NotRequired[int | None]
    """Position in the list, from 0."""
    text: str
    """The message, unchanged."""


class PlainPrices(TypedDict):
    """Prices of a thousand tokens, the same for every model."""

    inputPer1k: NotRequired[str | None]
    """Price of prompts; absent: 0.002."""
    outputPer1k: NotRequired[str | None]
    """Price of answers; absent: the same as `inputPer1k`."""
    summaryInputPer1k: NotRequired[str | None]
    """Price of a summariser's input; absent: as `inputPer1k`."""
    summaryOutputPer1k: NotRequired[str | None]
    """Price of a summariser's output; absent: as `outputPer1k`."""


class PlannedContent(TypedDict):
    """The content of a memory before or after a planned change."""

    fact: NotRequired[str | None]
    """Statement that is remembered."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about."""
    structuredContent: NotRequired[StructuredContent | None]
    """One field of a profile, in place of a fact."""


class PlannedMemoryChange(TypedDict):
    """A change that a generation would make."""

    action: str
    """`CREATED`, `UPDATED` or `DELETED`."""
    reason: str
    """Reason for the change."""
    memory: NotRequired[NamedMemory | None]
    """The memory; absent: a new one."""
    etag: NotRequired[str | None]
    """Version of the memory that was planned for."""
    before: NotRequired[PlannedContent | None]
    """Its content in that version; absent if that is no longer known."""
    after: NotRequired[PlannedContent | None]
    """Its content after the change; absent: it would be deleted."""
    extractedMemories: NotRequired[list[dict[str, Any]] | None]
    """Extracted memories from which the change would be made."""


class PlannedRollback(TypedDict):
    """The change that a rollback would make."""

    action: Literal["ROLLED_BACK"]
    """Always `ROLLED_BACK`."""
    memory: NamedMemory
    """The memory."""
    etag: str
    """Its version that was planned for, for `If-Match`."""
    restoredRevision: str
    """Full name of the revision that is restored."""
    before: NotRequired[RestoredContent | None]
    """Its content in that version; absent: it is deleted, or the version is no longer
    kept."""
    after: NotRequired[RestoredContent | None]
    """Its content after the rollback; absent: the revision no longer exists."""


class PrivacyConfig(TypedDict):
    """Rules about sensitive values. A rule with `where` wins over one without."""

    rules: NotRequired[list[PrivacyRule] | None]
    """One rule for each kind and place at most."""
    customPatterns: NotRequired[list[CustomPattern] | None]
    """Further kinds of sensitive values."""


class PrivacyRule(TypedDict):
    """The treatment of one kind of value."""

    kind: str
    """A kind, or the name of a custom pattern."""
    action: PrivacyAction
    """`OFF`: it is stored as sent. `MASK`: its kind in brackets is stored in its place.
    `REJECT`: the request is refused."""
    where: NotRequired[list[Place] | None]
    """Places that the rule is for; absent: everywhere."""


_ProcessOutputRequestBase = TypedDict("_ProcessOutputRequestBase", {"as": str | None})


class ProcessOutputRequest(_ProcessOutputRequestBase):
    """A tool's output; the service decides which part the prompt shows."""

    localOnly: NotRequired[bool | None]
    """True: only models on this machine may read the content."""
    allowedModels: NotRequired[list[str] | None]
    """Models that may read the content; absent: all configured ones."""
    readers: NotRequired[list[Reader] | None]
    """Ways in which the content may be used; absent: all. Empty: none."""
    sensitive: NotRequired[bool | None]
    """True: derived content is sensitive as well, and never inline."""
    embeddingModel: NotRequired[str | None]
    """Id of the embedding model for its chunks and for questions; absent: searches
    compare words only."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""
    userId: NotRequired[str | None]
    """Owner; required from callers that are bound to users."""
    tool: str
    """Tool that made the output; its policy applies."""
    activity: str
    """Name of the tool's activity, such as `fetch`."""
    callId: NotRequired[str | None]
    """Id of the call; not stored."""
    namespace: NotRequired[str | None]
    """Namespace to store in; absent: a new one."""
    offPrompt: NotRequired[bool | Literal["auto"] | None]
    """Rule for storing the output: false, true or `auto`; absent: from the tool's
    policy, or false without one."""
    output: Output
    """The tool's output."""


class ProcessOutputResponse(TypedDict):
    """Text for the prompt, and a reference if the output was stored."""

    disposition: Disposition
    """`inline`: the prompt shows the output; `stored`: its reference; `passthrough`:
    only messages of the tool; `empty`: nothing."""
    promptText: str
    """Text for the prompt, unchanged."""
    reference: NotRequired[Reference | None]
    """Reference to the stored output."""
    passthrough: NotRequired[list[Passed] | None]
    """Info and errors in addition to the stored output."""
    warnings: NotRequired[list[Warned] | None]
    """`no_reader`: neither the caller nor a configured reader can use the stored output.
    Absent: no warning."""


class PurgeMemoriesRequest(TypedDict):
    """The memories to delete, by `filter`, `filterGroups` or both.

    Without `force` they are only counted.
    """

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that this request makes."""
    revisionExpireTime: NotRequired[str | None]
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revisionTtl: NotRequired[str | None]
    """Life of those revisions, from now; above zero seconds."""
    filter: NotRequired[str | None]
    """An AIP-160 filter."""
    filterGroups: NotRequired[list[FilterGroup] | None]
    """Groups of conditions on metadata; a memory must match at least one group."""
    force: NotRequired[bool | None]
    """True: delete the memories; otherwise only count them."""
    permanent: NotRequired[bool | None]
    """True, with `force`: erase memories and history at once, without recovery."""
    sampleSize: NotRequired[int | None]
    """Without `force`: matching memories to show, the newest; 0 to 100."""


_PurgeMemoriesResponseBase = TypedDict(
    "_PurgeMemoriesResponseBase",
    {"@type": Literal["type.googleapis.com/google.cloud.aiplatform.v1beta1.PurgeMemoriesResponse"]},
)


class PurgeMemoriesResponse(_PurgeMemoriesResponseBase):
    """The effect of a purge."""

    purgeCount: int
    """Number of memories deleted; without `force`, that would be deleted."""
    samples: NotRequired[list[KnownMemory] | None]
    """Some of these memories, newest first; only names in a list of operations; absent
    without `sampleSize`."""


_QueryNamespaceRequestBase = TypedDict("_QueryNamespaceRequestBase", {"as": str | None})


class QueryNamespaceRequest(_QueryNamespaceRequestBase):
    """A question about the content of a namespace."""

    model: NotRequired[str | None]
    """A configured model, or `builtin`, which needs none; absent: the first that may
    read the namespace (the first local one if it is sensitive; one that takes images
    if it has no text), or `builtin` without any."""
    offPrompt: NotRequired[bool]
    """True: store the result and return only its reference."""
    wait: NotRequired[bool]
    """True: wait for texts that are being indexed; otherwise they are NOT_READY."""
    artifacts: NotRequired[list[str] | None]
    """The only artifacts to read; absent: all that the model can read."""
    query: str
    """Question to answer; not blank."""
    topK: NotRequired[int]
    """Maximum number of passages for the reader."""
    answerTokens: NotRequired[int]
    """Maximum length of the answer, in tokens."""


class QueryNamespaceResponse(TypedDict):
    """An answer and its citations."""

    model: str
    """Id of the model that was called; `builtin:extractive`: none was."""
    coverage: ReadingCoverage
    """Part of the namespace that was read."""
    usage: ReaderUsage
    """Model calls made for this request."""
    reference: NotRequired[Reference | None]
    """Reference to the result, if it is kept off the prompt."""
    promptText: NotRequired[str | None]
    """Text for the prompt that names the result, if it is kept off the prompt."""
    reused: NotRequired[bool | None]
    """True if this is the result of an equal request. After an earlier one, this request
    is free; after a concurrent one, `usage` shows the cost of this request."""
    answer: NotRequired[str | None]
    """The answer; absent if the prompt must not show it."""
    citations: list[Citation]
    """Passages as evidence of the answer, at most 100, in text order; empty for a
    sensitive namespace without `artifacts.content`."""


class QuotaUse(TypedDict):
    """An engine's use of one quota."""

    used: int
    """Stored amount, in rows or bytes."""
    limit: NotRequired[int | None]
    """Largest amount, in rows or bytes; absent: no bound."""


class ReaderUsage(TypedDict):
    """Usage of the model calls."""

    calls: NotRequired[int | None]
    """Number of model calls, from 0; absent for a sensitive namespace without
    `artifacts.content`."""
    inputTokenCount: NotRequired[int | None]
    """Tokens sent to models; absent like `calls`."""
    outputTokenCount: NotRequired[int | None]
    """Tokens that models wrote; absent like `calls`."""


class ReadingCoverage(TypedDict):
    """Coverage of a namespace by the read chunks."""

    chunksTotal: NotRequired[int | None]
    """Number of chunks in the namespace; absent for a sensitive namespace without
    `artifacts.content`."""
    chunksUsed: NotRequired[int | None]
    """Number of chunks that were read; absent like `chunksTotal`."""
    truncated: NotRequired[bool | None]
    """True if wanted chunks did not fit; absent like `chunksTotal`."""
    artifactsTotal: int
    """Number of artifacts in the namespace, from 0."""
    artifactsUnreadable: int
    """Number of artifacts without text, except for images that were read."""
    unreadable: NotRequired[list[UnreadableArtifact] | None]
    """Up to 20 of these artifacts, beginning with failed indexing, then images; absent
    if there are none, and like `chunksTotal`."""


class ReasoningEngine(TypedDict):
    """An engine: the parent of memories, with the configuration of its memory bank."""

    name: str
    """Full name of the engine."""
    displayName: NotRequired[str | None]
    """Name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    labels: NotRequired[dict[str, str] | None]
    """The caller's own labels; absent: none."""
    createTime: str
    """Time of its creation."""
    updateTime: str
    """Time of its last change."""
    etag: str
    """Version of the engine, for conditional requests."""
    contextSpec: NotRequired[ContextSpec | None]
    """Configuration of its memory bank; absent: none was sent."""
    encryptionSpec: NotRequired[EncryptionSpec | None]
    """Settings from an earlier release or an archive; they have no effect."""


class ReasoningEngineRequest(TypedDict):
    """An engine as sent by clients. Output-only fields are ignored."""

    displayName: NotRequired[str | None]
    """Name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    labels: NotRequired[dict[str, str] | None]
    """The caller's own labels."""
    contextSpec: NotRequired[ContextSpec | None]
    """Configuration of its memory bank."""
    encryptionSpec: NotRequired[None]
    """Not served: this service encrypts no columns. Encrypt the disk or the database."""
    spec: NotRequired[None]
    """Not served: no agents run here."""
    trafficConfig: NotRequired[None]
    """Not served: no agents run here."""
    etag: NotRequired[str | None]
    """On update: the etag that was read."""


class RecallMemoriesRequest(TypedDict):
    """Parameters of a search in the memories of a scope."""

    query: str
    """Question or words: compared with facts by meaning, with events by words."""
    mode: NotRequired[RecallMode]
    """`extractive`: passages, word for word. `summary`: a text made from them by one
    model call; without a model, the passages themselves."""
    topK: NotRequired[int]
    """Maximum number of facts, and also of passages; a model gets four times as many,
    but at most 100 facts."""
    maxTokens: NotRequired[int]
    """Maximum tokens of all facts and passages, or of the text. If there are both, each
    may take half, and the unused part of the other half."""
    model: NotRequired[str | None]
    """Writer of the text: a configured model, or `builtin`; absent: the default model,
    or `builtin` without one."""
    counter: NotRequired[str | None]
    """Token counter; absent: `chars4`."""
    scope: dict[str, str]
    """Exact key of the collection."""
    filter: NotRequired[str | None]
    """An AIP-160 filter of memories."""
    filterGroups: NotRequired[list[FilterGroup] | None]
    """Groups of conditions on metadata; a memory must match at least one group."""
    includeSessions: NotRequired[bool]
    """True: also search the sessions of the scope's `user_id`, as many as one call of
    `sessions/-:recall` reaches."""


class RecallMemoriesResponse(TypedDict):
    """Facts and passages, or a text made from them; empty if nothing matches the query."""

    mode: RecallMode
    """`extractive` or `summary`, as requested."""
    text: NotRequired[str | None]
    """`summary`: empty if nothing matches."""
    isCut: NotRequired[bool | None]
    """`summary`: whether the end of the text is missing."""
    model: NotRequired[str | None]
    """`summary`: writer of the text; absent if nothing was found."""
    usage: NotRequired[dict[str, Any] | None]
    """Usage of the model, as in operation metadata."""
    tokens: int
    """Tokens of all that is listed, or of the text."""
    counter: str
    """Token counter that `tokens` is counted by."""
    facts: list[RecalledFact]
    """`extractive`: best first; empty in `summary`."""
    spans: list[RecalledSessionSpan]
    """`extractive` with `includeSessions`: passages of sessions, best first."""
    sources: NotRequired[list[str] | None]
    """`summary`: names of its source memories and events."""
    searched: NotRequired[SearchedSessions | None]
    """With `includeSessions`: extent of the search in the sessions."""


class RecallRequest(TypedDict):
    """Parameters of a search in a session."""

    query: str
    """Text to search for, by its words and not by its meaning."""
    mode: NotRequired[RecallMode]
    """`extractive`: passages, word for word. `summary`: a text made from them by one
    model call; without a model, the passages themselves."""
    topK: NotRequired[int]
    """Maximum number of passages; a model gets four times as many."""
    maxTokens: NotRequired[int]
    """Maximum tokens of all passages, or of the text."""
    model: NotRequired[str | None]
    """Writer of the text: a configured model, or `builtin`; absent: the default model,
    or `builtin` without one."""
    counter: NotRequired[str | None]
    """Token counter; absent: `chars4`."""
    excludeRecent: NotRequired[int]
    """Number of newest events to skip; erased ones count as well."""


class RecallResponse(TypedDict):
    """Passages or a text that match the query; empty without a match."""

    mode: RecallMode
    """`extractive` or `summary`, as requested."""
    text: NotRequired[str | None]
    """`summary`: empty if nothing matches."""
    isCut: NotRequired[bool | None]
    """`summary`: whether the end of the text is missing."""
    model: NotRequired[str | None]
    """`summary`: writer of the text; absent if nothing was found."""
    usage: NotRequired[dict[str, Any] | None]
    """Usage of the model, as in operation metadata."""
    tokens: int
    """Tokens of all that is listed, or of the text."""
    counter: str
    """Token counter that `tokens` is counted by."""
    spans: list[RecalledSpan]
    """`extractive`: best first; empty in `summary`."""
    seqs: NotRequired[list[int] | None]
    """`summary`: its source events."""
    searched: NotRequired[SeqRange | None]
    """Events that were searched: only the newest if there are too many or the search
    takes too long. Very long events are searched only at their beginning."""


class RecallSessionsRequest(TypedDict):
    """Parameters of a search in all sessions of a user."""

    query: str
    """Text to search for, by its words and not by its meaning."""
    mode: NotRequired[RecallMode]
    """`extractive`: passages, word for word. `summary`: a text made from them by one
    model call; without a model, the passages themselves."""
    topK: NotRequired[int]
    """Maximum number of passages; a model gets four times as many."""
    maxTokens: NotRequired[int]
    """Maximum tokens of all passages, or of the text."""
    model: NotRequired[str | None]
    """Writer of the text: a configured model, or `builtin`; absent: the default model,
    or `builtin` without one."""
    counter: NotRequired[str | None]
    """Token counter; absent: `chars4`."""
    userId: NotRequired[str | None]
    """User to search; may be absent if the key is restricted to one user."""
    filter: NotRequired[str | None]
    """An AIP-160 filter of sessions, with the fields of their list."""
    excludeSessions: NotRequired[list[str]]
    """Ids of sessions to skip, such as the current session."""
    startTime: NotRequired[str | None]
    """Time of the first event to search; absent: no limit."""
    endTime: NotRequired[str | None]
    """Time of the first event not to search any more; absent: no limit."""
    pageToken: NotRequired[str | None]
    """`nextPageToken` of the response to the same request, to search the remaining
    sessions; empty or absent: begin with the newest session."""


class RecallSessionsResponse(TypedDict):
    """Passages or a text from the sessions of a user; empty if nothing matches the
    query."""

    mode: RecallMode
    """`extractive` or `summary`, as requested."""
    text: NotRequired[str | None]
    """`summary`: empty if nothing matches."""
    isCut: NotRequired[bool | None]
    """`summary`: whether the end of the text is missing."""
    model: NotRequired[str | None]
    """`summary`: writer of the text; absent if nothing was found."""
    usage: NotRequired[dict[str, Any] | None]
    """Usage of the model, as in operation metadata."""
    tokens: int
    """Tokens of all that is listed, or of the text."""
    counter: str
    """Token counter that `tokens` is counted by."""
    spans: list[RecalledSessionSpan]
    """`extractive`: best first; empty in `summary`. The `score`s of two pages cannot be
    compared."""
    events: NotRequired[list[str] | None]
    """`summary`: names of its source events."""
    searched: SearchedSessions
    """Extent of the search."""
    nextPageToken: NotRequired[str | None]
    """`pageToken` for the remaining sessions; absent: all were searched."""


class RecalledFact(TypedDict):
    """A memory that matches the query."""

    memory: str
    """Name of the memory."""
    fact: str
    """Statement that is remembered; never cut."""
    distance: NotRequired[float | None]
    """Distance from the query, as in a retrieval; not comparable with the `score` of
    passages."""
    changed: str
    """Time of the memory's last change."""
    tokens: int
    """Tokens of the fact, by the response's `counter`."""


class RecalledSessionSpan(TypedDict):
    """A passage of an event in one of several sessions, word for word."""

    event: str
    """Name of the event."""
    seq: int
    """Number of the event in the session, from 1."""
    speaker: str
    """`user`, `agent`, `tool` or `system`."""
    startOffset: int
    """Start in the event's text as contexts show it, in characters (code points)."""
    endOffset: int
    """The first character after the passage, counted like `startOffset`."""
    text: str
    """The passage."""
    tokens: int
    """Tokens of the passage, by the response's `counter`."""
    score: float
    """Weight of its words; comparable only within one response."""
    session: str
    """Name of the session."""
    eventTime: str
    """Time of the event."""


class RecalledSpan(TypedDict):
    """A passage of an event, word for word."""

    event: str
    """Name of the event."""
    seq: int
    """Number of the event in the session, from 1."""
    speaker: str
    """`user`, `agent`, `tool` or `system`."""
    startOffset: int
    """Start in the event's text as contexts show it, in characters (code points)."""
    endOffset: int
    """The first character after the passage, counted like `startOffset`."""
    text: str
    """The passage."""
    tokens: int
    """Tokens of the passage, by the response's `counter`."""
    score: float
    """Weight of its words; comparable only within one response."""


_ReembedReasoningEngineResponseBase = TypedDict(
    "_ReembedReasoningEngineResponseBase",
    {
        "@type": Literal[
            "type.googleapis.com/google.cloud.aiplatform.v1beta1.ReembedReasoningEngineResponse"
        ]
    },
)


class ReembedReasoningEngineResponse(_ReembedReasoningEngineResponseBase):
    """The end of a re-embedding."""

    embeddingModel: str
    """Id of the model that serves from now on."""
    refusedCount: NotRequired[int | None]
    """Number of memories without a vector by it; absent: none."""
    refusedMemories: NotRequired[list[str] | None]
    """Full names of some of them, in order; absent: none."""


class Reference(TypedDict):
    """Properties of a namespace that prompts, and callers who may not see content, may
    know."""

    memory: str
    """Id of the task memory."""
    namespace: str
    """Id of the namespace."""
    artifacts: list[ArtifactReference]
    """The first 100 artifacts; where namespaces are listed, 10."""
    count: int
    """Number of all its artifacts, from 0."""
    totalBytes: str
    """Size of all its artifacts, in bytes."""
    createdTime: str
    """Time of the namespace's creation."""
    expireTime: str
    """Time at which the namespace is deleted."""
    readableWith: list[Reader]
    """Readers that can use it, and that the caller may use; empty: none."""
    derivedFrom: NotRequired[list[Source] | None]
    """The first 100 sources of the listed artifacts."""


class ReferredArtifact(TypedDict):
    """An artifact, without its content."""

    name: str
    """Name of the artifact within its namespace."""
    kind: NotRequired[Literal["text", "json", "blob"] | None]
    """Kind of the content."""
    mediaType: NotRequired[str | None]
    """Media type of the content."""
    sizeBytes: NotRequired[str | None]
    """Size of the content in bytes."""
    tokenEstimate: NotRequired[int | None]
    """Tokens of the content, about a quarter of its characters."""


class ReferredSource(TypedDict):
    """An artifact from which others were derived."""

    namespace: str
    """Id of the source's namespace."""
    name: str
    """Name of the source within that namespace."""


class RefusedDecision(TypedDict):
    """A decision of the model that would not be carried out."""

    fact: str
    """The fact that the decision is about."""
    action: str
    """Change that the model decided on."""
    reason: str
    """Reason of the refusal."""
    memory: NotRequired[NamedMemory | None]
    """The memory that it named, if one."""
    text: NotRequired[str | None]
    """The text that it would have written."""


_RegenerateSummaryResponseBase = TypedDict(
    "_RegenerateSummaryResponseBase",
    {
        "@type": Literal[
            "type.googleapis.com/google.cloud.aiplatform.v1beta1.RegenerateSummaryResponse"
        ]
    },
)


class RegenerateSummaryResponse(_RegenerateSummaryResponseBase):
    """The end of the regeneration of a summary."""


class RejectedRow(TypedDict):
    """A row that does not meet the schema, or a part that cannot be read; without
    content."""

    artifact: str
    """Name of the artifact within the namespace."""
    start: int
    """First character, counted like `start` of a citation."""
    end: int
    """First character after it; 0: the whole artifact."""
    reason: str
    """The reason, in a sentence."""


class RestoreReasoningEngineResponse(TypedDict):
    """The result of a restore."""

    counts: dict[str, int]
    """Number of lines of the archive, by kind."""
    vectors: VectorsUse
    """USED: the vectors of the archive. EMBEDDING: facts are embedded in the background;
    searches match only words until then."""
    pastRecovery: int
    """Deleted memories past their recovery window; the next sweep removes them."""
    pastExpiry: int
    """Memories, sessions, namespaces and artifacts that have expired; the next sweep
    removes them."""
    converted: NotRequired[dict[str, int]]
    """Number of values that were converted from the form of a former release, by kind
    and field, such as `event.content`."""
    warnings: list[str]
    """Sentences for the person who restores."""


class RestoredContent(TypedDict):
    """The content of a memory, which is all that a rollback restores."""

    name: NotRequired[str]
    """Full name of the resource."""
    fact: NotRequired[str | None]
    """Statement that is remembered; absent where `structuredContent` is the content."""
    displayName: NotRequired[str | None]
    """Short name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memoryType: NotRequired[MemoryType]
    """`NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one
    field of a profile. It never changes."""
    structuredContent: NotRequired[StructuredContent | None]
    """Content of a profile, by the schema that it names; absent where `fact` is the
    content."""
    context: NotRequired[str | None]
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""


class RetrieveMemoriesRequest(TypedDict):
    """The memories of a scope to return."""

    scope: dict[str, str]
    """Exact key of the collection."""
    similaritySearchParams: NotRequired[SimilaritySearchParams | None]
    """Search by meaning; the best memories come first. At most one of this and
    `simpleRetrievalParams`."""
    simpleRetrievalParams: NotRequired[SimpleRetrievalParams | None]
    """Page through the scope, the newest memories first; so it is also without either."""
    filter: NotRequired[str | None]
    """An AIP-160 filter."""
    filterGroups: NotRequired[list[FilterGroup] | None]
    """Groups of conditions on metadata; a memory must match at least one group."""
    memoryTypes: NotRequired[list[MemoryType] | None]
    """Types of memories to return; absent or empty: natural-language memories only."""
    maxTokens: NotRequired[int | None]
    """Limit of the tokens of all facts, about four characters each. Memories that would
    exceed it are left out, the best are taken first, and none is cut. 0: no limit."""
    explain: NotRequired[bool]
    """True: each memory has an `explanation` of its rank."""
    ranking: NotRequired[Ranking | None]
    """Order of this search, `hybrid` or `vector`; absent: the engine's order. Only with
    `similaritySearchParams`."""


class RetrieveMemoriesResponse(TypedDict):
    """The memories: best first with a search, else newest first."""

    retrievedMemories: list[RetrievedMemory]
    """The memories of this page, with their distances in a search."""
    nextPageToken: NotRequired[str | None]
    """Token of the next page; absent on the last page, and if the request did not ask
    for pages."""
    omittedCount: NotRequired[int | None]
    """The number of omitted memories: among the best `topK`, memories farther than the
    `maxDistance` of the request or the engine, and memories beyond the size of the
    response. Absent if there was no such distance, and all fitted."""


class RetrieveProfilesRequest(TypedDict):
    """The scope of the profiles to return."""

    scope: dict[str, str]
    """Exact key of the collection."""


class RetrieveProfilesResponse(TypedDict):
    """The profiles of a scope, by the id of their schema; only fields that have a value."""

    profiles: NotRequired[dict[str, MemoryProfile] | None]
    """The profiles, by the id of their schema; absent: there are none."""


class RetrievedMemory(TypedDict):
    """A memory and its distance from the query."""

    memory: Memory
    """The memory."""
    distance: NotRequired[float | None]
    """Distance from the query, 0 to 2, ascending; only with a search. The same text is
    at 0. In the ranking `vector` it is the Euclidean distance of the embeddings."""
    explanation: NotRequired[Explanation | None]
    """Reasons for its place; only with `explain`."""


class RetryOperationRequest(TypedDict):
    """Options of a retry."""

    validateOnly: NotRequired[bool | None]
    """True: run a preview, which writes nothing; only for generations. The failed
    operation keeps its request, and can still be retried."""


class RevisionLabel(TypedDict):
    """A label that is in use: its key, or its key with one of the key's values."""

    key: str
    """Key of 1 to 64 characters."""
    value: NotRequired[str | None]
    """Value of at most 512 characters; absent in a list of keys."""


class RollbackMemoryRequest(TypedDict):
    """The revision to restore."""

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that this request makes."""
    revisionExpireTime: NotRequired[str | None]
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revisionTtl: NotRequired[str | None]
    """Life of those revisions, from now; above zero seconds."""
    disableMemoryRevisions: NotRequired[bool | None]
    """True: the request makes no revisions."""
    targetRevisionId: str | int
    """The id of a revision of the memory, or its full name."""
    validateOnly: NotRequired[bool | None]
    """True: change nothing; return the change that the rollback would make."""


_RollbackMemoryResponseBase = TypedDict(
    "_RollbackMemoryResponseBase",
    {
        "@type": Literal[
            "type.googleapis.com/google.cloud.aiplatform.v1beta1.RollbackMemoryResponse"
        ]
    },
)


class RollbackMemoryResponse(_RollbackMemoryResponseBase):
    """The response of a rollback with `validateOnly`, which changes nothing."""

    plannedChanges: list[PlannedRollback]
    """The one change."""


class RotateKeyRequest(TypedDict):
    """Options of a key's rotation."""

    gracePeriod: NotRequired[str]
    """Time for which the former secrets still work, at most 30 days; absent: none."""


class RowSource(TypedDict):
    """Places of rows and values in JSON, CSV and HTML tables, for the built-in reader."""

    path: NotRequired[str]
    """JSON pointer to the list of rows, or to the only row; absent: the whole file, or
    each line of JSON lines. CSV and HTML have none."""
    columns: NotRequired[dict[str, str]]
    """Names of columns, headers or keys by property, or JSON pointers within a row;
    absent: the property's own name. Case, spaces and underscores do not matter."""


class ScanPrivacyRequest(TypedDict):
    """The values to search for, and the action on them."""

    kinds: NotRequired[list[str] | None]
    """Kinds, or names of custom patterns; absent or empty: all that the engine's rules
    mask or refuse at any place."""
    action: ScanAction
    """`REPORT`: the values are counted. `MASK`: their kinds in brackets are put in their
    place, for good."""
    scope: NotRequired[dict[str, str] | None]
    """Pairs: only scopes that contain them are scanned; absent: the whole engine."""


_ScanPrivacyResponseBase = TypedDict(
    "_ScanPrivacyResponseBase",
    {"@type": Literal["type.googleapis.com/google.cloud.aiplatform.v1beta1.ScanPrivacyResponse"]},
)


class ScanPrivacyResponse(_ScanPrivacyResponseBase):
    """The results of a scan; they contain no text."""

    action: ScanAction
    """Action that was taken on the values."""
    counts: dict[str, dict[str, int]]
    """Values, by table and kind."""
    names: NotRequired[list[str] | None]
    """Only with `REPORT`: names of the resources with such values, at most 1000."""
    hasMoreNames: NotRequired[bool | None]
    """True: more rows have such values than `names` lists."""


class SchemaConfig(TypedDict):
    """The schema of a profile: an object with the profile's fields as properties.

    References may point to parts of the schema itself; nothing is fetched.
    """

    id: str
    """Id of the schema: a lowercase letter first, then letters, digits and hyphens."""
    schema: NotRequired[dict[str, Any] | None]
    """The schema in the API's dialect, with type names in capitals; at most 65536 bytes
    as JSON."""
    jsonSchema: NotRequired[dict[str, Any] | None]
    """The schema as JSON Schema; it wins over `schema`. At most 65536 bytes as JSON."""
    memoryType: NotRequired[MemoryType | None]
    """Type of the memories; absent: `STRUCTURED_PROFILE`."""


class ScopeInUse(TypedDict):
    """A scope, and how many memories it has."""

    scope: dict[str, str]
    """Keys and values of the scope."""
    memoryCount: int
    """Number of its live memories; 1000 if there are more."""
    isCapped: NotRequired[bool | None]
    """True if there are more memories than `memoryCount`; otherwise absent."""


class SearchedSessions(TypedDict):
    """Extent of a search in the sessions of a user."""

    sessions: int
    """Number of sessions with searched events."""
    events: int
    """Number of events searched."""
    oldestEventTime: NotRequired[str | None]
    """Time of the oldest event searched; absent: none was."""
    isComplete: bool
    """True if the search covered all that this request could reach; else see
    `nextPageToken`."""


class SeqRange(TypedDict):
    """A range of events; both ends are included."""

    firstSeq: int
    """Number of the first event."""
    lastSeq: int
    """Number of the last event."""


class ServerDatabase(TypedDict):
    """The database of the service; only `error` if it does not respond."""

    serverVersion: NotRequired[str | None]
    """Release of Postgres."""
    vectorVersion: NotRequired[str | None]
    """Release of pgvector; absent: it is not installed."""
    schema: NotRequired[str | None]
    """`ok`; `not migrated` if it differs from this release's schema; or `incomplete`,
    with the missing parts."""
    isStandby: NotRequired[bool | None]
    """True if it takes no writes, since it follows another server."""
    sizeBytes: NotRequired[int | None]
    """Size on disk, in bytes."""
    clockSkewMilliseconds: NotRequired[int | None]
    """Lead of this process's clock over the database's, in milliseconds; negative: it is
    behind; absent: not measured yet."""
    error: NotRequired[str | None]
    """`DATABASE_UNAVAILABLE` if the database does not respond."""


class ServerEmbedder(TypedDict):
    """The embedding model of the settings."""

    model: str
    """Id of the model."""
    dimensions: NotRequired[int | None]
    """Length of its vectors; absent: unknown before its first response."""
    isLexicalOnly: bool
    """True if its vectors know words but no meaning, so that searches do as well."""
    isReady: bool
    """True if it is loaded."""


class ServerEventLoop(TypedDict):
    """The event loop of the responding process; its lag delays every request."""

    lagSeconds: EventLoopLag
    """Lag at evenly spaced moments."""


class ServerInfo(TypedDict):
    """The service, as seen by the responding process."""

    version: str
    """Release of this process."""
    startTime: str
    """Time of this process's start."""
    pythonVersion: str
    """Release of Python that runs this process."""
    eventLoop: NotRequired[ServerEventLoop | None]
    """The event loop of this process; absent: not measured yet."""
    database: ServerDatabase
    """The database of the service."""
    embedder: ServerEmbedder
    """The embedding model that new engines use."""
    model: str
    """Writer of memories for engines that name no model: the id of a text model, or
    `builtin-rules/N`."""
    queue: NotRequired[ServerQueue | None]
    """The operations of all engines."""
    settings: list[ServerSetting]
    """Settings of this process, without their secrets."""
    processes: NotRequired[list[ServerProcess] | None]
    """Processes with a heartbeat within 30 seconds, the oldest first."""


class ServerProcess(TypedDict):
    """A process, at its last heartbeat."""

    processId: str
    """Random id, new at each start."""
    kind: str
    """`API`, `WORKER`, `API_AND_WORKER`, or `MIGRATION` for a forced migration."""
    release: str
    """Release that it runs."""
    schema: str
    """Revision of the schema that it needs."""
    host: str
    """Name of its machine."""
    pid: int
    """Its id on that machine."""
    startTime: str
    """Time of its start."""
    beatTime: str
    """Time of the heartbeat."""
    running: int
    """Operations that it ran."""
    skewSeconds: NotRequired[float | None]
    """Lead of its clock over the database's, in seconds; absent: not measured."""
    lastSweepTime: NotRequired[str | None]
    """Time at which it last ran the sweeps; absent: it has not."""


class ServerQueue(TypedDict):
    """The operations of all engines."""

    dueCount: int
    """Operations that are due and wait for a worker."""
    oldestDueSeconds: float
    """Time since the oldest of them became due, in seconds."""
    runningCount: int
    """Operations that a worker runs now."""
    failedCount: int
    """Operations that have failed within 24 hours."""


class ServerSetting(TypedDict):
    """A setting of the responding process."""

    name: str
    """Its variable."""
    description: str
    """Its meaning, with its unit."""
    isDefault: bool
    """True if the value is the default of an unset variable."""
    value: NotRequired[JsonValue]
    """Its value; `"set"` in place of a secret, and of an address with a password or a
    query; absent: none."""


class Session(TypedDict):
    """A conversation of a user with an agent."""

    name: str
    """Full name of the session."""
    userId: str
    """Id of the user that it belongs to."""
    displayName: NotRequired[str | None]
    """Name for people."""
    labels: NotRequired[dict[str, str] | None]
    """The caller's own labels; absent: none."""
    sessionState: dict[str, Any]
    """Its own state merged with the shared keys, which start with `user:` and `app:`."""
    memoryPolicy: NotRequired[MemoryPolicy | None]
    """Policy of its contexts and summaries; absent: the engine's policy."""
    createTime: str
    """Time of its creation."""
    updateTime: str
    """A microsecond after the `timestamp` of the newest event, or the time of a later
    change; not before the creation. Filters and orders use the time of the last
    change."""
    expireTime: str
    """Time at which it is deleted with its events."""
    etag: str
    """Version of the session, for conditional requests."""


class SessionEvent(TypedDict):
    """An event of a session."""

    author: str
    """`user`, or the name of the agent."""
    invocationId: str
    """Id of the agent's run that the event belongs to."""
    timestamp: str
    """Time of the event."""
    content: NotRequired[Content | None]
    """Content of the message; absent if there is none."""
    actions: NotRequired[EventActions | None]
    """Changes that the event makes, such as changes of the state."""
    errorCode: NotRequired[str | None]
    """Code of the model's error, as its provider names it."""
    errorMessage: NotRequired[str | None]
    """Text of the model's error."""
    eventMetadata: NotRequired[EventMetadata | None]
    """Details that the model returns with its answer."""
    rawEvent: NotRequired[dict[str, Any] | None]
    """Any JSON object; it is returned as it is."""
    tokenCount: NotRequired[int | None]
    """Tokens it takes in a prompt, for policies with the counter `declared`."""
    name: str
    """Full name of the event."""
    seq: int
    """Its number in the session: from 1, without gaps."""
    exchange: int
    """The number of its exchange; 0 before a user's first event."""


class SessionSummary(TypedDict):
    """A summary of a part of a session. Its text and range never change."""

    name: str
    """Full name of the summary."""
    policyKey: str
    """Hash of the policy settings that affect summaries; policies with equal settings
    share their summaries."""
    kind: str
    """Inputs: `block`, exchanges; `full`, all events; `recursive`, the previous summary
    and later events; `merge`, summaries."""
    state: StoredSummaryState
    """`stale`: the text is erased, since a covered event was erased, or the session was
    cleared or changed while the summary was made."""
    version: int
    """Version of a summary that is replaced or made again, from 1."""
    covers: Covered
    """Events that it replaces."""
    text: NotRequired[str | None]
    """Text of the summary; absent if it failed or was erased."""
    tokens: NotRequired[int | None]
    """Tokens of the text, by the policy's counter."""
    charLimit: int
    """Maximum length that the model was asked to keep, in characters."""
    cut: bool
    """True: the model wrote too much, even when asked again; the end is missing."""
    previousSummaries: list[str]
    """Summaries that it absorbed, oldest first."""
    inputs: NotRequired[Covered | None]
    """Events that were read for it."""
    model: str
    """Id of the model that wrote it, or of the built-in summariser."""
    template: NotRequired[str | None]
    """Template of the model's prompt; absent for `builtin`."""
    usage: list[ModelSums]
    """Usage of all attempts, by model."""
    error: NotRequired[str | None]
    """Reason of the failure; only in the state `failed`."""
    retryTime: NotRequired[str | None]
    """`failed`: time of the next attempt; absent: none."""
    createTime: str
    """Time at which it was begun."""
    updateTime: str
    """Time of the last change of its state."""


class SessionUsage(TypedDict):
    """Usage of a session's summaries, failed attempts included."""

    models: list[ModelSums]
    """Usage by model; the built-in summariser calls none."""
    total: UsageSums
    """Usage of all models together."""
    summaries: SummaryCounts
    """Number of summaries by state."""
    eventCount: int
    """Number of events, including erased and cleared ones."""
    exchangeCount: int
    """Number of exchanges, from 0: a user's turn with the events after it."""


class SimilaritySearchConfig(TypedDict):
    """Search settings. The embedding model is stored, but searches use this service's
    own."""

    embeddingModel: NotRequired[str | None]
    """Name of an embedding model; stored and not used."""
    ranking: NotRequired[Ranking | None]
    """`hybrid` or `vector`; absent: the service's setting."""
    language: NotRequired[Language | None]
    """Language of new memories and of queries: a two-letter code, or `simple` for words
    as they are; absent: detected for each text."""
    maxDistance: NotRequired[float | None]
    """Memories farther from the query are left out, from above 0 to 2; absent: none. A
    request's own `maxDistance` overrides it."""


class SimilaritySearchParams(TypedDict):
    """Search by meaning."""

    searchQuery: str
    """Question or words to compare with the facts by meaning."""
    topK: NotRequired[int | None]
    """Maximum number of memories; default 3; above 100 is coerced to 100."""
    maxDistance: NotRequired[float | None]
    """Memories farther from the query are left out, from above 0 to 2; `omittedCount`
    counts them. Absent: as in the engine's `similaritySearchConfig`. Distances of
    different embedders are not comparable."""


class SimpleRetrievalParams(TypedDict):
    """The memories of the scope, newest first."""

    pageSize: NotRequired[int | None]
    """Maximum number of memories; default 3; above 100 is coerced to 100."""
    pageToken: NotRequired[str | None]
    """Empty for the first page, then the `nextPageToken` of the page before. The
    response to a request without this field has no `nextPageToken`."""


class SkippedMemory(TypedDict):
    """A memory that an undo did not change."""

    memory: NamedMemory
    """The memory."""
    reason: str
    """`CHANGED_SINCE`, `EXPIRED`, `NOT_RECOVERABLE`, `REVISION_NOT_KEPT` or `ERASED`."""


class Source(TypedDict):
    """A source artifact, of the same task memory, that another artifact was derived
    from."""

    namespace: str
    """Id of the source's namespace."""
    name: str
    """Name of the source within that namespace."""


class SourceEvent(TypedDict):
    """The event that a memory was made of."""

    source: str
    """The name of the session, a digest of the conversation, or the `source` in the
    memory's metadata."""
    position: NotRequired[float | None]
    """The number of the event in the source."""


class Split(TypedDict):
    """The division of the budget between events (`stm`) and their summary (`lts`)."""

    stm: int
    """Parts of the budget for events."""
    lts: int
    """Parts of the budget for their summary."""


class StoreArtifactsRequest(TypedDict):
    """Small artifacts to store in this order, all or none."""

    localOnly: NotRequired[bool | None]
    """True: only models on this machine may read the content."""
    allowedModels: NotRequired[list[str] | None]
    """Models that may read the content; absent: all configured ones."""
    readers: NotRequired[list[Reader] | None]
    """Ways in which the content may be used; absent: all. Empty: none."""
    sensitive: NotRequired[bool | None]
    """True: derived content is sensitive as well, and never inline."""
    embeddingModel: NotRequired[str | None]
    """Id of the embedding model for its chunks and for questions; absent: searches
    compare words only."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""
    userId: NotRequired[str | None]
    """Owner; required from callers that are bound to users."""
    tool: NotRequired[str | None]
    """Tool that produced it: its policy applies, and a new namespace records it."""
    activity: NotRequired[str | None]
    """The tool's activity, such as `fetch`; recorded with the namespace."""
    artifacts: list[Output]
    """Artifacts to store, each of the kind `text`, `json` or `blob`."""


class StoreArtifactsResponse(TypedDict):
    """Reference to the stored artifacts."""

    reference: Reference
    """Properties of the namespace that prompts may show."""
    promptText: str
    """Text for the prompt that represents the artifacts."""
    warnings: NotRequired[list[Warned] | None]
    """`no_reader`: neither the caller nor a configured reader can use the stored output.
    Absent: no warning."""


class Stream(TypedDict):
    """A stream of ingestion: its waiting events, the time of their processing, and its
    errors."""

    scope: dict[str, str]
    """Scope of the memories that its events become."""
    streamId: str
    """Id within the scope; at most 256 characters."""
    createTime: str
    """First request on the stream."""
    lastArrivalTime: str
    """Arrival of the newest event."""
    oldestPendingTime: NotRequired[str | None]
    """Arrival of the oldest waiting event; absent without any."""
    pendingCount: int
    """Number of waiting events."""
    pendingBytes: int
    """Length of their contents as JSON, in bytes."""
    asideCount: int
    """Number of waiting events that were set aside after a failed generation."""
    asideUntil: NotRequired[str | None]
    """Next time at which some of these are tried again."""
    generationRule: NotRequired[GenerationRule | None]
    """Rule of the latest request; absent: events are processed at once."""
    nextGenerateTime: NotRequired[str | None]
    """Due time of the operation, if that has not ended."""
    operation: NotRequired[str | None]
    """Name of the operation for the waiting events, while it is kept."""
    failureCount: int
    """Number of failures in a row."""
    retryTime: NotRequired[str | None]
    """End of the stream's pause after failures, unless it is flushed."""
    lastError: NotRequired[dict[str, Any] | None]
    """A google.rpc.Status: why the last operation failed, while it is kept."""


class StructuredContent(TypedDict):
    """The content of a structured memory."""

    data: dict[str, Any]
    """Values of the fields, by name."""
    schemaId: str
    """Id of the schema in the engine's `structuredMemoryConfigs`."""


class StructuredMemoryConfig(TypedDict):
    """The profiles of the scopes that have all of `scopeKeys`."""

    scopeKeys: NotRequired[list[str] | None]
    """Keys that a scope must have; absent or empty: none. If several entries match, only
    entries with the most keys count."""
    schemaConfigs: NotRequired[list[SchemaConfig] | None]
    """The schemas, one for each profile; of two with the same id the first counts."""


class SummarisedRange(TypedDict):
    """Range of events that a summary of the context covers."""

    firstSeq: int
    """Number of the first event."""
    lastSeq: int
    """Number of the last event."""
    summary: str
    """Id of the summary."""


_SummarizeNamespaceRequestBase = TypedDict("_SummarizeNamespaceRequestBase", {"as": str | None})


class SummarizeNamespaceRequest(_SummarizeNamespaceRequestBase):
    """Parameters of a summary of a whole namespace."""

    model: NotRequired[str | None]
    """A configured model, or `builtin`, which needs none; absent: the first that may
    read the namespace (the first local one if it is sensitive; one that takes images
    if it has no text), or `builtin` without any."""
    offPrompt: NotRequired[bool]
    """True: store the result and return only its reference."""
    wait: NotRequired[bool]
    """True: wait for texts that are being indexed; otherwise they are NOT_READY."""
    artifacts: NotRequired[list[str] | None]
    """The only artifacts to read; absent: all that the model can read."""
    instructions: NotRequired[str | None]
    """Content that the summary should have, or leave out."""
    template: NotRequired[str | None]
    """The whole prompt, in place of instructions: with `{text}`, and optionally
    `{previous_summary}` and `{char_limit}`."""
    maxTokens: NotRequired[int]
    """Maximum length of the summary, in tokens."""


class SummarizeNamespaceResponse(TypedDict):
    """A summary."""

    model: str
    """Id of the model that was called; `builtin:extractive`: none was."""
    coverage: ReadingCoverage
    """Part of the namespace that was read."""
    usage: ReaderUsage
    """Model calls made for this request."""
    reference: NotRequired[Reference | None]
    """Reference to the result, if it is kept off the prompt."""
    promptText: NotRequired[str | None]
    """Text for the prompt that names the result, if it is kept off the prompt."""
    reused: NotRequired[bool | None]
    """True if this is the result of an equal request. After an earlier one, this request
    is free; after a concurrent one, `usage` shows the cost of this request."""
    summary: NotRequired[str | None]
    """The summary; absent if it is kept off the prompt."""
    cut: NotRequired[bool | None]
    """True if it was too long and lost its end."""


_SummarizeSessionResponseBase = TypedDict(
    "_SummarizeSessionResponseBase",
    {
        "@type": Literal[
            "type.googleapis.com/google.cloud.aiplatform.v1beta1.SummarizeSessionResponse"
        ]
    },
)


class SummarizeSessionResponse(_SummarizeSessionResponseBase):
    """The end of the making of summaries that were due."""


class SummaryCounts(TypedDict):
    """Number of a session's summaries in each state, over all policies."""

    active: NotRequired[int]
    """Number of summaries in use, from 0."""
    superseded: NotRequired[int]
    """Number of summaries replaced by later ones, from 0."""
    stale: NotRequired[int]
    """Number of summaries erased since an event that they cover was, from 0."""
    failed: NotRequired[int]
    """Number of summaries that could not be made, from 0."""


class TaskMemory(TypedDict):
    """A task memory; it exists as long as it is not empty."""

    name: str
    """Full name of the task memory."""
    namespaceCount: int
    """Number of its namespaces, from 1."""
    artifactCount: int
    """Number of artifacts in all of them, from 0."""
    totalBytes: str
    """Size of all its artifacts, in bytes."""


class TextPage(TypedDict):
    """A page of the text that readers get of an artifact."""

    text: str
    """The characters from `start` to `end`."""
    page: int
    """Number of this page, from 1."""
    pages: int
    """Number of pages of the whole text."""
    start: int
    """The first character, from 0, counted like `start` of a citation."""
    end: int
    """The first character after the page, counted like `start`."""


class TokenBudget(TypedDict):
    """The input and output tokens that the engine may use today."""

    dailyTokenLimit: int
    """Tokens that the engine may use in a day of UTC."""
    usedTokenCount: int
    """Tokens used since the last midnight of UTC."""
    resetTime: str
    """Time of the budget's renewal: the next midnight UTC."""


class ToolPolicy(TypedDict):
    """Policy of a task memory for the outputs of a tool."""

    localOnly: NotRequired[bool | None]
    """True: only models on this machine may read the content."""
    allowedModels: NotRequired[list[str] | None]
    """Models that may read the content; absent: all configured ones."""
    readers: NotRequired[list[Reader] | None]
    """Ways in which the content may be used; absent: all. Empty: none."""
    offPrompt: NotRequired[bool | Literal["auto"]]
    """Rule for storing outputs: false, true or `auto`."""
    maxInlineTokens: NotRequired[int | None]
    """With `auto`: tokens of the longest text that the prompt shows; absent: the
    configured default."""
    sensitive: NotRequired[bool]
    """True: all outputs except info and errors are stored; requests cannot loosen this."""
    ttl: NotRequired[str | None]
    """Time to live of outputs."""
    activities: NotRequired[dict[str, Any] | None]
    """Policies of single activities by name; others follow the tool's policy."""
    name: str
    """Full name of the policy; it ends in the tool's id."""
    createTime: str
    """Time of the policy's creation."""
    updateTime: str
    """Time of its last change."""
    etag: str
    """Version of the policy, for conditional requests."""


class ToolSpecs(TypedDict):
    """The readers, and the export, as tools of an agent in the formats of model APIs.

    Each format has the same tools: only tools that the caller may use.
    """

    openai: NotRequired[list[dict[str, Any]] | None]
    """Declarations for `tools` in a request to OpenAI."""
    gemini: NotRequired[list[dict[str, Any]] | None]
    """Declarations for `functionDeclarations` of Gemini."""
    anthropic: NotRequired[list[dict[str, Any]] | None]
    """Declarations for `tools` in a request to Anthropic."""


class TruncatedEvent(TypedDict):
    """An event that is cut to this number of tokens."""

    seq: int
    """Number of the event in the session."""
    tokens: int
    """Tokens of the remaining text."""


class TtlConfig(TypedDict):
    """Lifetimes of memories and of revisions.

    The product's documentation and the API's definition name two fields differently; both names
    are accepted.
    """

    defaultTtl: NotRequired[str | None]
    """Life of memories from their last change; above zero, at most a thousand years. Not
    together with `granularTtlConfig`."""
    granularTtlConfig: NotRequired[GranularTtlConfig | None]
    """Life of memories by the kind of their writer. Not together with `defaultTtl`."""
    memoryRevisionDefaultTtl: NotRequired[str | None]
    """Life of revisions; above zero, at most a thousand years. Absent: by the service's
    setting."""


class UndeleteMemoryRequest(TypedDict):
    """Options of bringing a memory back."""

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that this request makes."""
    revisionExpireTime: NotRequired[str | None]
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revisionTtl: NotRequired[str | None]
    """Life of those revisions, from now; above zero seconds."""
    disableMemoryRevisions: NotRequired[bool | None]
    """True: the request makes no revisions."""


class UndoOperationRequest(TypedDict):
    """Options of an undo."""

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that the undo makes."""
    validateOnly: NotRequired[bool | None]
    """True: change nothing; the operation reports the effect on each memory."""


_UndoOperationResponseBase = TypedDict(
    "_UndoOperationResponseBase",
    {"@type": Literal["type.googleapis.com/google.cloud.aiplatform.v1beta1.UndoOperationResponse"]},
)


class UndoOperationResponse(_UndoOperationResponseBase):
    """The effect of an undo on each memory, or in a preview the effect that it would
    have."""

    undoneMemories: NotRequired[list[UndoneMemory] | None]
    """Memories that it changed; absent: none."""
    skippedMemories: NotRequired[list[SkippedMemory] | None]
    """Memories that it did not change; absent: none."""


class UndoneMemory(TypedDict):
    """A memory that an undo changed."""

    memory: NamedMemory
    """The memory."""
    action: str
    """`DELETED`: it did not exist before the operation. `UPDATED`: it has its earlier
    content again. `RESTORED`: it was deleted, and exists again."""
    previousRevision: NotRequired[str | None]
    """Full name of the last revision that the operation made of it; absent: it kept
    none."""


class UnreadableArtifact(TypedDict):
    """An artifact that was not read."""

    artifact: str
    """Name of the artifact within the namespace."""
    reason: str
    """The reason, in a sentence."""


class UpdateMemoryRequest(TypedDict):
    """The fields to change. The scope may be repeated unchanged."""

    revisionLabels: NotRequired[dict[str, str] | None]
    """Labels of the revisions that this request makes."""
    revisionExpireTime: NotRequired[str | None]
    """Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else
    by the engine's `ttlConfig`, else by the service's setting."""
    revisionTtl: NotRequired[str | None]
    """Life of those revisions, from now; above zero seconds."""
    disableMemoryRevisions: NotRequired[bool | None]
    """True: the request makes no revisions."""
    fact: NotRequired[str | None]
    """Statement to remember, in one or a few sentences; not blank."""
    displayName: NotRequired[str | None]
    """Short name for people."""
    description: NotRequired[str | None]
    """Explanation for people."""
    topics: NotRequired[list[MemoryTopicId] | None]
    """Topics that the fact is about; absent: none."""
    metadata: NotRequired[dict[str, MemoryMetadataValue] | None]
    """The caller's own values, by name; list filters and retrieval can compare them."""
    memoryType: NotRequired[MemoryType | None]
    """Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be changed
    later."""
    structuredContent: NotRequired[StructuredContent | None]
    """At most 65536 bytes as JSON."""
    context: NotRequired[str | None]
    """Source of the fact, or the reason that it matters, in words. Generation quotes the
    conversation here as evidence; a given fact has none."""
    expireTime: NotRequired[str | None]
    """Time at which the memory is deleted, in UTC; absent: by `ttl`, else by the
    engine's `ttlConfig`, else never."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""
    scope: NotRequired[dict[str, str] | None]
    """The memory's own scope; another one is refused."""
    etag: NotRequired[str | None]
    """The etag that was read."""


class UpdateNamespaceRequest(TypedDict):
    """Settings to change."""

    localOnly: NotRequired[bool | None]
    """True: only models on this machine may read the content."""
    allowedModels: NotRequired[list[str] | None]
    """Models that may read the content; absent: all configured ones."""
    readers: NotRequired[list[Reader] | None]
    """Ways in which the content may be used; absent: all. Empty: none."""
    sensitive: NotRequired[bool | None]
    """True: derived content is sensitive as well, and never inline."""
    embeddingModel: NotRequired[str | None]
    """Id of the embedding model for its chunks and for questions; absent: searches
    compare words only."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""
    etag: NotRequired[str | None]
    """The etag that was read."""


class UpdateSessionRequest(TypedDict):
    """The fields to change. The user may be repeated unchanged."""

    displayName: NotRequired[str | None]
    """Name for people."""
    labels: NotRequired[dict[str, str] | None]
    """The caller's own labels, of lower-case letters, digits, `_` and `-`."""
    sessionState: NotRequired[dict[str, Any] | None]
    """Values that agents keep: at most 1048576 bytes as JSON. Keys that start with
    `user:` are shared by the user's sessions, and keys with `app:` by all sessions of
    the engine. Keys with `temp:` are not stored."""
    expireTime: NotRequired[str | None]
    """Time at which the session is deleted, in UTC; absent: by `ttl`, else by the
    service's setting."""
    ttl: NotRequired[str | None]
    """Input only: expiry is now + ttl."""
    memoryPolicy: NotRequired[MemoryPolicy | None]
    """Policy of its contexts and summaries; absent: the engine's policy."""
    userId: NotRequired[str | None]
    """The session's own user; another one is refused."""
    etag: NotRequired[str | None]
    """The etag that was read."""


class UpdateToolPolicyRequest(TypedDict):
    """A complete policy; omitted fields take the configured defaults."""

    localOnly: NotRequired[bool | None]
    """True: only models on this machine may read the content."""
    allowedModels: NotRequired[list[str] | None]
    """Models that may read the content; absent: all configured ones."""
    readers: NotRequired[list[Reader] | None]
    """Ways in which the content may be used; absent: all. Empty: none."""
    offPrompt: NotRequired[bool | Literal["auto"]]
    """Rule for storing outputs: false, true or `auto`."""
    maxInlineTokens: NotRequired[int | None]
    """With `auto`: tokens of the longest text that the prompt shows; absent: the
    configured default."""
    sensitive: NotRequired[bool]
    """True: all outputs except info and errors are stored; requests cannot loosen this."""
    ttl: NotRequired[str | None]
    """Time to live of outputs."""
    activities: NotRequired[dict[str, Any] | None]
    """Policies of single activities by name; others follow the tool's policy."""
    etag: NotRequired[str | None]
    """The etag that was read."""


class UsageOfDays(TypedDict):
    """The model usage in a range of days, next to the range before it."""

    usage: list[ModelUsage]
    """Sums by the fields in `groupBy`; groups without calls are left out."""
    total: UsageSums
    """Sums over all that `usage` could list."""
    previousTotal: UsageSums
    """Sums over as many days, just before the first day."""
    unpricedModels: list[str]
    """Ids of the models in `total` some of whose calls had no price, or may have had
    none."""


class UsageSums(TypedDict):
    """The consumption of model calls."""

    callCount: int
    """Requests to models, including failed ones."""
    inputTokenCount: int
    """Tokens sent to models."""
    outputTokenCount: int
    """Tokens that models wrote."""
    modelMilliseconds: int
    """Time that the calls took together, in milliseconds."""
    cost: NotRequired[Money | None]
    """Absent unless every call's model had a configured price at the time."""
    knownCost: NotRequired[Money | None]
    """Cost of the calls whose model had a price; absent: no such cost is known."""
    unpricedCallCount: NotRequired[int | None]
    """Calls whose model had no price, which `knownCost` lacks; absent: unknown for calls
    that an earlier release recorded."""


class VertexSessionSource(TypedDict):
    """A stored session, of this engine or of another one in its project and location."""

    session: str
    """Name of the session; project and location may be left out."""
    startTime: NotRequired[str | None]
    """Events before this time do not count."""
    endTime: NotRequired[str | None]
    """Events from this time on do not count."""
