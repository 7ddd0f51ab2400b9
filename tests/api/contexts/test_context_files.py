"""Files in sessions: what is not shown of them does not count, and is not read."""

from typing import Any

import httpx
import psycopg
import pytest

from app.adapters.db.session import Database
from app.conversation.summaries.services import material
from app.kernel.names import EngineName, SessionName
from app.platform.sessions.logic.event_text import EventNumbers
from app.platform.sessions.store import event_texts
from tests.support.bank import ENGINE, Json
from tests.support.contexts import context, ranges, said, talk
from tests.support.sessions import create_session, new_path

_DATA = "aGkh" * 500


def _image(text: str, **fields: Any) -> Json:
    file = {"inlineData": {"mimeType": "image/png", "data": _DATA}}
    return said("user", "", content={"role": "user", "parts": [{"text": text}, file]}, **fields)


async def test_a_session_with_many_files_has_a_context_of_what_is_shown(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material, "MAX_BYTES", 6_000)
    monkeypatch.setattr(material, "PAGE", 2)
    path = await new_path(client)
    await talk(
        client, path, [one for n in range(8) for one in (_image(f"{n}"), said("agent", "ok"))]
    )
    for form in ("messages", "openai", "text"):
        found = await context(client, path, format=form)
        assert ranges(found["coverage"]["verbatim"]) == [(1, 16)]
    policy = {"strategy": "window", "tokenLimit": 100_000}
    assert ranges((await context(client, path, policy=policy))["coverage"]["verbatim"]) == [(1, 16)]
    # Where they are shown, they count.
    shown = await context(client, path, policy=policy, format="gemini")
    assert shown["coverage"]["omitted"] != []
    assert shown["contents"][-2]["parts"][1]["inlineData"]["data"] == _DATA


async def test_what_is_passed_over_is_bounded_as_well(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material, "MAX_STORED_BYTES", 6_000)
    monkeypatch.setattr(material, "PAGE", 2)
    path = await new_path(client)
    await talk(client, path, [_image(f"{n}") for n in range(8)])
    found = await context(client, path, policy={"strategy": "window"})
    assert ranges(found["coverage"]["omitted"]) == [(1, 4)]


async def test_without_its_file_an_event_is_as_it_was_sent(
    client: httpx.AsyncClient, database: Database
) -> None:
    await create_session(client, "s")
    call = {"functionCall": {"name": "f", "args": {"b": -0.0, "a": 1e308, "data": "QQ=="}}}
    parts = [
        {"text": 'One\n"inlineData"'},
        {"inlineData": {"mimeType": "image/png", "data": _DATA, "displayName": "x"}},
        {"inlineData": {"mimeType": "image/png"}, "videoMetadata": {"fps": 1.0}},
        call,
    ]
    await talk(client, "/sessions/s", [said("user", "", content={"role": "user", "parts": parts})])
    await talk(client, "/sessions/s", [said("user", "", content={"parts": []})])
    name = SessionName(EngineName.parse(ENGINE.removesuffix("/")), "s")
    async with database.snapshot() as session:
        bare, empty = await event_texts.list_event_texts(
            session, name, EventNumbers(1, 2), 10, newest=False
        )
        whole, _ = await event_texts.list_event_texts(
            session, name, EventNumbers(1, 2), 10, newest=False, with_files=True
        )
    assert whole.content is not None
    assert bare.content is not None
    assert whole.content["parts"][1]["inlineData"]["data"] == _DATA
    assert (bare.text, bare.speaker) == (whole.text, whole.speaker)
    without = [*parts]
    without[1] = {"inlineData": {"mimeType": "image/png", "displayName": "x"}}
    assert repr(bare.content["parts"]) == repr(without)
    assert bare.size_bytes < 500 < whole.size_bytes == bare.stored_bytes
    assert empty.text == ""


async def test_a_file_beside_text_that_no_column_can_hold_is_read_with_it(
    client: httpx.AsyncClient, database_url: str
) -> None:
    path = await new_path(client)
    await talk(client, path, [_image("tea"), _image("c")])
    statement = rb"""
        update session_events set content = replace(content::text, 'tea', 'tea\u0000')::json
        where seq = 1"""
    with psycopg.connect(database_url) as connection:
        connection.execute(statement)
    first, second = (await context(client, path))["messages"]
    assert first["content"].startswith("tea")
    assert second["content"] == "c\n[file image/png]"
