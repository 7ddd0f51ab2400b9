"""What was said when, and by whom: each case in several words, languages and sources."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from zlib import crc32

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import ENGINE, Json, listed, ok, wire
from tests.support.generation import run
from tests.support.ingestion import ended, event, ingest, rule
from tests.support.obedient_model import obedient_model
from tests.support.operations import path_of
from tests.support.scripted import written_by
from tests.support.sessions import append, new_path

EARLY, LATE = datetime(2024, 1, 5, 10, tzinfo=UTC), datetime(2025, 11, 20, 10, tzinfo=UTC)
"""Both before the clock of the tests."""
Said = tuple[str, datetime | None]
Send = Callable[[httpx.AsyncClient, Runner, list[Said]], Awaitable[object]]


def _events(said: list[Said]) -> list[Json]:
    return [event(text, time=None if at is None else at.isoformat()) for text, at in said]


async def _direct(client: httpx.AsyncClient, runner: Runner, said: list[Said]) -> None:
    await run(client, runner, {"directContentsSource": {"events": _events(said)}})


async def _session(client: httpx.AsyncClient, runner: Runner, said: list[Said]) -> None:
    path = await new_path(client)
    for text, at in said:
        await append(client, path, text, **({} if at is None else {"timestamp": at.isoformat()}))
    await run(client, runner, {"vertexSessionSource": {"session": f"{ENGINE}{path}"}})


async def _stream(client: httpx.AsyncClient, runner: Runner, said: list[Said]) -> None:
    await ended(client, runner, await ingest(client, *_events(said), **rule(event_count=1)))


SOURCES: list[Send] = [_direct, _session, _stream]
PAIRS = [
    ("I live in Oslo.", "I live in Bergen now."),
    ("I work as a nurse.", "I work as a teacher."),
    ("My favourite colour is blue.", "My favourite colour is green."),
    ("My phone number is 555 0101.", "My phone number is 555 0199."),
    ("I am married.", "I am divorced."),
    ("I am 30 years old.", "I am 31 years old."),
    ("Ich wohne in Kiel.", "Ich wohne jetzt in Bonn."),
    ("Vivo en Lima.", "Ahora vivo en Quito."),
    ("J'habite à Lyon.", "J'habite à Nice maintenant."),
    ("Ich arbeite als Koch.", "Ich arbeite als Lehrer."),
    ("Trabajo como cocinero.", "Trabajo como profesor."),
    ("Je travaille comme infirmier.", "Je travaille comme professeur."),
    ("Meine Lieblingsfarbe ist Blau.", "Meine Lieblingsfarbe ist Rot."),
    ("Ich bin 40 Jahre alt.", "Ich bin 41 Jahre alt."),
    ("Ich bin verheiratet.", "Ich bin geschieden."),
    ("My shoe size is 42.", "My shoe size is 43."),
    ("My favourite food is sushi.", "My favourite food is ramen."),
    ("My boss is called Ann.", "My boss is called Bob."),
    ("I am vegetarian.", "I am vegan."),
    ("My name is Ann Lee.", "My name is Ann Kim."),
]
"""Two versions of one statement, the older one first."""
BY_MEANING = [
    ("I drive a Volvo.", "I drive a Tesla now."),
    ("My email address is a@example.com.", "My email address is b@example.com."),
]
"""Pairs of which the rules keep both, in whatever order: one may have two of these."""
READ_PAIRS = [
    *(("rules", *pair) for pair in PAIRS),
    *(("model", *pair) for pair in (*PAIRS, *BY_MEANING)),
]
OF_PAIRS = pytest.mark.parametrize(("reader", "older", "later"), READ_PAIRS, indirect=["reader"])


@pytest.fixture(params=["rules", "model"])
def reader(request: pytest.FixtureRequest, resources: Resources) -> Runner:
    """A worker that reads by rules, or with a model that follows its prompts to the letter."""
    model = obedient_model() if request.param == "model" else None
    return make_runner(written_by(resources, model))


@pytest.fixture
def send(request: pytest.FixtureRequest) -> Send:
    """One of the three sources, by a digest of the case's name; each test meets all three."""
    return SOURCES[crc32(request.node.name.encode()) % len(SOURCES)]


@OF_PAIRS
async def test_an_older_statement_that_is_read_later_changes_nothing(
    client: httpx.AsyncClient, reader: Runner, send: Send, older: str, later: str
) -> None:
    await send(client, reader, [(later, LATE)])
    stored = await listed(client)
    assert len(stored) == 1
    await send(client, reader, [(older, EARLY)])
    assert await listed(client) == stored
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert memory["eventTime"] == wire(LATE)


@OF_PAIRS
async def test_statements_out_of_order_in_one_request_are_taken_in_the_order_of_their_times(
    client: httpx.AsyncClient, reader: Runner, send: Send, older: str, later: str
) -> None:
    await send(client, reader, [(later, LATE), (older, EARLY)])
    stored = await listed(client)
    assert len(stored) == 1
    await send(client, reader, [(later, datetime(2026, 1, 1, tzinfo=UTC))])
    assert await listed(client) == stored


@OF_PAIRS
async def test_a_statement_that_is_read_in_order_replaces_the_older_one(
    client: httpx.AsyncClient, reader: Runner, older: str, later: str
) -> None:
    for text, at in ((older, EARLY), (later, LATE)):
        await _direct(client, reader, [(text, at)])
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert (memory["fact"] == older, memory["eventTime"]) == (False, wire(LATE))


@pytest.mark.parametrize(
    ("thing", "request_"),
    [
        ("I like green tea.", "Please forget that I like green tea."),
        ("My dog is called Rex.", "Forget that my dog is called Rex."),
        ("Ich wohne in Kiel.", "Bitte vergiss, dass ich in Kiel wohne."),
        ("Vivo en Lima.", "Olvida que vivo en Lima."),
    ],
)
async def test_a_request_to_forget_reaches_what_was_said_before_it_in_whatever_order(
    client: httpx.AsyncClient, reader: Runner, send: Send, thing: str, request_: str
) -> None:
    await send(client, reader, [(thing, LATE)])
    await send(client, reader, [(request_, EARLY)])
    assert await listed(client) == [thing]
    forgotten = datetime(2025, 12, 1, 10, tzinfo=UTC)
    await send(client, reader, [(request_, forgotten)])
    assert await listed(client) == []
    await send(client, reader, [(thing, datetime(2025, 6, 1, 10, tzinfo=UTC))])
    assert await listed(client) == []
    await send(client, reader, [(thing, datetime(2026, 1, 2, 10, tzinfo=UTC))])
    assert await listed(client) == [thing]


@pytest.mark.parametrize(
    ("said", "corrected"),
    [
        ("I play the cello.", "I play the viola."),
        ("My dog is called Rex.", "My dog is called Max."),
        ("Ich trinke gern Tee.", "Ich trinke gern Kaffee."),
        ("Toco el piano.", "Toco la guitarra."),
    ],
)
async def test_an_older_talk_does_not_bring_back_what_was_corrected_or_deleted_by_hand(
    client: httpx.AsyncClient, reader: Runner, send: Send, said: str, corrected: str
) -> None:
    await send(client, reader, [(said, LATE)])
    (memory,) = ok(await client.get("/memories"))["memories"]
    path = path_of(memory["name"])
    ok(await client.patch(path, json={"fact": corrected}))
    await send(client, reader, [(said, EARLY)])
    assert await listed(client) == [corrected]
    ok(await client.delete(path))
    await send(client, reader, [(corrected, EARLY)])
    assert await listed(client) == []
    await send(client, reader, [(said, None)])
    assert await listed(client) == [said]


VISITS = {
    "I saw the dentist today.": "I saw the dentist",
    "Today I sold my car.": "I sold my car",
    "Ich war heute beim Zahnarzt.": "Zahnarzt",
    "Hoy vendí mi coche.": "coche",
}


@pytest.mark.parametrize("text", VISITS)
async def test_today_is_the_day_on_the_speakers_clock(
    client: httpx.AsyncClient, reader: Runner, send: Send, text: str
) -> None:
    evening = datetime(2025, 11, 26, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    await send(client, reader, [(text, evening)])
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert VISITS[text] in memory["fact"]
    assert "2025-11-26" in memory["fact"]
    assert memory["eventTime"] == "2025-11-27T04:30:00Z"


RECALLED = [
    "Relevant memories:\n- {old}\n- I hate coriander.\n\nUser message: {new}",
    "What you know of the user:\n- {old}\n\nUser message: {new}",
    "What you know of the user:\n{old}\nI hate coriander.\n\n{new}",
    "What you know of the user: {old} I hate coriander.\n\n{new}",
    "User memories:\n1. {old}\n2. I hate coriander.\n\nQuestion: {new}",
    'Memories:\n[{{"fact": "{old}"}}, {{"fact": "I hate coriander."}}]\n\n{new}',
    "Context from earlier conversations:\n* {old}\n* I hate coriander.\n\nUser: {new}",
    "Erinnerungen:\n* {old}\n* Ich hasse Koriander.\n\nFrage: {new}",
    "Recuerdos del usuario:\n- {old}\n- Odio el cilantro.\n\nMensaje: {new}",
    "Souvenirs de l'utilisateur :\n- {old}\n- Je déteste la coriandre.\n\nMessage : {new}",
    "## Memory\n{old}\nI hate coriander.\n\n## User\n{new}",
    "User message: {new}\n\nRelevant memories:\n- {old}\n- I hate coriander.",
    '[{{"memory": "{old}"}}, {{"memory": "I hate coriander."}}] {new}',
    "<memories>\n{old}\nI hate coriander.\n</memories>\n{new}",
    "<user_memories>\n{old}\nI hate coriander.\n</user_memories>\n{new}",
    "| Memory | Since |\n|---|---|\n| {old} | 2024 |\n| I hate coriander. | 2025 |\n\n{new}",
    "About the user:\n| # | Fact |\n| - | - |\n| 1 | {old} |\n\nQuestion: {new}",
    "What should I cook, given what you know of me ({old})? {new}",
    "Please help me [from my profile: {old}]. {new}",
    "<PAST_CONVERSATIONS>\n{old}\n</PAST_CONVERSATIONS>\n{new}",
]


@pytest.mark.parametrize("layout", RECALLED)
async def test_recalled_memories_in_a_prompt_change_nothing(
    client: httpx.AsyncClient, reader: Runner, send: Send, layout: str
) -> None:
    for text, at in (("I live in Oslo.", EARLY), ("I live in Bergen now.", LATE)):
        await send(client, reader, [(text, at)])
    stored = await listed(client)
    prompt = layout.format(old="I live in Oslo.", new="My dog is called Rex.")
    await send(client, reader, [(prompt, None)])
    assert sorted(await listed(client)) == sorted([*stored, "My dog is called Rex."])


@pytest.mark.parametrize(
    ("parts", "fact"),
    [
        (["I live in ", "Oslo."], "I live in Oslo."),
        (["I live in", "Oslo."], "I live in Oslo."),
        (["My dog is called", " Rex."], "My dog is called Rex."),
        (["I am allergic to pea", "nuts."], "I am allergic to peanuts."),
        (["I spent 3.", "50 euros at the bakery."], "I spent 3.50 euros at the bakery."),
        (["I get up at 6:", "30 every day."], "I get up at 6:30 every day."),
        (["I owe Tim 1,", "50 euros."], "I owe Tim 1,50 euros."),
        (["I work", " as a", " nurse", "."], "I work as a nurse."),
        (["Ich wohne in K", "iel."], "Ich wohne in Kiel."),
        (["Vivo ", "en Lima", "."], "Vivo en Lima."),
    ],
)
async def test_parts_of_one_event_are_one_sentence(
    client: httpx.AsyncClient, reader: Runner, parts: list[str], fact: str
) -> None:
    content = {"role": "user", "parts": [{"text": part} for part in parts]}
    await run(client, reader, {"directContentsSource": {"events": [{"content": content}]}})
    assert await listed(client) == [fact]
    path = await new_path(client)
    await append(client, path, content=content)
    source = {"vertexSessionSource": {"session": f"{ENGINE}{path}"}}
    await run(client, reader, source, scope={"user_id": "43"})
    assert await listed(client) == [fact, fact]


@pytest.mark.parametrize(
    "text",
    [
        "<div>I live in Oslo</div> is my HTML, why does it not center?",
        "SELECT 'I live in Oslo'; -- why does this fail",
        "    I live in Oslo.\n    I like tea.",
        "<p>Ich wohne in Kiel.</p>\n<ul>\n</ul>",
        "UPDATE users SET home = 'I live in Oslo.' WHERE id = 4;",
        'home = "I live in Oslo."\nprint(home)\nWhy does it print nothing?',
        '{\n  "city": "Vivo en Lima.",\n  "drink": "I like tea."\n}\nWhat is wrong with it?',
        "2026-01-01 10:00:00 INFO user: I live in Oslo.\n2026-01-01 10:00:01 INFO user: bye",
    ],
)
async def test_pasted_code_is_not_the_users_word(
    client: httpx.AsyncClient, reader: Runner, send: Send, text: str
) -> None:
    await send(client, reader, [(text, None)])
    assert await listed(client) == []
