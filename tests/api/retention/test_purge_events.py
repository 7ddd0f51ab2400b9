"""What removal for good, and the removal of an engine, make of ingested events."""

import httpx
import pytest
from typing_extensions import override

from app.adapters.db.session import Database
from app.adapters.llm.ports import Meter, OutputT, Prompt
from app.adapters.resources import Resources
from app.kernel.errors import Reason
from app.memory.ingestion.store.tables import StreamEventRow, StreamRow
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import ENGINE_URL, Json, count, listed, ok, refusal
from tests.support.ingestion import IDLE, OSLO, TEA, ended, event, hears, ingest, read, rule
from tests.support.scripted import written_by
from tests.support.scripted_models import ScriptedTextModel

FOR_GOOD = {"force": True, "permanent": True}
SOFTLY = {"force": True}
MINE = 'scope.user_id="42"'
OVERLAP = rule(event_count=2, overlap_event_count=1)


async def _purge(client: httpx.AsyncClient, **body: object) -> Json:
    return ok(await client.post("/memories:purge", json=body))


BOTH_WAYS = pytest.mark.parametrize("how", [SOFTLY, FOR_GOOD], ids=["softly", "for good"])


@BOTH_WAYS
@pytest.mark.parametrize(
    "scopes", [MINE, r'scope="{\"user_id\": \"42\"}"', 'scope.user_id=~"4."', 'scope:"user_id"']
)
async def test_a_scope_is_erased_with_its_buffered_events(
    client: httpx.AsyncClient, runner: Runner, database: Database, scopes: str, how: Json
) -> None:
    operation = await ingest(client, TEA, event(OSLO, "a"), **IDLE)
    purged = await _purge(client, filter=scopes, **how)
    assert purged["metadata"]["erasedEventCount"] == 2
    assert await count(database, StreamRow, StreamEventRow) == (0, 0)
    # Who waits for the events learns at once that there is nothing left to do.
    assert "generateMemoriesOperation" not in (await ended(client, runner, operation))["response"]
    assert await listed(client) == []
    # Nothing is known of them any more, not even their ids.
    again = await ingest(client, event(OSLO, "a"))
    assert again["metadata"]["duplicateEventCount"] == 0


async def test_what_was_purged_does_not_come_back_with_the_next_flush(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await ingest(client, TEA, **IDLE)
    await _purge(client, filter=MINE, **SOFTLY)
    await ended(client, runner, await ingest(client, forceFlush=True))
    assert await listed(client) == []
    # What comes after the purge is new.
    await ended(client, runner, await ingest(client, OSLO, forceFlush=True))
    assert await listed(client) == [OSLO]


@BOTH_WAYS
async def test_so_are_the_texts_that_an_overlap_has_kept(
    client: httpx.AsyncClient, runner: Runner, database: Database, how: Json
) -> None:
    await ended(client, runner, await ingest(client, event(TEA, "a"), event(OSLO, "b"), **OVERLAP))
    purged = await _purge(client, filter=MINE, **how)
    assert purged["metadata"]["erasedEventCount"] == 1
    assert purged["response"]["purgeCount"] == 2
    assert await count(database, StreamEventRow) == (0,)


@BOTH_WAYS
async def test_other_scopes_are_left_alone(
    client: httpx.AsyncClient, database: Database, how: Json
) -> None:
    await ingest(client, TEA, **IDLE)
    await _purge(client, filter='scope.user_id="43"', **how)
    assert await count(database, StreamRow, StreamEventRow) == (1, 1)


@pytest.mark.parametrize(
    "body",
    [
        {"filter": f'{MINE} AND fact:"tea"', **SOFTLY},
        {"filter": f'{MINE} AND fact:"tea"', **FOR_GOOD},
        {"filterGroups": [{"filters": [{"key": "src", "value": {"string_value": "mail"}}]}]}
        | SOFTLY,
        {
            "filter": MINE,
            "filterGroups": [{"filters": [{"key": "src", "value": {"string_value": "mail"}}]}],
            **FOR_GOOD,
        },
    ],
)
async def test_what_asks_for_less_leaves_events_alone(
    client: httpx.AsyncClient, database: Database, body: Json
) -> None:
    await ingest(client, TEA, **IDLE)
    metadata = (await _purge(client, **body))["metadata"]
    assert "erasedEventCount" not in metadata
    assert metadata["keptEventCount"] == 1
    assert await count(database, StreamRow, StreamEventRow) == (1, 1)


@pytest.mark.parametrize("body", [{}, {"permanent": True}])
async def test_what_only_counts_erases_none(
    client: httpx.AsyncClient, database: Database, body: Json
) -> None:
    await ingest(client, TEA, **IDLE)
    metadata = (await _purge(client, filter=MINE, **body))["metadata"]
    assert not {"erasedEventCount", "keptEventCount"} & metadata.keys()
    assert await count(database, StreamRow, StreamEventRow) == (1, 1)


@BOTH_WAYS
async def test_what_runs_meanwhile_writes_nothing(
    client: httpx.AsyncClient, resources: Resources, how: Json
) -> None:
    purges: list[Json] = []

    class Meddling(ScriptedTextModel):
        @override
        async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
            purges.append(await _purge(client, filter=MINE, **how))
            return await super().ask(prompt, output, meter)

    runner = make_runner(written_by(resources, Meddling(hears)))
    operation = await ingest(client, TEA)
    await runner.run_pending()
    assert len(purges) == 1
    assert await listed(client) == []
    assert (await read(client, operation))["done"] is True


async def test_an_engine_with_waiting_events_needs_force(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    operation = await ingest(client, TEA, **IDLE)
    answer = await client.delete(ENGINE_URL)
    assert refusal(answer) == (400, "FAILED_PRECONDITION")
    assert answer.json()["error"]["details"][0]["reason"] == Reason.ENGINE_NOT_EMPTY
    ok(await client.delete(ENGINE_URL, params={"force": True}))
    # Its operation ends with it, not when the events would have been ripe.
    ended_with_it = await read(client, operation)
    assert ended_with_it["done"] is True
    assert ended_with_it["error"]["code"] == 5
    await runner.run_pending()


async def test_an_engine_with_processed_events_needs_none(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await ended(client, runner, await ingest(client, event("Hm.", "a")))
    ok(await client.delete(ENGINE_URL))
