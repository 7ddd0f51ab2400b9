"""Archives made by hand, of as many memories as a test needs."""

import gzip
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.format import ArchiveWriter, Header
from app.memory.transfer.logic.kinds import ENGINE, MEMORY, REVISION

GZIP = {"content-type": "application/gzip"}
EXPORTED = datetime(2026, 1, 10, 12, tzinfo=UTC)
"""Five days before the clock of the tests."""
ARCHIVE = "6f0c7f9e-0000-4000-8000-000000000000"
HEADER = Header(
    ARCHIVE,
    "0.1.0",
    "20261130_1000",
    "projects/other/locations/local/reasoningEngines/99",
    EXPORTED,
    "hash-v1",
    384,
    {"vectors": False, "artifacts": True, "sessions": True},
)
SAMPLES: dict[str, Any] = {
    "scope": {"user_id": "42"},
    "topics": [],
    "metadata": {},
    "memory_type": "NATURAL_LANGUAGE_COLLECTION",
    "labels": {},
    "extracted_memories": [],
    "action": "CREATED",
    "version": 1,
    "create_time": EXPORTED - timedelta(days=1),
    "update_time": EXPORTED - timedelta(days=1),
    "expire_time": EXPORTED + timedelta(days=36_500),
}
"""Values of the columns that no line may lack."""


def fields_of(kind: LineKind, /, **values: Any) -> dict[str, Any]:
    """Return the fields of a line with these columns; others are null or a sample."""
    row = [
        values.get(one.column, None if one.is_nullable else SAMPLES.get(one.column))
        for one in kind.fields
    ]
    return kind.encode(row)


def memory_of(number: int, revisions: int = 2, **values: Any) -> tuple[dict[str, Any], list[Any]]:
    """Return the fields of a memory and of its revisions."""
    memory_id, fact = f"m{number:06}", f"I own the bicycle with the number {number}."
    content = {"memory_id": memory_id, "fact": fact, "version": max(1, revisions), **values}
    history = [
        fields_of(
            REVISION,
            **{
                **content,
                "revision_id": number * 1_000 + version,
                "version": version,
                "action": "CREATED" if version == 1 else "UPDATED",
                "expire_time": SAMPLES["expire_time"],
            },
        )
        for version in range(1, revisions + 1)
    ]
    return fields_of(MEMORY, **content), history


def archive_of(
    memories: int,
    *,
    archive_id: str | None = None,
    revisions: int = 2,
    engine: Mapping[str, Any] | None = None,
    changed: Mapping[int, Mapping[str, Any]] | None = None,
    header: Header = HEADER,
) -> bytes:
    """Return an archive, uncompressed, of numbered memories with so many revisions each.

    `changed` has other values of columns, by the number of the memory.
    """
    writer = ArchiveWriter()
    header = replace(header, archive_id=archive_id or header.archive_id)
    lines = [writer.header(header), writer.add(ENGINE, fields_of(ENGINE, **(engine or {})))]
    for number in range(memories):
        own = dict((changed or {}).get(number, {}))
        memory, history = memory_of(number, own.pop("revisions", revisions), **own)
        lines.append(writer.add_memory(memory, history[:100]))
        lines += [writer.add_revision(revision) for revision in history[100:]]
    lines.append(writer.end({}))
    return b"".join(lines)


def zipped(archive: bytes) -> bytes:
    """Return an archive as it is sent."""
    return gzip.compress(archive, 1, mtime=0)
