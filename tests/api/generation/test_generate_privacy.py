"""Secrets in what is generated from: masked before anything is stored or sent, or refused."""

import json

import httpx
import pytest
from prometheus_client import REGISTRY

from app.adapters.db.session import Database
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, configure, field_of, listed, ok
from tests.support.generation import events, given, run, said, start
from tests.support.ingestion import ended, event, ingest
from tests.support.operations import USER, create_memory
from tests.support.planted import CORPUS, DEFAULTS
from tests.support.rows import in_clear, rows_with
from tests.support.sessions import append, new_path

CARD = "4111 1111 1111 1111"
KEY = "sk-" + "proj-" + "a1B2c3D4" * 4
SAID = f"I live in Oslo. My API key is {KEY} remember my card {CARD}."
PLANTED = [
    (one["text"].format("".join(one["value"])), "".join(one["value"]))
    for one in CORPUS
    if one["kind"] in DEFAULTS
]


def metric(kind: str, place: str) -> float:
    labels = {"kind": kind, "place": place}
    return REGISTRY.get_sample_value("memory_bank_masked_total", labels) or 0


async def test_no_planted_value_reaches_a_row_by_generation_or_ingestion(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    """None of 60 credentials and cards is in clear while operations wait, and after them.

    The digits of a PIN are in some time or id as well; they are looked for in the facts.
    """
    texts, values = [text for text, _ in PLANTED], [one for _, one in PLANTED if len(one) > 5]
    generation = await start(client, said(*texts[::2]))
    operation = await ingest(client, *texts[1::2])
    assert await in_clear(database, *values) == []
    await runner.run_pending()
    for half, done in (
        (texts[::2], ok(await client.get(generation))),
        (texts[1::2], await ended(client, runner, operation)),
    ):
        assert done["done"]
        assert "error" not in done
        assert sum(done["metadata"]["maskedCounts"].values()) >= len(half)
    assert await in_clear(database, *values) == []
    facts = " ".join(await listed(client, pageSize=100))
    assert [value for _, value in PLANTED if value in facts] == []


async def test_each_planted_value_is_found_where_nothing_is_masked(
    client: httpx.AsyncClient, database: Database
) -> None:
    """A search of all rows that overlooked a value would prove nothing above."""
    rules = [{"kind": kind, "action": "OFF"} for kind in DEFAULTS]
    await configure(client, privacyConfig={"rules": rules})
    await start(client, said(*(text for text, _ in PLANTED)))
    values = [value for _, value in PLANTED]
    assert await in_clear(database, *values) == values


async def test_a_value_at_any_place_of_the_body_is_masked(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    call = {
        "functionCall": {"name": "pay", "args": {"card": CARD, KEY: 1, "password": "swordfish"}}
    }
    content = {"role": "user", "parts": [{"text": f"I like tea. {CARD}"}, call, {"newPart": KEY}]}
    fields: Json = {
        "metadata": {"note": {"stringValue": f"pay with {CARD}"}},
        "revisionLabels": {"why": KEY},
    }
    await run(client, runner, events(content), **fields)
    await ingest(client, {"content": content}, **fields)
    assert await in_clear(database, CARD, KEY, "swordfish") == []
    assert (await listed(client))[0].startswith("I like tea")


async def test_an_operation_tells_how_many_values_were_masked(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    before = metric("CREDENTIAL", "GENERATION")
    operation = await run(client, runner, said("I live in Oslo.", f"My API key is {KEY}."))
    assert operation["metadata"]["maskedCounts"] == {"CREDENTIAL": 1}
    assert operation["metadata"]["maskedOnly"] == 1
    assert await listed(client) == ["I live in Oslo."]
    assert metric("CREDENTIAL", "GENERATION") == before + 1


async def test_ingestions_of_one_operation_count_together(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    idle = {"generationTriggerConfig": {"generation_rule": {"idle_duration": "300s"}}}
    await ingest(client, f"Card {CARD}", **idle)
    operation = await ingest(client, f"Key {KEY} and {CARD}", **idle)
    counts = {"PAYMENT_CARD": 2, "CREDENTIAL": 1}
    assert operation["metadata"]["maskedCounts"] == counts
    operation = await ingest(client, event("I live in Oslo."), forceFlush=True)
    found = await ended(client, runner, operation)
    assert found["metadata"]["maskedCounts"] == counts


async def test_a_session_keeps_its_events_and_is_read_masked(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await new_path(client)
    await append(client, path, SAID)
    stored = ok(await client.get(f"{path}/events"))["sessionEvents"]
    assert CARD in json.dumps(stored)
    source = {"vertexSessionSource": {"session": f"reasoningEngines/1{path}"}}
    operation = await run(client, runner, source)
    assert operation["metadata"]["maskedCounts"] == {"CREDENTIAL": 1, "PAYMENT_CARD": 1}
    assert set(await rows_with(database, CARD)) == {"session_events"}


async def test_what_callers_write_themselves_is_stored_as_sent(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    fact = f"My card is {CARD}"
    ok(await client.post("/memories", json={"scope": USER, "fact": fact}))
    await run(client, runner, given(f"The spare card is {CARD}"), disableConsolidation=True)
    assert sorted(await listed(client)) == [fact, f"The spare card is {CARD}"]


async def test_an_engine_refuses_what_its_rules_name(
    client: httpx.AsyncClient, database: Database
) -> None:
    rules = [{"kind": "EMAIL", "action": "REJECT"}, {"kind": "CREDENTIAL", "action": "OFF"}]
    await configure(client, privacyConfig={"rules": rules})
    body = {"scope": USER, **said("I like tea.", "Write to anna.k@example.com.")}
    for method in ("generate", "ingestEvents"):
        answer = await client.post(f"/memories:{method}", json=body)
        assert field_of(answer) == "directContentsSource.events[1].content.parts[0].text"
        error = answer.json()["error"]
        assert error["details"][0]["reason"] == "SENSITIVE_CONTENT"
        assert "EMAIL" in error["message"]
        assert "anna" not in answer.text
    assert await rows_with(database, "anna.k") == {}
    await ingest(client, f"Key {KEY} and card {CARD}")
    assert set(await rows_with(database, KEY)) == {"stream_events"}
    assert await rows_with(database, CARD) == {}


async def test_a_session_that_holds_what_is_refused_fails_the_operation(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client)
    await append(client, path, SAID)
    rules = [{"kind": "PAYMENT_CARD", "action": "REJECT"}]
    await configure(client, privacyConfig={"rules": rules})
    source = {"vertexSessionSource": {"session": f"reasoningEngines/1{path}"}}
    operation = await start(client, source)
    await runner.run_pending()
    error = ok(await client.get(operation))["error"]
    assert error["details"][0]["reason"] == "SENSITIVE_CONTENT"
    assert CARD not in json.dumps(error)


async def test_a_pattern_of_an_engine_is_masked(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    patterns = [{"name": "CASE_NUMBER", "pattern": "CN-[0-9]{8}"}]
    await configure(client, privacyConfig={"customPatterns": patterns})
    operation = await run(client, runner, said("I work on the case CN-12345678 in Oslo."))
    assert operation["metadata"]["maskedCounts"] == {"CASE_NUMBER": 1}
    assert await rows_with(database, "CN-12345678") == {}


async def test_a_pattern_that_finds_ids_leaves_names_as_they_are(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    """A preview is read by its names."""
    await create_memory(client, "I live in Oslo.")
    await configure(
        client, privacyConfig={"customPatterns": [{"name": "ID", "pattern": "[0-9]{9}"}]}
    )
    operation = await run(client, runner, said("I live in Rome now."), validateOnly=True)
    (change,) = operation["response"]["plannedChanges"]
    assert change["memory"]["name"].rpartition("/")[2].isdigit()


@pytest.mark.parametrize(
    "config",
    [
        {"rules": [{"kind": "NAME", "action": "MASK"}]},
        {"rules": [{"kind": "EMAIL", "action": "HIDE"}]},
        {"rules": [{"kind": "EMAIL", "action": "MASK", "where": ["LOGS"]}]},
        {"rules": [{"kind": "EMAIL", "action": "MASK"}, {"kind": "EMAIL", "action": "OFF"}]},
        {"customPatterns": [{"name": "x", "pattern": "a"}]},
        {"customPatterns": [{"name": "EMAIL", "pattern": "a"}]},
        {"customPatterns": [{"name": "X", "pattern": "("}]},
        {"customPatterns": [{"name": "X", "pattern": "a*"}]},
        {"customPatterns": [{"name": "X", "pattern": r"a\C"}]},
        {"customPatterns": [{"name": "X", "pattern": "a" * 257}]},
        {"customPatterns": [{"name": "X", "pattern": r"\pL{900}"}]},
    ],
    ids=str,
)
async def test_rules_that_cannot_be_kept_are_refused(
    client: httpx.AsyncClient, config: Json
) -> None:
    body = {"contextSpec": {"memoryBankConfig": {"privacyConfig": config}}}
    answer = await client.patch("http://test/v1beta1/reasoningEngines/1", json=body)
    assert "privacyConfig" in field_of(answer)


async def test_an_update_that_does_not_name_the_rules_keeps_them(
    client: httpx.AsyncClient,
) -> None:
    rules = {"rules": [{"kind": "EMAIL", "action": "MASK"}]}
    url = "http://test/v1beta1/reasoningEngines/1"
    await configure(client, privacyConfig=rules)
    await configure(client, disableMemoryRevisions=True)
    bank = ok(await client.get(url))["contextSpec"]["memoryBankConfig"]
    assert bank == {"disableMemoryRevisions": True, "privacyConfig": rules}
    await configure(client, privacyConfig=None)
    assert "privacyConfig" not in ok(await client.get(url))["contextSpec"]["memoryBankConfig"]
