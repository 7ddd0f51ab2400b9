"""Kinds of lines with an engine and its memories, and the fields that many kinds have."""

from app.memory.transfer.logic.codecs import ID, NUMBER, OBJECT, OBJECTS, TEXT, TIME, VECTOR, WHOLE
from app.memory.transfer.logic.fields import ENGINE_ID, Field, Kind

_CONTENT = (
    Field("fact", TEXT, is_nullable=True),
    Field("display_name", TEXT, is_nullable=True),
    Field("description", TEXT, is_nullable=True),
    Field("topics", OBJECTS),
    Field("metadata", OBJECT),
    Field("memory_type", TEXT),
    Field("structured_content", OBJECT, is_nullable=True),
    Field("context", TEXT, is_nullable=True),
    Field("source", TEXT, is_nullable=True),
    Field("position", NUMBER, is_nullable=True),
    Field("event_time", TIME, is_nullable=True),
)
CREATE_TIME = Field("create_time", TIME)
UPDATE_TIME = Field("update_time", TIME)
EXPIRE_TIME = Field("expire_time", TIME)
VERSION = Field("version", WHOLE)

ENGINE = Kind(
    "engine",
    "engines",
    (),
    (
        Field("display_name", TEXT, is_nullable=True),
        Field("description", TEXT, is_nullable=True),
        Field("labels", OBJECT),
        Field("bank_config", OBJECT, is_nullable=True, wire="memoryBankConfig"),
        Field("encryption_spec", OBJECT, is_nullable=True),
        CREATE_TIME,
    ),
    {
        **ENGINE_ID,
        "project": "that of the engine that it is written to",
        "location": "that of the engine that it is written to",
        "version": "counts the changes of this engine",
        "update_time": "the last change of this engine",
        "delete_time": "a deleted engine is not exported",
        "embedding_model": "in the header",
        "embedding_target": "re-embedding starts anew",
        "stale_vectors_xid": "a transaction of this database",
    },
)
MEMORY = Kind(
    "memory",
    "memories",
    ("memory_id",),
    (
        Field("memory_id", TEXT),
        VERSION,
        Field("scope", OBJECT),
        *_CONTENT,
        CREATE_TIME,
        UPDATE_TIME,
        Field("expire_time", TIME, is_nullable=True),
        Field("delete_time", TIME, is_nullable=True),
        Field("recover_until", TIME, is_nullable=True),
    ),
    {
        **ENGINE_ID,
        "scope_hash": "the digest of the scope",
        "language": "found again from the fact",
        "terms": "computed by the database",
        "cues": "made again from the fact",
    },
)
REVISION = Kind(
    "revision",
    "memory_revisions",
    ("memory_id", "version"),
    (
        Field("memory_id", TEXT),
        Field("revision_id", ID),
        VERSION,
        *_CONTENT,
        Field("action", TEXT),
        Field("memory_expire_time", TIME, is_nullable=True),
        Field("labels", OBJECT),
        Field("extracted_memories", OBJECTS),
        Field("author", TEXT, is_nullable=True),
        Field("prompt_version", TEXT, is_nullable=True),
        Field("operation_id", TEXT, is_nullable=True),
        Field("caller", TEXT, is_nullable=True),
        Field("restored_revision_id", ID, is_nullable=True),
        Field("redact_time", TIME, is_nullable=True),
        CREATE_TIME,
        EXPIRE_TIME,
    ),
)
"""A line of its own only where the revisions of a memory are too long for its line."""
MEMORY_VECTOR = Kind(
    "vector",
    "memory_vectors",
    ("memory_id", "model_id"),
    (Field("memory_id", TEXT), Field("model_id", TEXT), Field("vector", VECTOR)),
    {
        **ENGINE_ID,
        "scope_hash": "that of the memory",
        "expire_time": "that of the memory",
    },
)
