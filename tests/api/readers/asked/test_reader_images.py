"""Images that readers look at: which ones, in which requests, and never with another reader."""

import asyncio
from base64 import b64encode
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.settings.settings import Settings
from app.settings.surface_settings import ReaderModel
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, ok
from tests.support.console import browser, sign_in, submit
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.keys import client_with, make_key
from tests.support.model_server import ModelServer
from tests.support.readers import (
    FACT,
    Gate,
    answered,
    asked,
    kept_in,
    models,
    query,
    readers,
    summarised,
    summarize,
)
from tests.support.tasks import AGENT, MEMORY, NAMESPACE, store, text_output, upload

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0"
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
GIF = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff"
WEBP = b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0"
EYE, SKY, LENS = "eye", "sky", "lens"
"""Readers that take images: one here, one elsewhere, and one here with a short window."""
NONE_READABLE = (400, "INVALID_ARGUMENT", Reason.NO_READABLE_ARTIFACTS)


@pytest.fixture
def settings(settings: Settings, server: ModelServer) -> Settings:
    said: Json = {"base_url": server.url, "reads": ["image/*"]}
    wide = {**said, "max_input_tokens": 100_000}
    takers = {
        EYE: ReaderModel(model="ollama:eye", locality="local", **wide),
        SKY: ReaderModel(model="openai:sky", locality="remote", **wide),
        LENS: ReaderModel(model="openai:lens", locality="local", **said),
    }
    return settings.model_copy(update={"task_readers": {**readers(server), **takers}})


async def picture(client: httpx.AsyncClient, name: str, content: bytes = PNG, **more: Any) -> None:
    ok(await upload(client, content, f"{NAMESPACE}/artifacts/{name}", **more))


def shown(server: ModelServer) -> list[list[str]]:
    """Return the images that the model was shown, request by request."""
    contents = [seen.body["messages"][-1]["content"] for seen in server.seen]
    parts = [content if isinstance(content, list) else [] for content in contents]
    return [[one["image_url"]["url"] for one in each if "image_url" in one] for each in parts]


def told(server: ModelServer) -> list[str]:
    """Return the text before the images, request by request."""
    contents = [seen.body["messages"][-1]["content"] for seen in server.seen]
    return [one if isinstance(one, str) else one[0]["text"] for one in contents]


def url(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


async def test_an_answer_rests_on_images_by_what_their_bytes_are(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    kinds = {"a.bin": JPEG, "b": GIF, "c.txt": WEBP, "d.png": PNG}
    await picture(client, "a.bin", JPEG)
    await picture(client, "b", GIF, media_type="application/pdf")
    await picture(client, "c.txt", WEBP, media_type="text/plain")
    await picture(client, "d.png", PNG, media_type="image/jpeg")
    await picture(client, "e.png", b"\x00\x01 no image", media_type="image/png")
    server.will(answered("A kettle.", 3, 1))
    found = ok(await query(client))
    assert found["model"] == EYE
    assert found["answer"] == "A kettle."
    place = {"chunk": 0, "start": 0, "end": 0, "page": 1}
    assert found["citations"] == [{"artifact": "a.bin", **place}, {"artifact": "c.txt", **place}]
    types = ["image/jpeg", "image/gif", "image/webp", "image/png"]
    assert shown(server) == [list(map(url, kinds.values(), types))]
    assert "[1] a.bin: (image 1 of 4, below)\n[2] b: (image 2 of 4, below)" in told(server)[0]
    coverage = found["coverage"]
    assert (coverage["artifactsTotal"], coverage["artifactsUnreadable"]) == (5, 1)
    assert [one["artifact"] for one in coverage["unreadable"]] == ["e.png"]


async def test_the_console_shows_an_answer_that_cites_an_image(
    app: FastAPI, client: httpx.AsyncClient, server: ModelServer
) -> None:
    await picture(client, "receipt.png")
    server.will(answered("A kettle.", 1))
    here = "/console/e/1/tasks/tools/n"
    async with browser(app) as visitor:
        await sign_in(visitor, ADMIN_KEY)
        shown_page = await submit(visitor, here, here, question="What was bought?")
    assert shown_page.status_code == 200
    for words in ("A kettle.", "receipt.png, page 1"):
        assert words in shown_page.text


async def test_texts_and_images_are_numbered_together(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    await picture(client, "receipt.png")
    ok(await store(client, text_output(FACT, name="note")))
    server.will(answered("42 coins.", 1, 2), answered("42 coins.", 1))
    both = ok(await query(client, model=EYE))
    assert [one["artifact"] for one in both["citations"]] == ["note", "receipt.png"]
    assert both["coverage"]["artifactsUnreadable"] == 0
    # The first reader, which takes texts alone.
    text = ok(await query(client))
    assert [one["artifact"] for one in text["citations"]] == ["note"]
    (unread,) = text["coverage"]["unreadable"]
    assert unread == {
        "artifact": "receipt.png",
        "reason": "Nothing is read from files of type image/png.",
    }
    assert [len(images) for images in shown(server)] == [1, 0]
    assert models(server) == [EYE, "near"]


async def test_images_are_chosen_by_name(client: httpx.AsyncClient, server: ModelServer) -> None:
    kinds = {"a.png": PNG, "b.gif": GIF, "c.jpg": JPEG}
    for name, content in kinds.items():
        await picture(client, name, content)
    ok(await store(client, text_output(FACT, name="note")))
    server.will(answered("A kettle.", 2), summarised("A kettle."))
    # As in a namespace of images alone, the reader is one that takes them.
    found = ok(await query(client, artifacts=["c.jpg", "a.png"]))
    assert (found["model"], found["citations"][0]["artifact"]) == (EYE, "c.jpg")
    assert found["coverage"]["artifactsTotal"] == 2
    ok(await summarize(client, artifacts=["b.gif"]))
    pictures = [[url(PNG), url(JPEG, "image/jpeg")], [url(GIF, "image/gif")]]
    assert shown(server) == pictures
    assert FACT not in "".join(told(server))
    refused = await query(client, artifacts=["a.png"], model="near")
    assert refusal(refused) == BAD_FIELD
    assert [*violations(refused)] == ["artifacts"]
    assert len(server.seen) == 2


@pytest.mark.parametrize("asked_for", ["near", "far", "builtin"])
@pytest.mark.parametrize("ask", [query, summarize])
async def test_a_reader_that_takes_none_gets_none(
    client: httpx.AsyncClient, server: ModelServer, asked_for: str, ask: Any
) -> None:
    await picture(client, "a.png")
    answer = await ask(client, model=asked_for)
    assert refusal(answer) == NONE_READABLE
    assert "Nothing is read from files of type image/png." in answer.text
    assert server.seen == []


@pytest.mark.parametrize(
    ("rules", "reads"),
    [
        ({}, EYE),
        ({"localOnly": "true"}, EYE),
        ({"sensitive": "true"}, EYE),
        ({"allowedModels": [SKY]}, SKY),
        ({"allowedModels": [SKY, "near"]}, SKY),
        ({"allowedModels": ["near"]}, None),
        ({"allowedModels": [SKY, "near"], "localOnly": True}, None),
        ({"allowedModels": [SKY, "builtin"], "sensitive": True}, None),
    ],
)
async def test_the_rules_of_a_namespace_hold_for_images(
    client: httpx.AsyncClient, server: ModelServer, rules: Json, reads: str | None
) -> None:
    output = {"kind": "blob", "data": b64encode(PNG).decode(), "name": "a.png"}
    body = {key: value == "true" or value for key, value in rules.items()}
    stored = ok(await store(client, output, **body))
    server.always(answered("A kettle.", 1))
    answer = await query(client)
    if reads is None:
        assert refusal(answer) == NONE_READABLE
    else:
        assert ok(answer)["model"] == reads
    assert models(server) == [reads] * (reads is not None)
    is_read = reads is not None or "builtin" in rules.get("allowedModels", [])
    assert stored["reference"]["readableWith"] == (["query", "summarize"] if is_read else [])


async def test_images_that_do_not_fit_are_told(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    await picture(client, "long.png", PNG + bytes(3_900_001 - len(PNG)))
    answer = await query(client, model=EYE)
    assert refusal(answer) == NONE_READABLE
    assert "the longest image that is read: 3,900,000 bytes." in answer.text
    many = [
        {"kind": "blob", "data": b64encode(PNG + bytes([n])).decode(), "name": f"p{n:02}"}
        for n in range(22)
    ]
    ok(await store(client, *many))
    server.always(answered("Kettles."))
    found = ok(await query(client))
    # The newest, in their order.
    assert shown(server) == [[url(PNG + bytes([n])) for n in range(2, 22)]]
    reasons = {one["artifact"]: one["reason"] for one in found["coverage"]["unreadable"]}
    assert set(reasons) == {"long.png", "p00", "p01"}
    assert "at most 20, of 15,000,000 bytes in all" in reasons["p00"]
    assert "3,900,000 bytes" in reasons["long.png"]
    assert found["coverage"]["artifactsUnreadable"] == 3
    # A window of 8,192 tokens has room for two at 1,600 tokens in its half.
    ok(await query(client, model=LENS))
    assert len(shown(server)[1]) == 2
    refused = await query(client, model=LENS, answerTokens=4_800)
    assert refusal(refused) == BAD_FIELD
    assert len(server.seen) == 2


async def test_the_bytes_of_all_images_of_a_request_are_bounded(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    contents = [PNG + bytes([n]) * 3_800_000 for n in range(5)]
    for number, content in enumerate(contents):
        await picture(client, f"p{number}", content)
    server.always(answered("Kettles."))
    found = ok(await query(client))
    assert shown(server) == [[url(content) for content in contents[2:]]]
    assert found["coverage"]["artifactsUnreadable"] == 2


async def test_a_summary_begins_with_the_images(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    await picture(client, "a.png")
    await picture(client, "b.jpg", JPEG)
    server.will(summarised("A kettle and a cup."))
    assert ok(await summarize(client, maxTokens=100))["summary"] == "A kettle and a cup."
    ok(await store(client, text_output(FACT, name="note")))
    server.will(summarised("A kettle and a cup."), summarised("A kettle for 42 coins."))
    found = ok(await summarize(client, maxTokens=100, model=EYE))
    assert found["summary"] == "A kettle for 42 coins."
    assert found["usage"]["calls"] == 2
    assert found["coverage"]["artifactsUnreadable"] == 0
    assert [len(images) for images in shown(server)] == [2, 2, 0]
    _, pictures, text = told(server)
    assert "Text:\n  a.png: (image 1 of 2, below)\n  b.jpg: (image 2 of 2, below)" in pictures
    assert "Summary so far:\n  A kettle and a cup." in text
    assert FACT in text


async def test_a_summary_leaves_room_for_its_images(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    for number in range(9):
        await picture(client, f"p{number}", PNG + bytes([number]))
    server.always(summarised("Kettles."))
    ok(await summarize(client, maxTokens=500, model=LENS))
    refused = await summarize(client, maxTokens=2_500, model=LENS)
    assert refusal(refused) == BAD_FIELD
    assert "maxTokens: leaves no room to read: lens takes 8192 tokens" in refused.text
    assert len(server.seen) == 1


async def test_what_is_derived_of_images_names_them_and_is_reused(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    await picture(client, "a.png")
    server.always(answered("A kettle.", 1))
    kept = ok(await query(client, offPrompt=True))
    listed = ok(await client.get(f"{kept_in(kept)}/artifacts"))["artifacts"]
    assert listed[0]["derivedFrom"] == [{"namespace": "n", "name": "a.png"}]
    assert ok(await query(client, offPrompt=True))["reused"] is True
    assert len(server.seen) == 1
    # Other bytes under the same name.
    await picture(client, "a.png", JPEG, headers={"If-Match": "*"})
    assert "reused" not in ok(await query(client, offPrompt=True))
    assert shown(server) == [[url(PNG)], [url(JPEG, "image/jpeg")]]


async def test_an_image_that_is_deleted_meanwhile_ends_the_request(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    await picture(client, "a.png")
    gate = Gate(answered("A kettle.", 1))
    server.will(gate)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(query(client))
        await asked(server)
        ok(await client.delete(f"{NAMESPACE}/artifacts/a.png"))
        gate.open()
    assert refusal(waiting.result()) == (409, "ABORTED", Reason.CONCURRENT_CHANGE)


async def test_readers_of_images_are_shown_to_keys_that_may_use_them(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    await picture(client, "a.png")
    await picture(client, "long.png", PNG + bytes(3_900_000))
    path = f"{MEMORY}/namespaces/n"
    reading = ["query", "summarize"]
    assert ok(await client.get(path))["reference"]["readableWith"] == reading
    assert ok(await client.get(f"{path}/artifacts/a.png"))["readableWith"] == reading
    assert ok(await client.get(f"{path}/artifacts/long.png")).get("readableWith", []) == []
    for permissions, readable in ((AGENT, reading), (AGENT[:2], [])):
        secret = await make_key(database, clock.now(), permissions=permissions)
        async with client_with(app, secret) as keyed:
            assert ok(await keyed.get(path))["reference"].get("readableWith", []) == readable
