"""Generation with a model: what it says is checked, and nothing is lost on the way."""

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, listed, ok
from tests.support.generation import given, run, said
from tests.support.scripted import confirmed, fact, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedTextModel


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


async def test_a_fact_that_a_user_said_becomes_a_memory(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    script += [{"facts": [fact("I like tea.", "like tea")]}]
    operation = await run(client, runner, said("Well, I like tea!"))
    assert await listed(client) == ["I like tea."]
    assert operation["response"]["author"] == "scripted:1"
    metadata = operation["metadata"]
    assert metadata["author"] == "scripted:1"
    assert metadata["promptVersion"] == "4"
    assert metadata["modelCallCount"] == 1


@pytest.mark.parametrize("quote", ["I like tea", "", "   "])
async def test_a_fact_that_nobody_said_is_dropped_and_counted(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], quote: str
) -> None:
    script += [{"facts": [fact("I like tea.", quote)]}]
    operation = await run(client, runner, said("I like coffee."))
    assert operation["metadata"]["unsupportedFactCount"] == 1
    assert await listed(client) == []


async def test_what_the_model_said_itself_is_no_source(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    script += [{"facts": [fact("You like tea.", line=1)]}]
    source = said("Hello.")
    source["directContentsSource"]["events"] += said("You like tea.", role="model")[
        "directContentsSource"
    ]["events"]
    operation = await run(client, runner, source)
    assert operation["metadata"]["unsupportedFactCount"] == 1
    assert await listed(client) == []


async def test_the_second_call_is_left_out_where_there_is_nothing_to_decide(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    script += [{"facts": [fact("I like tea.")]}, {"facts": [fact("I own a boat.")]}, confirmed()]
    operation = await run(client, runner, said("I like tea."))
    assert operation["metadata"]["modelCallCount"] == 1
    operation = await run(client, runner, said("I own a boat."))
    assert operation["metadata"]["modelCallCount"] == 2
    assert sorted(await listed(client)) == ["I like tea.", "I own a boat."]


async def test_a_contradiction_replaces_the_memory(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    embedder: ScriptedEmbedder,
) -> None:
    embedder.place("I love coffee now.", near="I love tea.", distance=0.6)
    script += [
        {"facts": [fact("I love tea.")]},
        {"facts": [fact("I love coffee now.")]},
        verdicts(verdict("replace", "m1", "I love coffee now.")),
    ]
    await run(client, runner, said("I love tea."))
    operation = await run(client, runner, said("I love coffee now."))
    assert await listed(client) == ["I love coffee now."]
    assert operation["metadata"]["modelCallCount"] == 2
    (change,) = operation["response"]["generatedMemories"]
    assert change["action"] == "UPDATED"
    name = change["memory"]["name"].rpartition("/")[2]
    newest, oldest = ok(await client.get(f"/memories/{name}/revisions"))["memoryRevisions"]
    assert newest["extractedMemories"] == [
        {"fact": "I love coffee now.", "context": "I love coffee now."}
    ]
    assert newest["author"] == "scripted:1"
    assert newest["promptVersion"] == "4"
    assert oldest["fact"] == "I love tea."


@pytest.mark.parametrize(
    "reply",
    [
        [verdict("replace", "m7", "I love coffee now.")],
        [verdict("replace", "m1", "HACKED")],
        [verdict("merge", "m1", "I love 3 coffees now.")],
        [verdict("replace", "m1", "I fly to the moon with Anna, Bert and Carl on 3 ships.", 4)],
        [],
    ],
)
async def test_an_unsound_decision_loses_nothing(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    embedder: ScriptedEmbedder,
    reply: list[Json],
) -> None:
    old, new = "I love tea from Ceylon.", "I love coffee at work."
    embedder.place(new, near=old, distance=0.6)
    script += [
        {"facts": [fact(old)]},
        {"facts": [fact(new)]},
        {"verdicts": reply},
    ]
    await run(client, runner, said(old))
    operation = await run(client, runner, said(new))
    assert sorted(await listed(client)) == sorted([new, old])
    assert operation["metadata"].get("refusedVerdictCount", 0) == len(reply)


async def test_given_facts_need_one_call_at_most(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    embedder: ScriptedEmbedder,
) -> None:
    embedder.place("I love green tea.", near="I love tea.", distance=0.6)
    script += [{"verdicts": [verdict("merge", "m1", "I love green tea.")]}]
    operation = await run(client, runner, given("I love tea."))
    assert operation["metadata"]["modelCallCount"] == 0
    assert operation["metadata"]["author"] == "builtin-rules/3"
    operation = await run(client, runner, given("I love green tea."))
    assert operation["metadata"]["modelCallCount"] == 1
    assert await listed(client) == ["I love green tea."]
