"""The kinds of lines in an archive, with their tables and columns.

Export, `reading.py` and restore all use this table. It names tables and columns as text, since
some belong to features that this package must not import; tests compare it with the schema.
Column names key the values of a restore; fields of lines have names in camelCase.
"""

from app.memory.transfer.logic.fields import (
    DATA,
    DAY,
    DURATION,
    ENGINE_ID,
    FLAG,
    HASH,
    ID,
    NUMBER,
    OBJECT,
    OBJECTS,
    OFFSET,
    PLACE,
    TEXT,
    TEXTS,
    TIME,
    VECTOR,
    WHOLE,
    ArchiveField,
    Kind,
)

OMITTED = "omitted"
"""Column with the reason why an artifact's bytes are left out; no table has this column."""
_INDEXED = "made again from the bytes"

_CONTENT = (
    ArchiveField("fact", TEXT, is_nullable=True),
    ArchiveField("display_name", TEXT, is_nullable=True),
    ArchiveField("description", TEXT, is_nullable=True),
    ArchiveField("topics", OBJECTS),
    ArchiveField("metadata", OBJECT),
    ArchiveField("memory_type", TEXT),
    ArchiveField("structured_content", OBJECT, is_nullable=True),
    ArchiveField("context", TEXT, is_nullable=True),
    ArchiveField("source", TEXT, is_nullable=True),
    ArchiveField("position", PLACE, is_nullable=True),
    ArchiveField("event_time", TIME, is_nullable=True),
)
_CREATE_TIME = ArchiveField("create_time", TIME)
_UPDATE_TIME = ArchiveField("update_time", TIME)
_EXPIRE_TIME = ArchiveField("expire_time", TIME)
_VERSION = ArchiveField("version", WHOLE)

ENGINE = Kind(
    "engine",
    "engines",
    (),
    (
        ArchiveField("display_name", TEXT, is_nullable=True),
        ArchiveField("description", TEXT, is_nullable=True),
        ArchiveField("labels", OBJECT),
        ArchiveField("bank_config", OBJECT, is_nullable=True, wire="memoryBankConfig"),
        ArchiveField("encryption_spec", OBJECT, is_nullable=True),
        _CREATE_TIME,
    ),
    {
        **ENGINE_ID,
        "project": "taken from the engine that it is written to",
        "location": "taken from the engine that it is written to",
        "version": "counts the changes of this engine",
        "update_time": "the last change of this engine",
        "delete_time": "a deleted engine is not exported",
        "embedding_model": "in the header",
        "embedding_target": "re-embedding starts again",
        "stale_vectors_until": "re-embedding starts again",
        "restore": "an engine that is being restored is not exported",
    },
)
MEMORY = Kind(
    "memory",
    "memories",
    ("memory_id",),
    (
        ArchiveField("memory_id", TEXT),
        _VERSION,
        ArchiveField("scope", OBJECT),
        *_CONTENT,
        _CREATE_TIME,
        _UPDATE_TIME,
        ArchiveField("expire_time", TIME, is_nullable=True),
        ArchiveField("delete_time", TIME, is_nullable=True),
        ArchiveField("recover_until", TIME, is_nullable=True),
        ArchiveField("held_time", TIME, is_nullable=True),
    ),
    {
        **ENGINE_ID,
        "scope_hash": "the digest of the scope",
        "language": "found again from the fact",
        "terms": "computed by the database",
        "cues": "made again from the fact",
        "grams": "made again from the fact",
    },
)
REVISION = Kind(
    "revision",
    "memory_revisions",
    ("memory_id", "version"),
    (
        ArchiveField("memory_id", TEXT),
        ArchiveField("revision_id", ID),
        _VERSION,
        *_CONTENT,
        ArchiveField("action", TEXT),
        ArchiveField("memory_expire_time", TIME, is_nullable=True),
        ArchiveField("labels", OBJECT),
        ArchiveField("extracted_memories", OBJECTS),
        ArchiveField("author", TEXT, is_nullable=True),
        ArchiveField("prompt_version", TEXT, is_nullable=True),
        ArchiveField("operation_id", TEXT, is_nullable=True),
        ArchiveField("caller", TEXT, is_nullable=True),
        ArchiveField("restored_revision_id", ID, is_nullable=True),
        ArchiveField("redact_time", TIME, is_nullable=True),
        _CREATE_TIME,
        _EXPIRE_TIME,
    ),
)
"""A revision in a separate line, used only if a memory's line cannot hold all revisions."""
MEMORY_VECTOR = Kind(
    "vector",
    "memory_vectors",
    ("memory_id", "model_id"),
    (
        ArchiveField("memory_id", TEXT),
        ArchiveField("model_id", TEXT),
        ArchiveField("vector", VECTOR),
    ),
    {
        **ENGINE_ID,
        "scope_hash": "taken from the memory",
        "expire_time": "taken from the memory",
    },
)
_TOOL_POLICY = Kind(
    "toolPolicy",
    "tool_policies",
    ("memory", "tool"),
    (
        ArchiveField("memory", TEXT),
        ArchiveField("tool", TEXT),
        ArchiveField("off_prompt", TEXT),
        ArchiveField("max_inline_tokens", WHOLE, is_nullable=True),
        ArchiveField("sensitive", FLAG),
        ArchiveField("ttl", DURATION, is_nullable=True),
        _VERSION,
        _CREATE_TIME,
        _UPDATE_TIME,
    ),
)
_SESSION_ID = ArchiveField("session_id", TEXT)
_USER_STATE = Kind(
    "userState",
    "user_states",
    ("user_id",),
    (ArchiveField("user_id", TEXT), ArchiveField("state", OBJECT)),
)
_APP_STATE = Kind("appState", "app_states", (), (ArchiveField("state", OBJECT),))
SESSION = Kind(
    "session",
    "sessions",
    ("session_id",),
    (
        _SESSION_ID,
        ArchiveField("user_id", TEXT),
        ArchiveField("display_name", TEXT, is_nullable=True),
        ArchiveField("labels", OBJECT),
        ArchiveField("session_state", OBJECT),
        ArchiveField("last_seq", WHOLE),
        ArchiveField("exchanges", WHOLE),
        ArchiveField("is_answered", FLAG),
        ArchiveField("cleared_seq", WHOLE),
        ArchiveField("cleared_exchange", WHOLE),
        ArchiveField("memory_policy", OBJECT, is_nullable=True),
        _VERSION,
        _CREATE_TIME,
        _UPDATE_TIME,
        ArchiveField("shown_update_time", TIME),
        _EXPIRE_TIME,
    ),
)
_EVENT = Kind(
    "event",
    "session_events",
    ("session_id", "seq"),
    (
        _SESSION_ID,
        ArchiveField("seq", WHOLE),
        ArchiveField("event_id", TEXT),
        ArchiveField("author", TEXT),
        ArchiveField("invocation_id", TEXT),
        ArchiveField("timestamp", TIME),
        ArchiveField("utc_offset", OFFSET, is_nullable=True),
        ArchiveField("content", OBJECT, is_nullable=True),
        ArchiveField("actions", OBJECT, is_nullable=True),
        ArchiveField("error_code", TEXT, is_nullable=True),
        ArchiveField("error_message", TEXT, is_nullable=True),
        ArchiveField("event_metadata", OBJECT, is_nullable=True),
        ArchiveField("raw_event", OBJECT, is_nullable=True),
        ArchiveField("exchange", WHOLE),
        ArchiveField("token_count", WHOLE, is_nullable=True),
        ArchiveField("delete_time", TIME, is_nullable=True),
        ArchiveField("size_bytes", WHOLE),
        _CREATE_TIME,
    ),
)
_SUMMARY = Kind(
    "summary",
    "session_summaries",
    ("session_id", "summary_id"),
    (
        _SESSION_ID,
        ArchiveField("summary_id", TEXT),
        ArchiveField("policy_key", TEXT),
        ArchiveField("policy", OBJECT),
        ArchiveField("kind", TEXT, wire="summaryKind"),
        ArchiveField("state", TEXT),
        _VERSION,
        ArchiveField("first_seq", WHOLE),
        ArchiveField("last_seq", WHOLE),
        ArchiveField("last_exchange", WHOLE),
        ArchiveField("boundary_seq", WHOLE),
        ArchiveField("text", TEXT, is_nullable=True),
        ArchiveField("char_limit", WHOLE),
        ArchiveField("is_cut", FLAG),
        ArchiveField("previous", TEXTS),
        ArchiveField("read_first_seq", WHOLE, is_nullable=True),
        ArchiveField("read_last_seq", WHOLE, is_nullable=True),
        ArchiveField("model_id", TEXT),
        ArchiveField("template", TEXT),
        ArchiveField("usage", OBJECT),
        ArchiveField("error_reason", TEXT, is_nullable=True),
        ArchiveField("attempts", WHOLE),
        ArchiveField("retry_time", TIME, is_nullable=True),
        _CREATE_TIME,
        _UPDATE_TIME,
    ),
)
_STREAM_KEY = (ArchiveField("scope_hash", HASH), ArchiveField("stream_id", TEXT))
STREAM = Kind(
    "stream",
    "streams",
    ("scope_hash", "stream_id"),
    (
        *_STREAM_KEY,
        ArchiveField("scope", OBJECT),
        ArchiveField("rule", OBJECT, is_nullable=True),
        ArchiveField("options", OBJECT),
        _CREATE_TIME,
        ArchiveField("last_arrival_time", TIME),
        ArchiveField("oldest_pending_time", TIME, is_nullable=True),
        ArchiveField("pending_count", WHOLE),
        ArchiveField("pending_bytes", WHOLE),
        ArchiveField("next_seq", WHOLE),
        ArchiveField("flush_seq", WHOLE),
        ArchiveField("failure_count", WHOLE),
        ArchiveField("retry_time", TIME, is_nullable=True),
        ArchiveField("aside_time", TIME, is_nullable=True),
    ),
    {**ENGINE_ID, "operation_id": "waiting operations are not in an archive"},
)
"""A stream with waiting events."""
_STREAM_EVENT = Kind(
    "streamEvent",
    "stream_events",
    ("scope_hash", "stream_id", "seq"),
    (
        *_STREAM_KEY,
        ArchiveField("seq", WHOLE),
        ArchiveField("event_id", TEXT, is_nullable=True),
        ArchiveField("event_time", TIME, is_nullable=True),
        ArchiveField("utc_offset", OFFSET, is_nullable=True),
        ArchiveField("arrival_time", TIME),
        ArchiveField("content", OBJECT, is_nullable=True),
        ArchiveField("content_bytes", WHOLE),
        ArchiveField("batch_limit", WHOLE, is_nullable=True),
        ArchiveField("retry_time", TIME, is_nullable=True),
    ),
    {**ENGINE_ID, "process_time": "only events that wait are in an archive"},
)
_READ_LINE = Kind(
    "readLine",
    "read_lines",
    ("scope_hash", "digest"),
    (
        ArchiveField("scope_hash", HASH),
        ArchiveField("digest", HASH),
        ArchiveField("scope", OBJECT),
        _EXPIRE_TIME,
    ),
)
"""A line that was already read; it stops the engine from learning deleted facts again."""
_IN_NAMESPACE = (ArchiveField("memory", TEXT), ArchiveField("namespace", TEXT))
NAMESPACE = Kind(
    "namespace",
    "task_namespaces",
    ("memory", "namespace"),
    (
        *_IN_NAMESPACE,
        ArchiveField("user_id", TEXT, is_nullable=True),
        ArchiveField("sensitive", FLAG),
        ArchiveField("local_only", FLAG),
        ArchiveField("allowed_models", TEXTS, is_nullable=True),
        ArchiveField("embedding_model", TEXT, is_nullable=True),
        ArchiveField("tool", TEXT, is_nullable=True),
        ArchiveField("activity", TEXT, is_nullable=True),
        ArchiveField("last_ordinal", WHOLE),
        _VERSION,
        _CREATE_TIME,
        _UPDATE_TIME,
        _EXPIRE_TIME,
    ),
    {
        **ENGINE_ID,
        "artifacts": "counted again from the artifacts that are written",
        "bytes": "counted again from the artifacts that are written",
    },
)
ARTIFACT = Kind(
    "artifact",
    "task_artifacts",
    ("content_id",),
    (
        ArchiveField("content_id", TEXT),
        *_IN_NAMESPACE,
        ArchiveField("name", TEXT),
        ArchiveField("ordinal", WHOLE),
        ArchiveField("kind", TEXT, wire="artifactKind"),
        ArchiveField("media_type", TEXT),
        ArchiveField("sniffed_type", TEXT, is_nullable=True),
        ArchiveField("size_bytes", WHOLE),
        ArchiveField("sha256", HASH, is_nullable=True),
        ArchiveField("token_estimate", WHOLE),
        ArchiveField("language", TEXT, is_nullable=True),
        ArchiveField("depth", WHOLE),
        ArchiveField("derived_from", OBJECTS, is_nullable=True),
        ArchiveField("source_deleted", FLAG),
        ArchiveField("input_hash", HASH, is_nullable=True),
        _VERSION,
        _CREATE_TIME,
        _EXPIRE_TIME,
        ArchiveField(OMITTED, TEXT, is_nullable=True),
    ),
    {
        **ENGINE_ID,
        "state": _INDEXED,
        "chunks": _INDEXED,
        "origin": "computed by the database",
    },
)
PAGE = Kind(
    "page",
    "task_pages",
    ("content_id", "page"),
    (ArchiveField("content_id", TEXT), ArchiveField("page", WHOLE), ArchiveField("data", DATA)),
    {
        **ENGINE_ID,
        "memory": "that of the artifact",
        "namespace": "that of the artifact",
    },
)
OPERATION = Kind(
    "operation",
    "operations",
    ("operation_id",),
    (
        ArchiveField("operation_id", TEXT),
        ArchiveField("memory_id", TEXT, is_nullable=True),
        ArchiveField("kind", TEXT, wire="operationKind"),
        ArchiveField("state", TEXT),
        ArchiveField("response", OBJECT, is_nullable=True),
        ArchiveField("error", OBJECT, is_nullable=True),
        ArchiveField("details", OBJECT),
        _CREATE_TIME,
        _UPDATE_TIME,
        ArchiveField("start_time", TIME, is_nullable=True),
        ArchiveField("remove_time", TIME, is_nullable=True),
        ArchiveField("attempts", WHOLE),
        ArchiveField("scopes", OBJECT, is_nullable=True),
    ),
    {
        **ENGINE_ID,
        "engine_name": "taken from the engine that it is written to",
        "key": "serialises operations that run",
        "request": "may hold texts that were never stored",
        "due_time": "the place in the queue",
        "cancel_requested": "of operations that run",
        "owner": "of operations that run",
        "lease_until": "of operations that run",
        "caller": "keys are not in an archive",
        "request_id": "for the log of this service",
        "traceparent": "for the traces of this service",
    },
    names=frozenset({"response", "error", "details"}),
)
"""A finished operation; undo reads its changes."""
USAGE = Kind(
    "usage",
    "model_usage",
    ("day", "model_id", "kind"),
    (
        ArchiveField("day", DAY),
        ArchiveField("model_id", TEXT),
        ArchiveField("kind", TEXT, wire="workKind"),
        ArchiveField("calls", WHOLE),
        ArchiveField("input_tokens", WHOLE),
        ArchiveField("output_tokens", WHOLE),
        ArchiveField("milliseconds", WHOLE),
        ArchiveField("cost", NUMBER, is_nullable=True),
    ),
)

KINDS = (
    ENGINE,
    _TOOL_POLICY,
    MEMORY,
    REVISION,
    MEMORY_VECTOR,
    _USER_STATE,
    _APP_STATE,
    SESSION,
    _EVENT,
    _SUMMARY,
    STREAM,
    _STREAM_EVENT,
    _READ_LINE,
    NAMESPACE,
    ARTIFACT,
    PAGE,
    OPERATION,
    USAGE,
)
"""All kinds in the order of an archive, except that revisions follow their memory directly."""
SESSION_KINDS = frozenset({_USER_STATE, _APP_STATE, SESSION, _EVENT, _SUMMARY})
"""The kinds that an export without sessions leaves out."""
ARTIFACT_KINDS = frozenset({NAMESPACE, ARTIFACT, PAGE})
"""The kinds that an export without artifacts leaves out."""
BY_NAME = {kind.name: kind for kind in KINDS}
RANKS = {kind.name: place for place, kind in enumerate(KINDS)} | {
    REVISION.name: KINDS.index(MEMORY)
}
"""The order of kinds in an archive."""

NOT_EXPORTED = (
    "generation.preview",
    "engines.create",
    "engines.update",
    "tasks.index",
    "tasks.embed",
)
"""Kinds of operations that are never exported.

Operations on the engine itself do not concern the target engine. The target splits the texts of
artifacts into chunks again, and previews would be out of date.
"""

NOT_ARCHIVED = {
    "api_key_changes": "keys are of a service, not of an engine",
    "api_key_secrets": "keys are of a service, not of an engine",
    "api_keys": "keys are of a service, not of an engine",
    "audit_events": "the log of this service",
    "console_sessions": "sessions of people at this service",
    "embedding_models": "in the header",
    "engine_totals": "counted again by triggers",
    "due_engines": "what runs now",
    "erasures": "certificates stay where the erasure was made",
    "ids_carry_buckets_from": "a time of this service",
    "processes": "what runs now",
    "pseudonym_keys": "a secret of this service",
    "rate_buckets": "what callers may still use now",
    "request_ids": "requests to this service, for a day",
    "revision_labels": "made again from the labels of revisions",
    "service_audit_events": "the log of this service",
    "service_request_ids": "requests to this service, for a day",
    "scope_indexes": "indexes that this database has",
    "task_chunks": _INDEXED,
    "task_vectors": _INDEXED,
    "ticks": "what runs now",
    "unembedded_memories": "known from the vectors that are there",
}
"""Tables that are never exported, with the reason; a test checks that no table is forgotten."""
