"""The kinds of lines in an archive, with their tables and columns, for export and restore.

Tables and columns are text, since some belong to features that this package must not import; tests
compare them with the schema.
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
    Codec,
    LineKind,
)

OMITTED = "omitted"
"""Column with the reason why an artifact's bytes are left out; no table has this column."""
_INDEXED = "made again from the bytes"


def _fields(codec: Codec, *columns: str, is_nullable: bool = False) -> tuple[ArchiveField, ...]:
    return tuple(ArchiveField(column, codec, is_nullable) for column in columns)


_CONTENT = (
    *_fields(TEXT, "fact", "display_name", "description", "context", "source", is_nullable=True),
    ArchiveField("topics", OBJECTS),
    ArchiveField("metadata", OBJECT),
    ArchiveField("memory_type", TEXT),
    ArchiveField("structured_content", OBJECT, is_nullable=True),
    ArchiveField("position", PLACE, is_nullable=True),
    ArchiveField("event_time", TIME, is_nullable=True),
)
_CREATE_TIME = ArchiveField("create_time", TIME)
_UPDATE_TIME = ArchiveField("update_time", TIME)
_EXPIRE_TIME = ArchiveField("expire_time", TIME)
_VERSION = ArchiveField("version", WHOLE)

ENGINE = LineKind(
    "engine",
    "engines",
    (),
    (
        *_fields(TEXT, "display_name", "description", is_nullable=True),
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
MEMORY = LineKind(
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
        *_fields(
            TIME, "expire_time", "delete_time", "recover_until", "held_time", is_nullable=True
        ),
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
REVISION = LineKind(
    "revision",
    "memory_revisions",
    ("memory_id", "version"),
    (
        ArchiveField("revision_id", ID),
        *_fields(TEXT, "memory_id", "action"),
        _VERSION,
        *_CONTENT,
        *_fields(TIME, "memory_expire_time", "redact_time", is_nullable=True),
        ArchiveField("labels", OBJECT),
        ArchiveField("extracted_memories", OBJECTS),
        *_fields(TEXT, "author", "prompt_version", "operation_id", "caller", is_nullable=True),
        ArchiveField("restored_revision_id", ID, is_nullable=True),
        _CREATE_TIME,
        _EXPIRE_TIME,
    ),
)
"""A revision in a separate line, used only if a memory's line cannot hold all revisions."""
MEMORY_VECTOR = LineKind(
    "vector",
    "memory_vectors",
    ("memory_id", "model_id"),
    (*_fields(TEXT, "memory_id", "model_id"), ArchiveField("vector", VECTOR)),
    {
        **ENGINE_ID,
        "scope_hash": "taken from the memory",
        "expire_time": "taken from the memory",
    },
)
_TOOL_POLICY = LineKind(
    "toolPolicy",
    "tool_policies",
    ("memory", "tool"),
    (
        *_fields(TEXT, "memory", "tool", "off_prompt"),
        ArchiveField("max_inline_tokens", WHOLE, is_nullable=True),
        ArchiveField("sensitive", FLAG),
        ArchiveField("ttl", DURATION, is_nullable=True),
        ArchiveField("local_only", FLAG, is_nullable=True),
        *_fields(TEXTS, "allowed_models", "readers", is_nullable=True),
        ArchiveField("activities", OBJECT, is_nullable=True),
        _VERSION,
        _CREATE_TIME,
        _UPDATE_TIME,
    ),
)
_SESSION_ID = ArchiveField("session_id", TEXT)
_USER_STATE = LineKind(
    "userState",
    "user_states",
    ("user_id",),
    (ArchiveField("user_id", TEXT), ArchiveField("state", OBJECT)),
)
_APP_STATE = LineKind("appState", "app_states", (), (ArchiveField("state", OBJECT),))
SESSION = LineKind(
    "session",
    "sessions",
    ("session_id",),
    (
        _SESSION_ID,
        ArchiveField("user_id", TEXT),
        ArchiveField("display_name", TEXT, is_nullable=True),
        *_fields(OBJECT, "labels", "session_state"),
        *_fields(WHOLE, "last_seq", "exchanges", "cleared_seq", "cleared_exchange"),
        ArchiveField("is_answered", FLAG),
        ArchiveField("memory_policy", OBJECT, is_nullable=True),
        _VERSION,
        _CREATE_TIME,
        _UPDATE_TIME,
        ArchiveField("shown_update_time", TIME),
        _EXPIRE_TIME,
    ),
)
_EVENT = LineKind(
    "event",
    "session_events",
    ("session_id", "seq"),
    (
        _SESSION_ID,
        *_fields(WHOLE, "seq", "exchange", "size_bytes"),
        *_fields(TEXT, "event_id", "author", "invocation_id"),
        ArchiveField("timestamp", TIME),
        ArchiveField("utc_offset", OFFSET, is_nullable=True),
        *_fields(OBJECT, "content", "actions", "event_metadata", "raw_event", is_nullable=True),
        *_fields(TEXT, "error_code", "error_message", is_nullable=True),
        ArchiveField("token_count", WHOLE, is_nullable=True),
        ArchiveField("delete_time", TIME, is_nullable=True),
        _CREATE_TIME,
    ),
)
_SUMMARY = LineKind(
    "summary",
    "session_summaries",
    ("session_id", "summary_id"),
    (
        _SESSION_ID,
        *_fields(TEXT, "summary_id", "policy_key", "state", "model_id", "template"),
        *_fields(OBJECT, "policy", "usage"),
        ArchiveField("kind", TEXT, wire="summaryKind"),
        _VERSION,
        *_fields(
            WHOLE,
            "first_seq",
            "last_seq",
            "last_exchange",
            "boundary_seq",
            "char_limit",
            "attempts",
        ),
        *_fields(TEXT, "text", "error_reason", is_nullable=True),
        ArchiveField("is_cut", FLAG),
        ArchiveField("previous", TEXTS),
        *_fields(WHOLE, "read_first_seq", "read_last_seq", is_nullable=True),
        ArchiveField("retry_time", TIME, is_nullable=True),
        _CREATE_TIME,
        _UPDATE_TIME,
    ),
)
_STREAM_KEY = (ArchiveField("scope_hash", HASH), ArchiveField("stream_id", TEXT))
STREAM = LineKind(
    "stream",
    "streams",
    ("scope_hash", "stream_id"),
    (
        *_STREAM_KEY,
        *_fields(OBJECT, "scope", "options"),
        ArchiveField("rule", OBJECT, is_nullable=True),
        _CREATE_TIME,
        ArchiveField("last_arrival_time", TIME),
        *_fields(TIME, "oldest_pending_time", "retry_time", "aside_time", is_nullable=True),
        *_fields(WHOLE, "pending_count", "pending_bytes", "next_seq", "flush_seq", "failure_count"),
    ),
    {**ENGINE_ID, "operation_id": "waiting operations are not in an archive"},
)
"""A stream with waiting events."""
_STREAM_EVENT = LineKind(
    "streamEvent",
    "stream_events",
    ("scope_hash", "stream_id", "seq"),
    (
        *_STREAM_KEY,
        *_fields(WHOLE, "seq", "content_bytes"),
        ArchiveField("event_id", TEXT, is_nullable=True),
        *_fields(TIME, "event_time", "retry_time", is_nullable=True),
        ArchiveField("utc_offset", OFFSET, is_nullable=True),
        ArchiveField("arrival_time", TIME),
        ArchiveField("content", OBJECT, is_nullable=True),
        ArchiveField("batch_limit", WHOLE, is_nullable=True),
    ),
    {**ENGINE_ID, "process_time": "only events that wait are in an archive"},
)
_READ_LINE = LineKind(
    "readLine",
    "read_lines",
    ("scope_hash", "digest"),
    (*_fields(HASH, "scope_hash", "digest"), ArchiveField("scope", OBJECT), _EXPIRE_TIME),
)
"""A line that was already read; it stops the engine from learning deleted facts again."""
_IN_NAMESPACE = (*_fields(TEXT, "memory", "namespace"),)
NAMESPACE = LineKind(
    "namespace",
    "task_namespaces",
    ("memory", "namespace"),
    (
        *_IN_NAMESPACE,
        *_fields(TEXT, "user_id", "embedding_model", "tool", "activity", is_nullable=True),
        *_fields(FLAG, "sensitive", "local_only"),
        *_fields(TEXTS, "allowed_models", "readers", is_nullable=True),
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
ARTIFACT = LineKind(
    "artifact",
    "task_artifacts",
    ("content_id",),
    (
        *_fields(TEXT, "content_id", "name", "media_type"),
        *_IN_NAMESPACE,
        *_fields(WHOLE, "ordinal", "size_bytes", "token_estimate", "depth"),
        ArchiveField("kind", TEXT, wire="artifactKind"),
        *_fields(TEXT, "sniffed_type", "language", is_nullable=True),
        *_fields(HASH, "sha256", "input_hash", is_nullable=True),
        ArchiveField("derived_from", OBJECTS, is_nullable=True),
        ArchiveField("source_deleted", FLAG),
        _VERSION,
        _CREATE_TIME,
        _EXPIRE_TIME,
        ArchiveField(OMITTED, TEXT, is_nullable=True),
    ),
    {
        **ENGINE_ID,
        "state": _INDEXED,
        "chunks": _INDEXED,
        "page_ends": _INDEXED,
        "origin": "computed by the database",
    },
)
PAGE = LineKind(
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
OPERATION = LineKind(
    "operation",
    "operations",
    ("operation_id",),
    (
        *_fields(TEXT, "operation_id", "state"),
        ArchiveField("kind", TEXT, wire="operationKind"),
        ArchiveField("memory_id", TEXT, is_nullable=True),
        *_fields(OBJECT, "response", "error", "scopes", is_nullable=True),
        ArchiveField("details", OBJECT),
        _CREATE_TIME,
        _UPDATE_TIME,
        *_fields(TIME, "start_time", "remove_time", is_nullable=True),
        ArchiveField("attempts", WHOLE),
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
USAGE = LineKind(
    "usage",
    "model_usage",
    ("day", "model_id", "kind"),
    (
        ArchiveField("day", DAY),
        ArchiveField("model_id", TEXT),
        ArchiveField("kind", TEXT, wire="workKind"),
        *_fields(WHOLE, "calls", "input_tokens", "output_tokens", "milliseconds"),
        ArchiveField("cost", NUMBER, is_nullable=True),
        ArchiveField("unpriced_calls", WHOLE, is_nullable=True),
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
