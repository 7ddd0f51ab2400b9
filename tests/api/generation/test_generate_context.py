"""The `context` of what a generation writes: the words that the fact rests on, as they were said.

Source: wire specification, sections 5.1 and 6.1.
"""

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.archives import export
from tests.support.bank import ENGINE_URL, Json, configure, history, ok, roll_back
from tests.support.engines import API, create_engine
from tests.support.generation import given, run, said
from tests.support.operations import USER, create_memory, path_of
from tests.support.restores import GZIP
from tests.support.rows import rows_with
from tests.support.scripted import fact, facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedTextModel
from tests.support.undo import undo

TEA = "I like tea."
MAIL = "anna.k@example.com"


@pytest.fixture
def scripted(resources: Resources, model: ScriptedTextModel) -> Runner:
    """A worker that a model writes for."""
    return make_runner(written_by(resources, model))


async def _only(client: httpx.AsyncClient) -> Json:
    (memory,) = ok(await client.get("/memories"))["memories"]
    found: Json = memory
    return found


async def _newest(client: httpx.AsyncClient) -> Json:
    found: Json = (await history(client, path_of((await _only(client))["name"])))[0]
    return found


async def test_rules_quote_the_sentence_of_a_fact(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, said("Hello! Well, I live in Oslo. How are you?"))
    memory, revision = await _only(client), await _newest(client)
    assert memory["context"] == revision["context"]
    (extracted,) = revision["extractedMemories"]
    assert extracted["context"] == memory["context"]
    assert memory["context"] in "Hello! Well, I live in Oslo. How are you?"
    assert "I live in Oslo" in memory["context"]
    assert "How are you" not in memory["context"]


async def test_a_model_quotes_what_was_said(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply]
) -> None:
    script += [facts(fact("I like green tea.", "green tea is what I like"))]
    await run(client, scripted, said("You know, green tea is what I like most."))
    assert (await _only(client))["context"] == "green tea is what I like"
    assert (await _newest(client))["extractedMemories"] == [
        {"fact": "I like green tea.", "context": "green tea is what I like"}
    ]


async def test_a_merged_fact_rests_on_all_its_quotes(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    embedder.place("I like coffee.", near=TEA, distance=0.6)
    embedder.place("I like milk.", near=TEA, distance=0.6)
    await create_memory(client, TEA, context="told at the desk")
    script += [
        facts(fact("I like coffee.", "coffee, too"), fact("I like milk.", "and milk", line=1)),
        verdicts(
            verdict("merge", "m1", "I like tea, coffee and milk.", 0),
            verdict("merge", "m1", "I like tea, coffee and milk.", 1),
        ),
    ]
    await run(client, scripted, said("coffee, too", "and milk"))
    newest = await _newest(client)
    assert newest["context"].splitlines()[0] == "coffee, too"
    assert newest["context"] == "\n".join(one["context"] for one in newest["extractedMemories"])
    assert (await _only(client))["context"] == newest["context"]


async def test_given_facts_rest_on_no_words(client: httpx.AsyncClient, runner: Runner) -> None:
    await run(client, runner, given(TEA))
    assert "context" not in await _only(client)
    assert (await _newest(client))["extractedMemories"] == [{"fact": TEA}]


async def test_what_a_caller_wrote_stays_while_the_fact_does(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await create_memory(client, "I live in Oslo.", context="from the form")
    await run(client, runner, given("I live in Oslo."))
    assert (await _only(client))["context"] == "from the form"
    await run(client, runner, given("I live in Rome now."))
    assert "context" not in await _only(client)
    await run(client, runner, said("I moved. I live in Bern now."))
    assert (await _only(client))["context"] == "I live in Bern now."


async def test_a_rollback_and_an_undo_bring_back_the_context(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, said("I live in Oslo."))
    path = path_of((await _only(client))["name"])
    (first,) = await history(client, path)
    moved = await run(client, runner, said("I live in Rome now."))
    assert (await _only(client))["context"] == "I live in Rome now."
    await undo(client, runner, moved["name"])
    assert (await _only(client))["context"] == "I live in Oslo."
    await run(client, runner, said("I live in Bern now."))
    await roll_back(client, path, first["name"])
    assert (await _only(client))["context"] == "I live in Oslo."


async def test_masks_apply_to_the_quote(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    rules = [{"kind": "EMAIL", "action": "MASK"}]
    await configure(client, privacyConfig={"rules": rules})
    await run(client, runner, said(f"I live in Oslo, and my mail is {MAIL}."))
    memory, newest = await _only(client), await _newest(client)
    for found in (memory, newest, newest["extractedMemories"][0]):
        assert "[EMAIL]" in found["context"]
    assert await rows_with(database, MAIL) == {}


async def test_a_scan_masks_the_quote_of_what_is_stored(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await run(client, runner, said(f"I live in Oslo, and my mail is {MAIL}."))
    path = path_of(ok(await client.get("/memories"))["memories"][0]["name"])
    assert MAIL in ok(await client.get(path))["context"]
    body = {"action": "MASK", "kinds": ["EMAIL"]}
    ok(await client.post(f"{ENGINE_URL}:scanPrivacy", json=body))
    await runner.run_pending()
    assert "[EMAIL]" in ok(await client.get(path))["context"]
    assert await rows_with(database, MAIL) == {}


async def test_an_archive_has_it(client: httpx.AsyncClient, runner: Runner) -> None:
    await run(client, runner, said("I live in Oslo."))
    archive = await export(client)
    other = (await create_engine(client))["name"]
    ok(await client.post(f"{API}/{other}:restore", content=archive, headers=GZIP))
    (memory,) = ok(await client.get(f"{API}/{other}/memories"))["memories"]
    assert (memory["context"], memory["scope"]) == ("I live in Oslo.", USER)
    revisions = ok(await client.get(f"{API}/{memory['name']}/revisions"))["memoryRevisions"]
    assert revisions[0]["extractedMemories"][0]["context"] == "I live in Oslo."
