"""Profiles, from a conversation to `retrieveProfiles`: wire specification, section 11."""

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.support.bank import Json, configure, history, ok
from tests.support.generation import changes, run, said
from tests.support.operations import path_of
from tests.support.profiles import keep_profiles, profile_of
from tests.support.scripted import fact, field, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

SCHEMA = {
    "type": "object",
    "properties": {
        "employer": {"type": "string", "description": "where the user works"},
        "age": {"type": "integer"},
        "pets": {"type": "array", "items": {"type": "string"}},
        "tone": {"type": "string", "enum": ["formal", "casual"]},
    },
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"generation_max_deletes": 2})


@pytest.fixture
def scripted(resources: Resources, model: ScriptedTextModel) -> Runner:
    return make_runner(written_by(resources, model))


@pytest.fixture(autouse=True)
async def _profile(client: httpx.AsyncClient) -> None:
    await keep_profiles(client, SCHEMA)


def fields(quote: str, **values: str) -> Json:
    return {"fields": [field("person", name, value, quote) for name, value in values.items()]}


def cleared(name: str, quote: str) -> Json:
    return field("person", name, "", quote, action="clear")


async def test_the_rules_fill_change_and_clear(client: httpx.AsyncClient, runner: Runner) -> None:
    (created,) = await changes(client, runner, said("I work at Initech."))
    assert created["action"] == "CREATED"
    assert await profile_of(client) == {"employer": "Initech"}
    path = path_of(created["memory"]["name"])
    # Nothing new is no change, and no revision.
    assert await changes(client, runner, said("I work at Initech.")) == []
    assert len(await history(client, path)) == 1
    (updated,) = await changes(client, runner, said("I work at Globex now."))
    assert (updated["action"], updated["memory"]) == ("UPDATED", created["memory"])
    assert await profile_of(client) == {"employer": "Globex"}
    (deleted,) = await changes(client, runner, said("Please forget where I work."))
    assert (deleted["action"], deleted["memory"]) == ("DELETED", created["memory"])
    assert await profile_of(client) == {}
    found = await history(client, path)
    assert [one["action"] for one in found] == ["DELETED", "UPDATED", "CREATED"]
    assert {one["author"] for one in found} == {"builtin-rules/3"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "My name is Ann Ray. I am 34 years old. I live in Rome. I work at Acme as a nurse."
                " My email is ann@example.com. My phone number is 555 01234. I'm vegan."
                " I'm allergic to nuts. I speak English and French."
            ),
            {
                "name": "Ann Ray",
                "age": 34,
                "city": "Rome",
                "employer": "Acme",
                "occupation": "nurse",
                "email": "ann@example.com",
                "phone": "555 01234",
                "diet": "vegan",
                "allergies": ["nuts"],
                "languages": ["English", "French"],
            },
        ),
        (
            (
                "My favourite colour is green. My dog's name is Rex. I'm married."
                " My hobbies are chess and golf. My birthday is 3 May 1990."
                " My budget is 500 euros. I prefer a window seat."
            ),
            {},
        ),
        (
            "Ich heiße Jan. Ich wohne in Kiel. Meine Lieblingsfarbe ist grün.",
            {"name": "Jan", "city": "Kiel"},
        ),
    ],
)
async def test_the_rules_fill_what_they_tell_reliably_and_nothing_else(
    client: httpx.AsyncClient, runner: Runner, text: str, expected: Json
) -> None:
    texts = ("name", "city", "employer", "occupation", "email", "phone", "diet", "favouriteColour")
    more = ("dogName", "maritalStatus", "birthday", "seatPreference")
    lists = ("allergies", "languages", "hobbies")
    properties: Json = {
        **{name: {"type": "string"} for name in (*texts, *more)},
        **{name: {"type": "array", "items": {"type": "string"}} for name in lists},
        "age": {"type": "integer"},
        "budget": {"type": "string"},
    }
    schema = {"type": "object", "properties": properties}
    entry = {"schemaConfigs": [{"id": "person", "schema": schema}]}
    config = {"disableNaturalLanguageMemories": True}
    await configure(client, structuredMemoryConfigs=[entry], customizationConfigs=[config])
    await run(client, runner, said(text))
    assert await profile_of(client) == expected


async def test_a_model_fills_changes_and_clears(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    text = "I work at Initech, I am 34, and I have a cat. Be formal, please."
    script += [fields(text, employer="Initech", age="34", pets="cat", tone="Formal")]
    found = await changes(client, scripted, said(text))
    assert [one["action"] for one in found] == ["CREATED"] * 4
    profile = {"employer": "Initech", "age": 34, "pets": ["cat"], "tone": "formal"}
    assert await profile_of(client) == profile
    assert "person.employer (string): where the user works" in model.prompts[0].text
    script += [fields("I have a dog now", pets="dog")]
    (updated,) = await changes(client, scripted, said("I have a dog now."))
    assert updated["action"] == "UPDATED"
    assert (await profile_of(client))["pets"] == ["cat", "dog"]
    script += [{"fields": [cleared("employer", "Forget where I work")]}]
    (deleted,) = await changes(client, scripted, said("Forget where I work."))
    assert deleted["action"] == "DELETED"
    assert (await profile_of(client)).keys() == {"age", "pets", "tone"}
    newest = (await history(client, path_of(updated["memory"]["name"])))[0]
    assert (newest["author"], newest["promptVersion"]) == ("scripted:1", "4")
    assert newest["extractedMemories"] == [
        {"context": "I have a dog now", "structuredData": {"pets": ["dog"]}}
    ]


async def test_what_was_not_said_or_does_not_fit_is_counted(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply]
) -> None:
    text = "I work at Initech."
    wrong = [
        field("person", "employer", "Initech", "I work at Globex"),
        field("person", "age", "old", text),
        field("person", "age", "47", text),
        field("person", "unknown", "x", text),
        field("animal", "employer", "Initech", text),
    ]
    script += [{"fields": wrong}]
    operation = await run(client, scripted, said(text))
    counts = {"BAD_VALUE": 1, "FOREIGN_NUMBER": 1, "NO_QUOTE": 1, "UNKNOWN_FIELD": 2}
    assert operation["metadata"]["droppedFieldCounts"] == counts
    assert await profile_of(client) == {}


async def test_clearing_is_bounded(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply]
) -> None:
    text = "I work at Initech, I am 34 and have a cat."
    script += [fields(text, employer="Initech", age="34", pets="cat")]
    await run(client, scripted, said(text))
    request = "Forget my employer, my age and my pets."
    script += [{"fields": [cleared(name, request) for name in ("employer", "age", "pets")]}]
    found = await run(client, scripted, said(request))
    assert [one["action"] for one in found["response"]["generatedMemories"]] == ["DELETED"] * 2
    assert found["metadata"]["droppedFieldCounts"] == {"TOO_MANY_DELETES": 1}
    assert len(await profile_of(client)) == 1


async def test_facts_and_fields_come_from_one_call(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply], model: ScriptedTextModel
) -> None:
    entry = {"schemaConfigs": [{"id": "person", "schema": SCHEMA}]}
    await configure(client, structuredMemoryConfigs=[entry])
    text = "I work at Initech. I like tea."
    script += [{"facts": [fact("I like tea.")], **fields("I work at Initech", employer="Initech")}]
    operation = await run(client, scripted, said(text))
    assert operation["metadata"]["modelCallCount"] == len(model.asked) == 1
    memories = ok(await client.get("/memories"))["memories"]
    assert {one["memoryType"] for one in memories} == {
        "NATURAL_LANGUAGE_COLLECTION",
        "STRUCTURED_PROFILE",
    }
    names = {one["memory"]["name"] for one in operation["response"]["generatedMemories"]}
    assert names == {one["name"] for one in memories}
