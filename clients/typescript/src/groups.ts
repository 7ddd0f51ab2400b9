// Written by `make client` from openapi/openapi.json.

// The methods by groups, with the names that they have in the Python client.

import * as calls from "./calls.js";
import { Group } from "./group.js";
import type { Content, Finding, Sending, Sent, Telling, Waiting } from "./group.js";
import type { Items } from "./items.js";
import type { Operation } from "./operation.js";
import type { Transport } from "./transport.js";
import type * as types from "./types.js";

/** Revisions: memories as they were after each change. */
export class Revisions extends Group {
  /** Return a revision. */
  get(memory: string, revision: string, options: Sending = {}): Promise<types.MemoryRevision> {
    return this._ask(calls.GET_MEMORY_REVISION, { memory, revision }, options);
  }

  /** List the revisions of a memory, the newest first. */
  list(
    memory: string,
    options: calls.ListMemoryRevisions & Sending = {},
  ): Items<types.MemoryRevision> {
    return this._items(calls.LIST_MEMORY_REVISIONS, { memory }, options, "memoryRevisions");
  }

  /** List the revisions of all memories, the newest first. */
  listAll(options: calls.ListAllRevisions & Sending = {}): Items<types.MemoryRevision> {
    return this._items(calls.LIST_ALL_REVISIONS, {}, options, "memoryRevisions");
  }

  /** List the keys of the revisions' labels, or the values of one key. */
  labels(options: calls.ListRevisionLabels & Sending = {}): Items<types.RevisionLabel> {
    return this._items(calls.LIST_REVISION_LABELS, {}, options, "labels");
  }

  /** Yield the revisions of all memories as they come, however many. */
  export(options: calls.ExportRevisions & Sending = {}): AsyncGenerator<types.MemoryRevision> {
    return this._rows(calls.EXPORT_REVISIONS, {}, options);
  }
}

/** Memories. Changes are waited for; `start...` only begins them. */
export class Memories extends Group {
  readonly revisions: Revisions;

  constructor(transport: Transport) {
    super(transport);
    this.revisions = new Revisions(transport);
  }

  /** Create a memory as it is given, and return it. */
  create(options: calls.CreateMemory & Waiting): Promise<types.AnsweredMemory> {
    return this._done(calls.CREATE_MEMORY, {}, options);
  }

  /** Return a memory. */
  get(memory: string, options: calls.GetMemory & Sending = {}): Promise<types.Memory> {
    return this._ask(calls.GET_MEMORY, { memory }, options);
  }

  /** List memories. */
  list(options: calls.ListMemories & Sending = {}): Items<types.Memory> {
    return this._items(calls.LIST_MEMORIES, {}, options, "memories");
  }

  /** List the scopes that hold memories. */
  scopes(options: calls.ListScopes & Sending = {}): Items<types.ScopeInUse> {
    return this._items(calls.LIST_SCOPES, {}, options, "scopes");
  }

  /** Change the fields that are given, or those of `updateMask`; return the memory. */
  update(
    memory: string,
    options: calls.UpdateMemory & Waiting = {},
  ): Promise<types.AnsweredMemory> {
    return this._done(calls.UPDATE_MEMORY, { memory }, options);
  }

  /** Delete a memory; it can be undeleted for a while, unless `permanent`. */
  delete(memory: string, options: calls.DeleteMemory & Waiting = {}): Promise<void> {
    return this._done(calls.DELETE_MEMORY, { memory }, options);
  }

  /** Bring a deleted memory back, and return it. */
  undelete(
    memory: string,
    options: calls.UndeleteMemory & Waiting = {},
  ): Promise<types.AnsweredMemory> {
    return this._done(calls.UNDELETE_MEMORY, { memory }, options);
  }

  /** Make a memory as it was at `targetRevisionId`. */
  rollback(
    memory: string,
    options: calls.RollbackMemory & Waiting,
  ): Promise<types.RollbackMemoryResponse> {
    return this._done(calls.ROLLBACK_MEMORY, { memory }, options);
  }

  /** Search a scope for a `query`, the best first; without one, list it, the newest first. */
  retrieve(options: calls.RetrieveMemories & Finding): Items<types.RetrievedMemory> {
    return this._found(calls.RETRIEVE_MEMORIES, {}, options, "retrievedMemories");
  }

  /** Return the profiles of a scope. */
  retrieveProfiles(
    options: calls.RetrieveProfiles & Sending,
  ): Promise<types.RetrieveProfilesResponse> {
    return this._ask(calls.RETRIEVE_PROFILES, {}, options);
  }

  /** Return the facts of a scope nearest to a `query`, or an answer made from them. */
  recall(options: calls.RecallMemories & Sending): Promise<types.RecallMemoriesResponse> {
    return this._ask(calls.RECALL_MEMORIES, {}, options, 60);
  }

  /** Begin to make memories of what was said. */
  startGenerate(
    options: calls.GenerateMemories & Pick<Telling, "texts" | "turns" | "facts"> & Sending = {},
  ): Promise<Operation<types.GenerateMemoriesResponse>> {
    return this._start(calls.GENERATE_MEMORIES, {}, options);
  }

  /** Make memories of what was said, and return which. */
  generate(
    options: calls.GenerateMemories & Pick<Telling, "texts" | "turns" | "facts"> & Waiting = {},
  ): Promise<types.GenerateMemoriesResponse> {
    return this._done(calls.GENERATE_MEMORIES, {}, options);
  }

  /** Add what was said to a stream, of which memories are made later. */
  ingest(
    options: calls.IngestEvents & Pick<Telling, "texts" | "turns"> & Sending,
  ): Promise<Operation<types.IngestEventsResponse>> {
    return this._start(calls.INGEST_EVENTS, {}, options);
  }

  /** List the streams of ingested events. */
  streams(options: calls.ListStreams & Sending = {}): Items<types.Stream> {
    return this._items(calls.LIST_STREAMS, {}, options, "streams");
  }

  /** Have memories made now of what a stream holds. */
  flush(options: calls.FlushStream & Sending): Promise<Operation<types.IngestEventsResponse>> {
    return this._start(calls.FLUSH_STREAM, {}, options);
  }

  /** Begin to delete, or without `force` to count, the memories that match. */
  startPurge(
    options: calls.PurgeMemories & Sending = {},
  ): Promise<Operation<types.PurgeMemoriesResponse>> {
    return this._start(calls.PURGE_MEMORIES, {}, options);
  }

  /** Delete, or without `force` count, the memories that match. */
  purge(options: calls.PurgeMemories & Waiting = {}): Promise<types.PurgeMemoriesResponse> {
    return this._done(calls.PURGE_MEMORIES, {}, options);
  }

  /** Create up to 500 memories as they are given. */
  batchCreate(
    options: calls.BatchCreateMemories & Waiting,
  ): Promise<types.BatchCreateMemoriesResponse> {
    return this._done(calls.BATCH_CREATE_MEMORIES, {}, options);
  }

  /** Create any number of memories as they are given. */
  import(
    content: Content,
    options: calls.ImportMemories & Sent = {},
  ): Promise<types.ImportMemoriesResponse> {
    return this._upload(calls.IMPORT_MEMORIES, {}, options, content, "application/x-ndjson");
  }
}

/** Definitions of tools for a model, and one method that runs whichever it chose. */
export class MemoryTools extends Group {
  /** Return the definitions, ready for a provider. */
  specs(options: calls.GetMemoryToolSpecs & Sending = {}): Promise<types.MemoryToolSpecs> {
    return this._ask(calls.GET_MEMORY_TOOL_SPECS, {}, options);
  }

  /** Run a tool that a model called; `text` of the answer goes to the model. */
  call(options: calls.CallMemoryTool & Sending): Promise<types.CallMemoryToolResponse> {
    return this._ask(calls.CALL_MEMORY_TOOL, {}, options, 60);
  }
}

/** Operations of an engine. */
export class Operations extends Group {
  /** Return an operation. */
  get(operation: string, options: Sending = {}): Promise<Operation<unknown>> {
    return this._start(calls.GET_OPERATION, { operation }, options);
  }

  /** List operations. */
  list(options: calls.ListOperations & Sending = {}): Items<types.Operation> {
    return this._items(calls.LIST_OPERATIONS, {}, options, "operations");
  }

  /** Return the tokens and costs of all operations that a filter matches. */
  usage(options: calls.GetOperationsUsage & Sending = {}): Promise<types.OperationsUsage> {
    return this._ask(calls.GET_OPERATIONS_USAGE, {}, options);
  }

  /** Return the response of an operation once it is done. */
  wait(operation: string, options: Waiting = {}): Promise<unknown> {
    return this._done(calls.GET_OPERATION, { operation }, options);
  }

  /** Ask that an operation ends early. */
  cancel(operation: string, options: calls.CancelOperation & Sending = {}): Promise<void> {
    return this._ask(calls.CANCEL_OPERATION, { operation }, options);
  }

  /** Delete the record of an operation. */
  delete(operation: string, options: calls.DeleteOperation & Sending = {}): Promise<void> {
    return this._ask(calls.DELETE_OPERATION, { operation }, options);
  }

  /** Run a failed operation again. */
  retry(
    operation: string,
    options: calls.RetryOperation & Sending = {},
  ): Promise<Operation<unknown>> {
    return this._start(calls.RETRY_OPERATION, { operation }, options);
  }

  /** Count failed operations by reason, model and hour. */
  groupFailures(options: calls.GroupFailures & Sending = {}): Promise<types.GroupFailuresResponse> {
    return this._ask(calls.GROUP_FAILURES, {}, options);
  }

  /** Begin to run the failed operations that match a filter again. */
  startBatchRetry(
    options: calls.BatchRetryOperations & Sending = {},
  ): Promise<Operation<types.BatchRetryOperationsResponse>> {
    return this._start(calls.BATCH_RETRY_OPERATIONS, {}, options);
  }

  /** Run failed operations again; with `validateOnly` count them. */
  batchRetry(
    operation: string,
    options: Waiting = {},
  ): Promise<types.BatchRetryOperationsResponse> {
    return this._done(calls.GET_OPERATION, { operation }, options);
  }

  /** Begin to undo what an operation did to memories. */
  startUndo(
    operation: string,
    options: calls.UndoOperation & Sending = {},
  ): Promise<Operation<types.UndoOperationResponse>> {
    return this._start(calls.UNDO_OPERATION, { operation }, options);
  }

  /** Undo what an operation did to memories; with `validateOnly` say what that changes. */
  undo(operation: string, options: Waiting = {}): Promise<types.UndoOperationResponse> {
    return this._done(calls.GET_OPERATION, { operation }, options);
  }
}

/** Engines: memory banks with their configuration. */
export class Engines extends Group {
  /** Create an engine, and return it. */
  create(options: calls.CreateReasoningEngine & Waiting = {}): Promise<types.AnsweredEngine> {
    return this._done(calls.CREATE_REASONING_ENGINE, {}, options);
  }

  /** Return the engine of this client. */
  get(options: Sending = {}): Promise<types.ReasoningEngine> {
    return this._ask(calls.GET_REASONING_ENGINE, {}, options);
  }

  /** List the engines of the same place. */
  list(options: calls.ListReasoningEngines & Sending = {}): Items<types.ReasoningEngine> {
    return this._items(calls.LIST_REASONING_ENGINES, {}, options, "reasoningEngines");
  }

  /** Change the fields of this engine that are given, or those of `updateMask`. */
  update(options: calls.UpdateReasoningEngine & Waiting = {}): Promise<types.AnsweredEngine> {
    return this._done(calls.UPDATE_REASONING_ENGINE, {}, options);
  }

  /** Check an update of this engine without a change. */
  validate(options: calls.ValidateReasoningEngine & Sending = {}): Promise<void> {
    return this._ask(calls.VALIDATE_REASONING_ENGINE, {}, options);
  }

  /** Delete this engine; with `force` also all that it holds. */
  delete(options: calls.DeleteReasoningEngine & Waiting = {}): Promise<void> {
    return this._done(calls.DELETE_REASONING_ENGINE, {}, options);
  }

  /** Begin to compute the vectors of all memories anew. */
  reembed(
    options: calls.ReembedReasoningEngine & Sending = {},
  ): Promise<Operation<types.ReembedReasoningEngineResponse>> {
    return this._start(calls.REEMBED_REASONING_ENGINE, {}, options);
  }

  /** Begin to erase a scope from every table; the response is the certificate. */
  eraseScope(options: calls.EraseScope & Sending): Promise<Operation<types.EraseScopeResponse>> {
    return this._start(calls.ERASE_SCOPE, {}, options);
  }

  /** Begin to look through the engine for sensitive values. */
  scanPrivacy(options: calls.ScanPrivacy & Sending): Promise<Operation<types.ScanPrivacyResponse>> {
    return this._start(calls.SCAN_PRIVACY, {}, options);
  }

  /** Return the resources and scopes that a text names. */
  find(options: calls.FindResources & Sending): Promise<types.FindResourcesResponse> {
    return this._ask(calls.FIND_RESOURCES, {}, options);
  }

  /** Return what the engine's models took, and what the engine holds. */
  usage(options: calls.GetUsage & Sending = {}): Promise<types.EngineUsage> {
    return this._ask(calls.GET_USAGE, {}, options);
  }

  /** Estimate the costs of contexts under several policies. */
  estimateCosts(
    options: calls.EstimateContextCosts & Sending = {},
  ): Promise<types.EstimateContextCostsResponse> {
    return this._ask(calls.ESTIMATE_CONTEXT_COSTS, {}, options);
  }
}

/** API keys. Their creation and rotation take no id of the request, and so are not repeated. */
export class Keys extends Group {
  /** Create a key; only this answer has its `secret`. */
  create(options: calls.CreateKey & Sending): Promise<types.ApiKey> {
    return this._ask(calls.CREATE_KEY, {}, options);
  }

  /** Return a key without its secret. */
  get(key: string, options: Sending = {}): Promise<types.ApiKey> {
    return this._ask(calls.GET_KEY, { key }, options);
  }

  /** List keys. */
  list(options: calls.ListKeys & Sending = {}): Items<types.ApiKey> {
    return this._items(calls.LIST_KEYS, {}, options, "keys");
  }

  /** Create a successor of a key; only this answer has its `secret`. */
  rotate(key: string, options: calls.RotateKey & Sending = {}): Promise<types.ApiKey> {
    return this._ask(calls.ROTATE_KEY, { key }, options);
  }

  /** End a key. */
  revoke(key: string, options: Sending = {}): Promise<types.ApiKey> {
    return this._ask(calls.REVOKE_KEY, { key }, options);
  }
}

/** The audit log: of this engine, or of the whole service. */
export class Audit extends Group {
  /** List what was done with this engine, the newest first. */
  list(options: calls.ListAuditEvents & Sending = {}): Items<types.AuditEvent> {
    return this._items(calls.LIST_AUDIT_EVENTS, {}, options, "auditEvents");
  }

  /** List what was done with the service, the newest first. */
  listAll(options: calls.ListAllAuditEvents & Sending = {}): Items<types.AuditEvent> {
    return this._items(calls.LIST_ALL_AUDIT_EVENTS, {}, options, "auditEvents");
  }

  /** Yield what was done with this engine as it comes, however much. */
  export(options: calls.ExportAuditEvents & Sending = {}): AsyncGenerator<types.AuditEvent> {
    return this._rows(calls.EXPORT_AUDIT_EVENTS, {}, options);
  }

  /** Yield what was done with the service as it comes, however much. */
  exportAll(options: calls.ExportAllAuditEvents & Sending = {}): AsyncGenerator<types.AuditEvent> {
    return this._rows(calls.EXPORT_ALL_AUDIT_EVENTS, {}, options);
  }
}

/** The service itself. */
export class Service extends Group {
  /** Return who asks, and what they may do. */
  self(options: Sending = {}): Promise<types.CallerInfo> {
    return this._ask(calls.GET_SELF, {}, options);
  }

  /** Return how the service is set up and how it does. */
  server(options: Sending = {}): Promise<types.ServerInfo> {
    return this._ask(calls.GET_SERVER, {}, options);
  }

  /** Return what the models of all engines took. */
  usage(options: calls.GetServerUsage & Sending = {}): Promise<types.UsageOfDays> {
    return this._ask(calls.GET_SERVER_USAGE, {}, options);
  }

  /** Return whether the process lives. */
  health(options: Sending = {}): Promise<types.Health> {
    return this._ask(calls.GET_HEALTH, {}, options);
  }

  /** Return whether the service can answer requests. */
  readiness(options: Sending = {}): Promise<types.Health> {
    return this._ask(calls.GET_READINESS, {}, options);
  }

  /** Return the metrics, as Prometheus reads them. */
  metrics(options: Sending = {}): Promise<string> {
    return this._text(calls.GET_METRICS, {}, options);
  }
}

/** Summaries of sessions. */
export class Summaries extends Group {
  /** Return a summary. */
  get(session: string, summary: string, options: Sending = {}): Promise<types.SessionSummary> {
    return this._ask(calls.GET_SUMMARY, { session, summary }, options);
  }

  /** List the summaries of a session. */
  list(session: string, options: calls.ListSummaries & Sending = {}): Items<types.SessionSummary> {
    return this._items(calls.LIST_SUMMARIES, { session }, options, "summaries");
  }

  /** Begin to write a summary anew. */
  regenerate(
    session: string,
    summary: string,
    options: calls.RegenerateSummary & Sending = {},
  ): Promise<Operation<types.RegenerateSummaryResponse>> {
    return this._start(calls.REGENERATE_SUMMARY, { session, summary }, options);
  }
}

/** Sessions: conversations, event by event. */
export class Sessions extends Group {
  readonly summaries: Summaries;

  constructor(transport: Transport) {
    super(transport);
    this.summaries = new Summaries(transport);
  }

  /** Create a session, and return it. */
  create(options: calls.CreateSession & Waiting): Promise<types.AnsweredSession> {
    return this._done(calls.CREATE_SESSION, {}, options);
  }

  /** Return a session. */
  get(session: string, options: Sending = {}): Promise<types.Session> {
    return this._ask(calls.GET_SESSION, { session }, options);
  }

  /** List sessions. */
  list(options: calls.ListSessions & Sending = {}): Items<types.Session> {
    return this._items(calls.LIST_SESSIONS, {}, options, "sessions");
  }

  /** Change the fields that are given, or those of `updateMask`; return the session. */
  update(session: string, options: calls.UpdateSession & Sending = {}): Promise<types.Session> {
    return this._ask(calls.UPDATE_SESSION, { session }, options);
  }

  /** Delete a session with its events. */
  delete(session: string, options: calls.DeleteSession & Waiting = {}): Promise<void> {
    return this._done(calls.DELETE_SESSION, { session }, options);
  }

  /** Append an event. */
  append(session: string, options: calls.AppendEvent & Sending): Promise<void> {
    return this._ask(calls.APPEND_EVENT, { session }, options);
  }

  /** Append up to 500 events in order, all or none. */
  batch(
    session: string,
    options: calls.BatchAppendEvents & Sending,
  ): Promise<types.BatchAppendEventsResponse> {
    return this._ask(calls.BATCH_APPEND_EVENTS, { session }, options);
  }

  /** Append what the user said and what was answered. */
  exchange(session: string, options: calls.CreateExchange & Sending): Promise<types.Exchange> {
    return this._ask(calls.CREATE_EXCHANGE, { session }, options);
  }

  /** List the events of a session, the oldest first. */
  events(session: string, options: calls.ListEvents & Sending = {}): Items<types.SessionEvent> {
    return this._items(calls.LIST_EVENTS, { session }, options, "sessionEvents");
  }

  /** Erase an event; it cannot be brought back. */
  eraseEvent(
    session: string,
    event: string,
    options: calls.DeleteEvent & Sending = {},
  ): Promise<void> {
    return this._ask(calls.DELETE_EVENT, { session, event }, options);
  }

  /** Return the session as a prompt, within the limit of its policy or of `tokenLimit`. */
  context(
    session: string,
    options: calls.ComposeContext & Sending = {},
  ): Promise<types.ContextResponse> {
    return this._ask(calls.COMPOSE_CONTEXT, { session }, options, 60);
  }

  /** Begin a new context; events stay, but contexts no longer have them. */
  clear(session: string, options: calls.ClearSession & Sending = {}): Promise<types.Session> {
    return this._ask(calls.CLEAR_SESSION, { session }, options);
  }

  /** Return what the summaries of a session took. */
  usage(session: string, options: Sending = {}): Promise<types.SessionUsage> {
    return this._ask(calls.GET_SESSION_USAGE, { session }, options);
  }

  /** Return passages of a session that tell of a `query`. */
  recall(session: string, options: calls.RecallSession & Sending): Promise<types.RecallResponse> {
    return this._ask(calls.RECALL_SESSION, { session }, options, 60);
  }

  /** Return passages of a user's sessions that tell of a `query`, from the newest back. */
  recallAll(options: calls.RecallSessions & Sending): Promise<types.RecallSessionsResponse> {
    return this._ask(calls.RECALL_SESSIONS, {}, options, 60);
  }
}

/** Rules for the outputs of single tools. */
export class ToolPolicies extends Group {
  /** Return the policy of a tool. */
  get(taskMemory: string, tool: string, options: Sending = {}): Promise<types.ToolPolicy> {
    return this._ask(calls.GET_TOOL_POLICY, { taskMemory, tool }, options);
  }

  /** List the policies of a task memory. */
  list(
    taskMemory: string,
    options: calls.ListToolPolicies & Sending = {},
  ): Items<types.ToolPolicy> {
    return this._items(calls.LIST_TOOL_POLICIES, { taskMemory }, options, "toolPolicies");
  }

  /** Set the policy of a tool as a whole. */
  update(
    taskMemory: string,
    tool: string,
    options: calls.UpdateToolPolicy & Sending = {},
  ): Promise<types.ToolPolicy> {
    return this._ask(calls.UPDATE_TOOL_POLICY, { taskMemory, tool }, options);
  }

  /** Delete the policy of a tool. */
  delete(
    taskMemory: string,
    tool: string,
    options: calls.DeleteToolPolicy & Sending = {},
  ): Promise<void> {
    return this._ask(calls.DELETE_TOOL_POLICY, { taskMemory, tool }, options);
  }
}

/** Namespaces: artifacts that belong together. */
export class Namespaces extends Group {
  /** Return a namespace. */
  get(taskMemory: string, namespace: string, options: Sending = {}): Promise<types.Namespace> {
    return this._ask(calls.GET_NAMESPACE, { taskMemory, namespace }, options);
  }

  /** List the namespaces of a task memory. */
  list(taskMemory: string, options: calls.ListNamespaces & Sending = {}): Items<types.Namespace> {
    return this._items(calls.LIST_NAMESPACES, { taskMemory }, options, "namespaces");
  }

  /** Change the rules of a namespace. */
  update(
    taskMemory: string,
    namespace: string,
    options: calls.UpdateNamespace & Sending = {},
  ): Promise<types.Namespace> {
    return this._ask(calls.UPDATE_NAMESPACE, { taskMemory, namespace }, options);
  }

  /** Delete a namespace with its artifacts. */
  delete(
    taskMemory: string,
    namespace: string,
    options: calls.DeleteNamespace & Sending = {},
  ): Promise<void> {
    return this._ask(calls.DELETE_NAMESPACE, { taskMemory, namespace }, options);
  }
}

/** Task memories, each with namespaces of artifacts. */
export class TaskMemory extends Group {
  readonly policies: ToolPolicies;
  readonly namespaces: Namespaces;

  constructor(transport: Transport) {
    super(transport);
    this.policies = new ToolPolicies(transport);
    this.namespaces = new Namespaces(transport);
  }

  /** Return a task memory. */
  get(taskMemory: string, options: Sending = {}): Promise<types.TaskMemory> {
    return this._ask(calls.GET_TASK_MEMORY, { taskMemory }, options);
  }

  /** List task memories. */
  list(options: calls.ListTaskMemories & Sending = {}): Items<types.TaskMemory> {
    return this._items(calls.LIST_TASK_MEMORIES, {}, options, "taskMemories");
  }

  /** Delete a task memory with all that it holds. */
  delete(taskMemory: string, options: calls.DeleteTaskMemory & Sending = {}): Promise<void> {
    return this._ask(calls.DELETE_TASK_MEMORY, { taskMemory }, options);
  }

  /** Decide whether a tool's output goes into the prompt, and store it if not. */
  processOutput(
    taskMemory: string,
    options: calls.ProcessOutput & Sending,
  ): Promise<types.ProcessOutputResponse> {
    return this._ask(calls.PROCESS_OUTPUT, { taskMemory }, options);
  }

  /** Store artifacts. */
  store(
    taskMemory: string,
    namespace: string,
    options: calls.StoreArtifacts & Sending,
  ): Promise<types.StoreArtifactsResponse> {
    return this._ask(calls.STORE_ARTIFACTS, { taskMemory, namespace }, options);
  }

  /** Answer a question from the artifacts of a namespace. */
  query(
    taskMemory: string,
    namespace: string,
    options: calls.QueryNamespace & Sending,
  ): Promise<types.QueryNamespaceResponse> {
    return this._ask(calls.QUERY_NAMESPACE, { taskMemory, namespace }, options, 120);
  }

  /** Summarise the artifacts of a namespace. */
  summarize(
    taskMemory: string,
    namespace: string,
    options: calls.SummarizeNamespace & Sending = {},
  ): Promise<types.SummarizeNamespaceResponse> {
    return this._ask(calls.SUMMARIZE_NAMESPACE, { taskMemory, namespace }, options, 660);
  }

  /** Extract rows of a JSON schema from the artifacts of a namespace. */
  extract(
    taskMemory: string,
    namespace: string,
    options: calls.ExtractNamespace & Sending,
  ): Promise<types.ExtractNamespaceResponse> {
    return this._ask(calls.EXTRACT_NAMESPACE, { taskMemory, namespace }, options, 660);
  }

  /** Store files from a folder that the service is set up with. */
  load(
    taskMemory: string,
    namespace: string,
    options: calls.LoadFiles & Sending,
  ): Promise<types.LoadFilesResponse> {
    return this._ask(calls.LOAD_FILES, { taskMemory, namespace }, options, 60);
  }

  /** Write artifacts into a folder that the service is set up with. */
  export(
    taskMemory: string,
    namespace: string,
    options: calls.ExportNamespace & Sending,
  ): Promise<types.ExportNamespaceResponse> {
    return this._ask(calls.EXPORT_NAMESPACE, { taskMemory, namespace }, options);
  }

  /** List the artifacts of a namespace. */
  artifacts(
    taskMemory: string,
    namespace: string,
    options: calls.ListArtifacts & Sending = {},
  ): Items<types.Artifact> {
    return this._items(calls.LIST_ARTIFACTS, { taskMemory, namespace }, options, "artifacts");
  }

  /** Return the facts of an artifact. */
  artifact(
    taskMemory: string,
    namespace: string,
    artifact: string,
    options: Sending = {},
  ): Promise<types.Artifact> {
    return this._ask(calls.GET_ARTIFACT, { taskMemory, namespace, artifact }, options);
  }

  /** Store a body. */
  upload(
    taskMemory: string,
    namespace: string,
    artifact: string,
    content: Content,
    options: calls.UploadArtifact & Sent = {},
  ): Promise<types.Artifact> {
    return this._upload(
      calls.UPLOAD_ARTIFACT,
      { taskMemory, namespace, artifact },
      options,
      content,
      "application/octet-stream",
    );
  }

  /** Return the bytes of an artifact. */
  download(
    taskMemory: string,
    namespace: string,
    artifact: string,
    options: Sending = {},
  ): Promise<Uint8Array> {
    return this._content(calls.DOWNLOAD_ARTIFACT, { taskMemory, namespace, artifact }, options);
  }

  /** Return a page of the text that readers get of an artifact. */
  text(
    taskMemory: string,
    namespace: string,
    artifact: string,
    options: calls.ReadArtifactText & Sending = {},
  ): Promise<types.TextPage> {
    return this._ask(calls.READ_ARTIFACT_TEXT, { taskMemory, namespace, artifact }, options);
  }

  /** Delete an artifact. */
  deleteArtifact(
    taskMemory: string,
    namespace: string,
    artifact: string,
    options: calls.DeleteArtifact & Sending = {},
  ): Promise<void> {
    return this._ask(calls.DELETE_ARTIFACT, { taskMemory, namespace, artifact }, options);
  }

  /** Return the tools with which a model reads what was stored. */
  toolSpecs(options: calls.GetToolSpecs & Sending = {}): Promise<types.ToolSpecs> {
    return this._ask(calls.GET_TOOL_SPECS, {}, options);
  }

  /** Run a tool that a model called; `text` of the answer goes to the model. */
  callTool(options: calls.CallTaskTool & Sending): Promise<types.CallMemoryToolResponse> {
    return this._ask(calls.CALL_TASK_TOOL, {}, options, 600);
  }
}

/** All groups, for one engine. */
export class Groups {
  readonly memories: Memories;
  readonly sessions: Sessions;
  readonly taskMemory: TaskMemory;
  readonly memoryTools: MemoryTools;
  readonly operations: Operations;
  readonly engines: Engines;
  readonly keys: Keys;
  readonly audit: Audit;
  readonly service: Service;

  constructor(transport: Transport) {
    this.memories = new Memories(transport);
    this.sessions = new Sessions(transport);
    this.taskMemory = new TaskMemory(transport);
    this.memoryTools = new MemoryTools(transport);
    this.operations = new Operations(transport);
    this.engines = new Engines(transport);
    this.keys = new Keys(transport);
    this.audit = new Audit(transport);
    this.service = new Service(transport);
  }
}
