"""The model's plain values as requests write them, and as answers do."""

from datetime import timedelta
from typing import Any

from tests.support.ledger_model import Bank, Revising


def wire_ttl(ttl: timedelta | None) -> dict[str, str]:
    return {"ttl": seconds(ttl)} if ttl else {}


def wire_revising(revising: Revising) -> dict[str, Any]:
    body: dict[str, Any] = {"revisionLabels": revising.labels} if revising.labels else {}
    if revising.ttl:
        body["revisionTtl"] = seconds(revising.ttl)
    if not revising.keep:
        body["disableMemoryRevisions"] = True
    return body


def wire_bank(bank: Bank) -> dict[str, Any]:
    granular = {
        "createTtl": bank.create_ttl,
        "generateCreatedTtl": bank.generate_created_ttl,
        "generateUpdatedTtl": bank.generate_updated_ttl,
    }
    lives: dict[str, Any] = {
        "defaultTtl": bank.default_ttl and seconds(bank.default_ttl),
        "memoryRevisionDefaultTtl": bank.revision_ttl and seconds(bank.revision_ttl),
    }
    if bank.create_ttl:
        lives["granularTtlConfig"] = {
            name: seconds(value) for name, value in granular.items() if value
        }
    return {
        "ttlConfig": {name: value for name, value in lives.items() if value},
        "disableMemoryRevisions": not bank.keeps_revisions,
    }


def seconds(length: timedelta) -> str:
    return f"{int(length.total_seconds())}s"


def undo_told(response: dict[str, Any]) -> dict[str, str]:
    """Return what an undo says of each memory: what it did, or why it did nothing."""
    entries = response.get("undoneMemories", []) + response.get("skippedMemories", [])
    told = {
        one["memory"]["name"].rpartition("/")[2]: one.get("action") or one["reason"]
        for one in entries
    }
    assert len(told) == len(entries)
    return told
