"""The reader that needs no model, which reads where there is no other."""

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.readers import FACT, kept_in, query, summarize
from tests.support.tasks import NAMESPACE, hexadecimal, store, text_output, upload

FILLING = "The road is long, and the tea is warm. " * 60
SAID = f"{FILLING}{FACT} {FILLING}"
BUILT_IN = "builtin:extractive"
NO_USAGE = {"calls": 0, "inputTokenCount": 0, "outputTokenCount": 0}


async def test_it_answers_with_sentences_and_says_where_they_stand(
    client: httpx.AsyncClient,
) -> None:
    ok(await store(client, text_output(SAID, name="page"), text_output("Tea.", name="note")))
    found = ok(await query(client))
    assert (found["model"], found["usage"]) == (BUILT_IN, NO_USAGE)
    assert FACT in found["answer"]
    cited = [one for one in found["citations"] if SAID[one["start"] : one["end"]] == FACT]
    assert [one["artifact"] for one in cited] == ["page"]
    assert ok(await client.get(f"{ENGINE_URL}:usage"))["total"]["callCount"] == 0


async def test_where_no_word_is_the_same_it_says_nothing(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output(SAID)))
    found = ok(await query(client, query="Zebras?"))
    assert (found["answer"], found["citations"]) == ("", [])
    assert found["coverage"]["chunksUsed"] == found["coverage"]["chunksTotal"]


async def test_it_answers_no_longer_than_is_asked_for(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output("The green kettle costs much. " * 5 + SAID)))
    assert len(ok(await query(client, answerTokens=16))["answer"]) <= 64
    assert len(ok(await summarize(client, maxTokens=16))["summary"]) <= 64


async def test_it_summarises_with_sentences(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output(f"{FACT} A kettle boils water. The kettle is green.")))
    ok(await upload(client, b"\x89PNG\r\n\x1a\n\x00\x01"))
    found = ok(await summarize(client, maxTokens=20))
    assert (found["model"], found["usage"]) == (BUILT_IN, NO_USAGE)
    assert FACT in found["summary"]
    coverage = found["coverage"]
    assert (coverage["artifactsTotal"], coverage["artifactsUnreadable"]) == (2, 1)
    assert [one["reason"] for one in coverage["unreadable"]] == [
        "Nothing is read from files of type image/png."
    ]


async def test_it_lists_some_of_many_files_that_have_no_text(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output(FACT), *(text_output("", name=f"e{n}") for n in range(25))))
    coverage = ok(await query(client))["coverage"]
    assert coverage["artifactsUnreadable"] == 25
    assert [one["artifact"] for one in coverage["unreadable"]] == [f"e{24 - n}" for n in range(20)]


@pytest.mark.parametrize("media_type", ["text/html", "application/json", "text/csv"])
async def test_it_reads_what_files_say(client: httpx.AsyncClient, media_type: str) -> None:
    files = {
        "text/html": f"<html><body><p>{FACT}</p><script>kettle()</script></body></html>",
        "application/json": '{"rows": [{"item": "green kettle", "coins": 42}]}',
        "text/csv": "item,coins\ngreen kettle,42\n",
    }
    ok(await upload(client, files[media_type].encode(), media_type=media_type))
    answer = ok(await query(client))["answer"]
    assert "42" in answer
    assert "kettle()" not in answer


async def test_a_result_of_nothing_is_kept_as_such(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output(SAID)))
    kept = kept_in(ok(await query(client, query="Zebras?", offPrompt=True)))
    content = await client.get(f"{kept}/artifacts/answer/content")
    assert content.text == "Nothing was found."
    assert ok(await query(client, kept))["coverage"]["chunksTotal"] == 1


async def test_of_sensitive_content_all_results_have_one_length(
    client: httpx.AsyncClient,
) -> None:
    ok(await store(client, text_output(SAID + " Das Café ist grün."), sensitive=True))
    for question in ("Zebras?", "Which café?", FACT):
        kept = kept_in(ok(await query(client, query=question, offPrompt=True, answerTokens=50)))
        found = ok(await client.get(f"{kept}/artifacts/answer"))
        assert (found["sizeBytes"], found["tokenEstimate"]) == ("800", 200)
        content = await client.get(f"{kept}/artifacts/answer/content")
        assert len(content.content) == 800
        assert found["sha256"] == hexadecimal(content.content)
        assert content.text.strip() != content.text


AGENT = ["artifacts.write", "artifacts.reference", "artifacts.derive"]
_DENIED: Json = {"permission": "artifacts.content"}


async def test_what_is_sensitive_is_shown_to_who_may_see_content(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    ok(await store(client, text_output(SAID), sensitive=True))
    async with client_with(app, await make_key(database, clock.now(), permissions=AGENT)) as agent:
        for ask in (query, summarize):
            denied = await ask(agent)
            assert refusal(denied) == (403, "PERMISSION_DENIED", Reason.INLINE_DENIED)
            assert denied.json()["error"]["details"][0]["metadata"] == _DENIED
            kept = ok(await ask(agent, offPrompt=True))
            assert ok(await client.get(kept_in(kept)))["sensitive"] is True
            assert refusal(await ask(agent, kept_in(kept))) == refusal(denied)
    permissions = ["artifacts.derive", "artifacts.content"]
    async with client_with(
        app, await make_key(database, clock.now(), permissions=permissions)
    ) as reader:
        found = ok(await query(reader))
        assert FACT in found["answer"]
        assert found["citations"]
        kept = ok(await query(reader, offPrompt=True))
        assert kept["reused"] is True


_STRANGE = [
    "\u0000",
    "kettle\u0000green",
    "' & | ! :* <-> (",
    "\\' \\",
    "%",
    "\u202e kettle",
    "🫖" * 500,
]


@pytest.mark.parametrize("said", _STRANGE)
async def test_any_question_is_answered(client: httpx.AsyncClient, said: str) -> None:
    ok(await store(client, text_output(SAID)))
    for answer in (
        await query(client, query=said),
        await query(client, query=said, offPrompt=True),
        await summarize(client, instructions=said),
        await summarize(client, instructions=said, offPrompt=True),
    ):
        assert answer.status_code in {200, 400}, answer.text


async def test_half_a_sign_is_refused(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output(SAID)))
    for method, field in (("query", "query"), ("summarize", "instructions")):
        content = b'{"%b": "kettle \\ud800"}' % field.encode()
        headers = {"content-type": "application/json"}
        answer = await client.post(f"{NAMESPACE}:{method}", content=content, headers=headers)
        assert answer.status_code == 400, answer.text


@pytest.mark.parametrize("query_text", ["", " \n\t", "x" * 4_097])
async def test_a_question_has_words(client: httpx.AsyncClient, query_text: str) -> None:
    ok(await store(client, text_output(SAID)))
    assert (await query(client, query=query_text)).status_code == 400
