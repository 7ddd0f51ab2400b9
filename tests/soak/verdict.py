"""Compares what is stored after a soak with what was acknowledged."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.settings.settings import Settings
from tests.soak.ledger import Ledger
from tests.support.totals import held, recounted

_PAUSE_SECONDS = 0.5
_UNENDED = """
    select format('operation %s of %s: %s, due in %s s, attempts %s, last error: %s', operation_id,
        kind, state, round(extract(epoch from due_time - now())), attempts,
        details ->> 'lastError') as name
    from operations where remove_time is null
    union all
    select 'no vector: ' || memory_id from memories as memory
    where delete_time is null and fact is not null and not exists (
        select from memory_vectors as vector
        where vector.engine_id = memory.engine_id and vector.memory_id = memory.memory_id)
    union all
    select format('%s events wait in %s, after %s failures, until %s', pending_count, scope,
        failure_count, coalesce(retry_time, aside_time))
    from streams where pending_count > 0
"""
_INCONSISTENT = """
    select 'newest revision of ' || memory_id as name
    from memories as memory join lateral (
        select * from memory_revisions as revision
        where revision.engine_id = memory.engine_id and revision.memory_id = memory.memory_id
        order by version desc limit 1
    ) as newest using (engine_id, memory_id)
    where newest.version <> memory.version
    or (newest.action = 'DELETED') <> (memory.delete_time is not null)
    or newest.action <> 'DELETED' and newest.fact is distinct from memory.fact
    union all
    select 'versions of ' || memory_id from memory_revisions
    group by engine_id, memory_id having count(*) <> max(version) or min(version) <> 1
"""
_MEMORIES = "select memory_id, fact, delete_time is null as is_live from memories"
_REVISIONS = "select memory_id, fact, action from memory_revisions order by memory_id, version"
_OPERATIONS = "select operation_id, error, create_time, update_time from operations"
_EVENTS = "select session_id, content from session_events order by session_id, seq"
_ARTIFACTS = "select namespace, name, size_bytes from task_artifacts"

Row = dict[str, Any]


@dataclass
class Verdict:
    """What is not as acknowledged, in words."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    inconsistent: list[str] = field(default_factory=list)

    def compare(self, what: str, expected: Counter[Any], found: Counter[Any]) -> None:
        """Note what is missing, and what is there without being asked for, or too often."""
        self.lost += [f"{what}: {one}" for one in (expected - found).elements()]
        self.doubled += [f"{what}: {one}" for one in (found - expected).elements()]


async def judge(url: str, ledger: Ledger, patience_seconds: float) -> Verdict:
    """Wait until all work has ended, but not for longer; then compare."""
    verdict = Verdict()
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_seconds
    unended = await _read(url, _UNENDED)
    while unended and loop.time() < deadline:
        await asyncio.sleep(_PAUSE_SECONDS)
        unended = await _read(url, _UNENDED)
    verdict.stuck = [row["name"] for row in unended]
    verdict.inconsistent = [row["name"] for row in await _read(url, _INCONSISTENT)]
    verdict.inconsistent += await _wrong_totals(url)
    _judge_memories(verdict, ledger, await _read(url, _REVISIONS))
    failed = _judge_generations(verdict, ledger, await _read(url, _OPERATIONS))
    _judge_facts(verdict, ledger, failed, await _read(url, _MEMORIES))
    _judge_events(verdict, ledger, await _read(url, _EVENTS))
    stored = Counter(
        (row["namespace"], row["name"], row["size_bytes"]) for row in await _read(url, _ARTIFACTS)
    )
    asked = Counter((*key, len(text)) for key, text in ledger.artifacts.items())
    verdict.compare("artifact", asked, stored)
    return verdict


def _judge_memories(verdict: Verdict, ledger: Ledger, revisions: list[Row]) -> None:
    """Each memory that was written directly has one revision for each write, in order."""
    history: dict[str, list[str | None]] = {}
    for row in revisions:
        fact = None if row["action"] == "DELETED" else row["fact"]
        history.setdefault(row["memory_id"], []).append(fact)
    for key, facts in ledger.memories.items():
        verdict.compare(f"memory {key}", Counter(facts), Counter(history.get(key, [])))
        if Counter(facts) == Counter(history.get(key, [])) and facts != history[key]:
            verdict.inconsistent.append(f"order of the revisions of {key}")


def _judge_generations(verdict: Verdict, ledger: Ledger, operations: list[Row]) -> set[str]:
    """Return the generations that failed; only a failing provider excuses it."""
    found = {row["operation_id"]: row for row in operations}
    failed = set()
    for key in ledger.generations:
        row = found.get(key)
        if row is None:
            verdict.lost.append(f"generation {key}")
        elif row["error"] is not None:
            failed.add(key)
            if not _is_excused(ledger, row):
                verdict.lost.append(f"generation {key}: {row['error']}")
    return failed


def _is_excused(ledger: Ledger, row: Row) -> bool:
    """Return True if the provider failed while the operation ran."""
    loop = asyncio.get_running_loop()
    ago = (datetime.now(UTC) - row["create_time"]).total_seconds()
    end = (datetime.now(UTC) - row["update_time"]).total_seconds()
    return "MODEL_" in str(row["error"]) and ledger.provider.cover(
        loop.time() - ago, loop.time() - end
    )


def _judge_facts(verdict: Verdict, ledger: Ledger, failed: set[str], memories: list[Row]) -> None:
    """Every fact is remembered once; one of a generation that failed, not at all."""
    expected = Counter(ledger.ingested)
    expected.update(facts[-1] for facts in ledger.memories.values() if facts[-1] is not None)
    for key, generation in ledger.generations.items():
        expected.update([] if key in failed else generation.facts)
    verdict.compare("fact", expected, Counter(row["fact"] for row in memories if row["is_live"]))


def _judge_events(verdict: Verdict, ledger: Ledger, events: list[Row]) -> None:
    told: dict[str, list[str]] = {}
    for row in events:
        told.setdefault(row["session_id"], []).append(row["content"]["parts"][0]["text"])
    for key, texts in ledger.sessions.items():
        verdict.compare(f"event of {key}", Counter(texts), Counter(told.get(key, [])))
        if Counter(texts) == Counter(told.get(key, [])) and texts != told.get(key, []):
            verdict.inconsistent.append(f"order of the events of {key}")


async def _wrong_totals(url: str) -> list[str]:
    database = Database(open_engine(url, Settings()))
    try:
        counted, kept = await recounted(database), await held(database)
    finally:
        await database.close()
    return [] if counted == kept else [f"totals: {kept}, counted anew: {counted}"]


async def _read(url: str, statement: str) -> list[Row]:
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as connection:
        return await (await connection.execute(statement.encode())).fetchall()
