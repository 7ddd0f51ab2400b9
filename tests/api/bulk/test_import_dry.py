"""POST {E}/memories:import?validateOnly=true: what an import would do, without doing it."""

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.bulk.logic import CHUNK_LINES
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings
from tests.api.bulk.test_import import line, text
from tests.support.audit import events
from tests.support.bank import Json, count, listed, ok, refusal
from tests.support.keys import client_with, make_key
from tests.support.scripted_models import ScriptedEmbedder


async def _send(client: httpx.AsyncClient, *lines: Json | str, **query: bool) -> httpx.Response:
    headers = {"content-type": "application/x-ndjson"}
    return await client.post("/memories:import", content=text(lines), headers=headers, params=query)


async def _try(client: httpx.AsyncClient, *lines: Json | str, **query: bool) -> Json:
    return ok(await _send(client, *lines, validateOnly=True, **query))


async def test_it_counts_as_the_import_does_and_writes_nothing(
    client: httpx.AsyncClient, database: Database, embedder: ScriptedEmbedder
) -> None:
    for name in ("same", "other", "gone", "elsewhere"):
        ok(await _send(client, line(name, name)))
    ok(await client.delete("/memories/gone"))
    lines: list[Json | str] = [
        line("same", "same"),
        line("changed", "other"),
        line("gone", "gone"),
        {**line("elsewhere", "elsewhere"), "scope": {"user_id": "7"}},
        line("new"),
        line("past", expireTime="2001-01-01T00:00:00Z"),
        line("bad", ttl="x"),
        line("bad", ttl="1s", disableMemoryRevisions=True, revisionTtl="1s"),
        "{",
    ]
    tables = (MemoryRow, RevisionRow, OperationRow)
    before = await count(database, *tables)
    embedder.calls.clear()
    kept = await _try(client, *lines)
    tried = await _try(client, *lines, overwrite=True)
    assert await count(database, *tables) == before
    assert embedder.calls == []
    assert (kept["changedHere"], kept["overwritten"], tried["overwritten"]) == (1, 0, 1)
    done = ok(await _send(client, *lines, overwrite=True))
    del done["operation"]
    assert tried == done
    assert sorted(await listed(client)) == ["changed", "elsewhere", "gone", "new", "same"]


async def test_it_reads_files_of_many_chunks_and_is_audited(client: httpx.AsyncClient) -> None:
    total = 2 * CHUNK_LINES + 7
    tried = await _try(client, *(line(f"Fact {n}.") for n in range(total)))
    assert tried["imported"] == total
    (event,) = await events(client)
    assert (event["method"], event["result"], event.get("operation")) == (
        "importMemories",
        "OK",
        None,
    )


async def test_a_bound_key_is_told_of_its_scopes_alone(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    ok(await _send(client, {**line("theirs", "theirs"), "scope": {"user_id": "7"}}))
    key = await make_key(database, clock.now(), "admin", scope_conditions={"user_id": ["42"]})
    mine = {**line("mine"), "scope": {"user_id": "42"}}
    tried = await _try(client_with(app, key), mine, {**mine, "scope": {"user_id": "7"}})
    assert (tried["imported"], tried["failed"]) == (1, 1)
    assert [error["line"] for error in tried["errors"]] == [2]


async def test_overwriting_needs_its_permission_here_too(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    key = await make_key(database, clock.now(), "user")
    answer = await _send(client_with(app, key), line(), validateOnly=True, overwrite=True)
    assert answer.status_code == 403


class TestOfAFullEngine:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_memories": CHUNK_LINES + 1})

    async def test_it_says_so_before_anything_is_written(self, client: httpx.AsyncClient) -> None:
        lines = [line(f"Fact {n}.") for n in range(CHUNK_LINES + 2)]
        assert (await _try(client, *lines[1:]))["imported"] == CHUNK_LINES + 1
        answer = await _send(client, *lines, validateOnly=True)
        assert refusal(answer) == (429, "RESOURCE_EXHAUSTED")
        assert await listed(client) == []
