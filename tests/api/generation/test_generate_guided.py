"""What a bank's configuration and a request tell a model, and what they keep of its answers."""

from datetime import timedelta

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, configure, history, listed, ok
from tests.support.generation import events, given, run, said
from tests.support.operations import path_of
from tests.support.scripted import fact, facts, field, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

TEA = "I like tea."
DRINKS = {"label": "drinks", "description": "what the user drinks"}
MANAGED = {"managed_memory_topic": {"managed_topic_enum": "USER_PREFERENCES"}}
PERSON = {
    "type": "object",
    "properties": {"employer": {"type": "string", "description": "where the user works"}},
}
PROFILE = {"schemaConfigs": [{"id": "person", "schema": PERSON}]}


@pytest.fixture
def other() -> ScriptedTextModel:
    """Another model, which banks can ask for by name."""
    return ScriptedTextModel([facts(TEA)], model_id="scripted:other")


@pytest.fixture
def resources(
    resources: Resources, model: ScriptedTextModel, other: ScriptedTextModel
) -> Resources:
    return written_by(resources, model, **{"gemini-x": other})


async def _customize(client: httpx.AsyncClient, **config: object) -> None:
    await configure(client, customizationConfigs=[config])


async def test_topics_are_told_and_only_they_are_kept(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    await _customize(client, memoryTopics=[{"custom_memory_topic": DRINKS}])
    chess = fact("I play chess.", topics=["USER_PREFERENCES"])
    script += [facts(fact(TEA, topics=["Drinks"]), chess)]
    operation = await run(client, runner, said(f"{TEA} I play chess."))
    told = model.prompts[0].instructions
    assert "drinks: what the user drinks" in told
    assert "USER_PREFERENCES" not in told
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert memory["topics"] == [{"customMemoryTopicLabel": "drinks"}]
    assert operation["metadata"]["offTopicFactCount"] == 1


async def test_a_request_narrows_the_topics(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    await _customize(client, memoryTopics=[{"custom_memory_topic": DRINKS}, MANAGED])
    script += [facts(fact(TEA, topics=["USER_PREFERENCES", "drinks"]))]
    allowed = [{"custom_memory_topic_label": "drinks"}]
    await run(client, runner, said(TEA), allowedTopics=allowed)
    assert "USER_PREFERENCES" not in model.prompts[0].instructions
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert memory["topics"] == [{"customMemoryTopicLabel": "drinks"}]


async def test_without_a_topic_left_nothing_is_asked(
    client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel
) -> None:
    await _customize(client, memoryTopics=[MANAGED])
    allowed = [{"custom_memory_topic_label": "drinks"}]
    operation = await run(client, runner, said(TEA), allowedTopics=allowed)
    assert operation["metadata"]["modelCallCount"] == 0
    assert model.asked == []
    # Given facts skip extraction, and with it the topics.
    await run(client, runner, given(TEA), allowedTopics=allowed)
    assert await listed(client) == [TEA]


async def test_examples_are_told_also_those_of_nothing(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    def example(text: str, *memories: str) -> Json:
        turn = {"content": {"role": "user", "parts": [{"text": text}]}}
        generated = [{"fact": memory} for memory in memories]
        return {"conversationSource": {"events": [turn]}, "generatedMemories": generated}

    examples = [example("I take the red one.", "I prefer red."), example("How are you?")]
    await _customize(client, generateMemoriesExamples=examples)
    script += [facts()]
    await run(client, runner, said(TEA))
    told = model.prompts[0].instructions.splitlines()
    assert "Example: I take the red one. => I prefer red." in told
    assert "Example: How are you? => nothing" in told


@pytest.mark.parametrize("third", [True, False])
async def test_the_person_is_the_bank_s(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    model: ScriptedTextModel,
    *,
    third: bool,
) -> None:
    await _customize(client, enableThirdPersonMemories=third)
    written = "The user likes tea." if third else TEA
    script += [facts(fact(written, TEA))]
    await run(client, runner, said(TEA))
    assert ("third person" in model.prompts[0].instructions) is third
    assert await listed(client) == [written]


async def test_dates_are_those_of_the_time_zone(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    turn = {**events({"parts": [{"text": "I was ill yesterday."}]})}
    turn["directContentsSource"]["events"][0]["eventTime"] = "2026-01-09T23:30:00Z"
    for zone, day, weekday in (("UTC", "09", "Fri"), ("Europe/Berlin", "10", "Sat")):
        script += [facts("I was ill yesterday.")]
        await run(client, runner, turn, scope={"zone": zone.lower()}, timeZone=zone)
        lines = model.prompts[-1].text.splitlines()
        assert lines == [
            f"Today: 2026-01-{day} {weekday}",
            f"0 U 2026-01-{day} {weekday}: I was ill yesterday.",
        ]
    # What the model leaves relative is resolved in the same way.
    assert sorted(await listed(client)) == [
        "I was ill yesterday (2026-01-08).",
        "I was ill yesterday (2026-01-09).",
    ]


async def test_without_memories_in_words_there_are_only_fields(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    config = {"disableNaturalLanguageMemories": True}
    await configure(client, customizationConfigs=[config], structuredMemoryConfigs=[PROFILE])
    script += [{"fields": [field("person", "employer", "Initech", "at Initech")]}]
    await run(client, runner, said("I work at Initech."))
    (prompt,) = model.prompts
    assert "person.employer (string): where the user works" in prompt.text
    assert "facts:" not in prompt.instructions
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert memory["structuredContent"]["data"] == {"employer": "Initech"}
    assert "fact" not in memory


async def test_without_memories_in_words_and_fields_nothing_is_asked(
    client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel
) -> None:
    await _customize(client, disableNaturalLanguageMemories=True)
    for source in (said(TEA), given(TEA)):
        operation = await run(client, runner, source)
        assert operation["response"].keys() == {"@type"}
    assert model.asked == []
    assert await listed(client) == []


@pytest.mark.parametrize(
    "name", ["gemini-x", "projects/p/locations/l/publishers/google/models/gemini-x"]
)
async def test_a_bank_chooses_its_model(
    client: httpx.AsyncClient, runner: Runner, other: ScriptedTextModel, name: str
) -> None:
    await configure(client, generationConfig={"model": name})
    operation = await run(client, runner, said(TEA))
    assert operation["metadata"]["author"] == operation["response"]["author"] == "scripted:other"
    (memory,) = ok(await client.get("/memories"))["memories"]
    (revision,) = await history(client, path_of(memory["name"]))
    assert (revision["author"], revision["promptVersion"]) == ("scripted:other", "4")
    assert len(other.asked) == 1


async def test_a_name_that_is_not_known_means_the_default(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    await configure(client, generationConfig={"model": "gemini-y"})
    script += [facts(TEA)]
    assert (await run(client, runner, said(TEA)))["metadata"]["author"] == "scripted:1"


async def test_a_second_generate_of_the_same_adds_nothing(
    client: httpx.AsyncClient, clock: FixedClock, runner: Runner, script: list[Reply]
) -> None:
    script += [facts(TEA), facts(fact("I like  TEA!", TEA))]
    await run(client, runner, said(TEA))
    clock.advance(timedelta(minutes=1))
    operation = await run(client, runner, said(TEA))
    (change,) = operation["response"]["generatedMemories"]
    assert change["action"] == "UPDATED"
    assert operation["metadata"]["modelCallCount"] == 1
    assert len(await listed(client)) == 1


async def test_rules_say_so_too(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    # Given facts need no model as long as the scope has nothing to compare them with.
    operation = await run(client, runner, given(TEA))
    assert operation["metadata"]["author"] == operation["response"]["author"] == "builtin-rules/3"
    assert "promptVersion" not in operation["metadata"]
    (change,) = operation["response"]["generatedMemories"]
    (revision,) = await history(client, path_of(change["memory"]["name"]))
    assert revision["author"] == "builtin-rules/3"
    assert "promptVersion" not in revision
    assert script == []
