"""Updates of profiles by a model that answers right: each is carried out, as it was meant.

The twenty were written before they were run.
"""

import json
from collections.abc import Sequence

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, configure, ok
from tests.support.generation import run, said
from tests.support.operations import USER
from tests.support.scripted import written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

TEXTS: Json = {"type": "array", "items": {"type": "string"}}
CUSTOMER: Json = {
    "full_name": {"type": "string"},
    "employer": {"type": "string"},
    "role": {"type": "string", "description": "what the user does there"},
    "newsletter": {"type": "boolean", "description": "gets the newsletter"},
    "diet": {"enum": ["omnivore", "vegetarian", "pescatarian", "vegan"]},
    "foods": {**TEXTS, "description": "what the user eats"},
    "children": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name"],
        },
    },
    "birthday": {"type": "string", "format": "date"},
    "height": {"type": "number", "minimum": 0.5, "maximum": 2.5},
    "budget": {"type": "integer", "minimum": 0},
    "address": {
        "type": "object",
        "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
    },
    "next_checkup": {"type": "string", "format": "date-time"},
}
FIRST: Json = {
    "full_name": "Mia Wolf",
    "employer": "Globex",
    "role": "analyst",
    "newsletter": True,
    "diet": "vegetarian",
    "foods": ["tofu", "eggs"],
    "children": [{"name": "Ana", "age": 6}, {"name": "Bruno", "age": 3}],
    "birthday": "1988-02-03",
    "height": 1.72,
    "budget": 2000,
    "address": {"street": "Main Street 12", "city": "Kiel"},
    "next_checkup": "2026-11-05T09:30:00Z",
}
PATIENT: Json = {
    "nickname": {"type": "string", "maxLength": 20},
    "pronouns": {"type": "string", "enum": ["she", "he", "they"]},
    "languages": TEXTS,
    "pets": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "species": {"type": "string"}},
        },
    },
    "smoker": {"type": "boolean"},
    "weight": {"type": "number"},
    "shoe_size": {"type": "integer", "minimum": 15, "maximum": 60},
    "timezone": {"type": "string"},
    "anniversary": {"type": "string", "format": "date"},
    "medication": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"drug": {"type": "string"}, "dose": {"type": "string"}},
            "required": ["drug"],
        },
    },
    "tone": {"enum": ["formal", "casual"]},
    "emergency": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "phone": {"type": "string"}},
    },
}
SECOND: Json = {
    "nickname": "Joanna",
    "pronouns": "she",
    "languages": ["Spanish", "German", "English"],
    "pets": [{"name": "Rex", "species": "dog"}],
    "smoker": True,
    "weight": 74.0,
    "shoe_size": 42,
    "timezone": "Europe/Berlin",
    "anniversary": "2014-05-04",
    "medication": [
        {"drug": "metformin", "dose": "500 mg"},
        {"drug": "ibuprofen", "dose": "400 mg"},
    ],
    "tone": "formal",
    "emergency": {"name": "Eva", "phone": "+49 30 5550199"},
}


def to(name: str, value: object, action: str = "set", item: str = "") -> Json:
    """Return a model's answer about a field, without its quote."""
    text = value if isinstance(value, str) else json.dumps(value)
    return {"field": name, "value": text, "action": action, "item": item}


def clear(name: str) -> Json:
    return to(name, "", "clear")


Update = tuple[str, Sequence[Json], Json]
"""What is said, the model's answers, and what the profile then has in place of what it had."""
TEN: list[Update] = [
    ("And please take me off the newsletter.", [to("newsletter", False)], {"newsletter": False}),
    (
        "And I eat fish these days.",
        [to("foods", "fish", "add"), to("diet", "pescatarian")],
        {"foods": ["tofu", "eggs", "fish"], "diet": "pescatarian"},
    ),
    (
        "I left Globex last week, no new job yet.",
        [clear("employer"), clear("role")],
        {"employer": None, "role": None},
    ),
    (
        "Ana turned seven yesterday.",
        [to("children", {"age": 7}, "change", "Ana")],
        {"children": [{"name": "Ana", "age": 7}, {"name": "Bruno", "age": 3}]},
    ),
    (
        "We're at Elm Road 5 in Hamburg since May.",
        [to("address", {"street": "Elm Road 5", "city": "Hamburg"})],
        {"address": {"street": "Elm Road 5", "city": "Hamburg"}},
    ),
    (
        "I can't stand tofu any more.",
        [to("foods", "", "remove", "tofu")],
        {"foods": ["eggs", "fish"]},
    ),
    ("You can go up to 2.5k for the trip.", [to("budget", "2500")], {"budget": 2500}),
    (
        "Cleo was born on Sunday!",
        [to("children", {"name": "Cleo"}, "add")],
        {
            "children": [
                {"name": "Ana", "age": 7},
                {"name": "Bruno", "age": 3},
                {"name": "Cleo"},
            ]
        },
    ),
    (
        "I go by Mia Sander since the wedding.",
        [to("full_name", "Mia Sander")],
        {"full_name": "Mia Sander"},
    ),
    (
        "Push my checkup to 12 November at 4 pm.",
        [to("next_checkup", "2026-11-12T16:00:00Z")],
        {"next_checkup": "2026-11-12T16:00:00Z"},
    ),
]
TWENTY: list[Update] = [
    ("Call me Jo from now on.", [to("nickname", "Jo")], {"nickname": "Jo"}),
    ("Use they/them for me.", [to("pronouns", "they")], {"pronouns": "they"}),
    (
        "I speak Dutch now, too.",
        [to("languages", "Dutch", "add")],
        {"languages": ["Spanish", "German", "English", "Dutch"]},
    ),
    (
        "My Spanish is gone, strike it.",
        [to("languages", "", "remove", "Spanish")],
        {"languages": ["German", "English", "Dutch"]},
    ),
    ("Rex died last month.", [to("pets", "", "remove", "Rex")], {"pets": None}),
    (
        "We took in a cat, Minka.",
        [to("pets", {"name": "Minka", "species": "cat"}, "add")],
        {"pets": [{"name": "Minka", "species": "cat"}]},
    ),
    ("Ich rauche nicht mehr.", [to("smoker", False)], {"smoker": False}),
    ("I'm down to 71.5 kilos.", [to("weight", "71.5")], {"weight": 71.5}),
    ("My shoes are forty-three now.", [to("shoe_size", "43")], {"shoe_size": 43}),
    ("We're on Lisbon time now.", [to("timezone", "Europe/Lisbon")], {"timezone": "Europe/Lisbon"}),
    (
        "Our wedding day was 3 May 2014, not the 4th.",
        [to("anniversary", "2014-05-03")],
        {"anniversary": "2014-05-03"},
    ),
    (
        "The doctor put my metformin up to 850 mg.",
        [to("medication", {"dose": "850 mg"}, "change", "metformin")],
        {
            "medication": [
                {"drug": "metformin", "dose": "850 mg"},
                {"drug": "ibuprofen", "dose": "400 mg"},
            ]
        },
    ),
    (
        "No more ibuprofen for me.",
        [to("medication", "", "remove", "ibuprofen")],
        {"medication": [{"drug": "metformin", "dose": "850 mg"}]},
    ),
    (
        "And 20 mg of omeprazole in the morning.",
        [to("medication", {"drug": "omeprazole", "dose": "20 mg"}, "add")],
        {
            "medication": [
                {"drug": "metformin", "dose": "850 mg"},
                {"drug": "omeprazole", "dose": "20 mg"},
            ]
        },
    ),
    ("You can drop the formalities.", [to("tone", "casual")], {"tone": "casual"}),
    (
        "If anything happens, call Tom, +49 30 5550142.",
        [to("emergency", {"name": "Tom", "phone": "+49 30 5550142"})],
        {"emergency": {"name": "Tom", "phone": "+49 30 5550142"}},
    ),
    ("Don't keep an emergency contact for me.", [clear("emergency")], {"emergency": None}),
    (
        "Ya no hablo alemán con nadie, quítalo.",
        [to("languages", "", "remove", "German")],
        {"languages": ["English", "Dutch"]},
    ),
    (
        "Minka heißt jetzt Minki.",
        [to("pets", {"name": "Minki"}, "change", "Minka")],
        {"pets": [{"name": "Minki", "species": "cat"}]},
    ),
    ("Scrap everything about my medication.", [clear("medication")], {"medication": None}),
]


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    """A service whose model writes."""
    return written_by(resources, model)


async def _profile(client: httpx.AsyncClient) -> Json:
    answer = ok(await client.post("/memories:retrieveProfiles", json={"scope": USER}))
    found: Json = answer.get("profiles", {}).get("person", {}).get("profile", {})
    return found


async def _begin(client: httpx.AsyncClient, fields: Json, values: Json) -> None:
    schema = {"type": "object", "properties": fields}
    entry = {"schemaConfigs": [{"id": "person", "schema": schema}]}
    config = {"disableNaturalLanguageMemories": True}
    await configure(client, structuredMemoryConfigs=[entry], customizationConfigs=[config])
    for name, value in values.items():
        content = {"schemaId": "person", "data": {name: value}}
        body = {
            "scope": USER,
            "memoryType": "STRUCTURED_PROFILE",
            "structuredContent": content,
        }
        ok(await client.post("/memories", json=body))
    assert await _profile(client) == values


def _shown(model: ScriptedTextModel) -> Json:
    """Return the present values in the first prompt."""
    lines = model.prompts[0].text.partition("\nFields:\n")[2].partition("\nConversation:\n")[0]
    shown = [line.removeprefix("person.").partition(" = ") for line in lines.splitlines()]
    return {field.partition(" ")[0]: json.loads(value) for field, _, value in shown}


def _reply(text: str, answers: Sequence[Json]) -> Json:
    return {
        "fields": [{"profile": "person", "quote": text, "line": 0, **answer} for answer in answers]
    }


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((CUSTOMER, FIRST, TEN), id="ten"),
        pytest.param((PATIENT, SECOND, TWENTY), id="twenty"),
    ],
)
async def test_each_update_is_carried_out(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    model: ScriptedTextModel,
    case: tuple[Json, Json, list[Update]],
) -> None:
    fields, values, updates = case
    await _begin(client, fields, values)
    expected, wrong = dict(values), []
    for text, answers, changed in updates:
        script += [_reply(text, answers)]
        done = await run(client, runner, said(text))
        expected |= changed
        expected = {name: value for name, value in expected.items() if value is not None}
        found = await _profile(client)
        dropped = done["metadata"].get("droppedFieldCounts", {})
        if found != expected or dropped:
            names = found.keys() | expected.keys()
            wrong += [
                (text, name, found.get(name), expected.get(name), dropped)
                for name in names
                if found.get(name) != expected.get(name)
            ]
    assert wrong == []
    assert len(model.asked) == len(updates)
    assert _shown(model) == values


async def test_each_refusal_is_told_by_field(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    await _begin(client, CUSTOMER, FIRST)
    text = "I like tea."
    told: dict[tuple[str, str | None], Json] = {
        ("shoe_size", "UNKNOWN_FIELD"): to("shoe_size", "43"),
        ("diet", "BAD_VALUE"): to("diet", "carnivore"),
        ("birthday", "BAD_VALUE"): to("birthday", "in May"),
        ("height", "BAD_VALUE"): to("height", "3.1"),
        ("children", "BAD_VALUE"): to("children", {"age": "old"}, "change", "Ana"),
        ("budget", "FOREIGN_NUMBER"): to("budget", "4400"),
        ("next_checkup", "FOREIGN_DATE"): to("next_checkup", "2031-07-09T00:00:00Z"),
        ("foods", "NOT_PRESENT"): to("foods", "", "remove", "meat"),
        ("role", "NO_QUOTE"): {**to("role", "chef"), "quote": "I cook"},
        **{(name, "TOO_MANY_DELETES"): clear(name) for name in ("address", "height")},
        **{
            (name, None): clear(name)
            for name in ("full_name", "employer", "newsletter", "diet", "birthday")
        },
    }
    answers = sorted(told.items(), key=lambda entry: entry[0][1] or "")
    script += [_reply(text, [answer for _, answer in answers])] * 2
    preview = await run(client, runner, said(text), validateOnly=True)
    dropped = preview["response"]["droppedFields"]
    assert {(one["field"], one["reason"]) for one in dropped} == {
        name for name in told if name[1] is not None
    }
    assert {one["schemaId"] for one in dropped} == {"person"}
    assert {one["quote"] for one in dropped} == {text, "I cook"}
    assert await _profile(client) == FIRST
    done = await run(client, runner, said(text))
    counts = {
        "BAD_VALUE": 4,
        "FOREIGN_DATE": 1,
        "FOREIGN_NUMBER": 1,
        "NOT_PRESENT": 1,
        "NO_QUOTE": 1,
        "TOO_MANY_DELETES": 2,
        "UNKNOWN_FIELD": 1,
    }
    assert done["metadata"]["droppedFieldCounts"] == counts
    assert preview["metadata"]["droppedFieldCounts"] == counts


def _fields(*values: Json) -> str:
    text = "I work for Initech and no longer eat eggs."
    return json.dumps(_reply(text, values))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f"{_fields(to('employer', 'Globe'))}\n{_fields(to('employer', 'Initech'))}", {}),
        (_fields(to("employer", "Globe"), to("employer", "Initech")), {}),
        (f"{_fields(to('employer', 'Initech'))}\n{_fields()}", {}),
        (_fields({**to("employer", "Initech"), "action": "UPDATE"}), {}),
        (_fields({**to("employer", "Initech"), "line": "0", "item": None}), {}),
        (_fields(to("employer", "Initech"), {"profile": None}), {"UNREADABLE": 1}),
        (_fields({"action": "ponder"}, to("employer", "Initech")), {"UNREADABLE": 1}),
    ],
)
async def test_a_weak_model_keeps_profiles_too(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], reply: str, expected: Json
) -> None:
    await _begin(client, CUSTOMER, {"employer": "Globex"})
    script.append(reply)

    operation = await run(client, runner, said("I work for Initech and no longer eat eggs."))

    assert await _profile(client) == {"employer": "Initech"}
    assert operation["metadata"].get("droppedFactCounts", {}) == expected
