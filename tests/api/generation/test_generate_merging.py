"""Consolidation by a model: what it is asked, and what becomes of its answers."""

import httpx
import pytest

from app.llm.scripted import Reply, ScriptedEmbedder, ScriptedTextModel
from app.operations.runner import Runner
from app.resources import Resources
from app.settings import Settings
from tests.support.bank import Json, configure, history, listed, ok
from tests.support.generation import actions, given, run, said
from tests.support.operations import create_memory, path_of
from tests.support.scripted import fact, facts, forget, verdict, verdicts, written_by

TEA, COFFEE = "I like tea.", "I like coffee."
BOTH = "I like tea and coffee."


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings, changed as a test's indirect parameter says."""
    return settings.model_copy(update=getattr(request, "param", {}))


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


def place(embedder: ScriptedEmbedder, *texts: str, near: str = TEA) -> None:
    for text in texts:
        embedder.place(text, near=near, distance=0.6)


async def test_a_merge_keeps_all_and_is_one_revision(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    place(embedder, COFFEE)
    memory = await create_memory(client, TEA, description="mine")
    script += [facts(COFFEE), verdicts(verdict("merge", "m1", BOTH))]
    operation = await run(client, runner, said(COFFEE))
    assert await listed(client) == [BOTH]
    (change,) = operation["response"]["generatedMemories"]
    newest, oldest = await history(client, path_of(memory["name"]))
    assert change == {
        "memory": {"name": memory["name"]},
        "action": "UPDATED",
        "previousRevision": oldest["name"],
    }
    assert (newest["author"], newest["promptVersion"]) == ("scripted:1", "1")
    assert newest["extractedMemories"] == [{"fact": COFFEE}]
    assert newest["operation"] == operation["name"]
    assert newest["description"] == "mine"


@pytest.mark.parametrize(
    "case",
    [
        ("I have 2 dogs.", "I have 3 dogs.", verdict("same", "m1")),
        ("I eat meat.", "I do not eat meat at home.", verdict("same", "m1")),
        (TEA, COFFEE, verdict("merge", "m1", "I like hot drinks.")),
        (TEA, COFFEE, verdict("replace", "m1", "I like rum.")),
        (TEA, COFFEE, verdict("delete", "m1")),
        (TEA, COFFEE, verdict("delete", "m2")),
    ],
)
async def test_what_a_model_must_not_do_makes_a_new_memory(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    embedder: ScriptedEmbedder,
    case: tuple[str, str, Json],
) -> None:
    old, new, reply = case
    place(embedder, new, near=old)
    await create_memory(client, old)
    script += [facts(new), verdicts(reply)]
    operation = await run(client, runner, said(new))
    assert sorted(await listed(client)) == sorted([old, new])
    assert operation["metadata"]["refusedVerdictCount"] == 1


async def test_verdicts_are_only_about_memories_that_were_shown(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    place(embedder, COFFEE)
    await create_memory(client, TEA)
    hidden = await create_memory(client, "I own a boat.")
    hidden_id = hidden["name"].rpartition("/")[2]
    replies = [verdict("delete", one) for one in (hidden_id, hidden["name"], "m2")]
    script += [facts(COFFEE), verdicts(*replies)]
    operation = await run(client, runner, said(COFFEE))
    assert len(await listed(client)) == 3
    assert operation["metadata"]["refusedVerdictCount"] == 3


@pytest.mark.parametrize("settings", [{"generation_max_deletes": 2}], indirect=True)
async def test_deletions_of_one_call_are_capped(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    asked = "my zebras"
    for number in range(5):
        text = f"I have seen zebra number {number}."
        embedder.place(text, near=asked, distance=0.6)
        await create_memory(client, text)
    request = "Forget my zebras."
    replies = [verdict("delete", f"m{n}") for n in range(1, 6)]
    script += [facts(forget(asked, request)), verdicts(*replies)]
    operation = await run(client, runner, said(request))
    changed = operation["response"]["generatedMemories"]
    assert [one["action"] for one in changed] == ["DELETED"] * 2
    assert len(await listed(client)) == 3
    assert operation["metadata"]["refusedVerdictCount"] == 3


async def test_a_request_to_forget_that_names_a_memory_needs_one_call(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    memory = await create_memory(client, TEA)
    await create_memory(client, "I live in Oslo.")
    script += [facts(forget("I like tea", "forget that I like tea"))]
    operation = await run(client, runner, said("Please forget that I like tea."))
    assert operation["metadata"]["modelCallCount"] == 1
    assert await listed(client) == ["I live in Oslo."]
    newest, _ = await history(client, path_of(memory["name"]))
    assert (newest["action"], newest["author"]) == ("DELETED", "scripted:1")


async def test_of_what_contradicts_itself_the_last_is_asked_about(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    model: ScriptedTextModel,
) -> None:
    await create_memory(client, "I live in Oslo.")
    script += [
        facts("I live in Paris.", fact("I live in Rome.", line=1)),
        verdicts(verdict("replace", "m1", "I live in Rome.")),
    ]
    await run(client, runner, said("I live in Paris.", "I live in Rome."))
    assert await listed(client) == ["I live in Rome."]
    assert "Paris" not in model.prompts[1].text


async def test_several_facts_are_decided_in_one_call(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    model: ScriptedTextModel,
    embedder: ScriptedEmbedder,
) -> None:
    place(embedder, COFFEE, "I like rum.")
    await create_memory(client, TEA)
    merge = "I like tea, coffee and rum."
    script += [
        facts(COFFEE, "I like rum.", "I own a boat."),
        verdicts(verdict("merge", "m1", BOTH), verdict("add", number=1)),
    ]
    operation = await run(client, runner, said(f"{COFFEE} I like rum. I own a boat."))
    assert operation["metadata"]["modelCallCount"] == 2
    assert sorted(await listed(client)) == sorted([BOTH, "I like rum.", "I own a boat."])
    # What needs no decision is not asked about.
    assert "boat" not in model.prompts[1].text
    assert merge not in model.prompts[1].text


@pytest.mark.parametrize("shown", [0, 1, 3])
async def test_a_model_sees_as_much_history_as_the_bank_says(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    model: ScriptedTextModel,
    embedder: ScriptedEmbedder,
    shown: int,
) -> None:
    config = {"consolidationConfig": {"revisionsPerCandidateCount": shown}}
    await configure(client, customizationConfigs=[config])
    place(embedder, COFFEE)
    path = path_of((await create_memory(client, "I like milk."))["name"])
    for text in ("I like water.", "I like rum.", TEA):
        ok(await client.patch(path, json={"fact": text}))
    script += [facts(COFFEE), verdicts()]
    await run(client, runner, said(COFFEE))
    told = model.prompts[1].text.splitlines()[-1]
    before = " (before: I like rum. | I like water.)" if shown > 1 else ""
    assert told == f"m1: {TEA}{before}"


async def test_disabled_consolidation_asks_nothing(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    place(embedder, COFFEE)
    await create_memory(client, TEA)
    request = fact("I like tea", "forget that I like tea", topics=[], forget=True)
    script += [facts(TEA, COFFEE, request)]
    text = f"{TEA} {COFFEE} But forget that I like tea."
    found = await actions(client, runner, said(text), disableConsolidation=True)
    assert found == ["CREATED", "CREATED"]
    assert await actions(client, runner, given(TEA), disableConsolidation=True) == ["CREATED"]


async def test_only_memories_with_the_same_metadata_are_shown(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    model: ScriptedTextModel,
    embedder: ScriptedEmbedder,
) -> None:
    place(embedder, COFFEE, "I like milk.")
    mine = {"src": {"stringValue": "mine"}}
    await create_memory(client, TEA)
    await create_memory(client, "I like milk.", metadata=mine)
    exact = {"metadataMergeStrategy": "REQUIRE_EXACT_MATCH", "metadata": mine}
    embedder.place(COFFEE, near="I like milk.", distance=0.6)
    merged = "I like milk and coffee."
    script += [facts(COFFEE), verdicts(verdict("merge", "m1", merged))]
    await run(client, runner, said(COFFEE), **exact)
    assert "tea" not in model.prompts[1].text
    assert sorted(await listed(client)) == sorted([TEA, merged])


async def test_text_that_a_database_cannot_hold_is_cleaned(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    place(embedder, COFFEE)
    script += [
        facts(fact("I like\x00 tea.\ufeff", "I like tea")),
        facts(COFFEE),
        verdicts(verdict("merge", "m1", "I like tea\x00 and coffee.")),
    ]
    await run(client, runner, said(TEA))
    await run(client, runner, said(COFFEE))
    assert await listed(client) == [BOTH]
