"""Compares everything that is stored of one bank, and what can be read of it, with the model."""

import json
from typing import Any

from app.kernel.ids import scope_hash
from app.kernel.wire.scalars import format_timestamp
from tests.support.ledger_bench import Bench
from tests.support.ledger_model import Ledger, Memory


def check_all(bench: Bench, engine: str, ledger: Ledger) -> None:
    memories = {row["memory_id"]: row for row in bench.rows("select * from memories")}
    revisions = bench.rows("select * from memory_revisions order by memory_id, version")
    _check_memories(memories, ledger)
    _check_revisions(revisions, ledger)
    _check_latest(memories, revisions)
    _check_labels(bench, revisions)
    _check_vectors(bench, memories)
    _check_visible(bench, engine, ledger)


def _check_memories(memories: dict[str, dict[str, Any]], ledger: Ledger) -> None:
    """The rows are those of the model, also of what is hidden but not yet removed."""
    stored = {
        name: (
            row["version"],
            row["scope"]["user"],
            row["fact"],
            row["display_name"],
            row["create_time"],
            row["update_time"],
            row["expire_time"],
            row["delete_time"],
            row["recover_until"],
        )
        for name, row in memories.items()
    }
    assert stored == {name: _expected(one) for name, one in ledger.memories.items()}


def _expected(one: Memory) -> tuple[object, ...]:
    return (
        one.version,
        one.scope,
        one.fact,
        one.title,
        one.created,
        one.updated,
        one.expires,
        one.deleted,
        one.recoverable_until,
    )


def _check_revisions(revisions: list[dict[str, Any]], ledger: Ledger) -> None:
    """Each kept version has its snapshot, of the version's own content and life."""
    stored = {
        (row["memory_id"], row["version"]): (
            row["action"],
            row["fact"],
            row["display_name"],
            row["labels"],
            row["memory_expire_time"],
            row["expire_time"],
            row["operation_id"],
        )
        for row in revisions
    }
    assert len(stored) == len(revisions)
    assert stored == {
        (name, version): (
            one.action,
            one.fact,
            one.title,
            one.labels,
            one.memory_expires,
            one.expires,
            one.operation,
        )
        for name, memory in ledger.memories.items()
        for version, one in memory.revisions.items()
    }


def _check_latest(memories: dict[str, dict[str, Any]], revisions: list[dict[str, Any]]) -> None:
    """Told by the rows alone: the newest revision is the memory, and ids grow with versions."""
    last: dict[str, dict[str, Any]] = {}
    for row in revisions:
        before = last.get(row["memory_id"])
        assert before is None or before["revision_id"] < row["revision_id"]
        last[row["memory_id"]] = row
    for name, row in last.items():
        memory = memories[name]
        assert row["version"] <= memory["version"]
        if row["version"] < memory["version"]:
            continue
        is_deletion = row["action"] == "DELETED"
        assert is_deletion == (memory["delete_time"] is not None)
        assert row["fact"] == (None if is_deletion else memory["fact"])
        for column in ("display_name", "topics", "metadata", "memory_type"):
            assert row[column] == memory[column]
        assert row["memory_expire_time"] == memory["expire_time"]


def _check_labels(bench: Bench, revisions: list[dict[str, Any]]) -> None:
    stored = {
        (row["revision_id"], row["key"], row["value"])
        for row in bench.rows("select * from revision_labels")
    }
    assert stored == {
        (row["revision_id"], key, value)
        for row in revisions
        for key, value in row["labels"].items()
    }


def _check_vectors(bench: Bench, memories: dict[str, dict[str, Any]]) -> None:
    """A memory has one vector as long as it is not deleted and has a fact, else none."""
    stored = [
        (row["memory_id"], row["scope_hash"], row["expire_time"])
        for row in bench.rows("select * from memory_vectors order by memory_id")
    ]
    assert stored == [
        (name, scope_hash(row["scope"]), row["expire_time"])
        for name, row in sorted(memories.items())
        if row["delete_time"] is None and row["fact"] is not None
    ]


def _check_visible(bench: Bench, engine: str, ledger: Ledger) -> None:
    """Lists show what is live or, asked for it, deleted; the history of all shows either."""
    now = bench.clock.now()
    answer = bench.ask("GET", f"{engine}/memories", pageSize="1000").json()
    listed = {_id(one): one.get("fact") for one in answer.get("memories", [])}
    assert listed == {name: one.fact for name, one in ledger.live(now).items()}
    deleted = {"showDeleted": "true", "filter": "delete_time:*", "pageSize": "1000"}
    answer = bench.ask("GET", f"{engine}/memories", **deleted).json()
    assert {_id(one): one["recoverUntil"] for one in answer.get("memories", [])} == {
        name: format_timestamp(one.recoverable_until)
        for name, one in ledger.memories.items()
        if one.recoverable_until is not None and one.is_tombstone(now)
    }
    answer = bench.ask("GET", f"{engine}/memories/-/revisions", pageSize="1000").json()
    history = sorted(
        (one["name"].split("/")[-3], one["action"]) for one in answer.get("memoryRevisions", [])
    )
    assert history == sorted(
        (name, one.action)
        for name, memory in ledger.memories.items()
        if memory.is_known(now)
        for one in memory.revisions.values()
        if one.expires > now
    ), json.dumps(answer)


def _id(memory: dict[str, Any]) -> str:
    return str(memory["name"]).rpartition("/")[2]
