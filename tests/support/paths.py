"""The two ways by which a memory is created and retrieved, side by side on one database."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx
from fastapi import FastAPI
from sqlalchemy import text
from typing_extensions import override

from app.adapters.db.session import Database
from app.adapters.resources import Registry, Resources
from app.kernel.names import EngineName
from app.memory.retrieval.services.search import ScopeIndexes
from app.platform.engines.services.engine_cache import EngineCache
from app.platform.engines.store.tables import EngineRow
from app.process.main import create_app
from tests.support.bank import Json, id_of, ok
from tests.support.keys import client_with
from tests.support.statements import statements_on
from tests.support.totals import held, recounted

STEP_BY_STEP, AT_ONCE = "step by step", "at once"
PRIMER = {"fact": "It is known.", "scope": {"user_id": "primer"}}
_TABLES: Mapping[str, str] = {
    "memories": "memory_id = :memory",
    "memory_vectors": "memory_id = :memory",
    "memory_revisions": "memory_id = :memory",
    "unembedded_memories": "memory_id = :memory",
    "operations": "operation_id = :operation",
    "audit_events": "split_part(operation, '/', -1) = :operation",
    "request_ids": "operation_id = :operation",
}
"""What a creation writes, by its table, and where the ids of the memory and the operation are."""
_OWN = {"revision_id", "event_id", "request_id"}
"""Columns beside the two ids by which two creations differ."""
_COUNTED = ("memories", "memory_vectors", "memory_revisions", "operations", "engine_totals")


class _NoEngines(EngineCache):
    """Knows no engine, so that nothing is done at once."""

    @override
    def find(self, name: EngineName) -> EngineRow | None:
        return None


@dataclass(frozen=True)
class Paths:
    """Two processes of the service: one never uses the hot statements, the other where it can."""

    database: Database
    apps: Mapping[str, FastAPI]

    @classmethod
    async def open(cls, resources: Resources, secret: str) -> "Paths":
        """Start both; the second knows the engine, and the model that serves it."""
        # However long a test takes, it reads the indexes of scopes once.
        indexes = ScopeIndexes(resources.db, monotonic=lambda: 0.0)
        apps = {
            path: create_app(replace(resources, kept=kept, registry=Registry()))
            for path, kept in (
                (STEP_BY_STEP, {EngineCache: _NoEngines()}),
                (AT_ONCE, {ScopeIndexes: indexes}),
            )
        }
        found = cls(resources.db, apps)
        client = found.clients(secret)[AT_ONCE]
        for _ in range(2):
            ok(await client.post("memories", json=PRIMER))
        return found

    def clients(self, secret: str) -> dict[str, httpx.AsyncClient]:
        """Return a client of each with this key."""
        return {path: client_with(app, secret) for path, app in self.apps.items()}


@dataclass(frozen=True)
class Left:
    """What a creation left and answered, without what differs between any two."""

    answer: Json
    rows: Mapping[str, list[Json]]
    totals: Mapping[str, int]


@dataclass(frozen=True)
class Creation:
    """A creation: what is compared, the memory as it was answered, and the path that it took."""

    left: Left
    memory: Json
    path: str


async def create(
    database: Database, client: httpx.AsyncClient, body: Json, **params: str
) -> Creation:
    """Create a memory, and look at all that came of it."""
    before = await held(database)
    with statements_on(database, "INSERT INTO memories") as several:
        answer = ok(await client.post("memories", params=params, json=body))
    after = await held(database)
    assert after == await recounted(database)
    memory = {key: value for key, value in answer["response"].items() if key != "@type"}
    ids = {"memory": id_of(memory), "operation": id_of(answer)}
    rows = {table: await _rows(database, table, ids) for table in _TABLES}
    totals = {kind: count - before[1][kind] for kind, count in after[1].items()}
    left = Left(_neutral(answer, ids), rows, totals)
    return Creation(left, memory, STEP_BY_STEP if several else AT_ONCE)


async def stored(database: Database) -> list[tuple[Any, ...]]:
    """Return all that creations write but for the audit log, which tells refusals, too."""
    found: list[tuple[Any, ...]] = []
    async with database.snapshot() as session:
        for table in _COUNTED:
            rows = await session.execute(
                text(f"select to_jsonb(t)::text from {table} t order by 1")
            )
            found += [(table, *row) for row in rows]
    return found


async def _rows(database: Database, table: str, ids: Mapping[str, str]) -> list[Json]:
    statement = text(f"select to_jsonb(t) from {table} t where {_TABLES[table]}")
    given = {name: ids[name] for name in ids if f":{name}" in _TABLES[table]}
    async with database.snapshot() as session:
        rows = (await session.execute(statement, given)).scalars().all()
    left_out = _OWN | ({"due_time"} if table == "unembedded_memories" else set())
    return [
        _neutral({name: value for name, value in row.items() if name not in left_out}, ids)
        for row in rows
    ]


def _neutral(found: Json, ids: Mapping[str, str]) -> Json:
    """Return it with the name of what an id is of in the id's place."""
    written = json.dumps(found)
    for name, one in ids.items():
        written = written.replace(one, name)
    neutral: Json = json.loads(written)
    return neutral
