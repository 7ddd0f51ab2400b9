"""Consolidation by a model: what it is asked, and what becomes of its answers."""

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import Json, configure, history, id_of, listed, ok
from tests.support.generation import actions, given, run, said
from tests.support.operations import create_memories, create_memory, path_of
from tests.support.scripted import fact, facts, forget, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedTextModel

TEA, COFFEE = "I like tea.", "I like coffee."
BOTH = "I like tea and coffee."
LONG = "I like tea, and there is much more to say of it. " * 13


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
    assert (newest["author"], newest["promptVersion"]) == ("scripted:1", "4")
    assert newest["extractedMemories"] == [{"fact": COFFEE, "context": COFFEE}]
    assert newest["operation"] == operation["name"]
    assert newest["description"] == "mine"


@pytest.mark.parametrize(
    "case",
    [
        (TEA, COFFEE, verdict("merge", "m1", "I like tea and 3 coffees.")),
        (TEA, COFFEE, verdict("merge", "m1", "I like tea and coffee since 1990.")),
        (TEA, COFFEE, verdict("replace", "m1", "I like what Bob likes.")),
        (TEA, COFFEE, verdict("replace", "m1", "HACKED")),
        (TEA, COFFEE, verdict("merge", "m1")),
        (TEA, COFFEE, verdict("delete", "m2")),
        (LONG, COFFEE, verdict("delete", "m1")),
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
    assert sum(operation["metadata"]["refusedDecisionCounts"].values()) == 1


async def test_what_the_model_decides_is_done(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    place(embedder, "I gave my cat away.", near="My cat is called Tom.")
    await create_memory(client, "I work as a nurse in Graz.")
    script += [
        facts("I'm a doctor in Linz now."),
        verdicts(verdict("replace", "m1", "I work as a doctor in Linz.")),
        facts("My cat is called Tom."),
        verdicts(verdict("add")),
        facts("I gave my cat away."),
        verdicts(verdict("delete", "m1")),
    ]
    await run(client, runner, said("I'm a doctor in Linz now."))
    assert await listed(client) == ["I work as a doctor in Linz."]
    await run(client, runner, said("My cat is called Tom."))
    operation = await run(client, runner, said("I gave my cat away."))
    assert sorted(await listed(client)) == ["I gave my cat away.", "I work as a doctor in Linz."]
    changed = operation["response"]["generatedMemories"]
    assert [one["action"] for one in changed] == ["DELETED", "CREATED"]


async def test_a_doubtful_fact_becomes_a_memory_only_if_the_model_confirms_it(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    text = "Haha, I own a yacht. Kidding aside, if it rains I take the tram."
    yacht = fact("I own a yacht.", "I own a yacht")
    tram = fact("I take the tram when it rains.", "I take the tram")
    for answer in ([verdict("add", holds=False), verdict("add", number=1)], []):
        script += [facts(yacht, tram), verdicts(*answer)]
        operation = await run(client, runner, said(text), disableConsolidation=True)
        counts = operation["metadata"]["droppedFactCounts"]
        if answer:
            assert counts == {"NOT_SAID": 1}
            assert operation["metadata"]["verifiedFactCount"] == 1
        else:
            assert counts == {"NOT_VERIFIED": 2}
    assert await listed(client) == ["I take the tram when it rains."]


async def test_verdicts_are_only_about_memories_that_were_shown(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    place(embedder, COFFEE)
    for number in range(4):
        await create_memory(client, f"I like tea {number}.")
    hidden = await create_memory(client, "I own a boat.", scope={"user_id": "other"})
    hidden_id = hidden["name"].rpartition("/")[2]
    replies = [verdict("delete", one) for one in (hidden_id, hidden["name"], "m4", "m5")]
    script += [facts(COFFEE), verdicts(*replies)]
    operation = await run(client, runner, said(COFFEE))
    assert len(await listed(client)) == 6
    assert operation["metadata"]["refusedDecisionCounts"] == {"UNKNOWN_MEMORY": 4}


@pytest.mark.parametrize("settings", [{"generation_max_forgets": 2}], indirect=True)
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
    assert operation["metadata"]["refusedDecisionCounts"] == {"TOO_MANY_DELETES": 3}
    (unmet,) = operation["metadata"]["unmetForgetRequests"]
    assert (unmet["request"], unmet["reason"], unmet["hasMore"]) == (request, "TOO_MANY", True)
    assert len(unmet["nearest"]) == 3
    ok(await client.post(f"/operations/{id_of(operation)}:undo", json={}))
    await runner.run_pending()
    assert len(await listed(client)) == 5


async def test_a_request_to_forget_in_other_words_is_met(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    text = "Priya is coeliac, so gluten is a no-go for her. " + LONG
    place(embedder, "Priya's diet", near=text)
    memory = await create_memory(client, text)
    await create_memory(client, "I live in Oslo.")
    request = "I'll go alone, so drop her diet stuff please."
    script += [
        facts(forget("Priya's diet", "drop her diet stuff")),
        verdicts(verdict("delete", "m1")),
    ]
    operation = await run(client, runner, said(request))
    assert "unmetForgetRequests" not in operation["metadata"]
    assert await listed(client) == ["I live in Oslo."]
    newest, _ = await history(client, path_of(memory["name"]))
    assert (newest["action"], newest["author"]) == ("DELETED", "scripted:1")


async def test_a_request_that_finds_nothing_is_told_with_what_is_near(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    memory = await create_memory(client, "I live in Oslo.")
    script += [facts(forget("my boat", "forget my boat")), verdicts(verdict("add"))]
    operation = await run(client, runner, said("Please forget my boat."))
    assert operation["metadata"]["unmetForgetRequests"] == [
        {"request": "forget my boat", "reason": "NOTHING_FOUND", "nearest": [memory["name"]]}
    ]
    assert await listed(client) == ["I live in Oslo."]


async def test_a_request_ends_what_was_said_before_it_also_when_it_is_sent_again(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    talk = said("I owe Bob 50 euros.", "Please forget what I owe.")
    for _ in range(2):
        script += [
            facts("I owe Bob 50 euros.", forget("what I owe", "forget what I owe", 1)),
            verdicts(verdict("add"), verdict("delete", "0", number=1)),
        ]
        operation = await run(client, runner, talk)
        assert operation["metadata"]["droppedFactCounts"] == {"FORGOTTEN": 1}
        assert "unmetForgetRequests" not in operation["metadata"]
        assert await listed(client) == []


async def test_everything_means_the_newest_memories_and_the_rest_is_told(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    await create_memories(client, *(f"I have seen zebra number {number}." for number in range(22)))
    every = [verdict("delete", f"m{number}") for number in range(1, 21)]
    script += [facts(forget("everything about me", "Forget everything")), verdicts(*every)]
    operation = await run(client, runner, said("Forget everything about me."))
    assert len(await listed(client)) == 2
    (unmet,) = operation["metadata"]["unmetForgetRequests"]
    assert (unmet["reason"], unmet["hasMore"]) == ("TOO_MANY", True)


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
        verdicts(verdict("merge", "m1", merge), verdict("merge", "m1", merge, 1)),
    ]
    operation = await run(client, runner, said(f"{COFFEE} I like rum. I own a boat."))
    assert operation["metadata"]["modelCallCount"] == 2
    assert sorted(await listed(client)) == sorted([merge, "I own a boat."])
    assert model.prompts[1].text.count("boat") == 1


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
    assert told == f"m1 2026-01-15 12:00: {TEA}{before}"


async def test_disabled_consolidation_compares_with_no_memory(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], embedder: ScriptedEmbedder
) -> None:
    place(embedder, COFFEE)
    await create_memory(client, TEA)
    request = fact("I like tea", "forget that I like tea", topics=[], forget=True)
    script += [facts(TEA, COFFEE, request)]
    text = f"{TEA} {COFFEE} But forget that I like tea."
    script += [verdicts(verdict("add"), verdict("add", number=1))]
    operation = await run(client, runner, said(text), disableConsolidation=True)
    changed = operation["response"]["generatedMemories"]
    assert [one["action"] for one in changed] == ["CREATED", "CREATED"]
    (unmet,) = operation["metadata"]["unmetForgetRequests"]
    assert "nearest" not in unmet
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
