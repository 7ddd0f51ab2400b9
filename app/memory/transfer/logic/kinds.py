"""The one table of what an archive holds: kinds of lines, with their tables and columns.

Export selects by it, `reading.py` decodes by it, and restore writes by it. It names tables and
columns as text, since it has those of features above this one; tests hold it equal to the schema.
Values of restore are by the names of columns; names of lines are in camelCase.
"""

from app.memory.transfer.logic.codecs import (
    DATA,
    DAY,
    DURATION,
    FLAG,
    HASH,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
)
from app.memory.transfer.logic.fields import ENGINE_ID, Field, Kind
from app.memory.transfer.logic.memory_kinds import (
    CREATE_TIME,
    ENGINE,
    EXPIRE_TIME,
    MEMORY,
    MEMORY_VECTOR,
    REVISION,
    UPDATE_TIME,
    VERSION,
)

OMITTED = "omitted"
"""The column of an artifact whose bytes are left out, with the reason; no table has it."""
_INDEXED = "made again from the bytes"

TOOL_POLICY = Kind(
    "toolPolicy",
    "tool_policies",
    ("memory", "tool"),
    (
        Field("memory", TEXT),
        Field("tool", TEXT),
        Field("off_prompt", TEXT),
        Field("max_inline_tokens", WHOLE, is_nullable=True),
        Field("sensitive", FLAG),
        Field("ttl", DURATION, is_nullable=True),
        VERSION,
        CREATE_TIME,
        UPDATE_TIME,
    ),
)
_SESSION_ID = Field("session_id", TEXT)
_USER_STATE = Kind(
    "userState", "user_states", ("user_id",), (Field("user_id", TEXT), Field("state", OBJECT))
)
_APP_STATE = Kind("appState", "app_states", (), (Field("state", OBJECT),))
SESSION = Kind(
    "session",
    "sessions",
    ("session_id",),
    (
        _SESSION_ID,
        Field("user_id", TEXT),
        Field("display_name", TEXT, is_nullable=True),
        Field("labels", OBJECT),
        Field("session_state", OBJECT),
        Field("last_seq", WHOLE),
        Field("exchanges", WHOLE),
        Field("is_answered", FLAG),
        Field("cleared_seq", WHOLE),
        Field("cleared_exchange", WHOLE),
        Field("memory_policy", OBJECT, is_nullable=True),
        VERSION,
        CREATE_TIME,
        UPDATE_TIME,
        Field("shown_update_time", TIME),
        EXPIRE_TIME,
    ),
)
_EVENT = Kind(
    "event",
    "session_events",
    ("session_id", "seq"),
    (
        _SESSION_ID,
        Field("seq", WHOLE),
        Field("event_id", TEXT),
        Field("author", TEXT),
        Field("invocation_id", TEXT),
        Field("timestamp", TIME),
        Field("content", OBJECT, is_nullable=True),
        Field("actions", OBJECT, is_nullable=True),
        Field("error_code", TEXT, is_nullable=True),
        Field("error_message", TEXT, is_nullable=True),
        Field("event_metadata", OBJECT, is_nullable=True),
        Field("raw_event", OBJECT, is_nullable=True),
        Field("exchange", WHOLE),
        Field("token_count", WHOLE, is_nullable=True),
        Field("delete_time", TIME, is_nullable=True),
        Field("size_bytes", WHOLE),
        CREATE_TIME,
    ),
)
_SUMMARY = Kind(
    "summary",
    "session_summaries",
    ("session_id", "summary_id"),
    (
        _SESSION_ID,
        Field("summary_id", TEXT),
        Field("policy_key", TEXT),
        Field("policy", OBJECT),
        Field("kind", TEXT, wire="summaryKind"),
        Field("state", TEXT),
        VERSION,
        Field("first_seq", WHOLE),
        Field("last_seq", WHOLE),
        Field("last_exchange", WHOLE),
        Field("boundary_seq", WHOLE),
        Field("text", TEXT, is_nullable=True),
        Field("char_limit", WHOLE),
        Field("is_cut", FLAG),
        Field("previous", TEXTS),
        Field("read_first_seq", WHOLE, is_nullable=True),
        Field("read_last_seq", WHOLE, is_nullable=True),
        Field("model_id", TEXT),
        Field("template", TEXT),
        Field("usage", OBJECT),
        Field("error_reason", TEXT, is_nullable=True),
        Field("attempts", WHOLE),
        Field("retry_time", TIME, is_nullable=True),
        CREATE_TIME,
        UPDATE_TIME,
    ),
)
_STREAM_KEY = (Field("scope_hash", HASH), Field("stream_id", TEXT))
STREAM = Kind(
    "stream",
    "streams",
    ("scope_hash", "stream_id"),
    (
        *_STREAM_KEY,
        Field("scope", OBJECT),
        Field("rule", OBJECT, is_nullable=True),
        Field("options", OBJECT),
        CREATE_TIME,
        Field("last_arrival_time", TIME),
        Field("oldest_pending_time", TIME, is_nullable=True),
        Field("pending_count", WHOLE),
        Field("pending_bytes", WHOLE),
        Field("next_seq", WHOLE),
        Field("flush_seq", WHOLE),
        Field("failure_count", WHOLE),
        Field("retry_time", TIME, is_nullable=True),
        Field("aside_time", TIME, is_nullable=True),
    ),
    {**ENGINE_ID, "operation_id": "waiting operations are not in an archive"},
)
"""A stream with events that wait."""
_STREAM_EVENT = Kind(
    "streamEvent",
    "stream_events",
    ("scope_hash", "stream_id", "seq"),
    (
        *_STREAM_KEY,
        Field("seq", WHOLE),
        Field("event_id", TEXT, is_nullable=True),
        Field("event_time", TIME, is_nullable=True),
        Field("arrival_time", TIME),
        Field("content", OBJECT, is_nullable=True),
        Field("content_bytes", WHOLE),
        Field("batch_limit", WHOLE, is_nullable=True),
        Field("retry_time", TIME, is_nullable=True),
    ),
    {**ENGINE_ID, "process_time": "only events that wait are in an archive"},
)
_IN_NAMESPACE = (Field("memory", TEXT), Field("namespace", TEXT))
NAMESPACE = Kind(
    "namespace",
    "task_namespaces",
    ("memory", "namespace"),
    (
        *_IN_NAMESPACE,
        Field("user_id", TEXT, is_nullable=True),
        Field("sensitive", FLAG),
        Field("local_only", FLAG),
        Field("allowed_models", TEXTS, is_nullable=True),
        Field("embedding_model", TEXT, is_nullable=True),
        Field("tool", TEXT, is_nullable=True),
        Field("activity", TEXT, is_nullable=True),
        Field("last_ordinal", WHOLE),
        VERSION,
        CREATE_TIME,
        UPDATE_TIME,
        EXPIRE_TIME,
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
        Field("content_id", TEXT),
        *_IN_NAMESPACE,
        Field("name", TEXT),
        Field("ordinal", WHOLE),
        Field("kind", TEXT, wire="artifactKind"),
        Field("media_type", TEXT),
        Field("sniffed_type", TEXT, is_nullable=True),
        Field("size_bytes", WHOLE),
        Field("sha256", HASH, is_nullable=True),
        Field("token_estimate", WHOLE),
        Field("language", TEXT, is_nullable=True),
        Field("depth", WHOLE),
        Field("derived_from", OBJECTS, is_nullable=True),
        Field("source_deleted", FLAG),
        Field("input_hash", HASH, is_nullable=True),
        VERSION,
        CREATE_TIME,
        EXPIRE_TIME,
        Field(OMITTED, TEXT, is_nullable=True),
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
    (Field("content_id", TEXT), Field("page", WHOLE), Field("data", DATA)),
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
        Field("operation_id", TEXT),
        Field("memory_id", TEXT, is_nullable=True),
        Field("kind", TEXT, wire="operationKind"),
        Field("state", TEXT),
        Field("response", OBJECT, is_nullable=True),
        Field("error", OBJECT, is_nullable=True),
        Field("details", OBJECT),
        CREATE_TIME,
        UPDATE_TIME,
        Field("start_time", TIME, is_nullable=True),
        Field("remove_time", TIME, is_nullable=True),
        Field("attempts", WHOLE),
        Field("scopes", OBJECT, is_nullable=True),
    ),
    {
        **ENGINE_ID,
        "engine_name": "that of the engine that it is written to",
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
"""A finished operation: undo reads what it did."""
_USAGE = Kind(
    "usage",
    "model_usage",
    ("day", "model_id", "kind"),
    (
        Field("day", DAY),
        Field("model_id", TEXT),
        Field("kind", TEXT, wire="workKind"),
        Field("calls", WHOLE),
        Field("input_tokens", WHOLE),
        Field("output_tokens", WHOLE),
        Field("milliseconds", WHOLE),
        Field("cost", NUMBER, is_nullable=True),
    ),
)

KINDS = (
    ENGINE,
    TOOL_POLICY,
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
    NAMESPACE,
    ARTIFACT,
    PAGE,
    OPERATION,
    _USAGE,
)
"""All kinds in the order of an archive, but that revisions stand right after their memory."""
SESSION_KINDS = frozenset({_USER_STATE, _APP_STATE, SESSION, _EVENT, _SUMMARY})
"""The kinds without which an archive has no sessions."""
ARTIFACT_KINDS = frozenset({NAMESPACE, ARTIFACT, PAGE})
"""The kinds without which an archive has no artifacts."""
BY_NAME = {kind.name: kind for kind in KINDS}
RANKS = {kind.name: place for place, kind in enumerate(KINDS)} | {
    REVISION.name: KINDS.index(MEMORY)
}
"""The order of kinds in an archive."""

NOT_ARCHIVED = {
    "api_key_changes": "keys are of a service, not of an engine",
    "api_key_secrets": "keys are of a service, not of an engine",
    "api_keys": "keys are of a service, not of an engine",
    "audit_events": "the log of this service",
    "console_sessions": "sessions of people at this service",
    "embedding_models": "in the header",
    "engine_totals": "counted again by triggers",
    "erasures": "certificates stay where the erasure was made",
    "processes": "what runs now",
    "pseudonym_keys": "a secret of this service",
    "rate_buckets": "what callers may still use now",
    "request_ids": "requests to this service, for a day",
    "revision_labels": "made again from the labels of revisions",
    "scope_indexes": "indexes that this database has",
    "task_chunks": _INDEXED,
    "task_vectors": _INDEXED,
    "ticks": "what runs now",
    "unembedded_memories": "known from the vectors that are there",
}
"""Tables that no archive has, with the reason. A test fails for one that is nowhere."""
