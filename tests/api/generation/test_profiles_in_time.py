"""Fields of profiles in time: what was said later wins, and what was read changes nothing again."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import httpx
import pytest
from typing_extensions import override

from app.adapters.llm.ports import Meter, OutputT, Prompt
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import Json, history, ok
from tests.support.generation import run, said
from tests.support.operations import USER, path_of
from tests.support.profiles import keep_profiles, profile_of
from tests.support.scripted import field, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

EARLY, LATE, LATEST = "2024-01-05T10:00:00Z", "2025-11-20T10:00:00Z", "2025-12-24T10:00:00Z"
CARD = "4111 1111 1111 1111"
KIDS: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
    },
}
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "note": {"type": "string"},
        "pets": {"type": "array", "items": {"type": "string"}},
        "kids": KIDS,
    },
}


class MeddledModel(ScriptedTextModel):
    """Lets something else happen after it was asked, once."""

    meddling: Callable[[], Awaitable[object]] | None = None

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        found = await super().ask(prompt, output, meter)
        act, self.meddling = self.meddling, None
        if act is not None:
            await act()
        return found


@pytest.fixture
def model(script: list[Reply]) -> MeddledModel:
    return MeddledModel(script)


@pytest.fixture
def scripted(resources: Resources, model: MeddledModel) -> Runner:
    return make_runner(written_by(resources, model))


@pytest.fixture(autouse=True)
async def _profile(client: httpx.AsyncClient) -> None:
    await keep_profiles(client, SCHEMA)


def spoken(text: str, time: str) -> Json:
    """Return a source of one turn of a user at a time."""
    event = {"content": {"role": "user", "parts": [{"text": text}]}, "eventTime": time}
    return {"directContentsSource": {"events": [event]}}


def reply(text: str, name: str, value: str = "", action: str = "set", item: str = "") -> Json:
    return {"fields": [field("person", name, value, text, action=action, item=item)]}


async def _path(client: httpx.AsyncClient) -> str:
    (memory,) = ok(await client.get("/memories"))["memories"]
    return path_of(memory["name"])


def _data(**data: object) -> Json:
    return {"structuredContent": {"schemaId": "person", "data": data}}


async def _create(client: httpx.AsyncClient, **data: object) -> str:
    body = {"scope": USER, "memoryType": "STRUCTURED_PROFILE", **_data(**data)}
    created = ok(await client.post("/memories", json=body))
    return path_of(created["response"]["name"])


async def test_by_rules_an_older_statement_changes_no_field_and_a_preview_names_the_memory(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, spoken("I live in Bergen now.", LATE))
    asked = spoken("I live in Oslo.", EARLY)
    preview = await run(client, runner, asked, validateOnly=True)
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert preview["response"]["droppedFields"] == [
        {
            "schemaId": "person",
            "field": "city",
            "quote": "I live in Oslo.",
            "reason": "OLDER",
            "memory": {"name": memory["name"]},
        }
    ]
    done = await run(client, runner, asked)
    assert done["metadata"]["droppedFieldCounts"] == {"OLDER": 1}
    assert await profile_of(client) == {"city": "Bergen"}
    assert (await run(client, runner, asked))["metadata"]["knownEventCount"] == 1


@pytest.mark.parametrize(
    ("name", "present", "answer"),
    [
        ("city", "Bergen", reply("As I said.", "city", "Oslo")),
        ("city", "Bergen", reply("As I said.", "city", action="clear")),
        ("pets", ["cat", "dog"], reply("As I said.", "pets", "bird", "add")),
        ("pets", ["cat", "dog"], reply("As I said.", "pets", "", "remove", "cat")),
        (
            "kids",
            [{"name": "Ana"}],
            reply("As I said.", "kids", '{"name": "Anna"}', "change", "Ana"),
        ),
    ],
)
async def test_with_a_model_an_older_statement_changes_no_field(
    client: httpx.AsyncClient,
    scripted: Runner,
    script: list[Reply],
    name: str,
    present: object,
    answer: Json,
) -> None:
    await _create(client, **{name: present})
    script += [answer]
    done = await run(client, scripted, spoken("As I said.", LATE))
    assert done["metadata"]["droppedFieldCounts"] == {"OLDER": 1}
    assert await profile_of(client) == {name: present}


async def test_a_field_set_by_hand_is_newer_than_an_earlier_talk(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, spoken("I live in Oslo.", EARLY))
    ok(await client.patch(await _path(client), json=_data(city="Bergen")))
    done = await run(client, runner, spoken("I live in Rome.", LATE))
    assert done["metadata"]["droppedFieldCounts"] == {"OLDER": 1}
    await run(client, runner, said("I live in Paris."))
    assert await profile_of(client) == {"city": "Paris"}
    (memory,) = ok(await client.get("/memories"))["memories"]
    await run(client, runner, spoken("I live in Rome.", LATEST))
    assert ok(await client.get("/memories"))["memories"] == [memory]


async def test_an_older_statement_fills_no_field_that_was_deleted_later(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, spoken("I live in Oslo.", LATE))
    path = await _path(client)
    ok(await client.delete(path))
    asked = spoken("I live in Rome.", EARLY)
    preview = await run(client, runner, asked, validateOnly=True)
    (dropped,) = preview["response"]["droppedFields"]
    assert (dropped["reason"], path_of(dropped["memory"]["name"])) == ("OLDER", path)
    await run(client, runner, asked)
    assert await profile_of(client) == {}
    await run(client, runner, asked, rereadEvents=True)
    assert await profile_of(client) == {"city": "Rome"}


async def test_a_field_that_was_cleared_is_filled_by_what_was_said_after_that(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply]
) -> None:
    script += [
        reply("Oslo it is.", "city", "Oslo"),
        reply("I left it.", "city", action="clear"),
        reply("As I said.", "city", "Rome"),
        reply("Paris then.", "city", "Paris"),
    ]
    await run(client, scripted, spoken("Oslo it is.", EARLY))
    await run(client, scripted, spoken("I left it.", LATE))
    assert await profile_of(client) == {}
    await run(client, scripted, spoken("As I said.", "2024-06-01T10:00:00Z"))
    assert await profile_of(client) == {}
    await run(client, scripted, spoken("Paris then.", LATEST))
    assert await profile_of(client) == {"city": "Paris"}


async def test_a_value_that_is_said_again_rests_on_the_later_time(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, spoken("I live in Oslo.", EARLY))
    await run(client, runner, spoken("I live in Oslo.", LATEST))
    await run(client, runner, spoken("I live in Rome.", LATE))
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert memory["eventTime"] == LATEST
    assert await profile_of(client) == {"city": "Oslo"}
    await run(client, runner, spoken("I live in Oslo.", LATE))
    assert len(await history(client, await _path(client))) == 2


async def test_a_line_that_was_perhaps_read_creates_no_field_and_changes_none_set_by_hand(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    asked = said("I live in Oslo.")
    await run(client, runner, asked)
    path = await _path(client)
    ok(await client.patch(path, json=_data(city="Bergen")))
    done = await run(client, runner, asked)
    assert done["metadata"]["droppedFieldCounts"] == {"ALREADY_READ": 1}
    assert await profile_of(client) == {"city": "Bergen"}
    ok(await client.delete(path))
    done = await run(client, runner, asked)
    assert done["metadata"]["droppedFieldCounts"] == {"ALREADY_READ": 1}
    assert await profile_of(client) == {}


async def test_a_write_while_the_model_is_asked_is_kept(
    client: httpx.AsyncClient,
    scripted: Runner,
    script: list[Reply],
    model: MeddledModel,
    clock: FixedClock,
) -> None:
    path, _ = await _create(client, city="Oslo"), await _create(client, pets=["cat"])
    text = "Oslo is history, and I have a dog."
    cleared = field("person", "city", "", text, action="clear")
    script += [{"fields": [cleared, field("person", "pets", "dog", text, action="add")]}]

    async def move() -> None:
        clock.advance(timedelta(seconds=1))
        ok(await client.patch(path, json=_data(city="Bergen")))

    model.meddling = move
    done = await run(client, scripted, said(text))
    assert done["metadata"]["modelCallCount"] == 1
    assert done["metadata"]["droppedFieldCounts"] == {"OLDER": 1}
    assert await profile_of(client) == {"city": "Bergen", "pets": ["cat", "dog"]}


async def test_a_model_is_shown_present_values_masked_and_may_name_them_so(
    client: httpx.AsyncClient, scripted: Runner, script: list[Reply], model: MeddledModel
) -> None:
    await _create(client, note="x" * 300, pets=[f"cat {CARD}", "dog"])
    text = "My cat died."
    script += [reply(text, "pets", "", "remove", "cat [PAYMENT_CARD]")]
    await run(client, scripted, said(text))
    (prompt,) = model.prompts
    assert CARD not in prompt.text
    lines = prompt.text.splitlines()
    assert 'person.pets (list of string) = ["cat [PAYMENT_CARD]", "dog"]' in lines
    assert f'person.note (string) = "{"x" * 199}\u2026' in lines
    assert await profile_of(client) == {"note": "x" * 300, "pets": ["dog"]}
