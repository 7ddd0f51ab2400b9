"""`validateOnly`: the same work, nothing written, and an answer that outlives no memory."""

from datetime import timedelta

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow, RevisionRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.platform.upkeep.service import UpkeepService
from app.process.worker import make_runner
from app.settings.settings import ModelPrice, Settings
from tests.support.bank import ENGINE_URL, GONE, Json, configure, count, listed, ok, refusal
from tests.support.generation import given, run, said, start
from tests.support.operations import USER, create_memory, path_of
from tests.support.scripted import fact, facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedTextModel

PARIS, BERLIN = "I live in Paris.", "I live in Berlin."
TEA = "I like green tea."
TABLES = (MemoryRow, RevisionRow, MemoryVectorRow)
PERSONAL, PREFERENCES = (
    [{"managedMemoryTopic": topic}] for topic in ("USER_PERSONAL_INFO", "USER_PREFERENCES")
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    prices = {"scripted:1": ModelPrice(input=1, output=2)}
    return settings.model_copy(update={"model_prices": prices})


async def _preview(client: httpx.AsyncClient, runner: Runner, source: Json) -> Json:
    return await run(client, runner, source, validateOnly=True)


async def test_nothing_is_written_and_everything_is_told(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    home = await create_memory(client, PARIS)
    chess = await create_memory(client, "I like chess.")
    stored = await count(database, *TABLES)
    source = said(BERLIN, "Please forget that I like chess.", TEA)
    operation = await _preview(client, runner, source)
    assert await count(database, *TABLES) == stored
    assert sorted(await listed(client)) == ["I like chess.", PARIS]
    response = operation["response"]
    assert response["author"] == "builtin-rules/3"
    assert "generatedMemories" not in response
    assert {one["action"]: one for one in response["plannedChanges"]} == {
        "UPDATED": {
            "action": "UPDATED",
            "reason": "contradicted",
            "memory": {"name": home["name"]},
            "etag": "1",
            "before": {"fact": PARIS},
            "after": {"fact": BERLIN, "topics": PERSONAL},
            "extractedMemories": [{"fact": BERLIN, "context": BERLIN}],
        },
        "DELETED": {
            "action": "DELETED",
            "reason": "asked to forget",
            "memory": {"name": chess["name"]},
            "etag": "1",
            "before": {"fact": "I like chess."},
            "extractedMemories": [
                {"fact": "I like chess", "context": "Please forget that I like chess."}
            ],
        },
        "CREATED": {
            "action": "CREATED",
            "reason": "new",
            "after": {"fact": TEA, "topics": PREFERENCES},
            "extractedMemories": [{"fact": TEA, "context": TEA}],
        },
    }


async def test_what_is_planned_is_what_is_then_done(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await create_memory(client, PARIS)
    source = said(BERLIN, TEA)
    planned = (await _preview(client, runner, source))["response"]["plannedChanges"]
    done = (await run(client, runner, source))["response"]["generatedMemories"]
    assert [one["action"] for one in done] == [one["action"] for one in planned]
    facts_after = sorted(one["after"]["fact"] for one in planned)
    assert sorted(await listed(client)) == facts_after


async def test_what_the_rules_cannot_put_in_the_third_person_is_told(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await configure(client, customizationConfigs=[{"enableThirdPersonMemories": True}])
    text = "Hello. We own a boat, by the way. I like tea."
    operation = await _preview(client, runner, said(text))
    assert operation["response"]["droppedFacts"] == [
        {"fact": "We own a boat.", "quote": "We own a boat, by the way.", "reason": "NOT_CONVERTED"}
    ]
    assert operation["metadata"]["droppedFactCounts"] == {"NOT_CONVERTED": 1}


async def test_nothing_to_do_is_said(client: httpx.AsyncClient, runner: Runner) -> None:
    operation = await _preview(client, runner, said("Hello!"))
    assert operation["response"].keys() == {"@type", "author"}


async def test_a_model_plans_and_its_costs_are_shown(
    client: httpx.AsyncClient,
    resources: Resources,
    script: list[Reply],
    model: ScriptedTextModel,
    embedder: ScriptedEmbedder,
    database: Database,
) -> None:
    embedder.place(BERLIN, near=PARIS, distance=0.6)
    await create_memory(client, PARIS)
    stored = await count(database, *TABLES)
    script += [facts(fact(BERLIN)), verdicts(verdict("replace", "m1", BERLIN))]
    runner = make_runner(written_by(resources, model))
    operation = await _preview(client, runner, said(BERLIN))
    assert await count(database, *TABLES) == stored
    (change,) = operation["response"]["plannedChanges"]
    assert (change["before"]["fact"], change["after"]["fact"]) == (PARIS, BERLIN)
    assert operation["response"]["author"] == "scripted:1"
    metadata = operation["metadata"]
    assert (metadata["promptVersion"], metadata["modelCallCount"]) == ("4", 2)
    spent = metadata["inputTokenCount"] + 2 * metadata["outputTokenCount"]
    assert metadata["cost"] == {"amount": pytest.approx(spent / 1e6), "currency": "USD"}


async def test_fields_of_profiles_are_planned_too(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    schema = {"type": "object", "properties": {"employer": {"type": "string"}}}
    entry = {"schemaConfigs": [{"id": "person", "schema": schema}]}
    await configure(client, structuredMemoryConfigs=[entry])
    await run(client, runner, said("I work at Initech."))
    operation = await _preview(client, runner, said("I work at Globex now."))
    changes = operation["response"]["plannedChanges"]
    (change,) = [one for one in changes if "structuredContent" in one["after"]]
    assert (change["action"], change["reason"]) == ("UPDATED", "changed")
    values = [change[when]["structuredContent"]["data"]["employer"] for when in ("before", "after")]
    assert values == ["Initech", "Globex"]


async def test_before_is_that_of_the_version_planned_on(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = path_of((await create_memory(client, PARIS))["name"])
    operation = await _preview(client, runner, said(BERLIN))
    ok(await client.patch(path, json={"fact": "I live in Oslo."}))
    later = ok(await client.get(path_of(operation["name"])))
    assert later["response"] == operation["response"]


async def _stored(database: Database) -> str:
    async with database.snapshot() as session:
        statement = select(OperationRow.response).where(OperationRow.engine_id == 1)
        return str((await session.execute(statement)).scalars().all())


@pytest.mark.parametrize("way", ["delete", "purge"])
async def test_an_erased_memory_lives_on_in_no_preview(
    client: httpx.AsyncClient, runner: Runner, database: Database, way: str
) -> None:
    text = "I live in Paris. My cat is called Pixel."
    path = path_of((await create_memory(client, text))["name"])
    await create_memory(client, "I work at Initech.")
    told = await _preview(client, runner, said(BERLIN))
    await _preview(client, runner, said("I work at Globex now."))
    assert "Pixel" in str(told["response"])
    # What a memory says at present is not stored a second time.
    assert "Initech" not in await _stored(database)
    if way == "delete":
        ok(await client.delete(path, params={"permanent": True}))
    else:
        body = {"filter": f'fact="{text}"', "force": True, "permanent": True}
        ok(await client.post("/memories:purge", json=body))
    left = ok(await client.get(path_of(told["name"])))
    assert left["done"]
    assert left["response"] == {"@type": told["response"]["@type"], "withdrawn": True}
    # The others go along: any of them may say what the memory said.
    assert "Globex" not in await _stored(database)


async def test_a_preview_of_dropped_fields_alone_is_withdrawn_too(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    schema = {"type": "object", "properties": {"employer": {"type": "string"}}}
    entry = {"schemaConfigs": [{"id": "person", "schema": schema}]}
    facts_off = {"disableNaturalLanguageMemories": True}
    await configure(client, structuredMemoryConfigs=[entry], customizationConfigs=[facts_off])
    (made,) = (await run(client, runner, said("I work at Initech.")))["response"][
        "generatedMemories"
    ]
    told = await _preview(client, runner, said("I left Globex."))
    assert [one["reason"] for one in told["response"]["droppedFields"]] == ["NOT_PRESENT"]
    assert told["response"].keys() == {"@type", "author", "droppedFields"}
    ok(await client.delete(path_of(made["memory"]["name"]), params={"permanent": True}))
    assert "Globex" not in await _stored(database)


async def test_a_memory_erased_after_it_was_planned_is_in_no_preview(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    """Its preview does not name it: it was not there yet."""
    await _preview(client, runner, said(TEA))
    (made,) = (await run(client, runner, said(TEA)))["response"]["generatedMemories"]
    ok(await client.delete(path_of(made["memory"]["name"]), params={"permanent": True}))
    assert TEA not in await _stored(database)


async def test_a_memory_that_the_sweep_removes_takes_its_previews_along(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, resources: Resources
) -> None:
    await create_memory(client, PARIS, ttl="60s")
    other = await create_memory(client, "I work at Initech.")
    told = await _preview(client, runner, said(BERLIN))
    kept = await _preview(client, runner, said("I work at Globex now."))
    clock.advance(timedelta(seconds=61))
    await UpkeepService(resources).sweep()
    left = ok(await client.get(path_of(told["name"])))
    assert left["response"]["withdrawn"] is True
    # The others stay, with what they read.
    assert ok(await client.get(path_of(kept["name"]))) == kept
    assert other["name"] in str(kept)


async def test_a_memory_that_gives_its_id_away_takes_its_previews_along(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    query = {"memoryId": "chosen"}
    body = {"fact": PARIS, "scope": USER, "ttl": "60s"}
    ok(await client.post("/memories", json=body, params=query))
    told = await _preview(client, runner, said(BERLIN))
    clock.advance(timedelta(seconds=60))
    other = {"fact": "I own a boat.", "scope": {"user_id": "7"}}
    ok(await client.post("/memories", json=other, params=query))
    left = ok(await client.get(path_of(told["name"])))
    assert left["response"] == {"@type": told["response"]["@type"], "withdrawn": True}


async def test_a_deleted_engine_takes_its_previews_along(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await create_memory(client, PARIS)
    told = await _preview(client, runner, said(BERLIN, TEA))
    ok(await client.delete(ENGINE_URL, params={"force": True}))
    for _ in range(2):
        left = ok(await client.get(path_of(told["name"])))
        assert left["response"] == {"@type": told["response"]["@type"], "withdrawn": True}
        assert TEA not in await _stored(database)
        await runner.run_pending()


async def test_a_preview_is_kept_for_a_while_only(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    path = path_of((await _preview(client, runner, said(TEA)))["name"])
    clock.advance(timedelta(hours=1) - timedelta(seconds=1))
    ok(await client.get(path))
    clock.advance(timedelta(seconds=1))
    assert refusal(await client.get(path)) == GONE
    assert ok(await client.get("/operations")) == {"operations": []}


async def test_previews_of_one_scope_need_not_wait(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    for _ in range(2):
        await start(client, given(TEA), validateOnly=True)
    async with database.snapshot() as session:
        statement = select(OperationRow.key).where(OperationRow.engine_id == 1)
        assert (await session.execute(statement)).scalars().all() == [None, None]
    assert await runner.run_pending() == 2


async def test_a_source_s_text_is_not_kept_in_the_row(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    secret = "By the way, the weather is marvellous."
    await client.post(
        "/memories:generate", json={"scope": USER, **said(TEA, secret), "validateOnly": True}
    )
    await runner.run_pending()
    async with database.snapshot() as session:
        statement = select(OperationRow).where(OperationRow.engine_id == 1)
        row = (await session.execute(statement)).scalar_one()
    assert row.request is None
    assert "marvellous" not in str(row.response)
