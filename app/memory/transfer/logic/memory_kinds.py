"""Kinds of lines for an engine and its memories, and the fields that many kinds share."""

from app.memory.transfer.logic.codecs import ID, OBJECT, OBJECTS, PLACE, TEXT, TIME, VECTOR, WHOLE
from app.memory.transfer.logic.fields import ENGINE_ID, ArchiveField, Kind

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
CREATE_TIME = ArchiveField("create_time", TIME)
UPDATE_TIME = ArchiveField("update_time", TIME)
EXPIRE_TIME = ArchiveField("expire_time", TIME)
VERSION = ArchiveField("version", WHOLE)

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
        "stale_vectors_until": "re-embedding starts anew",
        "restore": "an engine that is being restored is not exported",
    },
)
MEMORY = Kind(
    "memory",
    "memories",
    ("memory_id",),
    (
        ArchiveField("memory_id", TEXT),
        VERSION,
        ArchiveField("scope", OBJECT),
        *_CONTENT,
        CREATE_TIME,
        UPDATE_TIME,
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
        VERSION,
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
        CREATE_TIME,
        EXPIRE_TIME,
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
        "scope_hash": "that of the memory",
        "expire_time": "that of the memory",
    },
)
