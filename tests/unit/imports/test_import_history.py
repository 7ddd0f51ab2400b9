"""Memories of Vertex with their revisions: versions, and the archive of them."""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.memory.transfer.logic.kinds import MEMORY
from app.memory.transfer.logic.reading import ArchiveReader
from app.process.import_history import RevisedMemories, archive_of
from app.process.imports.items import Options
from app.process.imports.products import SOURCES, converted
from app.process.imports.records import read_records

_DATA = Path(__file__).parents[2] / "data/importers"
_NOW = datetime(2026, 11, 1, tzinfo=UTC)
_ENGINE = {
    "name": "projects/p/locations/l/reasoningEngines/1",
    "displayName": "Trips",
    "createTime": "2026-10-01T00:00:00Z",
    "contextSpec": {"memoryBankConfig": {"disableMemoryRevisions": False}},
}
_MEMORY = {
    "name": "memories/seat",
    "fact": "The newest.",
    "scope": {"user_id": "42"},
    "metadata": {"source": {"stringValue": "chat"}},
    "createTime": "2026-01-01T00:00:00Z",
    "updateTime": "2026-01-05T00:00:00Z",
}


def _read(memories: bytes, revisions: Path, **options: Any) -> RevisedMemories:
    losses = Counter[str]()
    histories = RevisedMemories(_NOW, losses)
    records = read_records([memories], SOURCES["vertex"].containers)
    given = Options("vertex", datetime.min.replace(tzinfo=UTC), **options)
    histories.read(converted(records, given, losses), revisions)
    return histories


def _of(folder: Path, *revisions: Mapping[str, Any], **options: Any) -> RevisedMemories:
    file = folder / "revisions.ndjson"
    file.write_text("".join(json.dumps(one) + "\n" for one in revisions))
    return _read(json.dumps(_MEMORY).encode(), file, **options)


def _revision(number: object, day: int, fact: str, **more: Any) -> dict[str, Any]:
    name = f"memories/seat/revisions/{number}"
    return {"name": name, "createTime": f"2026-01-{day:02}T00:00:00Z", "fact": fact, **more}


def _versions(histories: RevisedMemories) -> list[tuple[Any, ...]]:
    (history,) = histories.memories
    return [
        (one["version"], one["action"], one.get("fact"), one["createTime"])
        for one in history.revisions
    ]


def test_the_sample_becomes_histories() -> None:
    histories = _read((_DATA / "vertex.json").read_bytes(), _DATA / "vertex-revisions.json")
    seat, mei, profile = histories.memories
    assert [
        (one["revisionId"], one["action"], one.get("fact"), one["labels"]) for one in seat.revisions
    ] == [
        ("501", "CREATED", "I prefer an aisle seat.", {}),
        ("499", "DELETED", None, {}),
        ("502", "UPDATED", "I prefer a window seat.", {"run": "b"}),
    ]
    assert seat.revisions[0]["createTime"] == "2026-01-01T10:00:00.123456Z"
    assert seat.revisions[2]["extractedMemories"] == [{"fact": "Window seats are best."}]
    assert [one.get("fact") for one in mei.revisions] == [
        "Mei takes any seat.",
        "Mei takes the aisle.",
    ]
    assert [one["structuredContent"]["data"] for one in profile.revisions] == [{"home": "Oslo"}]
    assert (histories.revisions, histories.added) == (6, 2)
    assert histories.losses["revisions of memories that are not in the file"] == 1
    assert [one.reason for one in histories.rejected] == ["ITEM_UNKNOWN", "ITEM_UNKNOWN"]


def test_the_newest_version_is_the_memory(tmp_path: Path) -> None:
    older = [_revision(2, 3, "Second."), _revision(1, 2, "First.")]
    assert _versions(_of(tmp_path, *older)) == [
        (1, "CREATED", "First.", "2026-01-02T00:00:00.000000Z"),
        (2, "UPDATED", "Second.", "2026-01-03T00:00:00.000000Z"),
        (3, "UPDATED", "The newest.", "2026-01-05T00:00:00.000000Z"),
    ]
    # The list of memories may be older than that of revisions.
    later = _versions(_of(tmp_path, _revision(1, 7, "Later.")))
    assert later[-1] == (2, "UPDATED", "The newest.", "2026-01-07T00:00:00.000000Z")
    equal = _of(tmp_path, *older, _revision(3, 5, "The newest."))
    assert (len(_versions(equal)), equal.added) == (3, 0)
    assert _versions(_of(tmp_path)) == [
        (1, "CREATED", "The newest.", "2026-01-05T00:00:00.000000Z")
    ]


def test_a_revision_keeps_what_only_its_memory_tells(tmp_path: Path) -> None:
    first = _revision(1, 2, "First.", displayName="Seat", labels={"a": "b"})
    histories = _of(tmp_path, first, labels={"origin": "vertex"})
    version, added = histories.memories[0].revisions
    assert (version["source"], version["displayName"]) == ("chat", "Seat")
    assert (version["labels"], added["labels"]) == (
        {"origin": "vertex", "a": "b"},
        {"origin": "vertex"},
    )
    assert version["expireTime"] == "2027-01-02T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"labels": {"k": 1}}, "ITEM_INVALID"),
        ({"labels": []}, None),
        ({"labels": [1]}, "ITEM_UNKNOWN"),
        ({"fact": "x" * 10_001}, "ITEM_INVALID"),
        ({"fact": "\x00"}, "TEXT_UNSTORABLE"),
        ({"fact": "\ud800"}, "TEXT_UNSTORABLE"),
        ({"extractedMemories": [{"text": "x"}]}, "ITEM_INVALID"),
        ({"createTime": "soon"}, "TIME_INVALID"),
        ({"createTime": "2030-01-01T00:00:00Z"}, "TIME_INVALID"),
        ({"createTime": "1950-01-01T00:00:00Z"}, "TIME_INVALID"),
        ({"name": "memories/seat"}, "ITEM_UNKNOWN"),
    ],
)
def test_a_revision_that_cannot_be_stored_is_rejected(
    more: dict[str, Any], reason: str | None, tmp_path: Path
) -> None:
    histories = _of(tmp_path, {**_revision(1, 2, "First."), **more})
    assert [one.reason for one in histories.rejected] == ([reason] if reason else [])
    assert len(_versions(histories)) == (1 if reason else 2)


def test_ids_are_kept_once(tmp_path: Path) -> None:
    same = _revision(7, 2, "First.")
    odd = _revision("latest", 3, "Second.")
    huge = _revision(2**63, 4, "Third.")
    histories = _of(tmp_path, same, same, odd, huge)
    ids = [one["revisionId"] for one in histories.memories[0].revisions]
    assert (ids[0], len(ids), len(set(ids))) == ("7", 4, 4)
    assert all(0 < int(one) < 2**63 for one in ids)
    again = _of(tmp_path, same, odd, huge)
    assert again.memories[0].revisions == histories.memories[0].revisions


def test_the_archive_is_one_and_depends_on_the_memories_alone(tmp_path: Path) -> None:
    many = [_revision(number, 2, f"Fact {number}.") for number in range(1, 251)]
    histories = _of(tmp_path, *many)
    archive = b"".join(archive_of(_ENGINE, histories.memories))
    reader = ArchiveReader("projects/p/locations/l/reasoningEngines/2")
    lines = [line for block in reader.feed(archive) for line in block.lines]
    reader.end()
    assert reader.header is not None
    assert [line.kind.name for line in lines] == ["engine", "memory", *["revision"] * 151]
    assert lines[0].values["bank_config"] == {"disableMemoryRevisions": False}
    (memory,) = [line for line in lines if line.kind is MEMORY]
    assert (memory.values["version"], len(memory.revisions)) == (251, 100)

    other = {**_ENGINE, "displayName": "Other", "createTime": "2026-10-02T00:00:00Z"}
    headers = [
        json.loads(next(archive_of(engine, found)))["archiveId"]
        for engine, found in (
            (_ENGINE, _of(tmp_path, *many).memories),
            (other, histories.memories),
            (_ENGINE, _of(tmp_path, *many[1:]).memories),
        )
    ]
    assert headers[0] == headers[1] == reader.header.archive_id != headers[2]
