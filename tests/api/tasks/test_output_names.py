"""Names that a request chooses for a tool's output, if it is stored."""

import httpx
import pytest

from tests.support.bank import Json, field_of, ok, refusal
from tests.support.tasks import NAMESPACE, names, process, text_output

TAKEN = (409, "ALREADY_EXISTS")
STORED: Json = {"namespace": "n", "offPrompt": True}


def _blob(media_type: str) -> Json:
    return {"kind": "blob", "data": "aGk=", "mediaType": media_type}


@pytest.mark.parametrize(
    ("chosen", "output", "name"),
    [
        ("elden-ring.txt", text_output("Long."), "elden-ring.txt"),
        ("elden-ring", text_output("Long."), "elden-ring.txt"),
        ("page", text_output("<p>", mediaType="text/html; charset=utf-8"), "page.html"),
        ("notes", text_output("Long.", mediaType="text/x-log"), "notes.txt"),
        ("rows", {"kind": "json", "json": {"a": 1}}, "rows.json"),
        ("rows.data", {"kind": "json", "json": {"a": 1}}, "rows.data"),
        ("picture", _blob("image/png"), "picture.png"),
        ("model", _blob("application/x-unknown"), "model"),
        (".env", _blob("application/vnd.api+json"), ".env.json"),
        ("one", {"kind": "list", "elements": [text_output("Long.")]}, "one.txt"),
    ],
)
async def test_the_artifact_has_the_name_and_an_extension(
    client: httpx.AsyncClient, chosen: str, output: Json, name: str
) -> None:
    found = ok(await process(client, output, **STORED, **{"as": chosen}))
    assert [one["name"] for one in found["reference"]["artifacts"]] == [name]
    assert await names(client) == [name]
    assert (await client.get(f"{NAMESPACE}/artifacts/{name}/content")).is_success


async def test_a_name_that_is_taken_is_refused(client: httpx.AsyncClient) -> None:
    ok(await process(client, text_output("One."), **STORED, **{"as": "page.txt"}))
    for chosen in ("page.txt", "page"):
        answer = await process(client, text_output("Two."), **STORED, **{"as": chosen})
        assert refusal(answer) == TAKEN
        assert answer.json()["error"]["details"][0]["reason"] == "ID_TAKEN"
    content = await client.get(f"{NAMESPACE}/artifacts/page.txt/content")
    assert content.text == "One."


async def test_a_repeated_request_has_its_name_and_another_name_is_another_request(
    client: httpx.AsyncClient,
) -> None:
    body = {"tool": "web", "activity": "fetch", "output": text_output("One."), **STORED}
    headers = {"Idempotency-Key": "p1"}

    async def send(name: str) -> httpx.Response:
        path = f"{NAMESPACE.partition('/namespaces')[0]}:processOutput"
        return await client.post(path, json={**body, "as": name}, headers=headers)

    assert ok(await send("a")) == ok(await send("a"))
    refused = await send("b")
    assert refusal(refused) == TAKEN
    assert refused.json()["error"]["details"][0]["reason"] == "REQUEST_ID_REUSED"
    assert await names(client) == ["a.txt"]


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ({}, text_output("Short.")),
        ({"offPrompt": "auto"}, text_output("Short.")),
        ({"offPrompt": True}, text_output(" ")),
        ({"offPrompt": True}, {"kind": "info", "text": "3 files written"}),
    ],
)
async def test_it_is_ignored_where_nothing_is_stored(
    client: httpx.AsyncClient, fields: Json, output: Json
) -> None:
    with_name = ok(await process(client, output, **fields, **{"as": "page"}))
    assert with_name == ok(await process(client, output, **fields))


@pytest.mark.parametrize(
    ("chosen", "output"),
    [
        ("a", {"kind": "list", "elements": [text_output("One."), text_output("Two.")]}),
        ("a", text_output("One.", name="b")),
        ("a" * 125, text_output("One.")),
        ("a/b", text_output("One.")),
        ("..", text_output("One.")),
    ],
)
async def test_a_name_that_cannot_be_given_is_refused(
    client: httpx.AsyncClient, chosen: str, output: Json
) -> None:
    answer = await process(client, output, **STORED, **{"as": chosen})
    assert field_of(answer) == "as"
    assert (await client.get(NAMESPACE)).status_code == 404
