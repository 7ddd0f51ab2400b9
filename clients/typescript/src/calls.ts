// Written by `make client` from openapi/openapi.json.

// The operations of the service, and the arguments that each takes.

import type { Call, MetadataValue } from "./request.js";
import type * as types from "./types.js";

export const APPEND_EVENT: Call = {
  id: "appendEvent",
  method: "POST",
  path: "{engine}/sessions/{session}:appendEvent",
  body: ["author", "invocationId", "timestamp", "content", "actions", "errorCode", "errorMessage",
    "eventMetadata", "rawEvent", "tokenCount"],
  isChange: true,
};

/** Arguments of `appendEvent`. */
export interface AppendEvent {
  /** `user`, or the name of the agent. */
  author: string;
  /** Id of the agent's run that the event belongs to. */
  invocationId: string;
  /**
   * Time of the event. An offset other than zero is the sender's time zone, and so determines the
   * day of "today"; responses show UTC.
   */
  timestamp: string;
  /** Content of the message; absent if there is none. */
  content?: types.Content | null;
  /** Changes that the event makes, such as changes of the state. */
  actions?: types.EventActions | null;
  /** Code of the model's error, as its provider names it. */
  errorCode?: string | null;
  /** Text of the model's error. */
  errorMessage?: string | null;
  /** Details that the model returns with its answer. */
  eventMetadata?: types.EventMetadata | null;
  /** Any JSON object; it is returned as it is. */
  rawEvent?: Record<string, unknown> | null;
  /** Tokens it takes in a prompt, for policies with the counter `declared`. */
  tokenCount?: number | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const BATCH_APPEND_EVENTS: Call = {
  id: "batchAppendEvents",
  method: "POST",
  path: "{engine}/sessions/{session}/events:batch",
  body: ["events", "expectedLastSeq"],
  isChange: true,
};

/** Arguments of `batchAppendEvents`. */
export interface BatchAppendEvents {
  /** The events, the oldest first. */
  events: Array<types.AppendEventRequest>;
  /**
   * The number of the session's last event as known to the caller; if another event is last,
   * nothing is appended: 409.
   */
  expectedLastSeq?: number | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const BATCH_CREATE_MEMORIES: Call = {
  id: "batchCreateMemories",
  method: "POST",
  path: "{engine}/memories:batchCreate",
  body: ["requests", "atomic"],
  isChange: true,
};

/** Arguments of `batchCreateMemories`. */
export interface BatchCreateMemories {
  /** The memories, each with an optional id. */
  requests: Array<types.NewMemory>;
  /**
   * True: all memories are created or none. False: each is created on its own, and the response
   * lists its outcome in `results`.
   */
  atomic?: boolean;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const BATCH_RETRY_OPERATIONS: Call = {
  id: "batchRetryOperations",
  method: "POST",
  path: "{engine}/operations:batchRetry",
  body: ["filter", "validateOnly"],
  isChange: true,
};

/** Arguments of `batchRetryOperations`. */
export interface BatchRetryOperations {
  /** An AIP-160 filter with the fields of the list of operations; absent: all failed operations. */
  filter?: string | null;
  /** True: only count the operations; nothing runs. */
  validateOnly?: boolean | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const CALL_MEMORY_TOOL: Call = {
  id: "callMemoryTool",
  method: "POST",
  path: "{engine}/memoryTools:call",
  body: ["name", "arguments", "scope", "session", "excludeRecent"],
  isChange: true,
};

/** Arguments of `callMemoryTool`. */
export interface CallMemoryTool {
  /** Name of the tool that is called. */
  name: string;
  /**
   * The arguments: an object, or its JSON as text, as OpenAI sends it. Wrong arguments are no error
   * of the request: the response has `isError`.
   */
  arguments?: Record<string, unknown> | string;
  /**
   * Scope of the memories that the call is about, 1 to 5 pairs. Required, unless the key's
   * conditions fix it; fixed pairs may be left out.
   */
  scope?: Record<string, string> | null;
  /**
   * Id or name of the session that `recall_conversation` searches; absent: all sessions of the
   * scope's `user_id`.
   */
  session?: string | null;
  /** Number of newest events of `session` to skip, since the prompt has them. */
  excludeRecent?: number;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const CALL_TASK_TOOL: Call = {
  id: "callTaskTool",
  method: "POST",
  path: "{engine}/taskTools:call",
  body: ["name", "arguments", "memory", "sink"],
  isChange: true,
};

/** Arguments of `callTaskTool`. */
export interface CallTaskTool {
  /** Name of the tool that is called. */
  name: string;
  /**
   * The arguments: an object, or its JSON as text, as OpenAI sends it. Wrong arguments are no error
   * of the request: the response has `isError`.
   */
  arguments?: Record<string, unknown> | string;
  /** The only task memory that the call may name; absent: any. */
  memory?: string | null;
  /** The sink of exports; absent: the only one that is configured. */
  sink?: string | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const CANCEL_OPERATION: Call = {
  id: "cancelOperation",
  method: "POST",
  path: "{engine}/operations/{operation}:cancel",
  isChange: true,
};

/** Arguments of `cancelOperation`. */
export interface CancelOperation {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const CLEAR_SESSION: Call = {
  id: "clearSession",
  method: "POST",
  path: "{engine}/sessions/{session}:clear",
  isChange: true,
};

/** Arguments of `clearSession`. */
export interface ClearSession {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const COMPOSE_CONTEXT: Call = {
  id: "composeContext",
  method: "POST",
  path: "{engine}/sessions/{session}:context",
  body: ["systemPrompt", "pendingMessage", "policy", "tokenLimit", "reserveOutputTokens", "format",
    "framing", "consistency", "waitTimeout", "includeMemories", "includeRawEvents", "asOfSeq",
    "model", "preview"],
};

/** Arguments of `composeContext`. */
export interface ComposeContext {
  /** Instructions that come before everything else; absent: none. */
  systemPrompt?: string | null;
  /** Message that the model must answer, not yet an event. */
  pendingMessage?: string | null;
  /** Policy of this context; absent: the policy of the session or its engine, or `inclusive`. */
  policy?: types.MemoryPolicy | null;
  /** Tokens of the model's window, in place of the policy's. */
  tokenLimit?: number | null;
  /**
   * Tokens of the window left for the answer, in place of the policy's; absent in both: 800 with
   * `agent_summary`, else 0.
   */
  reserveOutputTokens?: number | null;
  /**
   * `messages` with their sources; `openai` or `gemini`, in the provider's format; or one `text`.
   * `gemini` includes files unchanged, and only their mention is counted; the others show only the
   * mention.
   */
  format?: types.Format;
  /**
   * False: summaries without the marks that declare them to be data, in place of the policy's
   * `framing`.
   */
  framing?: boolean | null;
  /** `latest`: no model is called. `wait`: summaries that are due are made first. */
  consistency?: types.Consistency;
  /** Time limit of `wait`; absent: the service's maximum. */
  waitTimeout?: string | null;
  /** Facts of the memory bank to include; absent: none. */
  includeMemories?: types.IncludeMemories | null;
  /**
   * True: each message made from an event has its `rawEvent`, if there is one. Only in the format
   * `messages`.
   */
  includeRawEvents?: boolean;
  /**
   * Last event of the context; later ones are ignored. Events cleared or erased since are left out,
   * and memories are the current ones.
   */
  asOfSeq?: number | null;
  /** Model for `estimatedCost`, as named in the configured prices. */
  model?: string | null;
  /**
   * True: no summary is enqueued, so the call changes nothing and needs no permission to update
   * sessions. Not with `consistency: wait`.
   */
  preview?: boolean;
}

export const CREATE_EXCHANGE: Call = {
  id: "createExchange",
  method: "POST",
  path: "{engine}/sessions/{session}/exchanges",
  body: ["input", "output", "agent", "invocationId", "timestamp", "inputTokenCount",
    "outputTokenCount", "metadata", "expectedLastSeq"],
  isChange: true,
};

/** Arguments of `createExchange`. */
export interface CreateExchange {
  /** The user's text. */
  input: string;
  /** The agent's text. */
  output: string;
  /** The author of the answer. */
  agent?: string;
  /** Invocation of both events; absent: a new one. */
  invocationId?: string | null;
  /** Time of the exchange; absent: now. */
  timestamp?: string | null;
  /** Tokens of the input in a prompt, for the counter `declared`. */
  inputTokenCount?: number | null;
  /** Tokens of the output, likewise. */
  outputTokenCount?: number | null;
  /** Metadata stored with both events, as their `customMetadata`. */
  metadata?: Record<string, unknown> | null;
  /**
   * The number of the session's last event as known to the caller; if another event is last,
   * nothing is appended: 409.
   */
  expectedLastSeq?: number | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const CREATE_KEY: Call = {
  id: "createKey",
  method: "POST",
  path: "/v1/keys",
  body: ["displayName", "roles", "permissions", "projects", "engines", "scopeConditions",
    "expireTime", "ttl"],
  isRepeatable: false,
};

/** Arguments of `createKey`. */
export interface CreateKey {
  /** Name for people; printable, not blank. */
  displayName: string;
  /** Roles of the key; at least one of `roles` and `permissions` is needed. */
  roles?: Array<types.Role> | null;
  /** Permissions in addition to the roles. */
  permissions?: Array<types.Permission> | null;
  /** Projects of the engines; absent: all. */
  projects?: Array<string> | null;
  /** Ids or names of engines; absent: all. */
  engines?: Array<string> | null;
  /** For each scope key, the values that the key may reach: one, or a list. Absent: all scopes. */
  scopeConditions?: Record<string, string | Array<string>> | null;
  /** Time at which the key stops working, in UTC; absent: by `ttl`, else never. */
  expireTime?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
}

export const CREATE_MEMORY: Call = {
  id: "createMemory",
  method: "POST",
  path: "{engine}/memories",
  query: ["memoryId"],
  body: ["revisionLabels", "revisionExpireTime", "revisionTtl", "disableMemoryRevisions", "fact",
    "displayName", "description", "topics", "metadata", "memoryType", "structuredContent",
    "context", "expireTime", "ttl", "scope"],
  isChange: true,
  hasTypedMetadata: true,
};

/** Arguments of `createMemory`. */
export interface CreateMemory {
  /** Id of the new memory; generated if absent. */
  memoryId?: string | null;
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
  /** True: the request makes no revisions. */
  disableMemoryRevisions?: boolean | null;
  /** Statement to remember, in one or a few sentences; not blank. */
  fact?: string | null;
  /** Short name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** Topics that the fact is about; absent: none. */
  topics?: Array<types.MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MetadataValue> | null;
  /** Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be changed later. */
  memoryType?: types.MemoryType | null;
  /** At most 65536 bytes as JSON. */
  structuredContent?: types.StructuredContent | null;
  /**
   * Source of the fact, or the reason that it matters, in words. Generation quotes the conversation
   * here as evidence; a given fact has none.
   */
  context?: string | null;
  /**
   * Time at which the memory is deleted, in UTC; absent: by `ttl`, else by the engine's
   * `ttlConfig`, else never.
   */
  expireTime?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const CREATE_REASONING_ENGINE: Call = {
  id: "createReasoningEngine",
  method: "POST",
  path: "{engines}",
  body: ["displayName", "description", "labels", "contextSpec", "encryptionSpec", "spec",
    "trafficConfig"],
  isChange: true,
};

/** Arguments of `createReasoningEngine`. */
export interface CreateReasoningEngine {
  /** Name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** The caller's own labels. */
  labels?: Record<string, string> | null;
  /** Configuration of its memory bank. */
  contextSpec?: types.ContextSpec | null;
  /** Not served: this service encrypts no columns. Encrypt the disk or the database. */
  encryptionSpec?: null;
  /** Not served: no agents run here. */
  spec?: null;
  /** Not served: no agents run here. */
  trafficConfig?: null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const CREATE_SESSION: Call = {
  id: "createSession",
  method: "POST",
  path: "{engine}/sessions",
  query: ["sessionId"],
  body: ["displayName", "labels", "sessionState", "expireTime", "ttl", "memoryPolicy", "userId"],
  isChange: true,
};

/** Arguments of `createSession`. */
export interface CreateSession {
  /** Id of the new session; absent: generated. */
  sessionId?: string | null;
  /** Name for people. */
  displayName?: string | null;
  /** The caller's own labels, of lower-case letters, digits, `_` and `-`. */
  labels?: Record<string, string> | null;
  /**
   * Values that agents keep: at most 1048576 bytes as JSON. Keys that start with `user:` are shared
   * by the user's sessions, and keys with `app:` by all sessions of the engine. Keys with `temp:`
   * are not stored.
   */
  sessionState?: Record<string, unknown> | null;
  /**
   * Time at which the session is deleted, in UTC; absent: by `ttl`, else by the service's setting.
   */
  expireTime?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** Policy of its contexts and summaries; absent: the engine's policy. */
  memoryPolicy?: types.MemoryPolicy | null;
  /** Id of the user that the session belongs to. */
  userId: string;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const DELETE_ARTIFACT: Call = {
  id: "deleteArtifact",
  method: "DELETE",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}/artifacts/{artifact}",
  isChange: true,
};

/** Arguments of `deleteArtifact`. */
export interface DeleteArtifact {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const DELETE_EVENT: Call = {
  id: "deleteEvent",
  method: "DELETE",
  path: "{engine}/sessions/{session}/events/{event}",
  isChange: true,
};

/** Arguments of `deleteEvent`. */
export interface DeleteEvent {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const DELETE_MEMORY: Call = {
  id: "deleteMemory",
  method: "DELETE",
  path: "{engine}/memories/{memory}",
  query: ["permanent"],
  body: ["revisionLabels", "revisionExpireTime", "revisionTtl"],
  isChange: true,
};

/** Arguments of `deleteMemory`. */
export interface DeleteMemory {
  /** True: erase it and all its history now, beyond recovery. */
  permanent?: boolean | null;
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const DELETE_NAMESPACE: Call = {
  id: "deleteNamespace",
  method: "DELETE",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}",
  isChange: true,
};

/** Arguments of `deleteNamespace`. */
export interface DeleteNamespace {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const DELETE_OPERATION: Call = {
  id: "deleteOperation",
  method: "DELETE",
  path: "{engine}/operations/{operation}",
  isChange: true,
};

/** Arguments of `deleteOperation`. */
export interface DeleteOperation {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const DELETE_REASONING_ENGINE: Call = {
  id: "deleteReasoningEngine",
  method: "DELETE",
  path: "{engine}",
  query: ["force"],
  isChange: true,
};

/** Arguments of `deleteReasoningEngine`. */
export interface DeleteReasoningEngine {
  /** True: also delete the contents of the engine. */
  force?: boolean | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const DELETE_SESSION: Call = {
  id: "deleteSession",
  method: "DELETE",
  path: "{engine}/sessions/{session}",
  isChange: true,
};

/** Arguments of `deleteSession`. */
export interface DeleteSession {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const DELETE_TASK_MEMORY: Call = {
  id: "deleteTaskMemory",
  method: "DELETE",
  path: "{engine}/taskMemories/{taskMemory}",
  isChange: true,
};

/** Arguments of `deleteTaskMemory`. */
export interface DeleteTaskMemory {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const DELETE_TOOL_POLICY: Call = {
  id: "deleteToolPolicy",
  method: "DELETE",
  path: "{engine}/taskMemories/{taskMemory}/toolPolicies/{tool}",
  isChange: true,
};

/** Arguments of `deleteToolPolicy`. */
export interface DeleteToolPolicy {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const DOWNLOAD_ARTIFACT: Call = {
  id: "downloadArtifact",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}/artifacts/{artifact}/content",
};

export const ERASE_SCOPE: Call = {
  id: "eraseScope",
  method: "POST",
  path: "{engine}:eraseScope",
  body: ["scope", "validateOnly", "includeSessions"],
  isChange: true,
};

/** Arguments of `eraseScope`. */
export interface EraseScope {
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /** True: count, and change nothing. */
  validateOnly?: boolean | null;
  /**
   * False: sessions, task memory and state of the user `user_id` are kept; absent: they are erased,
   * too.
   */
  includeSessions?: boolean | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const ESTIMATE_CONTEXT_COSTS: Call = {
  id: "estimateContextCosts",
  method: "POST",
  path: "{engine}/contextCosts:estimate",
  body: ["messages", "messageTokens", "systemTokens", "summaryTokens", "summaryOverheadTokens",
    "prices", "models", "model", "summaryModel", "configuredPrices", "contextWindow", "strategies",
    "accounting", "findBestCap"],
};

/** Arguments of `estimateContextCosts`. */
export interface EstimateContextCosts {
  /** Lengths of sessions, in prompts with their answers. */
  messages?: Array<number>;
  /**
   * Tokens of a message, prompt and answer. With one number, all of it counts as input. With two
   * halves, the answer is paid for once as output, and as input in each later prompt that shows it.
   */
  messageTokens?: number | Record<string, unknown>;
  /** Tokens of the system prompt. */
  systemTokens?: number;
  /** Tokens of a summary, unless the strategy sets them. */
  summaryTokens?: number;
  /** Tokens of a summariser's prompt without its input. */
  summaryOverheadTokens?: number;
  /** Alternative to `models`. */
  prices?: types.PlainPrices | null;
  /** Prices by model. */
  models?: Record<string, types.ModelPrices> | null;
  /** Name of the answering model; required with `models`. */
  model?: string | null;
  /**
   * Name in `models` of the summarising model if a strategy names none, or `builtin`, which is
   * free; absent: the answering model.
   */
  summaryModel?: string | null;
  /**
   * True: the prices in the settings of the service, in place of `prices` and `models`. `model` may
   * be absent then: the model of the service.
   */
  configuredPrices?: boolean;
  /**
   * Maximum tokens of a prompt with its answer; a strategy's own `tokenLimit` overrides it.
   * `agent_summary` needs one of them.
   */
  contextWindow?: number | null;
  /** Memory policies; absent: `inclusive`, `abstraction_inclusive` and `fully_abstracted`. */
  strategies?: Array<types.MemoryPolicy>;
  /**
   * `per_prompt`: each prompt is paid for once. `published_tables`: the method of the tables of
   * Prompt Memory Lab, for comparison with them.
   */
  accounting?: types.Accounting;
  /** True: also find the cheapest `cap` (or `every`) of strategies that have one, up to 1000. */
  findBestCap?: boolean;
}

export const EXPORT_ALL_AUDIT_EVENTS: Call = {
  id: "exportAllAuditEvents",
  method: "GET",
  path: "/v1/auditEvents:export",
  query: ["filter"],
};

/** Arguments of `exportAllAuditEvents`. */
export interface ExportAllAuditEvents {
  /** An AIP-160 filter. */
  filter?: string | null;
}

export const EXPORT_AUDIT_EVENTS: Call = {
  id: "exportAuditEvents",
  method: "GET",
  path: "{engine}/auditEvents:export",
  query: ["filter"],
};

/** Arguments of `exportAuditEvents`. */
export interface ExportAuditEvents {
  /** An AIP-160 filter. */
  filter?: string | null;
}

export const EXPORT_NAMESPACE: Call = {
  id: "exportNamespace",
  method: "POST",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}:export",
  body: ["sink", "directory", "artifacts", "fileName", "overwrite"],
  isChange: true,
};

/** Arguments of `exportNamespace`. */
export interface ExportNamespace {
  /** Name of a configured sink. */
  sink: string;
  /**
   * Folder for the files: names with `/` between them, below ENGINE/MEMORY/NAMESPACE in the sink.
   */
  directory?: string | null;
  /** Names of the artifacts to export; absent: all. */
  artifacts?: Array<string> | null;
  /** Name of the file, where one artifact is exported; absent: the artifact's name. */
  fileName?: string | null;
  /** True: existing files are replaced. False: an existing file is ID_TAKEN, and stays. */
  overwrite?: boolean;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const EXPORT_REASONING_ENGINE: Call = {
  id: "exportReasoningEngine",
  method: "GET",
  path: "{engine}:export",
  query: ["vectors", "artifacts", "sessions"],
};

/** Arguments of `exportReasoningEngine`. */
export interface ExportReasoningEngine {
  /** True: with the vectors of memories. */
  vectors?: boolean;
  /** False: without the artifacts of task memory. */
  artifacts?: boolean;
  /** False: without sessions, their events, summaries and states. */
  sessions?: boolean;
}

export const EXPORT_REVISIONS: Call = {
  id: "exportRevisions",
  method: "GET",
  path: "{engine}/memories/-/revisions:export",
  query: ["filter"],
};

/** Arguments of `exportRevisions`. */
export interface ExportRevisions {
  /** An AIP-160 filter. */
  filter?: string | null;
}

export const EXTRACT_NAMESPACE: Call = {
  id: "extractNamespace",
  method: "POST",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}:extract",
  body: ["model", "offPrompt", "as", "wait", "artifacts", "schema", "source", "format", "maxRows"],
  isChange: true,
};

/** Arguments of `extractNamespace`. */
export interface ExtractNamespace {
  /**
   * A configured model, or `builtin`, which needs none; absent: the first that may read the
   * namespace (the first local one if it is sensitive; one that takes images if it has no text), or
   * `builtin` without any.
   */
  model?: string | null;
  /** True: store the result and return only its reference. */
  offPrompt?: boolean;
  /**
   * Name of the stored result, with `offPrompt` only; without an extension, it gets `.txt`, or
   * `.json` or `.csv` for `:extract`. No two of a namespace may be equal.
   */
  as?: string | null;
  /** True: wait for texts that are being indexed; otherwise they are NOT_READY. */
  wait?: boolean;
  /** The only artifacts to read; absent: all that the model can read. */
  artifacts?: Array<string> | null;
  /**
   * JSON schema of one row: an object with properties. References stay within it, and patterns are
   * of RE2 syntax.
   */
  schema: Record<string, unknown>;
  /** Places of rows and values, which a model does not need. */
  source?: types.RowSource;
  /** `json`, or `csv`, which has a column for each property and no sources. */
  format?: types.RowFormat;
  /**
   * Maximum number of rows; without `offPrompt`, the response also has at most 1,000 rows and 256
   * KiB of them.
   */
  maxRows?: number;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const FIND_RESOURCES: Call = {
  id: "findResources",
  method: "POST",
  path: "{engine}/resources:find",
  body: ["text"],
};

/** Arguments of `findResources`. */
export interface FindResources {
  /**
   * Id or full name of a memory, revision, operation, session, key or engine, or a value of a
   * scope. If it is none of these, the last digits of the id of a memory, revision, operation or
   * session, at least 6.
   */
  text: string;
}

export const FLUSH_STREAM: Call = {
  id: "flushStream",
  method: "POST",
  path: "{engine}/streams:flush",
  body: ["scope", "streamId"],
  isChange: true,
};

/** Arguments of `flushStream`. */
export interface FlushStream {
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /** Id of the stream; absent or empty: `default`. */
  streamId?: string | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const GENERATE_MEMORIES: Call = {
  id: "generateMemories",
  method: "POST",
  path: "{engine}/memories:generate",
  body: ["revisionLabels", "revisionExpireTime", "revisionTtl", "disableMemoryRevisions",
    "directContentsSource", "directMemoriesSource", "vertexSessionSource", "scope",
    "disableConsolidation", "validateOnly", "metadata", "metadataMergeStrategy", "allowedTopics",
    "timeZone", "rereadEvents"],
  isChange: true,
  hasTypedMetadata: true,
};

/** Arguments of `generateMemories`. */
export interface GenerateMemories {
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
  /** True: the request makes no revisions. */
  disableMemoryRevisions?: boolean | null;
  /** A conversation in the request; one of three sources. */
  directContentsSource?: types.DirectContentsSource | null;
  /** Facts in the request; one of three sources. */
  directMemoriesSource?: types.DirectMemoriesSource | null;
  /**
   * A session, perhaps of another engine in the same project and location; one of three sources.
   */
  vertexSessionSource?: types.VertexSessionSource | null;
  /**
   * Exact key of the collection that the memories belong to. Required, unless the source is a
   * session: then absent means its `user_id`.
   */
  scope?: Record<string, string> | null;
  /** True: every result becomes a new memory. */
  disableConsolidation?: boolean | null;
  /** True: do the work, but write nothing; respond with the changes and their reasons. */
  validateOnly?: boolean | null;
  /** The caller's own values, stored with each memory that is written. */
  metadata?: Record<string, MetadataValue> | null;
  /**
   * Treatment of the metadata of a memory that is updated. `OVERWRITE` (also when absent): these
   * values replace it. `MERGE`: they are added. `REQUIRE_EXACT_MATCH`: only memories with equal
   * metadata are updated.
   */
  metadataMergeStrategy?: types.MetadataMergeStrategy;
  /** Limits the configured topics to these. */
  allowedTopics?: Array<types.MemoryTopicId> | null;
  /**
   * Time zone of relative dates; absent: the offset of each event's time, if it has one other than
   * zero, else the bank's zone.
   */
  timeZone?: string | null;
  /**
   * True: read events again that earlier generations have read. This restores facts that were
   * deleted or corrected since; preview it with `validateOnly`.
   */
  rereadEvents?: boolean | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const GET_ARTIFACT: Call = {
  id: "getArtifact",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}/artifacts/{artifact}",
};

export const GET_HEALTH: Call = {
  id: "getHealth",
  method: "GET",
  path: "/healthz",
};

export const GET_KEY: Call = {
  id: "getKey",
  method: "GET",
  path: "/v1/keys/{key}",
};

export const GET_MEMORY: Call = {
  id: "getMemory",
  method: "GET",
  path: "{engine}/memories/{memory}",
  query: ["showDeleted"],
};

/** Arguments of `getMemory`. */
export interface GetMemory {
  /** True: include deleted memories that can still be recovered; needs `revisions.list`. */
  showDeleted?: boolean | null;
}

export const GET_MEMORY_REVISION: Call = {
  id: "getMemoryRevision",
  method: "GET",
  path: "{engine}/memories/{memory}/revisions/{revision}",
};

export const GET_MEMORY_TOOL_SPECS: Call = {
  id: "getMemoryToolSpecs",
  method: "GET",
  path: "{engine}/memoryToolSpecs",
  query: ["format", "tools", "session"],
};

/** Arguments of `getMemoryToolSpecs`. */
export interface GetMemoryToolSpecs {
  /** Only `openai`, `gemini` or `anthropic`. */
  format?: string | null;
  /** Names of tools with commas between them; absent: all. */
  tools?: string | null;
  /** The session of the calls; the model then cannot choose another. */
  session?: string | null;
}

export const GET_METRICS: Call = {
  id: "getMetrics",
  method: "GET",
  path: "/metrics",
};

export const GET_NAMESPACE: Call = {
  id: "getNamespace",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}",
};

export const GET_OPERATION: Call = {
  id: "getOperation",
  method: "GET",
  path: "{engine}/operations/{operation}",
};

export const GET_OPERATIONS_USAGE: Call = {
  id: "getOperationsUsage",
  method: "GET",
  path: "{engine}/operations:usage",
  query: ["filter"],
};

/** Arguments of `getOperationsUsage`. */
export interface GetOperationsUsage {
  /** An AIP-160 filter. */
  filter?: string | null;
}

export const GET_READINESS: Call = {
  id: "getReadiness",
  method: "GET",
  path: "/readyz",
};

export const GET_REASONING_ENGINE: Call = {
  id: "getReasoningEngine",
  method: "GET",
  path: "{engine}",
};

export const GET_SELF: Call = {
  id: "getSelf",
  method: "GET",
  path: "/v1/self",
};

export const GET_SERVER: Call = {
  id: "getServer",
  method: "GET",
  path: "/v1/server",
};

export const GET_SERVER_USAGE: Call = {
  id: "getServerUsage",
  method: "GET",
  path: "/v1/server:usage",
  query: ["startDay", "endDay", "groupBy"],
};

/** Arguments of `getServerUsage`. */
export interface GetServerUsage {
  /** First day (UTC); absent: 30 days in all. */
  startDay?: string | null;
  /** Last day (UTC), included; absent: today. */
  endDay?: string | null;
  /**
   * Grouping of the sums: some of `day`, `model` and `kind` (of the work), separated by commas;
   * absent: `day,model`.
   */
  groupBy?: string | null;
}

export const GET_SESSION: Call = {
  id: "getSession",
  method: "GET",
  path: "{engine}/sessions/{session}",
};

export const GET_SESSION_USAGE: Call = {
  id: "getSessionUsage",
  method: "GET",
  path: "{engine}/sessions/{session}/usage",
};

export const GET_SUMMARY: Call = {
  id: "getSummary",
  method: "GET",
  path: "{engine}/sessions/{session}/summaries/{summary}",
};

export const GET_TASK_MEMORY: Call = {
  id: "getTaskMemory",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}",
};

export const GET_TOOL_POLICY: Call = {
  id: "getToolPolicy",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}/toolPolicies/{tool}",
};

export const GET_TOOL_SPECS: Call = {
  id: "getToolSpecs",
  method: "GET",
  path: "{engine}/toolSpecs",
  query: ["memory", "format"],
};

/** Arguments of `getToolSpecs`. */
export interface GetToolSpecs {
  /** A task memory; the tools then read only this one. */
  memory?: string | null;
  /** `openai`, `gemini` or `anthropic`; absent: all of them. */
  format?: types.ToolFormat | null;
}

export const GET_USAGE: Call = {
  id: "getUsage",
  method: "GET",
  path: "{engine}:usage",
  query: ["startDay", "endDay", "groupBy"],
};

/** Arguments of `getUsage`. */
export interface GetUsage {
  /** First day (UTC); absent: 30 days in all. */
  startDay?: string | null;
  /** Last day (UTC), included; absent: today. */
  endDay?: string | null;
  /**
   * Grouping of the sums: some of `day`, `model` and `kind` (of the work), separated by commas;
   * absent: `day,model`.
   */
  groupBy?: string | null;
}

export const GROUP_FAILURES: Call = {
  id: "groupFailures",
  method: "GET",
  path: "{engine}/operations:groupFailures",
  query: ["filter"],
};

/** Arguments of `groupFailures`. */
export interface GroupFailures {
  /** An AIP-160 filter. */
  filter?: string | null;
}

export const IMPORT_MEMORIES: Call = {
  id: "importMemories",
  method: "POST",
  path: "{engine}/memories:import",
  query: ["importId", "overwrite", "validateOnly", "maxErrors"],
  isRepeatable: false,
};

/** Arguments of `importMemories`. */
export interface ImportMemories {
  /**
   * Id of an import of several requests. Requests with the same id, of one caller and within 24
   * hours of the first, are one operation, which can be undone as a whole.
   */
  importId?: string | null;
  /**
   * True: existing memories with other content get the content of their lines; needs
   * `memories.update`. Otherwise they stay unchanged.
   */
  overwrite?: boolean | null;
  /**
   * True: nothing is written, and the counts are what an import would do now. Each line is taken by
   * itself: one that repeats the id of an earlier line counts like it.
   */
  validateOnly?: boolean | null;
  /** Maximum number of failed lines that are listed. */
  maxErrors?: number;
}

export const INGEST_EVENTS: Call = {
  id: "ingestEvents",
  method: "POST",
  path: "{engine}/memories:ingestEvents",
  body: ["revisionLabels", "revisionExpireTime", "revisionTtl", "disableMemoryRevisions", "scope",
    "streamId", "directContentsSource", "generationTriggerConfig", "forceFlush", "metadata",
    "metadataMergeStrategy"],
  isChange: true,
  hasTypedMetadata: true,
};

/** Arguments of `ingestEvents`. */
export interface IngestEvents {
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
  /** True: the request makes no revisions. */
  disableMemoryRevisions?: boolean | null;
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /** Id of the stream; absent or empty: `default`. */
  streamId?: string | null;
  /**
   * A conversation in the request; absent: the request only changes the rule of the waiting events.
   */
  directContentsSource?: types.DirectContentsSource | null;
  /**
   * Trigger of generation from the events; absent: the bank's trigger; without any, events are
   * processed at once.
   */
  generationTriggerConfig?: types.GenerationTriggerConfig | null;
  /** True: process all waiting events at once. */
  forceFlush?: boolean | null;
  /** The caller's own values, stored with each memory that is written. */
  metadata?: Record<string, MetadataValue> | null;
  /** Treatment of the metadata of a memory that is updated, as in `memories:generate`. */
  metadataMergeStrategy?: types.MetadataMergeStrategy | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const LIST_ALL_AUDIT_EVENTS: Call = {
  id: "listAllAuditEvents",
  method: "GET",
  path: "/v1/auditEvents",
  query: ["filter", "pageSize", "pageToken"],
};

/** Arguments of `listAllAuditEvents`. */
export interface ListAllAuditEvents {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_ALL_REVISIONS: Call = {
  id: "listAllRevisions",
  method: "GET",
  path: "{engine}/memories/-/revisions",
  query: ["filter", "pageSize", "pageToken"],
};

/** Arguments of `listAllRevisions`. */
export interface ListAllRevisions {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_ARTIFACTS: Call = {
  id: "listArtifacts",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}/artifacts",
  query: ["pageSize", "pageToken"],
};

/** Arguments of `listArtifacts`. */
export interface ListArtifacts {
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_AUDIT_EVENTS: Call = {
  id: "listAuditEvents",
  method: "GET",
  path: "{engine}/auditEvents",
  query: ["filter", "pageSize", "pageToken"],
};

/** Arguments of `listAuditEvents`. */
export interface ListAuditEvents {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_EVENTS: Call = {
  id: "listEvents",
  method: "GET",
  path: "{engine}/sessions/{session}/events",
  query: ["filter", "orderBy", "pageSize", "pageToken"],
};

/** Arguments of `listEvents`. */
export interface ListEvents {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** A field, ascending unless followed by ` desc`. */
  orderBy?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_KEYS: Call = {
  id: "listKeys",
  method: "GET",
  path: "/v1/keys",
  query: ["filter", "pageSize", "pageToken"],
};

/** Arguments of `listKeys`. */
export interface ListKeys {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_MEMORIES: Call = {
  id: "listMemories",
  method: "GET",
  path: "{engine}/memories",
  query: ["filter", "orderBy", "showDeleted", "pageSize", "pageToken"],
};

/** Arguments of `listMemories`. */
export interface ListMemories {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** A field, ascending unless followed by ` desc`. */
  orderBy?: string | null;
  /** True: include deleted memories that can still be recovered; needs `revisions.list`. */
  showDeleted?: boolean | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_MEMORY_REVISIONS: Call = {
  id: "listMemoryRevisions",
  method: "GET",
  path: "{engine}/memories/{memory}/revisions",
  query: ["filter", "pageSize", "pageToken"],
};

/** Arguments of `listMemoryRevisions`. */
export interface ListMemoryRevisions {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_NAMESPACES: Call = {
  id: "listNamespaces",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}/namespaces",
  query: ["pageSize", "pageToken"],
};

/** Arguments of `listNamespaces`. */
export interface ListNamespaces {
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_OPERATIONS: Call = {
  id: "listOperations",
  method: "GET",
  path: "{engine}/operations",
  query: ["filter", "pageSize", "pageToken"],
};

/** Arguments of `listOperations`. */
export interface ListOperations {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_REASONING_ENGINES: Call = {
  id: "listReasoningEngines",
  method: "GET",
  path: "{engines}",
  query: ["filter", "pageSize", "pageToken"],
};

/** Arguments of `listReasoningEngines`. */
export interface ListReasoningEngines {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_REVISION_LABELS: Call = {
  id: "listRevisionLabels",
  method: "GET",
  path: "{engine}/memories/-/revisions:listLabels",
  query: ["key", "prefix", "pageSize", "pageToken"],
};

/** Arguments of `listRevisionLabels`. */
export interface ListRevisionLabels {
  /** Key of at most 64 characters: its values are listed; absent or empty: the keys are listed. */
  key?: string | null;
  /**
   * Beginning of the keys, or of the values of the key, that are listed; at most 64 characters for
   * keys and 512 for values.
   */
  prefix?: string;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_SCOPES: Call = {
  id: "listScopes",
  method: "GET",
  path: "{engine}/memories:listScopes",
  query: ["filter", "showDeleted", "pageSize", "pageToken"],
};

/** Arguments of `listScopes`. */
export interface ListScopes {
  /** An AIP-160 filter. */
  filter?: string | null;
  /**
   * True: list the scopes of deleted memories, too, while these can be recovered; needs
   * `revisions.list`.
   */
  showDeleted?: boolean | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_SESSIONS: Call = {
  id: "listSessions",
  method: "GET",
  path: "{engine}/sessions",
  query: ["filter", "orderBy", "pageSize", "pageToken"],
};

/** Arguments of `listSessions`. */
export interface ListSessions {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** A field, ascending unless followed by ` desc`. */
  orderBy?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_STREAMS: Call = {
  id: "listStreams",
  method: "GET",
  path: "{engine}/streams",
  query: ["filter", "pageSize", "pageToken"],
};

/** Arguments of `listStreams`. */
export interface ListStreams {
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_SUMMARIES: Call = {
  id: "listSummaries",
  method: "GET",
  path: "{engine}/sessions/{session}/summaries",
  query: ["state", "policyKey", "pageSize", "pageToken"],
};

/** Arguments of `listSummaries`. */
export interface ListSummaries {
  /** State of the summaries to list; absent: all. */
  state?: types.StoredSummaryState | null;
  /** Key of a policy: only its summaries are listed; absent: all. */
  policyKey?: string | null;
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_TASK_MEMORIES: Call = {
  id: "listTaskMemories",
  method: "GET",
  path: "{engine}/taskMemories",
  query: ["pageSize", "pageToken"],
};

/** Arguments of `listTaskMemories`. */
export interface ListTaskMemories {
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LIST_TOOL_POLICIES: Call = {
  id: "listToolPolicies",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}/toolPolicies",
  query: ["pageSize", "pageToken"],
};

/** Arguments of `listToolPolicies`. */
export interface ListToolPolicies {
  /** Rows of a page; 0 means the default, and too large a value the maximum. */
  pageSize?: number | null;
  /** `nextPageToken` of the previous page. */
  pageToken?: string | null;
}

export const LOAD_FILES: Call = {
  id: "loadFiles",
  method: "POST",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}:load",
  body: ["localOnly", "allowedModels", "readers", "sensitive", "embeddingModel", "ttl", "userId",
    "tool", "activity", "source", "path", "pattern", "as"],
  isChange: true,
};

/** Arguments of `loadFiles`. */
export interface LoadFiles {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<types.Reader> | null;
  /** True: derived content is sensitive as well, and never inline. */
  sensitive?: boolean | null;
  /**
   * Id of the embedding model for its chunks and for questions; absent: searches compare words
   * only.
   */
  embeddingModel?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** Owner; required from callers that are bound to users. */
  userId?: string | null;
  /** Tool that produced it: its policy applies, and a new namespace records it. */
  tool?: string | null;
  /** The tool's activity, such as `fetch`; recorded with the namespace. */
  activity?: string | null;
  /** Name of a configured source. */
  source: string;
  /**
   * A file below the source, or a folder, of which all files are loaded, at most 100; folders in it
   * and hidden files are not. Absent: the source's own folder.
   */
  path?: string | null;
  /** With a folder: only files whose names match, such as `*.md`. */
  pattern?: string | null;
  /**
   * With one file: name of the artifact; without an extension, it gets the one of the media type.
   * Absent: the file's name, which must have the form of an artifact's.
   */
  as?: string | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const PROCESS_OUTPUT: Call = {
  id: "processOutput",
  method: "POST",
  path: "{engine}/taskMemories/{taskMemory}:processOutput",
  body: ["localOnly", "allowedModels", "readers", "sensitive", "embeddingModel", "ttl", "userId",
    "tool", "activity", "callId", "namespace", "offPrompt", "as", "output"],
  isChange: true,
};

/** Arguments of `processOutput`. */
export interface ProcessOutput {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<types.Reader> | null;
  /** True: derived content is sensitive as well, and never inline. */
  sensitive?: boolean | null;
  /**
   * Id of the embedding model for its chunks and for questions; absent: searches compare words
   * only.
   */
  embeddingModel?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** Owner; required from callers that are bound to users. */
  userId?: string | null;
  /** Tool that made the output; its policy applies. */
  tool: string;
  /** Name of the tool's activity, such as `fetch`. */
  activity: string;
  /** Id of the call; not stored. */
  callId?: string | null;
  /** Namespace to store in; absent: a new one. */
  namespace?: string | null;
  /**
   * Rule for storing the output: false, true or `auto`; absent: from the tool's policy, or false
   * without one.
   */
  offPrompt?: boolean | "auto" | null;
  /**
   * Name of the artifact if one is stored; without an extension, it gets the one of the media type.
   * Ignored where nothing is stored.
   */
  as?: string | null;
  /** The tool's output. */
  output: types.Output;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const PURGE_MEMORIES: Call = {
  id: "purgeMemories",
  method: "POST",
  path: "{engine}/memories:purge",
  body: ["revisionLabels", "revisionExpireTime", "revisionTtl", "filter", "filterGroups", "force",
    "permanent", "sampleSize"],
  isChange: true,
};

/** Arguments of `purgeMemories`. */
export interface PurgeMemories {
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Groups of conditions on metadata; a memory must match at least one group. */
  filterGroups?: Array<types.FilterGroup> | null;
  /** True: delete the memories; otherwise only count them. */
  force?: boolean | null;
  /** True, with `force`: erase memories and history at once, without recovery. */
  permanent?: boolean | null;
  /** Without `force`: matching memories to show, the newest; 0 to 100. */
  sampleSize?: number | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const QUERY_NAMESPACE: Call = {
  id: "queryNamespace",
  method: "POST",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}:query",
  body: ["model", "offPrompt", "as", "wait", "artifacts", "query", "topK", "answerTokens"],
  isChange: true,
};

/** Arguments of `queryNamespace`. */
export interface QueryNamespace {
  /**
   * A configured model, or `builtin`, which needs none; absent: the first that may read the
   * namespace (the first local one if it is sensitive; one that takes images if it has no text), or
   * `builtin` without any.
   */
  model?: string | null;
  /** True: store the result and return only its reference. */
  offPrompt?: boolean;
  /**
   * Name of the stored result, with `offPrompt` only; without an extension, it gets `.txt`, or
   * `.json` or `.csv` for `:extract`. No two of a namespace may be equal.
   */
  as?: string | null;
  /** True: wait for texts that are being indexed; otherwise they are NOT_READY. */
  wait?: boolean;
  /** The only artifacts to read; absent: all that the model can read. */
  artifacts?: Array<string> | null;
  /** Question to answer; not blank. */
  query: string;
  /** Maximum number of passages for the reader. */
  topK?: number;
  /** Maximum length of the answer, in tokens. */
  answerTokens?: number;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const READ_ARTIFACT_TEXT: Call = {
  id: "readArtifactText",
  method: "GET",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}/artifacts/{artifact}:text",
  query: ["page"],
};

/** Arguments of `readArtifactText`. */
export interface ReadArtifactText {
  /** Number of the page, from 1. */
  page?: number;
}

export const RECALL_MEMORIES: Call = {
  id: "recallMemories",
  method: "POST",
  path: "{engine}/memories:recall",
  body: ["query", "mode", "topK", "maxTokens", "model", "counter", "scope", "filter",
    "filterGroups", "includeSessions"],
};

/** Arguments of `recallMemories`. */
export interface RecallMemories {
  /** Question or words: compared with facts by meaning, with events by words. */
  query: string;
  /**
   * `extractive`: passages, word for word. `summary`: a text made from them by one model call;
   * without a model, the passages themselves.
   */
  mode?: types.RecallMode;
  /**
   * Maximum number of facts, and also of passages; a model gets four times as many, but at most 100
   * facts.
   */
  topK?: number;
  /**
   * Maximum tokens of all facts and passages, or of the text. If there are both, each may take
   * half, and the unused part of the other half.
   */
  maxTokens?: number;
  /**
   * Writer of the text: a configured model, or `builtin`; absent: the default model, or `builtin`
   * without one.
   */
  model?: string | null;
  /** Token counter; absent: `chars4`. */
  counter?: string | null;
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /** An AIP-160 filter of memories. */
  filter?: string | null;
  /** Groups of conditions on metadata; a memory must match at least one group. */
  filterGroups?: Array<types.FilterGroup> | null;
  /**
   * True: also search the sessions of the scope's `user_id`, as many as one call of
   * `sessions/-:recall` reaches.
   */
  includeSessions?: boolean;
}

export const RECALL_SESSION: Call = {
  id: "recallSession",
  method: "POST",
  path: "{engine}/sessions/{session}:recall",
  body: ["query", "mode", "topK", "maxTokens", "model", "counter", "excludeRecent"],
};

/** Arguments of `recallSession`. */
export interface RecallSession {
  /** Text to search for, by its words and not by its meaning. */
  query: string;
  /**
   * `extractive`: passages, word for word. `summary`: a text made from them by one model call;
   * without a model, the passages themselves.
   */
  mode?: types.RecallMode;
  /** Maximum number of passages; a model gets four times as many. */
  topK?: number;
  /** Maximum tokens of all passages, or of the text. */
  maxTokens?: number;
  /**
   * Writer of the text: a configured model, or `builtin`; absent: the default model, or `builtin`
   * without one.
   */
  model?: string | null;
  /** Token counter; absent: `chars4`. */
  counter?: string | null;
  /** Number of newest events to skip; erased ones count as well. */
  excludeRecent?: number;
}

export const RECALL_SESSIONS: Call = {
  id: "recallSessions",
  method: "POST",
  path: "{engine}/sessions/-:recall",
  body: ["query", "mode", "topK", "maxTokens", "model", "counter", "userId", "filter",
    "excludeSessions", "startTime", "endTime", "pageToken"],
};

/** Arguments of `recallSessions`. */
export interface RecallSessions {
  /** Text to search for, by its words and not by its meaning. */
  query: string;
  /**
   * `extractive`: passages, word for word. `summary`: a text made from them by one model call;
   * without a model, the passages themselves.
   */
  mode?: types.RecallMode;
  /** Maximum number of passages; a model gets four times as many. */
  topK?: number;
  /** Maximum tokens of all passages, or of the text. */
  maxTokens?: number;
  /**
   * Writer of the text: a configured model, or `builtin`; absent: the default model, or `builtin`
   * without one.
   */
  model?: string | null;
  /** Token counter; absent: `chars4`. */
  counter?: string | null;
  /** User to search; may be absent if the key is restricted to one user. */
  userId?: string | null;
  /** An AIP-160 filter of sessions, with the fields of their list. */
  filter?: string | null;
  /** Ids of sessions to skip, such as the current session. */
  excludeSessions?: Array<string>;
  /** Time of the first event to search; absent: no limit. */
  startTime?: string | null;
  /** Time of the first event not to search any more; absent: no limit. */
  endTime?: string | null;
  /**
   * `nextPageToken` of the response to the same request, to search the remaining sessions; empty or
   * absent: begin with the newest session.
   */
  pageToken?: string | null;
}

export const REEMBED_REASONING_ENGINE: Call = {
  id: "reembedReasoningEngine",
  method: "POST",
  path: "{engine}:reembed",
  isChange: true,
};

/** Arguments of `reembedReasoningEngine`. */
export interface ReembedReasoningEngine {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const REGENERATE_SUMMARY: Call = {
  id: "regenerateSummary",
  method: "POST",
  path: "{engine}/sessions/{session}/summaries/{summary}:regenerate",
  isChange: true,
};

/** Arguments of `regenerateSummary`. */
export interface RegenerateSummary {
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const RESTORE_REASONING_ENGINE: Call = {
  id: "restoreReasoningEngine",
  method: "POST",
  path: "{engine}:restore",
  query: ["extendRecovery"],
  isRepeatable: false,
};

/** Arguments of `restoreReasoningEngine`. */
export interface RestoreReasoningEngine {
  /** True: deleted memories that could be recovered at the export can be for as long as then. */
  extendRecovery?: boolean | null;
}

export const RETRIEVE_MEMORIES: Call = {
  id: "retrieveMemories",
  method: "POST",
  path: "{engine}/memories:retrieve",
  body: ["scope", "similaritySearchParams", "simpleRetrievalParams", "filter", "filterGroups",
    "memoryTypes", "maxTokens", "explain", "ranking"],
};

/** Arguments of `retrieveMemories`. */
export interface RetrieveMemories {
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /**
   * Search by meaning; the best memories come first. At most one of this and
   * `simpleRetrievalParams`.
   */
  similaritySearchParams?: types.SimilaritySearchParams | null;
  /** Page through the scope, the newest memories first; so it is also without either. */
  simpleRetrievalParams?: types.SimpleRetrievalParams | null;
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Groups of conditions on metadata; a memory must match at least one group. */
  filterGroups?: Array<types.FilterGroup> | null;
  /** Types of memories to return; absent or empty: natural-language memories only. */
  memoryTypes?: Array<types.MemoryType> | null;
  /**
   * Limit of the tokens of all facts, about four characters each. Memories that would exceed it are
   * left out, the best are taken first, and none is cut. 0: no limit.
   */
  maxTokens?: number | null;
  /** True: each memory has an `explanation` of its rank. */
  explain?: boolean;
  /**
   * Order of this search, `hybrid` or `vector`; absent: the engine's order. Only with
   * `similaritySearchParams`.
   */
  ranking?: types.Ranking | null;
}

export const RETRIEVE_PROFILES: Call = {
  id: "retrieveProfiles",
  method: "POST",
  path: "{engine}/memories:retrieveProfiles",
  body: ["scope"],
};

/** Arguments of `retrieveProfiles`. */
export interface RetrieveProfiles {
  /** Exact key of the collection. */
  scope: Record<string, string>;
}

export const RETRY_OPERATION: Call = {
  id: "retryOperation",
  method: "POST",
  path: "{engine}/operations/{operation}:retry",
  body: ["validateOnly"],
  isChange: true,
};

/** Arguments of `retryOperation`. */
export interface RetryOperation {
  /**
   * True: run a preview, which writes nothing; only for generations. The failed operation keeps its
   * request, and can still be retried.
   */
  validateOnly?: boolean | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const REVOKE_KEY: Call = {
  id: "revokeKey",
  method: "POST",
  path: "/v1/keys/{key}:revoke",
};

export const ROLLBACK_MEMORY: Call = {
  id: "rollbackMemory",
  method: "POST",
  path: "{engine}/memories/{memory}:rollback",
  body: ["revisionLabels", "revisionExpireTime", "revisionTtl", "disableMemoryRevisions",
    "targetRevisionId", "validateOnly"],
  isChange: true,
};

/** Arguments of `rollbackMemory`. */
export interface RollbackMemory {
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
  /** True: the request makes no revisions. */
  disableMemoryRevisions?: boolean | null;
  /** The id of a revision of the memory, or its full name. */
  targetRevisionId: string | number;
  /** True: change nothing; return the change that the rollback would make. */
  validateOnly?: boolean | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const ROTATE_KEY: Call = {
  id: "rotateKey",
  method: "POST",
  path: "/v1/keys/{key}:rotate",
  body: ["gracePeriod"],
  isRepeatable: false,
};

/** Arguments of `rotateKey`. */
export interface RotateKey {
  /** Time for which the former secrets still work, at most 30 days; absent: none. */
  gracePeriod?: string;
}

export const SCAN_PRIVACY: Call = {
  id: "scanPrivacy",
  method: "POST",
  path: "{engine}:scanPrivacy",
  body: ["kinds", "action", "scope"],
  isChange: true,
};

/** Arguments of `scanPrivacy`. */
export interface ScanPrivacy {
  /**
   * Kinds, or names of custom patterns; absent or empty: all that the engine's rules mask or refuse
   * at any place.
   */
  kinds?: Array<string> | null;
  /**
   * `REPORT`: the values are counted. `MASK`: their kinds in brackets are put in their place, for
   * good.
   */
  action: types.ScanAction;
  /** Pairs: only scopes that contain them are scanned; absent: the whole engine. */
  scope?: Record<string, string> | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const STORE_ARTIFACTS: Call = {
  id: "storeArtifacts",
  method: "POST",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}:store",
  body: ["localOnly", "allowedModels", "readers", "sensitive", "embeddingModel", "ttl", "userId",
    "tool", "activity", "artifacts"],
  isChange: true,
};

/** Arguments of `storeArtifacts`. */
export interface StoreArtifacts {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<types.Reader> | null;
  /** True: derived content is sensitive as well, and never inline. */
  sensitive?: boolean | null;
  /**
   * Id of the embedding model for its chunks and for questions; absent: searches compare words
   * only.
   */
  embeddingModel?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** Owner; required from callers that are bound to users. */
  userId?: string | null;
  /** Tool that produced it: its policy applies, and a new namespace records it. */
  tool?: string | null;
  /** The tool's activity, such as `fetch`; recorded with the namespace. */
  activity?: string | null;
  /** Artifacts to store, each of the kind `text`, `json` or `blob`. */
  artifacts: Array<types.Output>;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const SUMMARIZE_NAMESPACE: Call = {
  id: "summarizeNamespace",
  method: "POST",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}:summarize",
  body: ["model", "offPrompt", "as", "wait", "artifacts", "instructions", "template", "maxTokens"],
  isChange: true,
};

/** Arguments of `summarizeNamespace`. */
export interface SummarizeNamespace {
  /**
   * A configured model, or `builtin`, which needs none; absent: the first that may read the
   * namespace (the first local one if it is sensitive; one that takes images if it has no text), or
   * `builtin` without any.
   */
  model?: string | null;
  /** True: store the result and return only its reference. */
  offPrompt?: boolean;
  /**
   * Name of the stored result, with `offPrompt` only; without an extension, it gets `.txt`, or
   * `.json` or `.csv` for `:extract`. No two of a namespace may be equal.
   */
  as?: string | null;
  /** True: wait for texts that are being indexed; otherwise they are NOT_READY. */
  wait?: boolean;
  /** The only artifacts to read; absent: all that the model can read. */
  artifacts?: Array<string> | null;
  /** Content that the summary should have, or leave out. */
  instructions?: string | null;
  /**
   * The whole prompt, in place of instructions: with `{text}`, and optionally `{previous_summary}`
   * and `{char_limit}`.
   */
  template?: string | null;
  /** Maximum length of the summary, in tokens. */
  maxTokens?: number;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const UNDELETE_MEMORY: Call = {
  id: "undeleteMemory",
  method: "POST",
  path: "{engine}/memories/{memory}:undelete",
  body: ["revisionLabels", "revisionExpireTime", "revisionTtl", "disableMemoryRevisions"],
  isChange: true,
};

/** Arguments of `undeleteMemory`. */
export interface UndeleteMemory {
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
  /** True: the request makes no revisions. */
  disableMemoryRevisions?: boolean | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const UNDO_OPERATION: Call = {
  id: "undoOperation",
  method: "POST",
  path: "{engine}/operations/{operation}:undo",
  body: ["revisionLabels", "validateOnly"],
  isChange: true,
};

/** Arguments of `undoOperation`. */
export interface UndoOperation {
  /** Labels of the revisions that the undo makes. */
  revisionLabels?: Record<string, string> | null;
  /** True: change nothing; the operation reports the effect on each memory. */
  validateOnly?: boolean | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
}

export const UPDATE_MEMORY: Call = {
  id: "updateMemory",
  method: "PATCH",
  path: "{engine}/memories/{memory}",
  query: ["updateMask", "memoryId"],
  body: ["revisionLabels", "revisionExpireTime", "revisionTtl", "disableMemoryRevisions", "fact",
    "displayName", "description", "topics", "metadata", "memoryType", "structuredContent",
    "context", "expireTime", "ttl", "scope"],
  isChange: true,
  hasTypedMetadata: true,
};

/** Arguments of `updateMemory`. */
export interface UpdateMemory {
  /** Fields to change, separated by commas; `*` means all. */
  updateMask?: string | null;
  /** Ignored; clients may repeat it. */
  memoryId?: string | null;
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
  /** True: the request makes no revisions. */
  disableMemoryRevisions?: boolean | null;
  /** Statement to remember, in one or a few sentences; not blank. */
  fact?: string | null;
  /** Short name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** Topics that the fact is about; absent: none. */
  topics?: Array<types.MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MetadataValue> | null;
  /** Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be changed later. */
  memoryType?: types.MemoryType | null;
  /** At most 65536 bytes as JSON. */
  structuredContent?: types.StructuredContent | null;
  /**
   * Source of the fact, or the reason that it matters, in words. Generation quotes the conversation
   * here as evidence; a given fact has none.
   */
  context?: string | null;
  /**
   * Time at which the memory is deleted, in UTC; absent: by `ttl`, else by the engine's
   * `ttlConfig`, else never.
   */
  expireTime?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** The memory's own scope; another one is refused. */
  scope?: Record<string, string> | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const UPDATE_NAMESPACE: Call = {
  id: "updateNamespace",
  method: "PATCH",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}",
  body: ["localOnly", "allowedModels", "readers", "sensitive", "embeddingModel", "ttl"],
  isChange: true,
};

/** Arguments of `updateNamespace`. */
export interface UpdateNamespace {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<types.Reader> | null;
  /** True: derived content is sensitive as well, and never inline. */
  sensitive?: boolean | null;
  /**
   * Id of the embedding model for its chunks and for questions; absent: searches compare words
   * only.
   */
  embeddingModel?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const UPDATE_REASONING_ENGINE: Call = {
  id: "updateReasoningEngine",
  method: "PATCH",
  path: "{engine}",
  query: ["updateMask"],
  body: ["displayName", "description", "labels", "contextSpec", "encryptionSpec", "spec",
    "trafficConfig"],
  isChange: true,
};

/** Arguments of `updateReasoningEngine`. */
export interface UpdateReasoningEngine {
  /** Fields to change, separated by commas; `*` means all. */
  updateMask?: string | null;
  /** Name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** The caller's own labels. */
  labels?: Record<string, string> | null;
  /** Configuration of its memory bank. */
  contextSpec?: types.ContextSpec | null;
  /** Not served: this service encrypts no columns. Encrypt the disk or the database. */
  encryptionSpec?: null;
  /** Not served: no agents run here. */
  spec?: null;
  /** Not served: no agents run here. */
  trafficConfig?: null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const UPDATE_SESSION: Call = {
  id: "updateSession",
  method: "PATCH",
  path: "{engine}/sessions/{session}",
  query: ["updateMask", "sessionId"],
  body: ["displayName", "labels", "sessionState", "expireTime", "ttl", "memoryPolicy", "userId"],
  isChange: true,
};

/** Arguments of `updateSession`. */
export interface UpdateSession {
  /** Fields to change, separated by commas; `*` means all. */
  updateMask?: string | null;
  /** Ignored; clients may repeat it. */
  sessionId?: string | null;
  /** Name for people. */
  displayName?: string | null;
  /** The caller's own labels, of lower-case letters, digits, `_` and `-`. */
  labels?: Record<string, string> | null;
  /**
   * Values that agents keep: at most 1048576 bytes as JSON. Keys that start with `user:` are shared
   * by the user's sessions, and keys with `app:` by all sessions of the engine. Keys with `temp:`
   * are not stored.
   */
  sessionState?: Record<string, unknown> | null;
  /**
   * Time at which the session is deleted, in UTC; absent: by `ttl`, else by the service's setting.
   */
  expireTime?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** Policy of its contexts and summaries; absent: the engine's policy. */
  memoryPolicy?: types.MemoryPolicy | null;
  /** The session's own user; another one is refused. */
  userId?: string | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const UPDATE_TOOL_POLICY: Call = {
  id: "updateToolPolicy",
  method: "PUT",
  path: "{engine}/taskMemories/{taskMemory}/toolPolicies/{tool}",
  body: ["localOnly", "allowedModels", "readers", "offPrompt", "maxInlineTokens", "sensitive",
    "ttl", "activities"],
  isChange: true,
};

/** Arguments of `updateToolPolicy`. */
export interface UpdateToolPolicy {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<types.Reader> | null;
  /** Rule for storing outputs: false, true or `auto`. */
  offPrompt?: boolean | "auto";
  /**
   * With `auto`: tokens of the longest text that the prompt shows; absent: the configured default.
   */
  maxInlineTokens?: number | null;
  /** True: all outputs except info and errors are stored; requests cannot loosen this. */
  sensitive?: boolean;
  /** Time to live of outputs. */
  ttl?: string | null;
  /** Policies of single activities by name; others follow the tool's policy. */
  activities?: Record<string, unknown> | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
}

export const UPLOAD_ARTIFACT: Call = {
  id: "uploadArtifact",
  method: "PUT",
  path: "{engine}/taskMemories/{taskMemory}/namespaces/{namespace}/artifacts/{artifact}",
  query: ["userId", "tool", "sensitive", "localOnly", "ttl"],
  isChange: true,
};

/** Arguments of `uploadArtifact`. */
export interface UploadArtifact {
  /** Owner of a new namespace; required from bound callers. */
  userId?: string | null;
  /**
   * Tool that produced it; recorded with a new namespace. Its policy decides about sensitivity and
   * time to live.
   */
  tool?: string | null;
  /** True: derived artifacts stay off the prompt as well. */
  sensitive?: boolean;
  /** True: no remote model may read it. */
  localOnly?: boolean;
  /** Time to live, such as "3600s". */
  ttl?: string | null;
  /** Id of the request, of at most 128 characters; absent: a random one. */
  idempotencyKey?: string;
  /** Version that is changed; the change of another one is refused. */
  etag?: string;
  /** Digest of the bytes, as `sha-256=:...:`. */
  contentDigest?: string;
}

export const VALIDATE_REASONING_ENGINE: Call = {
  id: "validateReasoningEngine",
  method: "POST",
  path: "{engine}:validate",
  query: ["updateMask"],
  body: ["displayName", "description", "labels", "contextSpec", "encryptionSpec", "spec",
    "trafficConfig"],
};

/** Arguments of `validateReasoningEngine`. */
export interface ValidateReasoningEngine {
  /** Fields to change, separated by commas; `*` means all. */
  updateMask?: string | null;
  /** Name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** The caller's own labels. */
  labels?: Record<string, string> | null;
  /** Configuration of its memory bank. */
  contextSpec?: types.ContextSpec | null;
  /** Not served: this service encrypts no columns. Encrypt the disk or the database. */
  encryptionSpec?: null;
  /** Not served: no agents run here. */
  spec?: null;
  /** Not served: no agents run here. */
  trafficConfig?: null;
}

export const WAIT_OPERATION: Call = {
  id: "waitOperation",
  method: "POST",
  path: "{engine}/operations/{operation}:wait",
  query: ["timeout"],
};

/** Arguments of `waitOperation`. */
export interface WaitOperation {
  /** Longest wait; a duration such as `10s`. */
  timeout?: string | null;
}
