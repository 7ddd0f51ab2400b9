"""The text that readers get, page by page: the pages are the text, and citations are found."""

import json
import os

import httpx
import pytest

from app.artifacts.readers.logic import TEXT_PAGE_CHARS
from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.bank import Json, ok
from tests.support.errors import NOT_FOUND, refusal
from tests.support.readers import FACT, kept_in, query
from tests.support.tasks import ARTIFACT, NAMESPACE, store, text_output, upload

LINES = [f"{number:06} The road is long and the tea is warm.\n" for number in range(2_000)]
LONG = "".join([*LINES[:1_700], f"{FACT}\n", *LINES[1_700:]])


async def pages(client: httpx.AsyncClient, path: str = ARTIFACT) -> list[Json]:
    first = ok(await client.get(f"{path}:text"))
    numbers = range(2, first["pages"] + 1)
    rest = [await client.get(f"{path}:text", params={"page": number}) for number in numbers]
    return [first, *map(ok, rest)]


async def test_the_pages_of_a_long_text_are_the_text(client: httpx.AsyncClient) -> None:
    ok(await upload(client, LONG.encode(), media_type="text/plain"))
    found = await pages(client)
    assert "".join(one["text"] for one in found) == LONG
    assert len(found) == -(-len(LONG) // TEXT_PAGE_CHARS) > 7
    for number, one in enumerate(found):
        start = number * TEXT_PAGE_CHARS
        end = min(start + TEXT_PAGE_CHARS, len(LONG))
        assert (one["page"], one["start"], one["end"]) == (number + 1, start, end)


async def test_a_citation_is_found_on_its_page(client: httpx.AsyncClient) -> None:
    ok(await upload(client, LONG.encode(), media_type="text/plain"))
    (cited,) = ok(await query(client, model="builtin"))["citations"]
    assert cited["page"] > 1
    shown = (await pages(client))[cited["page"] - 1]
    assert FACT in shown["text"][cited["start"] - shown["start"] :]


class TestOfManyChunks:
    """Chunks of a fifth of a page, with their overlaps."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_chunk_tokens": 50})

    async def test_the_pages_are_found_among_them(self, client: httpx.AsyncClient) -> None:
        ok(await upload(client, LONG.encode(), media_type="text/plain"))
        assert "".join(one["text"] for one in await pages(client)) == LONG


@pytest.mark.parametrize(
    ("media_type", "content", "says"),
    [
        ("text/html", b"<p>green <b>kettle</b></p><script>x()</script>", "green kettle"),
        ("text/csv", b"name,note\r\nkettle,green\r\n", "name: kettle, note: green"),
        ("application/json", json.dumps({"kettle": "green"}).encode(), "green"),
    ],
)
async def test_it_is_the_text_that_readers_get(
    client: httpx.AsyncClient, media_type: str, content: bytes, says: str
) -> None:
    ok(await upload(client, content, media_type=media_type))
    (one,) = await pages(client)
    assert says in one["text"]
    assert "script" not in one["text"]


async def test_a_result_of_a_sensitive_namespace_has_no_padding(
    client: httpx.AsyncClient,
) -> None:
    ok(await store(client, text_output(FACT), sensitive=True))
    kept = kept_in(ok(await query(client, model="builtin", offPrompt=True)))
    (one,) = await pages(client, f"{kept}/artifacts/answer")
    assert one["text"] == FACT


async def test_where_there_is_no_text_the_reason_is_told(client: httpx.AsyncClient) -> None:
    ok(await upload(client, b"\x89PNG\r\n\x1a\n" + os.urandom(100), media_type="image/png"))
    answer = await client.get(f"{ARTIFACT}:text")
    assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.NO_READABLE_ARTIFACTS)
    assert answer.json()["error"]["message"] == (
        "artifacts/a has no readable text. Nothing is read from files of type image/png."
    )
    assert refusal(await client.get(f"{NAMESPACE}/artifacts/b:text")) == NOT_FOUND
