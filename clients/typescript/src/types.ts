// Written by `make client` from openapi/openapi.json.

// Shapes of requests and answers.

/** Method of counting costs. */
export type Accounting = "per_prompt" | "published_tables";

/** Handling of the outputs of one activity; its tool gives the fields that it omits. */
export interface ActivityPolicy {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<Reader> | null;
  /** Rule for storing outputs: false, true or `auto`. */
  offPrompt?: boolean | "auto" | null;
  /** With `auto`: tokens of the longest text that the prompt shows. */
  maxInlineTokens?: number | null;
  /** True: all outputs except info and errors are stored. */
  sensitive?: boolean | null;
  /** Time to live of outputs. */
  ttl?: string | null;
  /** True: outputs of this activity are refused, and nothing is stored. */
  deny?: boolean;
}

/** An empty result: the work has ended. */
export interface AnsweredEmpty {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.protobuf.Empty";
}

/** An engine as an operation left it. */
export interface AnsweredEngine {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.ReasoningEngine";
  /** Full name of the engine. */
  name: string;
  /** Name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** The caller's own labels; absent: none. */
  labels?: Record<string, string> | null;
  /** Time of its creation. */
  createTime: string;
  /** Time of its last change. */
  updateTime: string;
  /** Version of the engine, for conditional requests. */
  etag: string;
  /** Configuration of its memory bank; absent: none was sent. */
  contextSpec?: ContextSpec | null;
  /** Settings from an earlier release or an archive; they have no effect. */
  encryptionSpec?: EncryptionSpec | null;
}

/** The counts of an import, in the operation that records it. */
export interface AnsweredImport {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.ImportMemoriesResponse";
  /** Number of memories that were created. */
  imported: number;
  /** Number of deleted memories that were brought back with their lines' content. */
  restored?: number;
  /** Number of memories that got the content of their lines, with `overwrite`. */
  overwritten?: number;
}

/** A memory in the result of an operation, as the operation left it. */
export interface AnsweredMemory {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.Memory";
  /** Full name of the resource. */
  name: string;
  /** Statement that is remembered; absent where `structuredContent` is the content. */
  fact?: string | null;
  /** Short name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** Topics that the fact is about. */
  topics?: Array<MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MemoryMetadataValue> | null;
  /**
   * `NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one field of a
   * profile. It never changes.
   */
  memoryType?: MemoryType;
  /** Content of a profile, by the schema that it names; absent where `fact` is the content. */
  structuredContent?: StructuredContent | null;
  /**
   * Source of the fact, or the reason that it matters, in words. Generation quotes the conversation
   * here as evidence; a given fact has none.
   */
  context?: string | null;
  /** Exact key of the collection that it belongs to. It never changes. */
  scope?: Record<string, string>;
  /** Time of its creation. */
  createTime?: string;
  /** Time of its last change. */
  updateTime?: string;
  /**
   * Output only: the time at which the fact was said, or the time in its metadata; absent: it was
   * not said in a conversation.
   */
  eventTime?: string | null;
  /** Time at which it is deleted; absent: never. */
  expireTime?: string | null;
  /** Version of the memory, for conditional requests. */
  etag?: string;
  /** The time of the deletion; absent of a live memory, as the next three. */
  deleteTime?: string | null;
  /** The end of the time in which it can be recovered. */
  recoverUntil?: string | null;
  /** The operation that deleted it; absent if no revision was kept. */
  deleteOperation?: string | null;
  /**
   * Caller that deleted it: the id of a key, `jwt:` and the subject of a token, or `command-line`;
   * absent also where the service itself deleted it.
   */
  deleteCaller?: string | null;
}

/** A session that an operation created; only its name and time if it is deleted. */
export interface AnsweredSession {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.Session";
  /** Full name of the session. */
  name: string;
  /** Id of the user that it belongs to. */
  userId?: string;
  /** Name for people. */
  displayName?: string | null;
  /** The caller's own labels; absent: none. */
  labels?: Record<string, string> | null;
  /** Its own state merged with the shared keys, which start with `user:` and `app:`. */
  sessionState?: Record<string, unknown>;
  /** Policy of its contexts and summaries; absent: the engine's policy. */
  memoryPolicy?: MemoryPolicy | null;
  /** Time of its creation. */
  createTime?: string;
  /**
   * A microsecond after the `timestamp` of the newest event, or the time of a later change; not
   * before the creation. Filters and orders use the time of the last change.
   */
  updateTime?: string;
  /** Time at which it is deleted with its events. */
  expireTime?: string;
  /** Version of the session, for conditional requests. */
  etag?: string;
}

/** An API key with its permissions and its reach. */
export interface ApiKey {
  /** Name of the key: `keys/` and its id. */
  name: string;
  /** Name for people. */
  displayName: string;
  /** Roles of the key; absent: none. */
  roles?: Array<string> | null;
  /** Permissions in addition to its roles; absent: none. */
  permissions?: Array<string> | null;
  /** Projects of the engines that it reaches; absent: all. */
  projects?: Array<string> | null;
  /** Ids of the engines that it reaches; absent: all. */
  engines?: Array<string> | null;
  /** For each scope key, the values that it may reach; absent: all scopes. */
  scopeConditions?: Record<string, Array<string>> | null;
  /**
   * Id of the key that made it, `jwt:` and the subject of a token, or `command-line`; absent: made
   * by a start of the service.
   */
  creator?: string | null;
  /** Time of its creation. */
  createTime: string;
  /** Time at which it stops working; absent: never. */
  expireTime?: string | null;
  /** Time at which it was revoked; absent: it was not. */
  revokeTime?: string | null;
  /** Time of the last use, up to a minute early. */
  lastUseTime?: string | null;
  /** The credential to send; present only when the key is created or rotated. */
  secret?: string | null;
}

/** An event as sent by clients. Its name and numbers are ignored: the service sets them. */
export interface AppendEventRequest {
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
  content?: Content | null;
  /** Changes that the event makes, such as changes of the state. */
  actions?: EventActions | null;
  /** Code of the model's error, as its provider names it. */
  errorCode?: string | null;
  /** Text of the model's error. */
  errorMessage?: string | null;
  /** Details that the model returns with its answer. */
  eventMetadata?: EventMetadata | null;
  /** Any JSON object; it is returned as it is. */
  rawEvent?: Record<string, unknown> | null;
  /** Tokens it takes in a prompt, for policies with the counter `declared`. */
  tokenCount?: number | null;
}

/** An appended event with its number. */
export interface AppendedEvent {
  /** Full name of the event. */
  name: string;
  /** Its number in the session: from 1, without gaps. */
  seq: number;
  /** The number of its exchange; 0 before a user's first event. */
  exchange: number;
}

/** An artifact. Properties that reveal content need `artifacts.content`. */
export interface Artifact {
  /** Full name of the artifact. */
  name: string;
  /** `text`, `json` or `blob`. */
  kind: Kind;
  /** Media type of the content, as declared. */
  mediaType: string;
  /** Size of the content in bytes. */
  sizeBytes: string;
  /** A quarter of the characters, or of the bytes. */
  tokenEstimate: number;
  /** `ready` once readers can use it; before that `uploading` or `indexing`. */
  state: ArtifactState;
  /** Readers that can use it, and that the caller may use; empty: none. */
  readableWith: Array<Reader>;
  /** Artifacts that it was made from; absent: none. */
  derivedFrom?: Array<Source> | null;
  /** True if any source was deleted. */
  sourceDeleted?: boolean | null;
  /** Number of derivations; absent: not derived. */
  depth?: number | null;
  /** Type recognised from the bytes. */
  sniffedType?: string | null;
  /** Digest of the bytes, in hexadecimal digits. */
  sha256?: string | null;
  /** Time at which it was stored. */
  createTime: string;
  /** Time at which it is deleted. */
  expireTime: string;
  /** Version of the artifact, for conditional requests. */
  etag: string;
}

/**
 * A namespace of task memory; prompts show only its names and sizes. It is stored as sent. Nothing
 * checks that the namespace exists, and nothing loads it.
 */
export interface ArtifactRef {
  /** Id of the task memory. */
  memory: string;
  /** Id of the namespace. */
  namespace: string;
  /** Artifacts of the namespace: the first ones, or the ones referred to. */
  artifacts?: Array<ReferredArtifact> | null;
  /** Number of all artifacts; absent: as many as are listed. */
  count?: number | null;
  /** Size of all artifacts, in bytes. */
  totalBytes?: string | null;
  /** Time of the namespace's creation. */
  createdTime?: string | null;
  /** Time at which the namespace is deleted. */
  expireTime?: string | null;
  /** Readers that can use it; empty: none. */
  readableWith?: Array<"query" | "summarize" | "extract" | "export"> | null;
  /** Source artifacts of the listed ones. */
  derivedFrom?: Array<ReferredSource> | null;
}

/** An artifact's properties that reveal no content. */
export interface ArtifactReference {
  /** Name of the artifact within its namespace. */
  name: string;
  /** `text`, `json` or `blob`. */
  kind: Kind;
  /** Media type of the content, as declared. */
  mediaType: string;
  /** Size of the content in bytes. */
  sizeBytes: string;
  /** A quarter of the characters, or of the bytes. */
  tokenEstimate: number;
}

/** Stage of an artifact. */
export type ArtifactState = "uploading" | "indexing" | "ready";

/** An audited action: caller, method, resource, time, address and result, without content. */
export interface AuditEvent {
  /** Name of the event, below its engine if it has one. */
  name: string;
  /** Time at which the request or the operation ended. */
  createTime: string;
  /**
   * Id of the API key; `jwt:` and the subject, of a token; `command-line`; absent: the service
   * itself.
   */
  caller?: string | null;
  /** Method of the API, or the kind of the operation that has ended. */
  method: string;
  /**
   * Name of the method's target, or of the resource created; where a generation read a session of
   * another engine, that engine, and in its own log the session. Path parts that cannot be an id
   * are `?`.
   */
  resource?: string | null;
  /** Name of the long-running operation. */
  operation?: string | null;
  /** IP address of the caller. */
  address?: string | null;
  /** Id of the request, as in `x-request-id` and in the log. */
  requestId?: string | null;
  /** Name of the canonical code. */
  result: string;
  /** Reason of the error. */
  reason?: string | null;
  /** True: a repeated request that got its first response again. */
  replayed?: boolean | null;
  /** Interface that sent the request; absent: the API itself. */
  surface?: string | null;
}

/** Events to append in order: all or none. */
export interface BatchAppendEventsRequest {
  /** The events, the oldest first. */
  events: Array<AppendEventRequest>;
  /**
   * The number of the session's last event as known to the caller; if another event is last,
   * nothing is appended: 409.
   */
  expectedLastSeq?: number | null;
}

/** The appended events of a batch, in order. */
export interface BatchAppendEventsResponse {
  /** The appended events, in the order of the request. */
  events: Array<AppendedEvent>;
  /** The number of the last of them. */
  lastSeq: number;
}

/** Memories to create at once. */
export interface BatchCreateMemoriesRequest {
  /** The memories, each with an optional id. */
  requests: Array<NewMemory>;
  /**
   * True: all memories are created or none. False: each is created on its own, and the response
   * lists its outcome in `results`.
   */
  atomic?: boolean;
}

/** The memories that a batch created. */
export interface BatchCreateMemoriesResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.BatchCreateMemoriesResponse";
  /** Created memories, in the request's order. */
  memories: Array<KnownMemory>;
  /** Without `atomic`: the outcome of each memory of the request, in order. */
  results?: Array<BatchResult> | null;
}

/** The outcome of one memory of a batch: its name or its error. */
export interface BatchResult {
  /** The memory that was created. */
  memory?: NamedMemory | null;
  /** Error of a memory that was not created. */
  error?: OperationError | null;
}

/** The failed operations to run again. */
export interface BatchRetryOperationsRequest {
  /** An AIP-160 filter with the fields of the list of operations; absent: all failed operations. */
  filter?: string | null;
  /** True: only count the operations; nothing runs. */
  validateOnly?: boolean | null;
}

/** The effect of a retry of many operations. */
export interface BatchRetryOperationsResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.BatchRetryOperationsResponse";
  /** Number of operations that were queued again; with `validateOnly`, that would be. */
  retryCount: number;
  /**
   * Operations that could not run again, by the reason of the error, such as `REQUEST_NOT_KEPT`;
   * absent: none.
   */
  refusedCounts?: Record<string, number> | null;
  /**
   * True: more than 10,000 match, of which the oldest are taken; send the request again for the
   * others.
   */
  isCapped?: boolean | null;
}

/** The cheapest cap for a strategy. */
export interface BestCap {
  /** Number of exchanges that a summary replaces, from 1. */
  cap: number;
  /** All tokens billed with this cap. */
  totalTokens: number;
  /** Cost of the whole session with this cap, in the currency of the prices. */
  cost: string;
}

/** The billed tokens. */
export interface BilledTokens {
  /** All prompts; with unsplit messages, their answers as well. */
  promptIn: number;
  /** Answers; 0 if they are not counted separately. */
  promptOut: number;
  /** Input of summarisers. */
  summaryIn: number;
  /** Output of summarisers. */
  summaryOut: number;
}

/** A file inside the request. */
export interface Blob {
  /** Media type of the file, such as `image/png`. */
  mimeType?: string | null;
  /** Bytes of the file, in base64. */
  data?: string | null;
  /** Name of the file for people. */
  displayName?: string | null;
}

/** A call of a tool, as a model made it. */
export interface CallMemoryToolRequest {
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
}

/** The result of a tool. */
export interface CallMemoryToolResponse {
  /** Text for the model, as the tool's message. */
  text: string;
  /** The same as JSON; absent where `isError` is true. */
  result?: Record<string, unknown> | null;
  /** True if the tool failed. */
  isError: boolean;
  /** Tokens of `text`, about four characters each. */
  tokens: number;
}

/** A call of a tool of task memory, as a model made it. */
export interface CallTaskToolRequest {
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
}

/** The caller, by the key or token that it sent. */
export interface CallerInfo {
  /** Name of the key, or `jwt:` and the subject of the token. */
  name: string;
  /** `KEY`: an API key; `TOKEN`: a JWT of an issuer. */
  kind: "KEY" | "TOKEN";
  /** Name of the key; absent: a token. */
  displayName?: string | null;
  /** Roles, beginning with the fewest permissions; absent: none. */
  roles?: Array<Role> | null;
  /**
   * Permissions that work, sorted: permissions of the roles and single ones, without permissions
   * that need a larger reach.
   */
  permissions: Array<Permission>;
  /** Projects of the engines within reach, sorted; absent: all. */
  projects?: Array<string> | null;
  /** Ids of the engines within reach, ascending; absent: all. */
  engines?: Array<string> | null;
  /** For each scope key, the allowed values, sorted; absent: all. */
  scopeConditions?: Record<string, Array<string>> | null;
  /** Time at which the key, the secret sent or the token ends; absent: never. */
  expireTime?: string | null;
  /** Release of the responding process. */
  version: string;
}

/** Content of former sessions in a context; no event of the session itself is in it. */
export interface CarriedOver {
  /**
   * Former sessions that it came from, oldest first; of an `ABSTRACTION`, all from which its
   * sentences were selected. Empty: none.
   */
  sessions: Array<CarriedSession>;
  /** Number of the other events of the sessions read, erased ones included. */
  omittedEvents: number;
}

/** A former session whose content the context has, with its first and last event there. */
export interface CarriedSession {
  /** Number of the first event. */
  firstSeq: number;
  /** Number of the last event. */
  lastSeq: number;
  /** Name of the session. */
  session: string;
  /** Ids of its summaries there; empty: its events. */
  summaries: Array<string>;
}

/** The content of a user's former sessions that stands first in a context. */
export type CarryOver = "LAST" | "ALL" | "ABSTRACTION";

/**
 * A passage as evidence of an answer. `start` and `end` count characters (code points, not bytes or
 * UTF-16 units) of the text that was read from the artifact. This is its content without a byte
 * order mark and with LF line ends. JSON, CSV, HTML and PDF are rewritten for readers, so their
 * offsets differ from the content. An image is cited as a whole: `chunk`, `start` and `end` are 0.
 */
export interface Citation {
  /** Name of the artifact within the namespace. */
  artifact: string;
  /** Number of the artifact's chunk, from 0. */
  chunk: number;
  /**
   * The first character, from 0, in code points of the text that was read. That text has no byte
   * order mark and LF line ends; for JSON, CSV, HTML and PDF it differs from the content.
   */
  start: number;
  /** The first character after the passage, counted like `start`. */
  end: number;
  /**
   * Page with the first character, from 1: of the PDF, or of the text of another artifact as
   * `:text` shows it.
   */
  page: number;
}

/** Parameters of a context to compose. */
export interface ComposeContextRequest {
  /** Instructions that come before everything else; absent: none. */
  systemPrompt?: string | null;
  /** Message that the model must answer, not yet an event. */
  pendingMessage?: string | null;
  /** Policy of this context; absent: the policy of the session or its engine, or `inclusive`. */
  policy?: MemoryPolicy | null;
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
  format?: Format;
  /**
   * False: summaries without the marks that declare them to be data, in place of the policy's
   * `framing`.
   */
  framing?: boolean | null;
  /** `latest`: no model is called. `wait`: summaries that are due are made first. */
  consistency?: Consistency;
  /** Time limit of `wait`; absent: the service's maximum. */
  waitTimeout?: string | null;
  /** Facts of the memory bank to include; absent: none. */
  includeMemories?: IncludeMemories | null;
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

/** Handling of summaries that are due. */
export type Consistency = "latest" | "wait";

/** Consolidation of candidates with the memories that exist. */
export interface ConsolidationConfig {
  /** Number of past revisions of a memory that the model sees; absent: 1. */
  revisionsPerCandidateCount?: number | null;
}

/** A turn of `user` (the default role) or `model`. */
export interface Content {
  /** Role of the speaker: `user` (also when absent) or `model`. */
  role?: string | null;
  /** Texts, files and calls of tools, in order. */
  parts?: Array<Part> | null;
}

/** A turn of a conversation. */
export interface ContentEvent {
  /** Content of the turn. */
  content: Content;
  /** Id that the caller chose; a stream takes an event of the same id once. */
  eventId?: string | null;
  /**
   * Time of the turn. Its offset is the speaker's time zone, and so determines the day of "today";
   * an offset of zero is ignored.
   */
  eventTime?: string | null;
}

/** Estimate for one strategy and one session length. */
export interface ContextCost {
  /** Strategy that the row is about. */
  strategy: Strategy;
  /** Policy of the strategy, with all settings that were assumed. */
  policy: MemoryPolicy;
  /** Length of the session, in prompts with their answers. */
  messages: number;
  /** Tokens of the last prompt with its answer; the window must hold both. */
  lastPromptTokens?: number | null;
  /** Tokens of the largest prompt with its answer. */
  largestPromptTokens?: number | null;
  /** All billed tokens. */
  totalTokens?: number | null;
  /** Billed tokens by their source; absent with `published_tables`. */
  billedTokens?: BilledTokens | null;
  /** `published_tables`: the running total at the last message. */
  finalTokens?: number | null;
  /** `published_tables`: cost of the last message. */
  lastCost?: string | null;
  /** Cost of the whole session, in the currency of the prices. */
  cost: string;
  /** Calls of a summariser, merges included. */
  summaries: number;
  /** The first message that does not fit the window; absent: all fit. */
  firstOverflowMessage?: number | null;
  /**
   * Saved share of the cost of `inclusive`, to six digits: `0.318974`; negative if it costs more.
   * Absent for `inclusive` itself, or if that is free.
   */
  savedVsInclusive?: string | null;
  /** Also absent if no cap costs less than having no summaries. */
  bestCap?: BestCap | null;
  /** Assumptions of the estimate; absent: none. */
  note?: string | null;
}

/** Fate of each event up to `lastSeq`: it is in exactly one of the three lists. */
export interface ContextCoverage {
  /** Events shown word for word. */
  verbatim: Array<SeqRange>;
  /** Events shown by a summary in their place. */
  summarised: Array<SummarisedRange>;
  /** All other events, including erased and cleared ones. */
  omitted: Array<SeqRange>;
}

/** A message in the format `messages` or `openai`. */
export interface ContextMessage {
  /** `system`, `user`, `assistant` or `tool`. */
  role: string;
  /**
   * Text of the message, or its parts in the provider's format; null where the message only calls
   * tools.
   */
  content?: unknown;
  /**
   * `kind` (`system`, `summary`, `event`, `memory` or `pending`), and its source: the `summary` (of
   * several, the oldest, and all as `summaries`), the former `sessions` carried over from, the
   * `event` and `seq`, or the `memories`; only in `messages`.
   */
  source?: Record<string, unknown> | null;
  /**
   * The event's `rawEvent`, with `includeRawEvents`; absent if it has none, if it is shortened, or
   * if newer raw events have 16 MiB. Its tokens are not counted.
   */
  rawEvent?: Record<string, unknown> | null;
  /** Calls of tools by the agent, in OpenAI's format. */
  tool_calls?: Array<Record<string, unknown>> | null;
  /** Id of the call that this message answers. */
  tool_call_id?: string | null;
}

/** A context, and the account of its content; one of the first four is set, by the format. */
export interface ContextResponse {
  /** The context in the formats `messages` and `openai`, the oldest first. */
  messages?: Array<ContextMessage> | null;
  /** The context in the format `gemini`, the oldest first. */
  contents?: Array<Record<string, unknown>> | null;
  /** The system prompt in the format `gemini`; absent: none. */
  systemInstruction?: Record<string, unknown> | null;
  /** The context in the format `text`. */
  text?: string | null;
  /** Source of each message, in `openai` and `gemini`. */
  sources?: Array<Record<string, unknown>> | null;
  /** Tokens that the context takes of the model's window. */
  tokens: ContextTokens;
  /** Events by their treatment: shown word for word, shown by a summary, or left out. */
  coverage: ContextCoverage;
  /**
   * `current`: nothing is due; `pending`: summaries are being made; `failed`: the last attempt
   * failed and will be retried.
   */
  summaryState: SummaryState;
  /** Account of former sessions; absent without `carryOver`. */
  carriedOver?: CarriedOver | null;
  /** Events that are shown only in part, from their beginning; empty: none. */
  truncatedEvents: Array<TruncatedEvent>;
  /** Policy that was applied. */
  policy: MemoryPolicy;
  /** Key of the policy's summaries. */
  policyKey: string;
  /** The session's last event. */
  lastSeq: number;
  /** Price of the context as input; absent without `model` or a configured price of it. */
  estimatedCost?: EstimatedCost | null;
  /** True: the answer to a `preview`. */
  isPreview?: boolean | null;
  /**
   * `template_needs_model`: the policy has a template, but its summaries are made without a model,
   * which alone could follow it. Absent: none.
   */
  warnings?: Array<string> | null;
}

/** The location of the bank's configuration within an engine. */
export interface ContextSpec {
  /** The bank's configuration; absent: the service's defaults. */
  memoryBankConfig?: MemoryBankConfig | null;
}

/** Tokens of a context in the model's window, by its counter. */
export interface ContextTokens {
  /** Tokens of all parts, with the marks around summaries. */
  total: number;
  /** Tokens of the system prompt. */
  system: number;
  /** Tokens of former sessions' content; absent without `carryOver`. */
  carriedOver?: number | null;
  /** Tokens of summaries. */
  summaries: number;
  /** Tokens of events shown word for word. */
  events: number;
  /** Tokens of facts of the memory bank. */
  memories: number;
  /** Tokens of the pending message. */
  pending: number;
  /** Tokens of the marks around summaries and between them, a part of `total`. */
  framingTokens: number;
  /** Maximum tokens of the prompt with its answer; absent: no limit. */
  limit?: number | null;
  /** Tokens kept free for the model's answer. */
  reserved: number;
  /** `agent_summary`: the events' share. */
  stmBudget?: number | null;
  /** `agent_summary`: the summary's share. */
  ltsBudget?: number | null;
  /** Token counter that all these figures are counted by. */
  counter: string;
}

/** The conversation of an example. */
export interface ConversationSource {
  /** The turns, the oldest first. */
  events?: Array<ExampleEvent> | null;
}

/** A range of a session's events; both ends are included. */
export interface Covered {
  /** Number of the first event. */
  firstSeq: number;
  /** Number of the last event. */
  lastSeq: number;
}

/** The text of a user and the answer of the agent. */
export interface CreateExchangeRequest {
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
}

/** A key as described by its creator. Output-only fields are ignored. */
export interface CreateKeyRequest {
  /** Name for people; printable, not blank. */
  displayName: string;
  /** Roles of the key; at least one of `roles` and `permissions` is needed. */
  roles?: Array<Role> | null;
  /** Permissions in addition to the roles. */
  permissions?: Array<Permission> | null;
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

/**
 * A memory as its creator sends it, with `fact` or `structuredContent`. Fields that only responses
 * have are ignored.
 */
export interface CreateMemoryRequest {
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
  topics?: Array<MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MemoryMetadataValue> | null;
  /** Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be changed later. */
  memoryType?: MemoryType | null;
  /** At most 65536 bytes as JSON. */
  structuredContent?: StructuredContent | null;
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
}

/** A session as sent by its creator. Output-only fields are ignored. */
export interface CreateSessionRequest {
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
  memoryPolicy?: MemoryPolicy | null;
  /** Id of the user that the session belongs to. */
  userId: string;
}

/** A topic of the bank's own. */
export interface CustomMemoryTopic {
  /** Name of the topic; facts refer to it. */
  label: string;
  /** Explanation of the topic for the model. */
  description?: string | null;
}

/** A kind of sensitive value of an operator's own. */
export interface CustomPattern {
  /** Name of the kind: capital letters and underscores. */
  name: string;
  /** A pattern of RE2 syntax. */
  pattern: string;
}

/** Extraction settings for the scopes that have all of `scopeKeys`. */
export interface CustomizationConfig {
  /**
   * Keys that a scope must have; absent or empty: none. If several entries match, the one with the
   * most keys counts.
   */
  scopeKeys?: Array<string> | null;
  /** Topics to extract; absent or empty: the managed topics. */
  memoryTopics?: Array<MemoryTopic> | null;
  /** Conversations with the memories that should result from them. */
  generateMemoriesExamples?: Array<GenerateMemoriesExample> | null;
  /** True: facts are written as "The user ..."; otherwise as "I ...". */
  enableThirdPersonMemories?: boolean | null;
  /** Settings for the comparison of new facts with present memories. */
  consolidationConfig?: ConsolidationConfig | null;
  /** True: only profiles are made, no facts. */
  disableNaturalLanguageMemories?: boolean | null;
}

/** The body of a delete, as the Python client sends it. */
export interface DeleteEngineRequest {
  /** True: delete the engine with its whole content; otherwise only an empty engine is deleted. */
  force?: boolean;
}

/** Options of a deletion; none with `permanent`, which leaves no revision. */
export interface DeleteMemoryRequest {
  /** Labels of the revisions that this request makes. */
  revisionLabels?: Record<string, string> | null;
  /**
   * Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`, else by the
   * engine's `ttlConfig`, else by the service's setting.
   */
  revisionExpireTime?: string | null;
  /** Life of those revisions, from now; above zero seconds. */
  revisionTtl?: string | null;
}

/** A conversation in the request. */
export interface DirectContentsSource {
  /**
   * The turns, the oldest first; their texts have a greatest length in all,
   * `MEMORY_BANK_MAX_GENERATION_CHARS`. Sessions and streams have none.
   */
  events: Array<ContentEvent>;
}

/** Facts in the request: they skip extraction, but are consolidated. */
export interface DirectMemoriesSource {
  /** The facts, which are stored unchanged unless they are already known. */
  directMemories: Array<DirectMemory>;
}

/** A fact in the request. */
export interface DirectMemory {
  /** Statement to remember, in one or a few sentences; not blank. */
  fact: string;
  /** Topics that the fact is about; absent: none. */
  topics?: Array<MemoryTopicId> | null;
}

/** Outcome of the handling of an output. */
export type Disposition = "inline" | "stored" | "passthrough" | "empty";

/** A fact that would become no memory. */
export interface DroppedFact {
  /** The fact as it was extracted. */
  fact: string;
  /** Text that the model quoted as its source. */
  quote: string;
  /** Reason for dropping the fact. */
  reason: string;
  /** The number or date that has no source. */
  detail?: string | null;
  /** With the reason `OLDER`: the memory with a later time. */
  memory?: NamedMemory | null;
}

/** A statement about a profile's field that would change nothing. */
export interface DroppedField {
  /** Profile that the statement is about. */
  schemaId: string;
  /** Field that the statement is about. */
  field: string;
  /** Text that was named as its source. */
  quote: string;
  /** Reason for dropping it. */
  reason: string;
  /** With the reason `OLDER`: the memory with a later time. */
  memory?: NamedMemory | null;
}

/** A message without fields. Source: google.protobuf.Empty. */
export interface Empty {
}

/** Encryption settings of an engine of an earlier release or an archive; they have no effect. */
export interface EncryptionSpec {
  /** Name of a key of a key management service. */
  kmsKeyName: string;
}

/** The state of the vectors of an engine's memories. */
export interface EngineEmbedding {
  /** Id of the model for searches; absent: there are no vectors. */
  model?: string | null;
  /**
   * Id of the new model of an unfinished re-embedding; until its end, `model` serves. Absent: none
   * is running.
   */
  target?: string | null;
  /** Memories that wait for their vectors, up to 1,000; searches find them only by words. */
  waitingMemoryCount: number;
  /** True: more of them wait; absent: no. */
  isCapped?: boolean | null;
}

/** The model that writes the memories of an engine. */
export interface EngineGeneration {
  /** Id of the model that writes, or `builtin-rules/N`. */
  model: string;
  /**
   * Names of configured models that `generationConfig.model` can have; without it, the default of
   * the service writes.
   */
  availableModels: Array<string>;
}

/** The stored amounts of the engine with their limits. */
export interface EngineQuotas {
  /** Live memories, without deleted ones. */
  memories: QuotaUse;
  /** Sessions that have not expired. */
  sessions: QuotaUse;
  /** Events of sessions, and ingested events not yet processed. */
  events: QuotaUse;
  /** Content of all of them, with revisions and states. */
  bytes: QuotaUse;
  /** Artifacts of task memory. */
  artifactBytes: QuotaUse;
}

/** The model usage of an engine in a range of days, and its stored amounts. */
export interface EngineUsage {
  /** Sums by the fields in `groupBy`; groups without calls are left out. */
  usage: Array<ModelUsage>;
  /** Sums over all that `usage` could list. */
  total: UsageSums;
  /** Sums over as many days, just before the first day. */
  previousTotal: UsageSums;
  /** Ids of the models in `total` some of whose calls had no price, or may have had none. */
  unpricedModels: Array<string>;
  /** Tokens of today; absent: the service sets no budget. */
  budget?: TokenBudget | null;
  /** Stored amounts, each with its limit. */
  quotas: EngineQuotas;
  /** State of the vectors of its memories. */
  embedding: EngineEmbedding;
  /** Model that writes its memories. */
  generation: EngineGeneration;
}

/** The scope to erase: everything in scopes that contain its pairs. */
export interface EraseScopeRequest {
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /** True: count, and change nothing. */
  validateOnly?: boolean | null;
  /**
   * False: sessions, task memory and state of the user `user_id` are kept; absent: they are erased,
   * too.
   */
  includeSessions?: boolean | null;
}

/** The certificate of an erasure; it contains no scope, id or text of the erased items. */
export interface EraseScopeResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.EraseScopeResponse";
  /** Id of the certificate; absent in a preview. */
  certificateId?: string | null;
  /** Pseudonym of the scope; who has the key can test a guess. */
  subject?: string | null;
  /** Full name of the engine. */
  engine: string;
  /** Time at which the erasure began. */
  startTime: string;
  /** Time at which its last count was done. */
  endTime: string;
  /** Release of the service that erased. */
  release: string;
  /** Removed rows, by table. */
  counts: Record<string, number>;
  /** Rows that stay without the person, by table. */
  pseudonymised: Record<string, number>;
  /** True if a last count of all tables found nothing. */
  verified: boolean;
  /**
   * Data that the erasure left out: `sessions` (the user's sessions, namespaces of task memory and
   * state) and `api_keys` (keys that are bound to the scope).
   */
  notCovered: Array<string>;
  /** Places in which erased data may remain. */
  residue: Array<string>;
}

/** The body of every error response. */
export interface ErrorBody {
  /** The error. */
  error: ErrorStatus;
}

/** A google.rpc.Status in HTTP responses. */
export interface ErrorStatus {
  /** The HTTP status. */
  code: number;
  /** Explanation for people, which names the field that is at fault. */
  message: string;
  /** The name of the canonical code. */
  status: string;
  /** ErrorInfo first, then field violations. */
  details: Array<Record<string, unknown>>;
}

/** Parameters of an estimate: lengths of sessions, token sizes, prices and strategies. */
export interface EstimateContextCostsRequest {
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
  prices?: PlainPrices | null;
  /** Prices by model. */
  models?: Record<string, ModelPrices> | null;
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
  strategies?: Array<MemoryPolicy>;
  /**
   * `per_prompt`: each prompt is paid for once. `published_tables`: the method of the tables of
   * Prompt Memory Lab, for comparison with them.
   */
  accounting?: Accounting;
  /** True: also find the cheapest `cap` (or `every`) of strategies that have one, up to 1000. */
  findBestCap?: boolean;
}

/** Estimates for each length and strategy, in this order. */
export interface EstimateContextCostsResponse {
  /** Method of counting, as requested. */
  accounting: Accounting;
  /** Estimates by length, and of each length by strategy. */
  rows: Array<ContextCost>;
  /** Warning about `published_tables`. */
  note?: string | null;
  /** Currency of configured prices; absent: the request has the prices. */
  currency?: string | null;
  /** Models with a configured price; absent: the request has the prices. */
  pricedModels?: Array<string> | null;
  /** Answering model whose configured price counts; absent: none is known. */
  model?: string | null;
  /**
   * Models of the estimate without a configured price: all amounts take them as free. Absent: none.
   */
  unpricedModels?: Array<string> | null;
}

/** Estimated cost of a context's tokens as input. */
export interface EstimatedCost {
  /** Price in the currency, rounded to nine decimal places. */
  amount: number;
  /** Currency of the configured prices, as a code of three letters. */
  currency: string;
}

/** Effects of an event besides its content. */
export interface EventActions {
  /**
   * New values of these keys of the session's state, of its user's (`user:`) and of the engine's
   * (`app:`); keys that start with `temp:` are not stored.
   */
  stateDelta?: Record<string, unknown> | null;
  /** Files written, with their versions. */
  artifactDelta?: Record<string, number> | null;
  /** Name of the agent that takes over. */
  transferAgent?: string | null;
  /** True: the agent hands over to the one above it. */
  escalate?: boolean | null;
  /** True: the framework should not summarise the tool's answer. */
  skipSummarization?: boolean | null;
  /** Requests of tools for a sign-in, by the id of their call. */
  requestedAuthConfigs?: Record<string, unknown> | null;
}

/** Lag of the event loop within the last minute. */
export interface EventLoopLag {
  /** Median, in seconds. */
  p50: number;
  /** Lag that 99 of 100 moments did not exceed, in seconds. */
  p99: number;
}

/** Metadata of an event created by a model. */
export interface EventMetadata {
  /** True: the text is a piece of an answer that is still being written. */
  partial?: boolean | null;
  /** True: the model has finished its turn. */
  turnComplete?: boolean | null;
  /** True: the user cut the model short. */
  interrupted?: boolean | null;
  /** Path of agents that the event belongs to, such as `root.planner`. */
  branch?: string | null;
  /** The caller's own values. */
  customMetadata?: Record<string, unknown> | null;
  /** Ids of calls of tools that return later. */
  longRunningToolIds?: Array<string> | null;
  /** Sources of the answer, as the model's provider returns them. */
  groundingMetadata?: Record<string, unknown> | null;
  /** Text of the user's speech, as the model's provider returns it. */
  inputTranscription?: Record<string, unknown> | null;
  /** Text of the model's speech, as its provider returns it. */
  outputTranscription?: Record<string, unknown> | null;
}

/** A turn of an example. */
export interface ExampleEvent {
  /** Content of the turn. */
  content: Content;
}

/** A memory expected from an example. */
export interface ExampleMemory {
  /** Statement to extract. */
  fact: string;
  /** Topics that the fact is about. */
  topics?: Array<MemoryTopicId> | null;
}

/** An appended exchange. */
export interface Exchange {
  /** The appended events, in the order of the request. */
  events: Array<AppendedEvent>;
  /** The number of the last of them. */
  lastSeq: number;
  /** Its number in the session. */
  exchange: number;
}

/** The reasons for a memory's place. Not in the API's definition; only with `explain`. */
export interface Explanation {
  /** The ranking of the search; only with a search. */
  ranking?: Ranking | null;
  /** True: the model could not embed the query, so only words and signals count. */
  vectorsUnavailable?: boolean | null;
  /**
   * True: the model of the vectors is not known to understand the language of the query. The
   * vectors count as usual, but matching words are more reliable.
   */
  vectorsUnsuited?: boolean | null;
  /** Euclidean distance of the embeddings, 0 to 2, if they were compared. */
  vectorDistance?: number | null;
  /** Weight of the words that it shares with the query; only in `hybrid`. */
  lexicalScore?: number | null;
  /** Contribution of each signal to its score, by name; only in `hybrid`. */
  signals?: Record<string, number> | null;
  /** Tokens that it takes of `maxTokens`. */
  tokens: number;
  /** Time of the statement, if known; output only. */
  eventTime?: string | null;
  /** Source of the statement, if known; output only. */
  sourceEvent?: SourceEvent | null;
}

/** Destination for the artifacts of a namespace. */
export interface ExportNamespaceRequest {
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
}

/** The files that were written. */
export interface ExportNamespaceResponse {
  /** Name of the sink that was written to. */
  sink: string;
  /** Written files, one for each artifact, in the order of the artifacts. */
  files: Array<ExportedFile>;
  /** Sum of `sizeBytes`. */
  totalBytes: string;
}

/** A file that was written. */
export interface ExportedFile {
  /** Name of the artifact within its namespace. */
  artifact: string;
  /** Path within the sink. */
  path: string;
  /** Size of the artifact in bytes. The file of a padded result is shorter. */
  sizeBytes: string;
}

/** A schema of rows to extract from a namespace. */
export interface ExtractNamespaceRequest {
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
  source?: RowSource;
  /** `json`, or `csv`, which has a column for each property and no sources. */
  format?: RowFormat;
  /**
   * Maximum number of rows; without `offPrompt`, the response also has at most 1,000 rows and 256
   * KiB of them.
   */
  maxRows?: number;
}

/**
 * Extracted rows, in text order. Of a sensitive namespace, a key without `artifacts.content` gets
 * neither counts nor rejections.
 */
export interface ExtractNamespaceResponse {
  /** Id of the model that was called; `builtin:extractive`: none was. */
  model: string;
  /** Part of the namespace that was read. */
  coverage: ReadingCoverage;
  /** Model calls made for this request. */
  usage: ReaderUsage;
  /** Reference to the result, if it is kept off the prompt. */
  reference?: Reference | null;
  /** Text for the prompt that names the result, if it is kept off the prompt. */
  promptText?: string | null;
  /**
   * True if this is the result of an equal request. After an earlier one, this request is free;
   * after a concurrent one, `usage` shows the cost of this request.
   */
  reused?: boolean | null;
  /** The rows; absent if they are kept off the prompt, or are `csv`. */
  rows?: Array<ExtractedRow> | null;
  /**
   * The rows as CSV with a header. A cell that spreadsheets would compute begins with an
   * apostrophe.
   */
  csv?: string | null;
  /** Number of rows in the result, from 0. */
  rowCount?: number | null;
  /**
   * True if there are more rows, or text was not read; `offPrompt`, `maxRows` or `artifacts` get
   * the others.
   */
  truncated?: boolean | null;
  /** The first rejected rows, up to 20; absent if there are none. */
  rejected?: Array<RejectedRow> | null;
  /** Number of all rejected rows, from 0. */
  rejectedCount?: number | null;
}

/** A memory as generation extracted it, before it was merged with present memories. */
export interface ExtractedMemory {
  /** Statement as it was extracted; absent for a field of a profile. */
  fact?: string | null;
  /** Quotation from the conversation as evidence; absent for a given fact. */
  context?: string | null;
  /** Value of a field of a profile; absent for a fact. */
  structuredData?: Record<string, unknown> | null;
}

/** A row that meets the schema, and its place. */
export interface ExtractedRow {
  /** Name of the artifact within the namespace. */
  artifact: string;
  /** First character, counted like `start` of a citation. */
  start: number;
  /** First character after it; 0: the whole artifact. */
  end: number;
  /** Values by property. */
  values: Record<string, JsonValue>;
}

/** Operations that failed for the same reason, with the same model, within the same hour. */
export interface FailureGroup {
  /** Reason of the error, as `error.reason` in filters; absent: it has none. */
  reason?: string | null;
  /** Id of the model, as `author` in filters; absent: no model was needed. */
  author?: string | null;
  /** Beginning of the hour, in UTC, within which the operations ended. */
  startTime: string;
  /** Number of these operations. */
  operationCount: number;
}

/** A file stored elsewhere. */
export interface FileData {
  /** Media type of the file, such as `image/png`. */
  mimeType?: string | null;
  /** Address of the file, passed to the model unchanged; the service fetches nothing. */
  fileUri?: string | null;
  /** Name of the file for people. */
  displayName?: string | null;
}

/** Conditions that must all hold; of several groups, at least one must hold. */
export interface FilterGroup {
  /** The conditions. */
  filters: Array<MetadataCondition>;
}

/** The text to find. */
export interface FindResourcesRequest {
  /**
   * Id or full name of a memory, revision, operation, session, key or engine, or a value of a
   * scope. If it is none of these, the last digits of the id of a memory, revision, operation or
   * session, at least 6.
   */
  text: string;
}

/** The resources and scopes that the text names. */
export interface FindResourcesResponse {
  /** At most 10; empty: the key reaches nothing of this name. */
  resources: Array<Found>;
}

/** A stream to process at once, with all its waiting events. */
export interface FlushStreamRequest {
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /** Id of the stream; absent or empty: `default`. */
  streamId?: string | null;
}

/** Output format of a context. */
export type Format = "messages" | "openai" | "gemini" | "text";

/** The values of `ltsRole`. */
export type FormerSummaryRole = "assistant" | "system";

/** A resource or a scope that the text names. */
export interface Found {
  /** Kind of the resource, or `SCOPE`. */
  kind: FoundKind;
  /** Full name of the resource; absent for `SCOPE`. */
  name?: string | null;
  /**
   * Only with `SCOPE`: the pair with the value, which scopes of memories contain, or which is the
   * user of sessions.
   */
  scope?: Record<string, string> | null;
  /** True: a deleted memory that can still be recovered. */
  isDeleted?: boolean | null;
}

/** The kinds of resources that can be found, and scopes. */
export type FoundKind = "MEMORY" | "REVISION" | "OPERATION" | "SESSION" | "KEY" | "ENGINE" |
  "SCOPE";

/** An example of an extraction; an example may also have no memories. */
export interface GenerateMemoriesExample {
  /** The conversation. */
  conversationSource?: ConversationSource | null;
  /** Memories that should result from it; absent or empty: none. */
  generatedMemories?: Array<ExampleMemory> | null;
}

/**
 * The source, the scope and the options of a generation. Exactly one of `directContentsSource`,
 * `directMemoriesSource` and `vertexSessionSource` is required, and `scope` with the first two.
 */
export interface GenerateMemoriesRequest {
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
  directContentsSource?: DirectContentsSource | null;
  /** Facts in the request; one of three sources. */
  directMemoriesSource?: DirectMemoriesSource | null;
  /**
   * A session, perhaps of another engine in the same project and location; one of three sources.
   */
  vertexSessionSource?: VertexSessionSource | null;
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
  metadata?: Record<string, MemoryMetadataValue> | null;
  /**
   * Treatment of the metadata of a memory that is updated. `OVERWRITE` (also when absent): these
   * values replace it. `MERGE`: they are added. `REQUIRE_EXACT_MATCH`: only memories with equal
   * metadata are updated.
   */
  metadataMergeStrategy?: MetadataMergeStrategy;
  /** Limits the configured topics to these. */
  allowedTopics?: Array<MemoryTopicId> | null;
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
}

/** The changes of a generation, or the planned changes of a preview. */
export interface GenerateMemoriesResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.GenerateMemoriesResponse";
  /** Id of the model that wrote the facts, or `engine`; absent: no change. */
  author?: string | null;
  /** The changes, in order; absent: none. */
  generatedMemories?: Array<GeneratedMemory> | null;
  /** Only in a preview: the changes, in order; absent: none. */
  plannedChanges?: Array<PlannedMemoryChange> | null;
  /** Only in a preview: facts that would become no memory; absent: none. */
  droppedFacts?: Array<DroppedFact> | null;
  /**
   * Only in a preview: statements about fields of profiles that would change nothing; absent: none.
   */
  droppedFields?: Array<DroppedField> | null;
  /** Only in a preview: decisions that would not be carried out; absent: none. */
  refusedDecisions?: Array<RefusedDecision> | null;
  /** True: the texts of this preview were erased together with their subject. */
  withdrawn?: boolean | null;
}

/** A change that a generation made. */
export interface GeneratedMemory {
  /** The memory that it changed. */
  memory: NamedMemory;
  /** `CREATED`, `UPDATED` or `DELETED`. */
  action: string;
  /** Full name of the previous revision; absent: there is none. */
  previousRevision?: string | null;
}

/** The model that writes memories, and when it runs. */
export interface GenerationConfig {
  /**
   * Name of a configured model; absent, or a name of Google's that is not configured: the service's
   * own.
   */
  model?: string | null;
  /** Trigger of generation from ingested events; absent: they become memories at once. */
  generationTriggerConfig?: GenerationTriggerConfig | null;
}

/** Conditions on which buffered events become memories. */
export interface GenerationRule {
  /** Time without a new event; whole minutes. Not together with `fixedInterval`. */
  idleDuration?: string | null;
  /** Time since the oldest waiting event; whole minutes. Not together with `idleDuration`. */
  fixedInterval?: string | null;
  /** Number of waiting events. */
  eventCount?: number | null;
  /** Number of processed events that are read again with the next ones; less than `eventCount`. */
  overlapEventCount?: number | null;
}

/** The trigger of memory generation for the bank's streams. */
export interface GenerationTriggerConfig {
  /** The conditions, of which one is enough; absent: events are processed at once. */
  generationRule?: GenerationRule | null;
}

/** Lifetimes of memories by the way they were created. */
export interface GranularTtlConfig {
  /**
   * Life of memories that `memories.create` makes, from now; above zero, at most a thousand years.
   */
  createTtl?: string | null;
  /** Life of memories that generation makes; above zero, at most a thousand years. */
  generateCreatedTtl?: string | null;
  /**
   * Life of memories from the time that generation updates them; above zero, at most a thousand
   * years.
   */
  generateUpdatedTtl?: string | null;
}

/** The failed operations of an engine in groups. */
export interface GroupFailuresResponse {
  /** The groups, the newest hour first, and the largest group first within an hour; at most 100. */
  failureGroups: Array<FailureGroup>;
  /** Number of the operations in all groups, also in those beyond the first 100. */
  operationCount: number;
  /** True: more than 10,000 match, and only the newest were counted. */
  isCapped?: boolean | null;
}

/** The response to a probe. */
export interface Health {
  /**
   * `ok`; `degraded`: a standby serves reads, and writes fail; any other state is an error
   * response.
   */
  status: string;
  /** State of each part, by name: `ok`, or the problem. */
  checks?: Record<string, string>;
}

/** The result of an import. */
export interface ImportMemoriesResponse {
  /** Number of memories that were created. */
  imported: number;
  /** Number of deleted memories that were brought back with their lines' content. */
  restored?: number;
  /** Number of memories that got the content of their lines, with `overwrite`. */
  overwritten?: number;
  /** Memories that existed already, with their ids and this content. */
  existing: number;
  /** Number of lines with an `expireTime` in the past; they were not stored. */
  expired: number;
  /**
   * Memories that existed with other content; they were kept, unless the request had `overwrite`.
   */
  changedHere: number;
  /** Number of lines that were refused; they were not stored. */
  failed: number;
  /** Errors of the lines that failed, the first `maxErrors` of them. */
  errors: Array<LineError>;
  /**
   * Name of the operation that records the import and can be undone; absent if this request changed
   * nothing.
   */
  operation?: string | null;
}

/** Selection of memory bank facts to include if there is room. */
export interface IncludeMemories {
  /** Search query; `auto`: the pending message, or else the user's last message. */
  query?: string;
  /** Maximum number of facts. */
  topK?: number;
  /** Maximum tokens of the facts; absent: all that are left. */
  maxTokens?: number | null;
  /** Scope of the memories; absent: only the session's `user_id`. */
  scope?: Record<string, string> | null;
}

/** Events for a stream, and when and how to turn them into memories. */
export interface IngestEventsRequest {
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
  directContentsSource?: DirectContentsSource | null;
  /**
   * Trigger of generation from the events; absent: the bank's trigger; without any, events are
   * processed at once.
   */
  generationTriggerConfig?: GenerationTriggerConfig | null;
  /** True: process all waiting events at once. */
  forceFlush?: boolean | null;
  /** The caller's own values, stored with each memory that is written. */
  metadata?: Record<string, MemoryMetadataValue> | null;
  /** Treatment of the metadata of a memory that is updated, as in `memories:generate`. */
  metadataMergeStrategy?: MetadataMergeStrategy | null;
}

/** The end of a stream's wait. */
export interface IngestEventsResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.IngestEventsResponse";
  /**
   * Full name of the operation that made memories from the events; absent: there were none to read.
   */
  generateMemoriesOperation?: string | null;
}

/** JsonValue. */
export type JsonValue = unknown;

/** Kind of a tool's output; only text, JSON and blobs can be stored. */
export type Kind = "text" | "json" | "blob" | "list" | "info" | "error";

/** A memory as an operation left it; without its content if that is no longer known. */
export interface KnownMemory {
  /** Full name of the resource. */
  name: string;
  /** Statement that is remembered; absent where `structuredContent` is the content. */
  fact?: string | null;
  /** Short name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** Topics that the fact is about. */
  topics?: Array<MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MemoryMetadataValue> | null;
  /**
   * `NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one field of a
   * profile. It never changes.
   */
  memoryType?: MemoryType;
  /** Content of a profile, by the schema that it names; absent where `fact` is the content. */
  structuredContent?: StructuredContent | null;
  /**
   * Source of the fact, or the reason that it matters, in words. Generation quotes the conversation
   * here as evidence; a given fact has none.
   */
  context?: string | null;
  /** Exact key of the collection that it belongs to. It never changes. */
  scope?: Record<string, string>;
  /** Time of its creation. */
  createTime?: string;
  /** Time of its last change. */
  updateTime?: string;
  /**
   * Output only: the time at which the fact was said, or the time in its metadata; absent: it was
   * not said in a conversation.
   */
  eventTime?: string | null;
  /** Time at which it is deleted; absent: never. */
  expireTime?: string | null;
  /** Version of the memory, for conditional requests. */
  etag?: string;
  /** The time of the deletion; absent of a live memory, as the next three. */
  deleteTime?: string | null;
  /** The end of the time in which it can be recovered. */
  recoverUntil?: string | null;
  /** The operation that deleted it; absent if no revision was kept. */
  deleteOperation?: string | null;
  /**
   * Caller that deleted it: the id of a key, `jwt:` and the subject of a token, or `command-line`;
   * absent also where the service itself deleted it.
   */
  deleteCaller?: string | null;
}

/** A language that Postgres can stem, by its ISO 639-1 code. */
export type Language = "simple" | "ar" | "ca" | "da" | "de" | "el" | "en" | "es" | "et" | "eu" |
  "fi" | "fr" | "ga" | "hi" | "hu" | "hy" | "id" | "it" | "lt" | "ne" | "nl" | "no" | "pt" | "ro" |
  "ru" | "sr" | "sv" | "ta" | "tr" | "yi";

/** The error of a line. */
export interface LineError {
  /** Number of the line, from 1. */
  line: number;
  /** Reason of the refusal. */
  error: OperationError;
}

/** A page of artifacts. */
export interface ListArtifactsResponse {
  /** The artifacts of this page. */
  artifacts: Array<Artifact>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of events, newest first. */
export interface ListAuditEventsResponse {
  /** The events of this page. */
  auditEvents: Array<AuditEvent>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of events. */
export interface ListEventsResponse {
  /** The events of this page. */
  sessionEvents: Array<SessionEvent>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of keys. */
export interface ListKeysResponse {
  /** The keys of this page. */
  keys: Array<ApiKey>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of memories. */
export interface ListMemoriesResponse {
  /** The memories of this page. */
  memories: Array<Memory>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of revisions, newest first. */
export interface ListMemoryRevisionsResponse {
  /** The revisions of this page. */
  memoryRevisions: Array<MemoryRevision>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of namespaces. */
export interface ListNamespacesResponse {
  /** The namespaces of this page. */
  namespaces: Array<Namespace>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of operations, newest first. */
export interface ListOperationsResponse {
  /** The operations of this page. */
  operations: Array<Operation>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of engines, newest first. */
export interface ListReasoningEnginesResponse {
  /** The engines of this page. */
  reasoningEngines: Array<ReasoningEngine>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of the labels in use, in the order of their bytes. */
export interface ListRevisionLabelsResponse {
  /** The labels of this page. */
  labels: Array<RevisionLabel>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of scopes, in a stable order without a meaning. */
export interface ListScopesResponse {
  /** The scopes of the page. */
  scopes: Array<ScopeInUse>;
  /** `pageToken` of the next page; absent on the last one. */
  nextPageToken?: string | null;
}

/** A page of sessions. */
export interface ListSessionsResponse {
  /** The sessions of this page. */
  sessions: Array<Session>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of streams, latest arrival first. */
export interface ListStreamsResponse {
  /** The streams of the page. */
  streams: Array<Stream>;
  /** `pageToken` of the next page; absent on the last one. */
  nextPageToken?: string | null;
}

/** A page of summaries, oldest first. */
export interface ListSummariesResponse {
  /** The summaries of this page. */
  summaries: Array<SessionSummary>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of task memories. */
export interface ListTaskMemoriesResponse {
  /** The task memories of this page. */
  taskMemories: Array<TaskMemory>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** A page of policies. */
export interface ListToolPoliciesResponse {
  /** The policies of this page. */
  toolPolicies: Array<ToolPolicy>;
  /** Token of the next page, for `pageToken`; absent on the last page. */
  nextPageToken?: string | null;
}

/** Files of the operator to store as artifacts. */
export interface LoadFilesRequest {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<Reader> | null;
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
}

/** The artifacts in which files are stored. */
export interface LoadFilesResponse {
  /** Properties of the namespace that prompts may show. */
  reference: Reference;
  /** Text for the prompt that represents the artifacts. */
  promptText: string;
  /**
   * `no_reader`: neither the caller nor a configured reader can use the stored output. Absent: no
   * warning.
   */
  warnings?: Array<Warned> | null;
  /** The artifacts, in the order of their names. */
  artifacts: Array<Artifact>;
  /**
   * Number of entries of the folder that were left out: folders, links, devices, hidden files, and
   * names that no artifact can have.
   */
  skippedCount: number;
}

/** A topic that the API defines. */
export interface ManagedMemoryTopic {
  /** The topic. */
  managedTopicEnum: ManagedTopic;
}

/** The topics that the API defines. */
export type ManagedTopic = "MANAGED_TOPIC_ENUM_UNSPECIFIED" | "USER_PERSONAL_INFO" |
  "USER_PREFERENCES" | "KEY_CONVERSATION_DETAILS" | "EXPLICIT_INSTRUCTIONS";

/** A memory. */
export interface Memory {
  /** Full name of the resource. */
  name: string;
  /** Statement that is remembered; absent where `structuredContent` is the content. */
  fact?: string | null;
  /** Short name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** Topics that the fact is about. */
  topics?: Array<MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MemoryMetadataValue> | null;
  /**
   * `NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one field of a
   * profile. It never changes.
   */
  memoryType: MemoryType;
  /** Content of a profile, by the schema that it names; absent where `fact` is the content. */
  structuredContent?: StructuredContent | null;
  /**
   * Source of the fact, or the reason that it matters, in words. Generation quotes the conversation
   * here as evidence; a given fact has none.
   */
  context?: string | null;
  /** Exact key of the collection that it belongs to. It never changes. */
  scope: Record<string, string>;
  /** Time of its creation. */
  createTime: string;
  /** Time of its last change. */
  updateTime: string;
  /**
   * Output only: the time at which the fact was said, or the time in its metadata; absent: it was
   * not said in a conversation.
   */
  eventTime?: string | null;
  /** Time at which it is deleted; absent: never. */
  expireTime?: string | null;
  /** Version of the memory, for conditional requests. */
  etag: string;
  /** The time of the deletion; absent of a live memory, as the next three. */
  deleteTime?: string | null;
  /** The end of the time in which it can be recovered. */
  recoverUntil?: string | null;
  /** The operation that deleted it; absent if no revision was kept. */
  deleteOperation?: string | null;
  /**
   * Caller that deleted it: the id of a key, `jwt:` and the subject of a token, or `command-line`;
   * absent also where the service itself deleted it.
   */
  deleteCaller?: string | null;
}

/**
 * The configuration of a bank; every part is optional. No part has defaults: the response contains
 * only the fields that were sent.
 */
export interface MemoryBankConfig {
  /** The model, and when it runs. */
  generationConfig?: GenerationConfig | null;
  /** Settings of searches. */
  similaritySearchConfig?: SimilaritySearchConfig | null;
  /**
   * Life of memories and of revisions; absent: memories stay, revisions by the service's setting.
   */
  ttlConfig?: TtlConfig | null;
  /** True: no change makes a revision. */
  disableMemoryRevisions?: boolean | null;
  /** Topics and examples by scope; at most one entry without `scopeKeys`. */
  customizationConfigs?: Array<CustomizationConfig> | null;
  /** Schemas of profiles by scope. */
  structuredMemoryConfigs?: Array<StructuredMemoryConfig> | null;
  /** The context policy of sessions without a policy of their own. */
  memoryPolicy?: MemoryPolicy | null;
  /** Time zone of relative dates, if neither the request nor its events name one; absent: UTC. */
  timeZone?: string | null;
  /**
   * Treatment of secrets and personal data; kinds that it does not name follow the service's
   * defaults. An update without it keeps it.
   */
  privacyConfig?: PrivacyConfig | null;
}

/** A value of the user's metadata: exactly one of four kinds. */
export interface MemoryMetadataValue {
  /** A text. */
  stringValue?: string | null;
  /** A finite number. */
  doubleValue?: number | null;
  /** True or false. */
  boolValue?: boolean | null;
  /** A moment in UTC; comparisons ignore fractions of seconds. */
  timestampValue?: string | null;
}

/** A strategy and its settings; each belongs to the strategies that its description names. */
export interface MemoryPolicy {
  /** Strategy for fitting a session into a prompt. */
  strategy: Strategy;
  /** Tokens of the model's window; absent: no limit. */
  tokenLimit?: number | null;
  /** Tokens of the window left for the answer; 0, and 800 for `agent_summary`. */
  reserveOutputTokens?: number | null;
  /**
   * Token counter: `chars4` (the default), `declared`, or the name of a tiktoken encoding with an
   * installed file.
   */
  counter?: string | null;
  /** Tokens of each message, without its text. */
  perMessageOverhead?: number | null;
  /** Label before a user's text; default `Human`. */
  humanLabel?: string | null;
  /** Label before the agent's text; default `AI`. */
  aiLabel?: string | null;
  /**
   * `inclusive`: behaviour where not all events fit: `error` (the default), or `omit` the oldest.
   */
  onOverflow?: Overflow | null;
  /** `window`: number of complete exchanges; one under way is shown besides. */
  window?: number | null;
  /** `window`: maximum tokens of events. */
  windowTokens?: number | null;
  /** `every_n`: number of complete exchanges that a summary replaces; default 3. */
  every?: number | null;
  /**
   * `every_n`: `append` another summary (the default), or make one summary of the `whole` session.
   */
  refresh?: Refresh | null;
  /**
   * `abstraction_inclusive`, `fully_abstracted`: number of complete exchanges that a summary takes
   * up; default 10.
   */
  cap?: number | null;
  /** Strategies by exchange: number of the newest exchanges that stay as they are; default 0. */
  keepRecent?: number | null;
  /** Strategies that append: maximum number of summaries; older ones are merged. */
  maxAbstractions?: number | null;
  /** Strategies by exchange: maximum tokens of a summary; default 250. */
  summaryTokens?: number | null;
  /** Summaries: characters for each token of the limit; default 4. */
  charsPerToken?: number | null;
  /** Separator of summaries; default: a newline. */
  joiner?: string | null;
  /**
   * False: summaries without the marks that declare them to be data, each as it was written;
   * default true: one pair of marks around all of them.
   */
  framing?: boolean | null;
  /**
   * Content of the user's former sessions that stands first, within the marks of summaries: `LAST`:
   * the last summary of the newest one, or its newest messages if it has none; `ALL`: the newest
   * messages of all; `ABSTRACTION`: the most important sentences of the summaries of all, and of
   * messages where there are none. Absent: none.
   */
  carryOver?: CarryOver | null;
  /** `carryOver`: maximum tokens of that content; default 500. */
  carryOverTokens?: number | null;
  /** Summaries: role of their message, `user` (the default) or `system`; marked as data in both. */
  summaryRole?: SummaryRole | null;
  /** Former name of `summaryRole`, read only where that is absent; `assistant` means `user`. */
  ltsRole?: FormerSummaryRole | null;
  /**
   * Summariser: a model of the settings, or `builtin`; absent: the settings' own model, and without
   * one `builtin`.
   */
  summaryModel?: string | null;
  /**
   * Summaries: false for a summariser that takes no system instruction, such as BART: its
   * instructions come first in the user's text; default true.
   */
  systemInstruction?: boolean | null;
  /**
   * Prompt of the summariser: it has `{chat_transcript}`, and may have `{char_limit}` and
   * `{previous_summary}`, each once.
   */
  template?: string | null;
  /** `agent_summary`: prompt of the summariser where it takes up the previous summary. */
  recursiveTemplate?: string | null;
  /** `agent_summary`: division of the budget between events and their summary; default 3 to 1. */
  split?: Split | null;
  /**
   * `agent_summary`: part of the events' share that stays once it is full; default 1.0. With less,
   * summaries are made more seldom.
   */
  lowWater?: number | null;
  /** `agent_summary`: true (the default): the pending message is counted. */
  countPending?: boolean | null;
  /**
   * `agent_summary`: source of the next summary: all events until they are too many for the model
   * (the default), or always the previous summary and later events.
   */
  recompute?: Recompute | null;
}

/** A profile. Clients refuse any other field here. Source: wire specification, section 2.3. */
export interface MemoryProfile {
  /** Id of the schema in the engine's `structuredMemoryConfigs`. */
  schemaId: string;
  /** Values of the fields, by name. */
  profile: Record<string, unknown>;
}

/**
 * A snapshot of a memory after one change. It only changes if a scan masks sensitive values, or an
 * erasure the name of its caller. The API's definition has `name`, `createTime`, `expireTime`,
 * `fact`, `labels`, `extractedMemories`, `structuredData` and `context`; the other fields are this
 * service's own.
 */
export interface MemoryRevision {
  /** Full name of the resource. */
  name: string;
  /**
   * Statement after the change; empty in the revision of a deletion; absent where there was none.
   */
  fact?: string | null;
  /** Short name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** Topics that the fact is about. */
  topics?: Array<MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MemoryMetadataValue> | null;
  /**
   * `NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one field of a
   * profile. It never changes.
   */
  memoryType: MemoryType;
  /** Content of a profile, by the schema that it names; absent where `fact` is the content. */
  structuredContent?: StructuredContent | null;
  /**
   * Source of the fact, or the reason that it matters, in words. Generation quotes the conversation
   * here as evidence; a given fact has none.
   */
  context?: string | null;
  /** The scope of the memory, which never changes. */
  scope: Record<string, string>;
  /** Time of the change. */
  createTime: string;
  /** Time at which the revision is deleted. */
  expireTime: string;
  /** Labels that the change was given. */
  labels?: Record<string, string> | null;
  /** Extracted memories from which generation made this change; absent: another method made it. */
  extractedMemories?: Array<ExtractedMemory> | null;
  /** Values of the profile's fields after the change; absent: the memory is no profile. */
  structuredData?: Record<string, unknown> | null;
  /**
   * The kind of the change: `CREATED`, `UPDATED`, `DELETED`, `ROLLED_BACK`, `UNDELETED`,
   * `REDACTED`.
   */
  action: string;
  /** Time at which the memory was to be deleted, as of this change; absent: never. */
  memoryExpireTime?: string | null;
  /** The engine or model that wrote the fact. */
  author?: string | null;
  /** Version of the prompts that the model was given. */
  promptVersion?: string | null;
  /** The operation that made the change. */
  operation?: string | null;
  /**
   * Caller that requested the change: id of the API key; `jwt:` and the subject, of a token;
   * `command-line`; absent: the service itself, or a revision of an earlier release.
   */
  caller?: string | null;
  /** The revision that a rollback restored. */
  restoredRevision?: string | null;
  /** Time at which a scan masked sensitive values in this revision; absent: none did. */
  redactTime?: string | null;
}

/** Declarations of the tools, in the formats of model APIs, or only in the requested format. */
export interface MemoryToolSpecs {
  /** Declarations for `tools` in a request to OpenAI's chat completions. */
  openai?: Array<Record<string, unknown>> | null;
  /** Declarations for `functionDeclarations` of Gemini. */
  gemini?: Array<Record<string, unknown>> | null;
  /** Declarations for `tools` in a request to Anthropic. */
  anthropic?: Array<Record<string, unknown>> | null;
}

/** A topic that memories may be about. */
export interface MemoryTopic {
  /** A topic of the bank's own. */
  customMemoryTopic?: CustomMemoryTopic | null;
  /** A topic that the API defines. */
  managedMemoryTopic?: ManagedMemoryTopic | null;
}

/** The name of a topic: one of a custom label and a managed topic. */
export interface MemoryTopicId {
  /** Label of a topic of the bank's own. */
  customMemoryTopicLabel?: string | null;
  /** A topic that the API defines. */
  managedMemoryTopic?: ManagedTopic | null;
}

/** The form of a memory. */
export type MemoryType = "MEMORY_TYPE_UNSPECIFIED" | "NATURAL_LANGUAGE_COLLECTION" |
  "STRUCTURED_PROFILE";

/** A message in two halves. */
export interface MessageTokens {
  /** Tokens of the prompt. */
  user: number;
  /** Tokens of its answer. */
  assistant: number;
}

/** A condition on one key of the metadata. */
export interface MetadataCondition {
  /** Name of the value in the memory's metadata. */
  key: string;
  /** `EQUAL` (also when absent), `GREATER_THAN` or `LESS_THAN`. */
  op?: MetadataOperator;
  /** Value to compare with; only stored values of its kind match. */
  value: MemoryMetadataValue;
  /** True: the condition is negated; memories without the key then match. */
  negate?: boolean | null;
}

/** The treatment of a memory's metadata when generation updates it. */
export type MetadataMergeStrategy = "METADATA_MERGE_STRATEGY_UNSPECIFIED" | "OVERWRITE" | "MERGE" |
  "REQUIRE_EXACT_MATCH";

/** The comparison of a filter's value with the stored one. */
export type MetadataOperator = "OPERATOR_UNSPECIFIED" | "EQUAL" | "GREATER_THAN" | "LESS_THAN";

/** Prices of a thousand tokens of one model. */
export interface ModelPrices {
  /** Price of a thousand tokens of input. */
  inputPer1k: string;
  /** Price of a thousand tokens of output. */
  outputPer1k: string;
}

/** Usage of one model. */
export interface ModelSums {
  /** Requests to models, including failed ones. */
  callCount: number;
  /** Tokens sent to models. */
  inputTokenCount: number;
  /** Tokens that models wrote. */
  outputTokenCount: number;
  /** Time that the calls took together, in milliseconds. */
  modelMilliseconds: number;
  /** Absent unless every call's model had a configured price at the time. */
  cost?: Money | null;
  /** Cost of the calls whose model had a price; absent: no such cost is known. */
  knownCost?: Money | null;
  /**
   * Calls whose model had no price, which `knownCost` lacks; absent: unknown for calls that an
   * earlier release recorded.
   */
  unpricedCallCount?: number | null;
  /** Id of the model: its provider and its name. */
  model: string;
}

/** Usage of model calls, by the fields in `groupBy`: usually of one model on one day. */
export interface ModelUsage {
  /** Requests to models, including failed ones. */
  callCount: number;
  /** Tokens sent to models. */
  inputTokenCount: number;
  /** Tokens that models wrote. */
  outputTokenCount: number;
  /** Time that the calls took together, in milliseconds. */
  modelMilliseconds: number;
  /** Absent unless every call's model had a configured price at the time. */
  cost?: Money | null;
  /** Cost of the calls whose model had a price; absent: no such cost is known. */
  knownCost?: Money | null;
  /**
   * Calls whose model had no price, which `knownCost` lacks; absent: unknown for calls that an
   * earlier release recorded.
   */
  unpricedCallCount?: number | null;
  /** Day, of UTC; absent: all. */
  day?: string | null;
  /** Id of the model; absent: all. */
  model?: string | null;
  /**
   * Kind of the operation that called, `recall`, `query` (of task memory), or `unknown`: recorded
   * by an earlier release; absent: all.
   */
  kind?: string | null;
}

/** An amount of money, rounded to nine decimal places. */
export interface Money {
  /** Sum in the currency. */
  amount: number;
  /** Currency of the configured prices, as a code of three letters. */
  currency: string;
}

/** A memory by its name. */
export interface NamedMemory {
  /** Full name of the memory. */
  name: string;
}

/** A group of artifacts in a task memory. */
export interface Namespace {
  /** Full name of the namespace. */
  name: string;
  /** Properties of the namespace that prompts may show. */
  reference: Reference;
  /** Owner; absent: none. */
  userId?: string | null;
  /** Tool that produced its content, if known. */
  tool?: string | null;
  /** Name of the tool's activity, such as `fetch`, if known. */
  activity?: string | null;
  /** True: derived content is sensitive as well, and never inline. */
  sensitive: boolean;
  /** True: only models on this machine may read it. */
  localOnly: boolean;
  /** Models that may read it; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which it may be used; absent: all. */
  readers?: Array<Reader> | null;
  /** Id of the model that embeds its chunks and questions; absent: searches compare words only. */
  embeddingModel?: string | null;
  /** Time of its creation. */
  createTime: string;
  /** Time of its last change. */
  updateTime: string;
  /** Time at which it is deleted with its artifacts. */
  expireTime: string;
  /** Version of the namespace, for conditional requests. */
  etag: string;
}

/** A memory of a batch. */
export interface NewMemory {
  /** The memory. */
  memory: CreateMemoryRequest;
  /** Id of the new memory; absent: a new one. */
  memoryId?: string | null;
}

/** Rule for keeping an output off the prompt; each is stricter than the one before. */
export type OffPrompt = "false" | "auto" | "true";

/** A long-running operation. When done, it has either `response` or `error`. */
export interface Operation {
  /** Full name of the operation. */
  name: string;
  /**
   * Report of the work, with fields of its method. Every operation has `genericMetadata` (its
   * times); `kind`; `state` (`PENDING`, `RUNNING`, `SUCCEEDED`, `FAILED` or `CANCELLED`);
   * `attemptCount`, the runs since the last progress (0: it ran within its request, or has not
   * run); `startTime` of its first run, if it ran outside its request; `caller`, the id of the key
   * that requested it, `jwt:` with the subject of a token, or `command-line` (absent: the service
   * itself); `scope`, the pairs that all its scopes have (absent: there are none). `source` is the
   * origin of the memories that it writes: `session` and `events` (`first`, `last`), `stream`,
   * `directEvents` or `directMemories`.
   */
  metadata: OperationMetadata;
  /** False: it waits or runs; poll again later. */
  done?: boolean;
  /** Result of the work, by its `@type`; absent until it is done, or if it failed. */
  response?: BatchCreateMemoriesResponse | BatchRetryOperationsResponse | AnsweredEmpty |
    EraseScopeResponse | GenerateMemoriesResponse | AnsweredImport | IngestEventsResponse |
    AnsweredMemory | PurgeMemoriesResponse | AnsweredEngine | ReembedReasoningEngineResponse |
    RegenerateSummaryResponse | RollbackMemoryResponse | ScanPrivacyResponse | AnsweredSession |
    SummarizeSessionResponse | UndoOperationResponse;
  /** Error of the work; absent: it has not failed. */
  error?: OperationError;
}

/** The reason that an operation failed: a google.rpc.Status. */
export interface OperationError {
  /** Number of the canonical code, 1 to 16. */
  code: number;
  /** Explanation for people. */
  message: string;
  /** ErrorInfo first, then further details, each by its `@type`. */
  details?: Array<Record<string, unknown>> | null;
}

/** The account of an operation's work. Each method adds fields of its own. */
export interface OperationMetadata {
  /** Full name of this message's type. */
  "@type": string;
  /** Times of the operation. */
  genericMetadata: OperationTimes;
  /** True: it is a preview and writes nothing. */
  validateOnly?: boolean | null;
  /**
   * Origin of the memories that it writes; absent: it writes none, their origin is a session of
   * another engine, or a former release did the work.
   */
  source?: OperationSource | null;
  /** The pairs that all its scopes have; absent: they have none in common. */
  scope?: Record<string, string> | null;
  /** Id of the model that wrote, or `engine`. */
  author?: string | null;
  /** Version of the prompts that the model was given. */
  promptVersion?: string | null;
  /** Requests to models, from 0. */
  modelCallCount?: number | null;
  /** Tokens sent to models. */
  inputTokenCount?: number | null;
  /** Tokens that models wrote. */
  outputTokenCount?: number | null;
  /** Time of the requests together, in milliseconds. */
  modelMilliseconds?: number | null;
  /** Memories that it created; absent: none. */
  createdCount?: number | null;
  /** Memories that it updated; absent: none. */
  updatedCount?: number | null;
  /** Memories that it deleted or erased; absent: none. */
  deletedCount?: number | null;
  /** Ingested events that wait in the stream. */
  pendingEventCount?: number | null;
  /** Full name of the operation that is undone. */
  undoneOperation?: string | null;
  /**
   * Full name of the newest operation that was to undo it, which may have failed; absent: there is
   * none.
   */
  undoneBy?: string | null;
  /** Full name of the failed operation that is run again. */
  retriedOperation?: string | null;
}

/** The origin of the memories that an operation writes. */
export interface OperationSource {
  /** Full name of the session; removed when the session is deleted or expires. */
  session?: string | null;
  /** Events of the session that were read; absent: none yet. */
  events?: OperationSourceEvents | null;
  /** Id of the stream of ingested events. */
  stream?: string | null;
  /** Number of events in the request. */
  directEvents?: number | null;
  /** Number of memories in the request. */
  directMemories?: number | null;
}

/** The first and the last event that a generation read, by time. */
export interface OperationSourceEvents {
  /** Full name of the first event. */
  first: string;
  /** Full name of the last event. */
  last: string;
}

/** The times of an operation. */
export interface OperationTimes {
  /** Time of the request for it. */
  createTime: string;
  /** Time of its last change. */
  updateTime: string;
}

/** The consumption of operations together. */
export interface OperationsUsage {
  /** Requests to models, including failed ones. */
  callCount: number;
  /** Tokens sent to models. */
  inputTokenCount: number;
  /** Tokens that models wrote. */
  outputTokenCount: number;
  /** Time that the calls took together, in milliseconds. */
  modelMilliseconds: number;
  /** Absent unless every call's model had a configured price at the time. */
  cost?: Money | null;
  /** Cost of the calls whose model had a price; absent: no such cost is known. */
  knownCost?: Money | null;
  /**
   * Calls that `knownCost` lacks: of operations without a known cost, or with one in another
   * currency than the configured prices have.
   */
  unpricedCallCount: number;
  /** Operations that were summed up. */
  operationCount: number;
  /**
   * Creation time of the first of them; earlier ones are no longer kept. Absent: there are none.
   */
  firstTime?: string | null;
}

/** Output of a tool: its kind, and the one field for content of that kind. */
export interface Output {
  /** Kind of the output; `info` and `error` are messages from the tool to the agent. */
  kind: "text" | "json" | "blob" | "list" | "info" | "error";
  /** Content of `text`, `info` and `error`. */
  text?: string | null;
  /** Content of `json`: any value. */
  json?: JsonValue;
  /** Content of `blob`. */
  data?: string | null;
  /** Content of `list`; lists cannot be nested. */
  elements?: Array<Output> | null;
  /** Media type of `text` (default `text/plain`) or `blob` (default `application/octet-stream`). */
  mediaType?: string | null;
  /** Name of the artifact, if it is stored; absent: the service makes one. */
  name?: string | null;
}

/** The behaviour if all events are requested and do not fit. */
export type Overflow = "error" | "omit";

/** One part. Unknown kinds of part are kept, since models gain new ones. */
export interface Part {
  /** Text of the part. */
  text?: string | null;
  /** True: the text is the model's thinking, which contexts leave out. */
  thought?: boolean | null;
  /** A file within the request. */
  inlineData?: Blob | null;
  /** A file stored elsewhere. */
  fileData?: FileData | null;
  /** Call of a tool: `name`, `args` and an optional `id`. */
  functionCall?: Record<string, unknown> | null;
  /** Answer of a tool: `name`, `response` and an optional `id`. */
  functionResponse?: Record<string, unknown> | null;
  /** Reference to content in task memory; the part has no other field. */
  artifactRef?: ArtifactRef | null;
}

/** A message from the tool to the agent. */
export interface Passed {
  /** `info` or `error`. */
  kind: Kind;
  /** Position in the list, from 0. */
  index?: number | null;
  /** The message, unchanged. */
  text: string;
}

/** An action that a caller may be allowed to perform. Names are stable. */
export type Permission = "engines.get" | "engines.list" | "memories.get" | "memories.list" |
  "memories.retrieve" | "revisions.get" | "revisions.list" | "sessions.get" | "sessions.list" |
  "events.list" | "operations.get" | "operations.list" | "usage.get" | "memories.create" |
  "memories.generate" | "memories.ingest" | "sessions.create" | "sessions.update" |
  "sessions.delete" | "events.append" | "operations.cancel" | "memories.update" | "memories.delete"
  | "memories.rollback" | "operations.undo" | "operations.delete" | "engines.create" |
  "engines.update" | "engines.delete" | "engines.export" | "engines.restore" | "memories.purge" |
  "memories.import" | "keys.manage" | "audit.list" | "audit.listAll" | "metrics.get" | "server.get"
  | "artifacts.write" | "artifacts.reference" | "artifacts.derive" | "artifacts.content";

/** The ways by which a text enters the service and is searched. */
export type Place = "GENERATION" | "DIRECT" | "SESSION_EVENTS" | "ARTIFACTS";

/** Prices of a thousand tokens, the same for every model. */
export interface PlainPrices {
  /** Price of prompts; absent: 0.002. */
  inputPer1k?: string | null;
  /** Price of answers; absent: the same as `inputPer1k`. */
  outputPer1k?: string | null;
  /** Price of a summariser's input; absent: as `inputPer1k`. */
  summaryInputPer1k?: string | null;
  /** Price of a summariser's output; absent: as `outputPer1k`. */
  summaryOutputPer1k?: string | null;
}

/** The content of a memory before or after a planned change. */
export interface PlannedContent {
  /** Statement that is remembered. */
  fact?: string | null;
  /** Topics that the fact is about. */
  topics?: Array<MemoryTopicId> | null;
  /** One field of a profile, in place of a fact. */
  structuredContent?: StructuredContent | null;
}

/** A change that a generation would make. */
export interface PlannedMemoryChange {
  /** `CREATED`, `UPDATED` or `DELETED`. */
  action: string;
  /** Reason for the change. */
  reason: string;
  /** The memory; absent: a new one. */
  memory?: NamedMemory | null;
  /** Version of the memory that was planned for. */
  etag?: string | null;
  /** Its content in that version; absent if that is no longer known. */
  before?: PlannedContent | null;
  /** Its content after the change; absent: it would be deleted. */
  after?: PlannedContent | null;
  /** Extracted memories from which the change would be made. */
  extractedMemories?: Array<Record<string, unknown>> | null;
}

/** The change that a rollback would make. */
export interface PlannedRollback {
  /** Always `ROLLED_BACK`. */
  action: "ROLLED_BACK";
  /** The memory. */
  memory: NamedMemory;
  /** Its version that was planned for, for `If-Match`. */
  etag: string;
  /** Full name of the revision that is restored. */
  restoredRevision: string;
  /** Its content in that version; absent: it is deleted, or the version is no longer kept. */
  before?: RestoredContent | null;
  /** Its content after the rollback; absent: the revision no longer exists. */
  after?: RestoredContent | null;
}

/** The treatment of a sensitive value. */
export type PrivacyAction = "OFF" | "MASK" | "REJECT";

/** Rules about sensitive values. A rule with `where` wins over one without. */
export interface PrivacyConfig {
  /** One rule for each kind and place at most. */
  rules?: Array<PrivacyRule> | null;
  /** Further kinds of sensitive values. */
  customPatterns?: Array<CustomPattern> | null;
}

/** The treatment of one kind of value. */
export interface PrivacyRule {
  /** A kind, or the name of a custom pattern. */
  kind: string;
  /**
   * `OFF`: it is stored as sent. `MASK`: its kind in brackets is stored in its place. `REJECT`: the
   * request is refused.
   */
  action: PrivacyAction;
  /** Places that the rule is for; absent: everywhere. */
  where?: Array<Place> | null;
}

/** A tool's output; the service decides which part the prompt shows. */
export interface ProcessOutputRequest {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<Reader> | null;
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
  output: Output;
}

/** Text for the prompt, and a reference if the output was stored. */
export interface ProcessOutputResponse {
  /**
   * `inline`: the prompt shows the output; `stored`: its reference; `passthrough`: only messages of
   * the tool; `empty`: nothing.
   */
  disposition: Disposition;
  /** Text for the prompt, unchanged. */
  promptText: string;
  /** Reference to the stored output. */
  reference?: Reference | null;
  /** Info and errors in addition to the stored output. */
  passthrough?: Array<Passed> | null;
  /**
   * `no_reader`: neither the caller nor a configured reader can use the stored output. Absent: no
   * warning.
   */
  warnings?: Array<Warned> | null;
}

/**
 * The memories to delete, by `filter`, `filterGroups` or both. Without `force` they are only
 * counted.
 */
export interface PurgeMemoriesRequest {
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
  filterGroups?: Array<FilterGroup> | null;
  /** True: delete the memories; otherwise only count them. */
  force?: boolean | null;
  /** True, with `force`: erase memories and history at once, without recovery. */
  permanent?: boolean | null;
  /** Without `force`: matching memories to show, the newest; 0 to 100. */
  sampleSize?: number | null;
}

/** The effect of a purge. */
export interface PurgeMemoriesResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.PurgeMemoriesResponse";
  /** Number of memories deleted; without `force`, that would be deleted. */
  purgeCount: number;
  /**
   * Some of these memories, newest first; only names in a list of operations; absent without
   * `sampleSize`.
   */
  samples?: Array<KnownMemory> | null;
}

/** A question about the content of a namespace. */
export interface QueryNamespaceRequest {
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
}

/** An answer and its citations. */
export interface QueryNamespaceResponse {
  /** Id of the model that was called; `builtin:extractive`: none was. */
  model: string;
  /** Part of the namespace that was read. */
  coverage: ReadingCoverage;
  /** Model calls made for this request. */
  usage: ReaderUsage;
  /** Reference to the result, if it is kept off the prompt. */
  reference?: Reference | null;
  /** Text for the prompt that names the result, if it is kept off the prompt. */
  promptText?: string | null;
  /**
   * True if this is the result of an equal request. After an earlier one, this request is free;
   * after a concurrent one, `usage` shows the cost of this request.
   */
  reused?: boolean | null;
  /** The answer; absent if the prompt must not show it. */
  answer?: string | null;
  /**
   * Passages as evidence of the answer, at most 100, in text order; empty for a sensitive namespace
   * without `artifacts.content`.
   */
  citations: Array<Citation>;
}

/** An engine's use of one quota. */
export interface QuotaUse {
  /** Stored amount, in rows or bytes. */
  used: number;
  /** Largest amount, in rows or bytes; absent: no bound. */
  limit?: number | null;
}

/** The order of search results. */
export type Ranking = "hybrid" | "vector";

/** Ways to use a namespace without its content reaching the prompt. */
export type Reader = "query" | "summarize" | "extract" | "export";

/** Usage of the model calls. */
export interface ReaderUsage {
  /**
   * Number of model calls, from 0; absent for a sensitive namespace without `artifacts.content`.
   */
  calls?: number | null;
  /** Tokens sent to models; absent like `calls`. */
  inputTokenCount?: number | null;
  /** Tokens that models wrote; absent like `calls`. */
  outputTokenCount?: number | null;
}

/** Coverage of a namespace by the read chunks. */
export interface ReadingCoverage {
  /**
   * Number of chunks in the namespace; absent for a sensitive namespace without
   * `artifacts.content`.
   */
  chunksTotal?: number | null;
  /** Number of chunks that were read; absent like `chunksTotal`. */
  chunksUsed?: number | null;
  /** True if wanted chunks did not fit; absent like `chunksTotal`. */
  truncated?: boolean | null;
  /** Number of artifacts in the namespace, from 0. */
  artifactsTotal: number;
  /** Number of artifacts without text, except for images that were read. */
  artifactsUnreadable: number;
  /**
   * Up to 20 of these artifacts, beginning with failed indexing, then images; absent if there are
   * none, and like `chunksTotal`.
   */
  unreadable?: Array<UnreadableArtifact> | null;
}

/** An engine: the parent of memories, with the configuration of its memory bank. */
export interface ReasoningEngine {
  /** Full name of the engine. */
  name: string;
  /** Name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** The caller's own labels; absent: none. */
  labels?: Record<string, string> | null;
  /** Time of its creation. */
  createTime: string;
  /** Time of its last change. */
  updateTime: string;
  /** Version of the engine, for conditional requests. */
  etag: string;
  /** Configuration of its memory bank; absent: none was sent. */
  contextSpec?: ContextSpec | null;
  /** Settings from an earlier release or an archive; they have no effect. */
  encryptionSpec?: EncryptionSpec | null;
}

/** An engine as sent by clients. Output-only fields are ignored. */
export interface ReasoningEngineRequest {
  /** Name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** The caller's own labels. */
  labels?: Record<string, string> | null;
  /** Configuration of its memory bank. */
  contextSpec?: ContextSpec | null;
  /** Not served: this service encrypts no columns. Encrypt the disk or the database. */
  encryptionSpec?: null;
  /** Not served: no agents run here. */
  spec?: null;
  /** Not served: no agents run here. */
  trafficConfig?: null;
  /** On update: the etag that was read. */
  etag?: string | null;
}

/** Parameters of a search in the memories of a scope. */
export interface RecallMemoriesRequest {
  /** Question or words: compared with facts by meaning, with events by words. */
  query: string;
  /**
   * `extractive`: passages, word for word. `summary`: a text made from them by one model call;
   * without a model, the passages themselves.
   */
  mode?: RecallMode;
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
  filterGroups?: Array<FilterGroup> | null;
  /**
   * True: also search the sessions of the scope's `user_id`, as many as one call of
   * `sessions/-:recall` reaches.
   */
  includeSessions?: boolean;
}

/** Facts and passages, or a text made from them; empty if nothing matches the query. */
export interface RecallMemoriesResponse {
  /** `extractive` or `summary`, as requested. */
  mode: RecallMode;
  /** `summary`: empty if nothing matches. */
  text?: string | null;
  /** `summary`: whether the end of the text is missing. */
  isCut?: boolean | null;
  /** `summary`: writer of the text; absent if nothing was found. */
  model?: string | null;
  /** Usage of the model, as in operation metadata. */
  usage?: Record<string, unknown> | null;
  /** Tokens of all that is listed, or of the text. */
  tokens: number;
  /** Token counter that `tokens` is counted by. */
  counter: string;
  /** `extractive`: best first; empty in `summary`. */
  facts: Array<RecalledFact>;
  /** `extractive` with `includeSessions`: passages of sessions, best first. */
  spans: Array<RecalledSessionSpan>;
  /** `summary`: names of its source memories and events. */
  sources?: Array<string> | null;
  /** With `includeSessions`: extent of the search in the sessions. */
  searched?: SearchedSessions | null;
}

/** Form of a recall's result. */
export type RecallMode = "extractive" | "summary";

/** Parameters of a search in a session. */
export interface RecallRequest {
  /** Text to search for, by its words and not by its meaning. */
  query: string;
  /**
   * `extractive`: passages, word for word. `summary`: a text made from them by one model call;
   * without a model, the passages themselves.
   */
  mode?: RecallMode;
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

/** Passages or a text that match the query; empty without a match. */
export interface RecallResponse {
  /** `extractive` or `summary`, as requested. */
  mode: RecallMode;
  /** `summary`: empty if nothing matches. */
  text?: string | null;
  /** `summary`: whether the end of the text is missing. */
  isCut?: boolean | null;
  /** `summary`: writer of the text; absent if nothing was found. */
  model?: string | null;
  /** Usage of the model, as in operation metadata. */
  usage?: Record<string, unknown> | null;
  /** Tokens of all that is listed, or of the text. */
  tokens: number;
  /** Token counter that `tokens` is counted by. */
  counter: string;
  /** `extractive`: best first; empty in `summary`. */
  spans: Array<RecalledSpan>;
  /** `summary`: its source events. */
  seqs?: Array<number> | null;
  /**
   * Events that were searched: only the newest if there are too many or the search takes too long.
   * Very long events are searched only at their beginning.
   */
  searched?: SeqRange | null;
}

/** Parameters of a search in all sessions of a user. */
export interface RecallSessionsRequest {
  /** Text to search for, by its words and not by its meaning. */
  query: string;
  /**
   * `extractive`: passages, word for word. `summary`: a text made from them by one model call;
   * without a model, the passages themselves.
   */
  mode?: RecallMode;
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

/** Passages or a text from the sessions of a user; empty if nothing matches the query. */
export interface RecallSessionsResponse {
  /** `extractive` or `summary`, as requested. */
  mode: RecallMode;
  /** `summary`: empty if nothing matches. */
  text?: string | null;
  /** `summary`: whether the end of the text is missing. */
  isCut?: boolean | null;
  /** `summary`: writer of the text; absent if nothing was found. */
  model?: string | null;
  /** Usage of the model, as in operation metadata. */
  usage?: Record<string, unknown> | null;
  /** Tokens of all that is listed, or of the text. */
  tokens: number;
  /** Token counter that `tokens` is counted by. */
  counter: string;
  /** `extractive`: best first; empty in `summary`. The `score`s of two pages cannot be compared. */
  spans: Array<RecalledSessionSpan>;
  /** `summary`: names of its source events. */
  events?: Array<string> | null;
  /** Extent of the search. */
  searched: SearchedSessions;
  /** `pageToken` for the remaining sessions; absent: all were searched. */
  nextPageToken?: string | null;
}

/** A memory that matches the query. */
export interface RecalledFact {
  /** Name of the memory. */
  memory: string;
  /** Statement that is remembered; never cut. */
  fact: string;
  /** Distance from the query, as in a retrieval; not comparable with the `score` of passages. */
  distance?: number | null;
  /** Time of the memory's last change. */
  changed: string;
  /** Tokens of the fact, by the response's `counter`. */
  tokens: number;
}

/** A passage of an event in one of several sessions, word for word. */
export interface RecalledSessionSpan {
  /** Name of the event. */
  event: string;
  /** Number of the event in the session, from 1. */
  seq: number;
  /** `user`, `agent`, `tool` or `system`. */
  speaker: string;
  /** Start in the event's text as contexts show it, in characters (code points). */
  startOffset: number;
  /** The first character after the passage, counted like `startOffset`. */
  endOffset: number;
  /** The passage. */
  text: string;
  /** Tokens of the passage, by the response's `counter`. */
  tokens: number;
  /** Weight of its words; comparable only within one response. */
  score: number;
  /** Name of the session. */
  session: string;
  /** Time of the event. */
  eventTime: string;
}

/** A passage of an event, word for word. */
export interface RecalledSpan {
  /** Name of the event. */
  event: string;
  /** Number of the event in the session, from 1. */
  seq: number;
  /** `user`, `agent`, `tool` or `system`. */
  speaker: string;
  /** Start in the event's text as contexts show it, in characters (code points). */
  startOffset: number;
  /** The first character after the passage, counted like `startOffset`. */
  endOffset: number;
  /** The passage. */
  text: string;
  /** Tokens of the passage, by the response's `counter`. */
  tokens: number;
  /** Weight of its words; comparable only within one response. */
  score: number;
}

/** The input of the next summary of `agent_summary`. */
export type Recompute = "full_until_overflow" | "recursive";

/** The end of a re-embedding. */
export interface ReembedReasoningEngineResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.ReembedReasoningEngineResponse";
  /** Id of the model that serves from now on. */
  embeddingModel: string;
  /** Number of memories without a vector by it; absent: none. */
  refusedCount?: number | null;
  /** Full names of some of them, in order; absent: none. */
  refusedMemories?: Array<string> | null;
}

/** Properties of a namespace that prompts, and callers who may not see content, may know. */
export interface Reference {
  /** Id of the task memory. */
  memory: string;
  /** Id of the namespace. */
  namespace: string;
  /** The first 100 artifacts; where namespaces are listed, 10. */
  artifacts: Array<ArtifactReference>;
  /** Number of all its artifacts, from 0. */
  count: number;
  /** Size of all its artifacts, in bytes. */
  totalBytes: string;
  /** Time of the namespace's creation. */
  createdTime: string;
  /** Time at which the namespace is deleted. */
  expireTime: string;
  /** Readers that can use it, and that the caller may use; empty: none. */
  readableWith: Array<Reader>;
  /** The first 100 sources of the listed artifacts. */
  derivedFrom?: Array<Source> | null;
}

/** An artifact, without its content. */
export interface ReferredArtifact {
  /** Name of the artifact within its namespace. */
  name: string;
  /** Kind of the content. */
  kind?: "text" | "json" | "blob" | null;
  /** Media type of the content. */
  mediaType?: string | null;
  /** Size of the content in bytes. */
  sizeBytes?: string | null;
  /** Tokens of the content, about a quarter of its characters. */
  tokenEstimate?: number | null;
}

/** An artifact from which others were derived. */
export interface ReferredSource {
  /** Id of the source's namespace. */
  namespace: string;
  /** Name of the source within that namespace. */
  name: string;
}

/** The effect of the next summary of `every_n` on the earlier ones. */
export type Refresh = "append" | "whole";

/** A decision of the model that would not be carried out. */
export interface RefusedDecision {
  /** The fact that the decision is about. */
  fact: string;
  /** Change that the model decided on. */
  action: string;
  /** Reason of the refusal. */
  reason: string;
  /** The memory that it named, if one. */
  memory?: NamedMemory | null;
  /** The text that it would have written. */
  text?: string | null;
}

/** The end of the regeneration of a summary. */
export interface RegenerateSummaryResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.RegenerateSummaryResponse";
}

/** A row that does not meet the schema, or a part that cannot be read; without content. */
export interface RejectedRow {
  /** Name of the artifact within the namespace. */
  artifact: string;
  /** First character, counted like `start` of a citation. */
  start: number;
  /** First character after it; 0: the whole artifact. */
  end: number;
  /** The reason, in a sentence. */
  reason: string;
}

/** The result of a restore. */
export interface RestoreReasoningEngineResponse {
  /** Number of lines of the archive, by kind. */
  counts: Record<string, number>;
  /**
   * USED: the vectors of the archive. EMBEDDING: facts are embedded in the background; searches
   * match only words until then.
   */
  vectors: VectorsUse;
  /** Deleted memories past their recovery window; the next sweep removes them. */
  pastRecovery: number;
  /**
   * Memories, sessions, namespaces and artifacts that have expired; the next sweep removes them.
   */
  pastExpiry: number;
  /**
   * Number of values that were converted from the form of a former release, by kind and field, such
   * as `event.content`.
   */
  converted?: Record<string, number>;
  /** Sentences for the person who restores. */
  warnings: Array<string>;
}

/** The content of a memory, which is all that a rollback restores. */
export interface RestoredContent {
  /** Full name of the resource. */
  name?: string;
  /** Statement that is remembered; absent where `structuredContent` is the content. */
  fact?: string | null;
  /** Short name for people. */
  displayName?: string | null;
  /** Explanation for people. */
  description?: string | null;
  /** Topics that the fact is about. */
  topics?: Array<MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MemoryMetadataValue> | null;
  /**
   * `NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`: one field of a
   * profile. It never changes.
   */
  memoryType?: MemoryType;
  /** Content of a profile, by the schema that it names; absent where `fact` is the content. */
  structuredContent?: StructuredContent | null;
  /**
   * Source of the fact, or the reason that it matters, in words. Generation quotes the conversation
   * here as evidence; a given fact has none.
   */
  context?: string | null;
}

/** The memories of a scope to return. */
export interface RetrieveMemoriesRequest {
  /** Exact key of the collection. */
  scope: Record<string, string>;
  /**
   * Search by meaning; the best memories come first. At most one of this and
   * `simpleRetrievalParams`.
   */
  similaritySearchParams?: SimilaritySearchParams | null;
  /** Page through the scope, the newest memories first; so it is also without either. */
  simpleRetrievalParams?: SimpleRetrievalParams | null;
  /** An AIP-160 filter. */
  filter?: string | null;
  /** Groups of conditions on metadata; a memory must match at least one group. */
  filterGroups?: Array<FilterGroup> | null;
  /** Types of memories to return; absent or empty: natural-language memories only. */
  memoryTypes?: Array<MemoryType> | null;
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
  ranking?: Ranking | null;
}

/** The memories: best first with a search, else newest first. */
export interface RetrieveMemoriesResponse {
  /** The memories of this page, with their distances in a search. */
  retrievedMemories: Array<RetrievedMemory>;
  /** Token of the next page; absent on the last page, and if the request did not ask for pages. */
  nextPageToken?: string | null;
  /**
   * The number of omitted memories: among the best `topK`, memories farther than the `maxDistance`
   * of the request or the engine, and memories beyond the size of the response. Absent if there was
   * no such distance, and all fitted.
   */
  omittedCount?: number | null;
}

/** The scope of the profiles to return. */
export interface RetrieveProfilesRequest {
  /** Exact key of the collection. */
  scope: Record<string, string>;
}

/** The profiles of a scope, by the id of their schema; only fields that have a value. */
export interface RetrieveProfilesResponse {
  /** The profiles, by the id of their schema; absent: there are none. */
  profiles?: Record<string, MemoryProfile> | null;
}

/** A memory and its distance from the query. */
export interface RetrievedMemory {
  /** The memory. */
  memory: Memory;
  /**
   * Distance from the query, 0 to 2, ascending; only with a search. The same text is at 0. In the
   * ranking `vector` it is the Euclidean distance of the embeddings.
   */
  distance?: number | null;
  /** Reasons for its place; only with `explain`. */
  explanation?: Explanation | null;
}

/** Options of a retry. */
export interface RetryOperationRequest {
  /**
   * True: run a preview, which writes nothing; only for generations. The failed operation keeps its
   * request, and can still be retried.
   */
  validateOnly?: boolean | null;
}

/** A label that is in use: its key, or its key with one of the key's values. */
export interface RevisionLabel {
  /** Key of 1 to 64 characters. */
  key: string;
  /** Value of at most 512 characters; absent in a list of keys. */
  value?: string | null;
}

/** A bundle of permissions; each role includes the permissions of the role before it. */
export type Role = "viewer" | "user" | "editor" | "admin";

/** The revision to restore. */
export interface RollbackMemoryRequest {
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
}

/** The response of a rollback with `validateOnly`, which changes nothing. */
export interface RollbackMemoryResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.RollbackMemoryResponse";
  /** The one change. */
  plannedChanges: Array<PlannedRollback>;
}

/** Options of a key's rotation. */
export interface RotateKeyRequest {
  /** Time for which the former secrets still work, at most 30 days; absent: none. */
  gracePeriod?: string;
}

/** Form of extracted rows. */
export type RowFormat = "json" | "csv";

/** Places of rows and values in JSON, CSV and HTML tables, for the built-in reader. */
export interface RowSource {
  /**
   * JSON pointer to the list of rows, or to the only row; absent: the whole file, or each line of
   * JSON lines. CSV and HTML have none.
   */
  path?: string;
  /**
   * Names of columns, headers or keys by property, or JSON pointers within a row; absent: the
   * property's own name. Case, spaces and underscores do not matter.
   */
  columns?: Record<string, string>;
}

/** The treatment of the values that a scan finds. */
export type ScanAction = "REPORT" | "MASK";

/** The values to search for, and the action on them. */
export interface ScanPrivacyRequest {
  /**
   * Kinds, or names of custom patterns; absent or empty: all that the engine's rules mask or refuse
   * at any place.
   */
  kinds?: Array<string> | null;
  /**
   * `REPORT`: the values are counted. `MASK`: their kinds in brackets are put in their place, for
   * good.
   */
  action: ScanAction;
  /** Pairs: only scopes that contain them are scanned; absent: the whole engine. */
  scope?: Record<string, string> | null;
}

/** The results of a scan; they contain no text. */
export interface ScanPrivacyResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.ScanPrivacyResponse";
  /** Action that was taken on the values. */
  action: ScanAction;
  /** Values, by table and kind. */
  counts: Record<string, Record<string, number>>;
  /** Only with `REPORT`: names of the resources with such values, at most 1000. */
  names?: Array<string> | null;
  /** True: more rows have such values than `names` lists. */
  hasMoreNames?: boolean | null;
}

/**
 * The schema of a profile: an object with the profile's fields as properties. References may point
 * to parts of the schema itself; nothing is fetched.
 */
export interface SchemaConfig {
  /** Id of the schema: a lowercase letter first, then letters, digits and hyphens. */
  id: string;
  /** The schema in the API's dialect, with type names in capitals; at most 65536 bytes as JSON. */
  schema?: Record<string, unknown> | null;
  /** The schema as JSON Schema; it wins over `schema`. At most 65536 bytes as JSON. */
  jsonSchema?: Record<string, unknown> | null;
  /** Type of the memories; absent: `STRUCTURED_PROFILE`. */
  memoryType?: MemoryType | null;
}

/** A scope, and how many memories it has. */
export interface ScopeInUse {
  /** Keys and values of the scope. */
  scope: Record<string, string>;
  /** Number of its live memories; 1000 if there are more. */
  memoryCount: number;
  /** True if there are more memories than `memoryCount`; otherwise absent. */
  isCapped?: boolean | null;
}

/** Extent of a search in the sessions of a user. */
export interface SearchedSessions {
  /** Number of sessions with searched events. */
  sessions: number;
  /** Number of events searched. */
  events: number;
  /** Time of the oldest event searched; absent: none was. */
  oldestEventTime?: string | null;
  /** True if the search covered all that this request could reach; else see `nextPageToken`. */
  isComplete: boolean;
}

/** A range of events; both ends are included. */
export interface SeqRange {
  /** Number of the first event. */
  firstSeq: number;
  /** Number of the last event. */
  lastSeq: number;
}

/** The database of the service; only `error` if it does not respond. */
export interface ServerDatabase {
  /** Release of Postgres. */
  serverVersion?: string | null;
  /** Release of pgvector; absent: it is not installed. */
  vectorVersion?: string | null;
  /**
   * `ok`; `not migrated` if it differs from this release's schema; or `incomplete`, with the
   * missing parts.
   */
  schema?: string | null;
  /** True if it takes no writes, since it follows another server. */
  isStandby?: boolean | null;
  /** Size on disk, in bytes. */
  sizeBytes?: number | null;
  /**
   * Lead of this process's clock over the database's, in milliseconds; negative: it is behind;
   * absent: not measured yet.
   */
  clockSkewMilliseconds?: number | null;
  /** `DATABASE_UNAVAILABLE` if the database does not respond. */
  error?: string | null;
}

/** The embedding model of the settings. */
export interface ServerEmbedder {
  /** Id of the model. */
  model: string;
  /** Length of its vectors; absent: unknown before its first response. */
  dimensions?: number | null;
  /** True if its vectors know words but no meaning, so that searches do as well. */
  isLexicalOnly: boolean;
  /** True if it is loaded. */
  isReady: boolean;
}

/** The event loop of the responding process; its lag delays every request. */
export interface ServerEventLoop {
  /** Lag at evenly spaced moments. */
  lagSeconds: EventLoopLag;
}

/** The service, as seen by the responding process. */
export interface ServerInfo {
  /** Release of this process. */
  version: string;
  /** Time of this process's start. */
  startTime: string;
  /** Release of Python that runs this process. */
  pythonVersion: string;
  /** The event loop of this process; absent: not measured yet. */
  eventLoop?: ServerEventLoop | null;
  /** The database of the service. */
  database: ServerDatabase;
  /** The embedding model that new engines use. */
  embedder: ServerEmbedder;
  /**
   * Writer of memories for engines that name no model: the id of a text model, or
   * `builtin-rules/N`.
   */
  model: string;
  /** The operations of all engines. */
  queue?: ServerQueue | null;
  /** Settings of this process, without their secrets. */
  settings: Array<ServerSetting>;
  /** Processes with a heartbeat within 30 seconds, the oldest first. */
  processes?: Array<ServerProcess> | null;
}

/** A process, at its last heartbeat. */
export interface ServerProcess {
  /** Random id, new at each start. */
  processId: string;
  /** `API`, `WORKER`, `API_AND_WORKER`, or `MIGRATION` for a forced migration. */
  kind: string;
  /** Release that it runs. */
  release: string;
  /** Revision of the schema that it needs. */
  schema: string;
  /** Name of its machine. */
  host: string;
  /** Its id on that machine. */
  pid: number;
  /** Time of its start. */
  startTime: string;
  /** Time of the heartbeat. */
  beatTime: string;
  /** Operations that it ran. */
  running: number;
  /** Lead of its clock over the database's, in seconds; absent: not measured. */
  skewSeconds?: number | null;
  /** Time at which it last ran the sweeps; absent: it has not. */
  lastSweepTime?: string | null;
}

/** The operations of all engines. */
export interface ServerQueue {
  /** Operations that are due and wait for a worker. */
  dueCount: number;
  /** Time since the oldest of them became due, in seconds. */
  oldestDueSeconds: number;
  /** Operations that a worker runs now. */
  runningCount: number;
  /** Operations that have failed within 24 hours. */
  failedCount: number;
}

/** A setting of the responding process. */
export interface ServerSetting {
  /** Its variable. */
  name: string;
  /** Its meaning, with its unit. */
  description: string;
  /** True if the value is the default of an unset variable. */
  isDefault: boolean;
  /**
   * Its value; `"set"` in place of a secret, and of an address with a password or a query; absent:
   * none.
   */
  value?: JsonValue;
}

/** A conversation of a user with an agent. */
export interface Session {
  /** Full name of the session. */
  name: string;
  /** Id of the user that it belongs to. */
  userId: string;
  /** Name for people. */
  displayName?: string | null;
  /** The caller's own labels; absent: none. */
  labels?: Record<string, string> | null;
  /** Its own state merged with the shared keys, which start with `user:` and `app:`. */
  sessionState: Record<string, unknown>;
  /** Policy of its contexts and summaries; absent: the engine's policy. */
  memoryPolicy?: MemoryPolicy | null;
  /** Time of its creation. */
  createTime: string;
  /**
   * A microsecond after the `timestamp` of the newest event, or the time of a later change; not
   * before the creation. Filters and orders use the time of the last change.
   */
  updateTime: string;
  /** Time at which it is deleted with its events. */
  expireTime: string;
  /** Version of the session, for conditional requests. */
  etag: string;
}

/** An event of a session. */
export interface SessionEvent {
  /** `user`, or the name of the agent. */
  author: string;
  /** Id of the agent's run that the event belongs to. */
  invocationId: string;
  /** Time of the event. */
  timestamp: string;
  /** Content of the message; absent if there is none. */
  content?: Content | null;
  /** Changes that the event makes, such as changes of the state. */
  actions?: EventActions | null;
  /** Code of the model's error, as its provider names it. */
  errorCode?: string | null;
  /** Text of the model's error. */
  errorMessage?: string | null;
  /** Details that the model returns with its answer. */
  eventMetadata?: EventMetadata | null;
  /** Any JSON object; it is returned as it is. */
  rawEvent?: Record<string, unknown> | null;
  /** Tokens it takes in a prompt, for policies with the counter `declared`. */
  tokenCount?: number | null;
  /** Full name of the event. */
  name: string;
  /** Its number in the session: from 1, without gaps. */
  seq: number;
  /** The number of its exchange; 0 before a user's first event. */
  exchange: number;
}

/** A summary of a part of a session. Its text and range never change. */
export interface SessionSummary {
  /** Full name of the summary. */
  name: string;
  /**
   * Hash of the policy settings that affect summaries; policies with equal settings share their
   * summaries.
   */
  policyKey: string;
  /**
   * Inputs: `block`, exchanges; `full`, all events; `recursive`, the previous summary and later
   * events; `merge`, summaries.
   */
  kind: string;
  /**
   * `stale`: the text is erased, since a covered event was erased, or the session was cleared or
   * changed while the summary was made.
   */
  state: StoredSummaryState;
  /** Version of a summary that is replaced or made again, from 1. */
  version: number;
  /** Events that it replaces. */
  covers: Covered;
  /** Text of the summary; absent if it failed or was erased. */
  text?: string | null;
  /** Tokens of the text, by the policy's counter. */
  tokens?: number | null;
  /** Maximum length that the model was asked to keep, in characters. */
  charLimit: number;
  /** True: the model wrote too much, even when asked again; the end is missing. */
  cut: boolean;
  /** Summaries that it absorbed, oldest first. */
  previousSummaries: Array<string>;
  /** Events that were read for it. */
  inputs?: Covered | null;
  /** Id of the model that wrote it, or of the built-in summariser. */
  model: string;
  /** Template of the model's prompt; absent for `builtin`. */
  template?: string | null;
  /** Usage of all attempts, by model. */
  usage: Array<ModelSums>;
  /** Reason of the failure; only in the state `failed`. */
  error?: string | null;
  /** `failed`: time of the next attempt; absent: none. */
  retryTime?: string | null;
  /** Time at which it was begun. */
  createTime: string;
  /** Time of the last change of its state. */
  updateTime: string;
}

/** Usage of a session's summaries, failed attempts included. */
export interface SessionUsage {
  /** Usage by model; the built-in summariser calls none. */
  models: Array<ModelSums>;
  /** Usage of all models together. */
  total: UsageSums;
  /** Number of summaries by state. */
  summaries: SummaryCounts;
  /** Number of events, including erased and cleared ones. */
  eventCount: number;
  /** Number of exchanges, from 0: a user's turn with the events after it. */
  exchangeCount: number;
}

/** Search settings. The embedding model is stored, but searches use this service's own. */
export interface SimilaritySearchConfig {
  /** Name of an embedding model; stored and not used. */
  embeddingModel?: string | null;
  /** `hybrid` or `vector`; absent: the service's setting. */
  ranking?: Ranking | null;
  /**
   * Language of new memories and of queries: a two-letter code, or `simple` for words as they are;
   * absent: detected for each text.
   */
  language?: Language | null;
  /**
   * Memories farther from the query are left out, from above 0 to 2; absent: none. A request's own
   * `maxDistance` overrides it.
   */
  maxDistance?: number | null;
}

/** Search by meaning. */
export interface SimilaritySearchParams {
  /** Question or words to compare with the facts by meaning. */
  searchQuery: string;
  /** Maximum number of memories; default 3; above 100 is coerced to 100. */
  topK?: number | null;
  /**
   * Memories farther from the query are left out, from above 0 to 2; `omittedCount` counts them.
   * Absent: as in the engine's `similaritySearchConfig`. Distances of different embedders are not
   * comparable.
   */
  maxDistance?: number | null;
}

/** The memories of the scope, newest first. */
export interface SimpleRetrievalParams {
  /** Maximum number of memories; default 3; above 100 is coerced to 100. */
  pageSize?: number | null;
  /**
   * Empty for the first page, then the `nextPageToken` of the page before. The response to a
   * request without this field has no `nextPageToken`.
   */
  pageToken?: string | null;
}

/** A memory that an undo did not change. */
export interface SkippedMemory {
  /** The memory. */
  memory: NamedMemory;
  /** `CHANGED_SINCE`, `EXPIRED`, `NOT_RECOVERABLE`, `REVISION_NOT_KEPT` or `ERASED`. */
  reason: string;
}

/** A source artifact, of the same task memory, that another artifact was derived from. */
export interface Source {
  /** Id of the source's namespace. */
  namespace: string;
  /** Name of the source within that namespace. */
  name: string;
}

/** The event that a memory was made of. */
export interface SourceEvent {
  /**
   * The name of the session, a digest of the conversation, or the `source` in the memory's
   * metadata.
   */
  source: string;
  /** The number of the event in the source. */
  position?: number | null;
}

/** The division of the budget between events (`stm`) and their summary (`lts`). */
export interface Split {
  /** Parts of the budget for events. */
  stm: number;
  /** Parts of the budget for their summary. */
  lts: number;
}

/** Small artifacts to store in this order, all or none. */
export interface StoreArtifactsRequest {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<Reader> | null;
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
  artifacts: Array<Output>;
}

/** Reference to the stored artifacts. */
export interface StoreArtifactsResponse {
  /** Properties of the namespace that prompts may show. */
  reference: Reference;
  /** Text for the prompt that represents the artifacts. */
  promptText: string;
  /**
   * `no_reader`: neither the caller nor a configured reader can use the stored output. Absent: no
   * warning.
   */
  warnings?: Array<Warned> | null;
}

/** Current state of a summary. */
export type StoredSummaryState = "active" | "superseded" | "stale" | "failed";

/** A context strategy: how a prompt shows the older events of a session. */
export type Strategy = "none" | "inclusive" | "window" | "every_n" | "abstraction_inclusive" |
  "fully_abstracted" | "agent_summary";

/** A stream of ingestion: its waiting events, the time of their processing, and its errors. */
export interface Stream {
  /** Scope of the memories that its events become. */
  scope: Record<string, string>;
  /** Id within the scope; at most 256 characters. */
  streamId: string;
  /** First request on the stream. */
  createTime: string;
  /** Arrival of the newest event. */
  lastArrivalTime: string;
  /** Arrival of the oldest waiting event; absent without any. */
  oldestPendingTime?: string | null;
  /** Number of waiting events. */
  pendingCount: number;
  /** Length of their contents as JSON, in bytes. */
  pendingBytes: number;
  /** Number of waiting events that were set aside after a failed generation. */
  asideCount: number;
  /** Next time at which some of these are tried again. */
  asideUntil?: string | null;
  /** Rule of the latest request; absent: events are processed at once. */
  generationRule?: GenerationRule | null;
  /** Due time of the operation, if that has not ended. */
  nextGenerateTime?: string | null;
  /** Name of the operation for the waiting events, while it is kept. */
  operation?: string | null;
  /** Number of failures in a row. */
  failureCount: number;
  /** End of the stream's pause after failures, unless it is flushed. */
  retryTime?: string | null;
  /** A google.rpc.Status: why the last operation failed, while it is kept. */
  lastError?: Record<string, unknown> | null;
}

/** The content of a structured memory. */
export interface StructuredContent {
  /** Values of the fields, by name. */
  data: Record<string, unknown>;
  /** Id of the schema in the engine's `structuredMemoryConfigs`. */
  schemaId: string;
}

/** The profiles of the scopes that have all of `scopeKeys`. */
export interface StructuredMemoryConfig {
  /**
   * Keys that a scope must have; absent or empty: none. If several entries match, only entries with
   * the most keys count.
   */
  scopeKeys?: Array<string> | null;
  /** The schemas, one for each profile; of two with the same id the first counts. */
  schemaConfigs?: Array<SchemaConfig> | null;
}

/** Range of events that a summary of the context covers. */
export interface SummarisedRange {
  /** Number of the first event. */
  firstSeq: number;
  /** Number of the last event. */
  lastSeq: number;
  /** Id of the summary. */
  summary: string;
}

/** Parameters of a summary of a whole namespace. */
export interface SummarizeNamespaceRequest {
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
}

/** A summary. */
export interface SummarizeNamespaceResponse {
  /** Id of the model that was called; `builtin:extractive`: none was. */
  model: string;
  /** Part of the namespace that was read. */
  coverage: ReadingCoverage;
  /** Model calls made for this request. */
  usage: ReaderUsage;
  /** Reference to the result, if it is kept off the prompt. */
  reference?: Reference | null;
  /** Text for the prompt that names the result, if it is kept off the prompt. */
  promptText?: string | null;
  /**
   * True if this is the result of an equal request. After an earlier one, this request is free;
   * after a concurrent one, `usage` shows the cost of this request.
   */
  reused?: boolean | null;
  /** The summary; absent if it is kept off the prompt. */
  summary?: string | null;
  /** True if it was too long and lost its end. */
  cut?: boolean | null;
}

/** The end of the making of summaries that were due. */
export interface SummarizeSessionResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.SummarizeSessionResponse";
}

/** Number of a session's summaries in each state, over all policies. */
export interface SummaryCounts {
  /** Number of summaries in use, from 0. */
  active?: number;
  /** Number of summaries replaced by later ones, from 0. */
  superseded?: number;
  /** Number of summaries erased since an event that they cover was, from 0. */
  stale?: number;
  /** Number of summaries that could not be made, from 0. */
  failed?: number;
}

/** The role of a summary in a prompt; it is marked as data in either case. */
export type SummaryRole = "user" | "system";

/** State of the summaries that are due. */
export type SummaryState = "current" | "pending" | "failed";

/** A task memory; it exists as long as it is not empty. */
export interface TaskMemory {
  /** Full name of the task memory. */
  name: string;
  /** Number of its namespaces, from 1. */
  namespaceCount: number;
  /** Number of artifacts in all of them, from 0. */
  artifactCount: number;
  /** Size of all its artifacts, in bytes. */
  totalBytes: string;
}

/** A page of the text that readers get of an artifact. */
export interface TextPage {
  /** The characters from `start` to `end`. */
  text: string;
  /** Number of this page, from 1. */
  page: number;
  /** Number of pages of the whole text. */
  pages: number;
  /** The first character, from 0, counted like `start` of a citation. */
  start: number;
  /** The first character after the page, counted like `start`. */
  end: number;
}

/** The input and output tokens that the engine may use today. */
export interface TokenBudget {
  /** Tokens that the engine may use in a day of UTC. */
  dailyTokenLimit: number;
  /** Tokens used since the last midnight of UTC. */
  usedTokenCount: number;
  /** Time of the budget's renewal: the next midnight UTC. */
  resetTime: string;
}

/** Format of tool declarations, by the model API that takes it. */
export type ToolFormat = "openai" | "gemini" | "anthropic";

/** Policy of a task memory for the outputs of a tool. */
export interface ToolPolicy {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<Reader> | null;
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
  /** Full name of the policy; it ends in the tool's id. */
  name: string;
  /** Time of the policy's creation. */
  createTime: string;
  /** Time of its last change. */
  updateTime: string;
  /** Version of the policy, for conditional requests. */
  etag: string;
}

/**
 * The readers, and the export, as tools of an agent in the formats of model APIs. Each format has
 * the same tools: only tools that the caller may use.
 */
export interface ToolSpecs {
  /** Declarations for `tools` in a request to OpenAI. */
  openai?: Array<Record<string, unknown>> | null;
  /** Declarations for `functionDeclarations` of Gemini. */
  gemini?: Array<Record<string, unknown>> | null;
  /** Declarations for `tools` in a request to Anthropic. */
  anthropic?: Array<Record<string, unknown>> | null;
}

/** An event that is cut to this number of tokens. */
export interface TruncatedEvent {
  /** Number of the event in the session. */
  seq: number;
  /** Tokens of the remaining text. */
  tokens: number;
}

/**
 * Lifetimes of memories and of revisions. The product's documentation and the API's definition name
 * two fields differently; both names are accepted.
 */
export interface TtlConfig {
  /**
   * Life of memories from their last change; above zero, at most a thousand years. Not together
   * with `granularTtlConfig`.
   */
  defaultTtl?: string | null;
  /** Life of memories by the kind of their writer. Not together with `defaultTtl`. */
  granularTtlConfig?: GranularTtlConfig | null;
  /** Life of revisions; above zero, at most a thousand years. Absent: by the service's setting. */
  memoryRevisionDefaultTtl?: string | null;
}

/** Options of bringing a memory back. */
export interface UndeleteMemoryRequest {
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
}

/** Options of an undo. */
export interface UndoOperationRequest {
  /** Labels of the revisions that the undo makes. */
  revisionLabels?: Record<string, string> | null;
  /** True: change nothing; the operation reports the effect on each memory. */
  validateOnly?: boolean | null;
}

/** The effect of an undo on each memory, or in a preview the effect that it would have. */
export interface UndoOperationResponse {
  /** Full name of this message's type. */
  "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1.UndoOperationResponse";
  /** Memories that it changed; absent: none. */
  undoneMemories?: Array<UndoneMemory> | null;
  /** Memories that it did not change; absent: none. */
  skippedMemories?: Array<SkippedMemory> | null;
}

/** A memory that an undo changed. */
export interface UndoneMemory {
  /** The memory. */
  memory: NamedMemory;
  /**
   * `DELETED`: it did not exist before the operation. `UPDATED`: it has its earlier content again.
   * `RESTORED`: it was deleted, and exists again.
   */
  action: string;
  /** Full name of the last revision that the operation made of it; absent: it kept none. */
  previousRevision?: string | null;
}

/** An artifact that was not read. */
export interface UnreadableArtifact {
  /** Name of the artifact within the namespace. */
  artifact: string;
  /** The reason, in a sentence. */
  reason: string;
}

/** The fields to change. The scope may be repeated unchanged. */
export interface UpdateMemoryRequest {
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
  topics?: Array<MemoryTopicId> | null;
  /** The caller's own values, by name; list filters and retrieval can compare them. */
  metadata?: Record<string, MemoryMetadataValue> | null;
  /** Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be changed later. */
  memoryType?: MemoryType | null;
  /** At most 65536 bytes as JSON. */
  structuredContent?: StructuredContent | null;
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
  /** The etag that was read. */
  etag?: string | null;
}

/** Settings to change. */
export interface UpdateNamespaceRequest {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<Reader> | null;
  /** True: derived content is sensitive as well, and never inline. */
  sensitive?: boolean | null;
  /**
   * Id of the embedding model for its chunks and for questions; absent: searches compare words
   * only.
   */
  embeddingModel?: string | null;
  /** Input only: expiry is now + ttl. */
  ttl?: string | null;
  /** The etag that was read. */
  etag?: string | null;
}

/** The fields to change. The user may be repeated unchanged. */
export interface UpdateSessionRequest {
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
  memoryPolicy?: MemoryPolicy | null;
  /** The session's own user; another one is refused. */
  userId?: string | null;
  /** The etag that was read. */
  etag?: string | null;
}

/** A complete policy; omitted fields take the configured defaults. */
export interface UpdateToolPolicyRequest {
  /** True: only models on this machine may read the content. */
  localOnly?: boolean | null;
  /** Models that may read the content; absent: all configured ones. */
  allowedModels?: Array<string> | null;
  /** Ways in which the content may be used; absent: all. Empty: none. */
  readers?: Array<Reader> | null;
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
  /** The etag that was read. */
  etag?: string | null;
}

/** The model usage in a range of days, next to the range before it. */
export interface UsageOfDays {
  /** Sums by the fields in `groupBy`; groups without calls are left out. */
  usage: Array<ModelUsage>;
  /** Sums over all that `usage` could list. */
  total: UsageSums;
  /** Sums over as many days, just before the first day. */
  previousTotal: UsageSums;
  /** Ids of the models in `total` some of whose calls had no price, or may have had none. */
  unpricedModels: Array<string>;
}

/** The consumption of model calls. */
export interface UsageSums {
  /** Requests to models, including failed ones. */
  callCount: number;
  /** Tokens sent to models. */
  inputTokenCount: number;
  /** Tokens that models wrote. */
  outputTokenCount: number;
  /** Time that the calls took together, in milliseconds. */
  modelMilliseconds: number;
  /** Absent unless every call's model had a configured price at the time. */
  cost?: Money | null;
  /** Cost of the calls whose model had a price; absent: no such cost is known. */
  knownCost?: Money | null;
  /**
   * Calls whose model had no price, which `knownCost` lacks; absent: unknown for calls that an
   * earlier release recorded.
   */
  unpricedCallCount?: number | null;
}

/** The origin of the vectors of a restored engine. */
export type VectorsUse = "USED" | "EMBEDDING";

/** A stored session, of this engine or of another one in its project and location. */
export interface VertexSessionSource {
  /** Name of the session; project and location may be left out. */
  session: string;
  /** Events before this time do not count. */
  startTime?: string | null;
  /** Events from this time on do not count. */
  endTime?: string | null;
}

/** Warning to an agent's developer about a stored output. */
export type Warned = "no_reader";
