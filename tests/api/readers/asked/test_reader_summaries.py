"""Summaries that a model makes, in as many calls as a text takes."""

import asyncio

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.cases import in_one_test
from tests.support.errors import refusal, violations
from tests.support.model_server import ModelServer, status
from tests.support.readers import FACT, Gate, asked, heard, summarised, summarize
from tests.support.reading_models import part_of
from tests.support.task_texts import long_text
from tests.support.tasks import ARTIFACT, store, stored, text_output, upload

PAGE = long_text(5_000)
"""Three calls, of a reader that takes 4,000 tokens."""


def _parts(server: ModelServer) -> list[str]:
    """Return the part of the text that each call brought."""
    return list(map(part_of, server.seen))


async def test_a_text_that_fits_takes_one_call(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT, name="a"), text_output("Tea.", name="b")))
    server.will(summarised(" A kettle, and tea. "))
    found = ok(await summarize(client, instructions="Name all prices."))
    assert found["summary"] == "A kettle, and tea."
    assert "cut" not in found
    assert found["coverage"] == {
        "chunksTotal": 2,
        "chunksUsed": 2,
        "truncated": False,
        "artifactsTotal": 2,
        "artifactsUnreadable": 0,
    }
    (told,) = heard(server)
    assert "What is wanted: Name all prices." in told
    assert _parts(server) == [f"{FACT}\n\n[b]\nTea."]


async def test_a_model_that_only_ever_writes_prose_is_asked_once(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    server.always("Summary number 1.")
    found = ok(await summarize(client))
    assert found["summary"] == "Summary number 1."
    assert found["usage"]["calls"] == len(server.seen) == 1


async def test_a_long_one_takes_several_each_with_the_summary_so_far(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await upload(client, PAGE.encode(), media_type="text/plain"))
    server.will(*(summarised(f"Summary {number}.") for number in (1, 2, 3)))
    found = ok(await summarize(client))
    assert found["summary"] == "Summary 3."
    assert found["usage"]["calls"] == len(server.seen) == 3
    assert found["usage"]["inputTokenCount"] == server.prompt_tokens
    assert "".join(_parts(server)) == PAGE
    assert all(len(part) <= 8_000 for part in _parts(server))
    first, second, third = heard(server)
    assert "Summary so far:" not in first
    assert "Summary so far:\n  Summary 1." in second
    assert "Summary so far:\n  Summary 2." in third
    total = ok(await client.get(f"{ENGINE_URL}:usage"))["total"]
    assert total["callCount"] == 3


async def test_a_template_is_the_whole_prompt(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await upload(client, PAGE.encode(), media_type="text/plain"))
    server.always(summarised("So far."))
    template = "Before: <{previous_summary}> Now: <{text}> At most {char_limit}, {{not more}}."
    ok(await summarize(client, template=template, maxTokens=100))
    users = [str(seen.body["messages"][-1]["content"]) for seen in server.seen]
    assert users[0].startswith(f"Before: <> Now: <  {PAGE[:100]}")
    assert all(one.startswith("Before: <  So far.> Now: <  ") for one in users[1:])
    assert all(one.endswith("> At most 400, {not more}.") for one in users)
    server.reset()
    server.always(summarised("So far."))
    ok(await summarize(client, template="Shorten: {text}"))
    users = [str(seen.body["messages"][-1]["content"]) for seen in server.seen]
    assert users[0].startswith("Shorten: ")
    assert all(one.startswith("Summary so far:\n  So far.\n\nShorten:   ") for one in users[1:])


@in_one_test(
    "fields",
    [
        {"template": "No place."},
        {"template": "{text} {text}"},
        {"template": "{text.__class__}"},
        {"template": "{text!r}"},
        {"template": "{text:{char_limit}}"},
        {"template": "{text} {secret}"},
        {"template": "{text"},
        {"template": "{text}", "instructions": "Both."},
        {"maxTokens": 15},
        {"maxTokens": 8_193},
    ],
)
async def test_another_wish_is_400_and_no_model_is_asked(
    client: httpx.AsyncClient, server: ModelServer, fields: Json
) -> None:
    ok(await store(client, text_output(FACT)))
    answer = await summarize(client, **fields)
    assert answer.status_code == 400
    assert FACT not in answer.text
    assert server.seen == []


async def test_one_that_is_too_long_is_cut_and_says_so(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await upload(client, PAGE.encode(), media_type="text/plain"))
    server.always(summarised("It goes on and on. " * 30))
    found = ok(await summarize(client, maxTokens=20))
    assert found["cut"] is True
    assert found["summary"] == " ".join(["It goes on and on."] * 4)
    # What goes into the next call is not longer, either.
    assert all(len(told) < 10_000 for told in heard(server))


async def test_one_that_was_cut_on_the_way_says_so_as_well(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await upload(client, PAGE.encode(), media_type="text/plain"))
    server.will(summarised("It goes on and on. " * 300))
    server.always(summarised("Short."))
    found = ok(await summarize(client))
    assert (found["summary"], found["cut"]) == ("Short.", True)


async def test_a_window_without_room_is_400(client: httpx.AsyncClient, server: ModelServer) -> None:
    ok(await store(client, text_output(FACT)))
    answer = await summarize(client, maxTokens=3_800)
    assert violations(answer).keys() == {"maxTokens"}
    assert server.seen == []


class TestFewCalls:
    """A service that makes two calls for a summary, and no more."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_max_summary_calls": 2})

    async def test_a_text_of_more_is_400(
        self, client: httpx.AsyncClient, server: ModelServer
    ) -> None:
        ok(await upload(client, PAGE.encode(), media_type="text/plain"))
        answer = await summarize(client)
        assert violations(answer).keys() == {"model"}
        assert server.seen == []
        assert ok(await summarize(client, model="builtin"))["model"] == "builtin:extractive"

    async def test_names_of_artifacts_count_as_well(
        self, client: httpx.AsyncClient, server: ModelServer
    ) -> None:
        many = (text_output("x.", name=f"{'n' * 120}{n:05}") for n in range(300))
        ok(await store(client, *many))
        assert violations(await summarize(client)).keys() == {"model"}
        assert server.seen == []

    async def test_there_is_no_call_after_the_last_whatever_the_text(
        self, client: httpx.AsyncClient, server: ModelServer
    ) -> None:
        # Its lines are so short that a prompt shows it twice as long.
        ok(await upload(client, b"x\n" * 6_000, media_type="text/plain"))
        server.always(summarised("So far."))
        answer = await summarize(client)
        assert violations(answer).keys() == {"model"}
        assert "more than 2 times" in answer.text
        assert len(server.seen) == 2


async def test_a_call_that_fails_ends_it_and_all_calls_are_counted(
    client: httpx.AsyncClient, server: ModelServer, database: Database
) -> None:
    ok(await upload(client, PAGE.encode(), media_type="text/plain"))
    before = await stored(database)
    server.will(summarised("One."), status(503))
    answer = await summarize(client, offPrompt=True)
    assert refusal(answer) == (503, "UNAVAILABLE", Reason.MODEL_UNAVAILABLE)
    assert len(server.seen) == 2
    total = ok(await client.get(f"{ENGINE_URL}:usage"))["total"]
    assert total["callCount"] == 2
    assert await stored(database) == before


class TestBudget:
    """A service whose engines may use few tokens a day."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"daily_max_tokens": 3_000})

    async def test_a_budget_that_is_used_up_meanwhile_ends_it(
        self, client: httpx.AsyncClient, server: ModelServer
    ) -> None:
        ok(await upload(client, PAGE.encode(), media_type="text/plain"))
        server.always(summarised("So far."))
        answer = await summarize(client)
        wanted = (429, "RESOURCE_EXHAUSTED", Reason.TOKEN_BUDGET_EXHAUSTED)
        assert refusal(answer) == wanted
        assert len(server.seen) < 3


async def test_a_text_that_goes_while_it_is_read_ends_it(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await upload(client, long_text(90_000).encode(), media_type="text/plain"))
    ok(await store(client, text_output("Tea.")))
    gate = Gate(summarised("So far."))
    server.always(gate)
    answer = asyncio.create_task(summarize(client))
    await asked(server)
    ok(await client.delete(ARTIFACT))
    gate.open()
    assert refusal(await answer) == (409, "ABORTED", Reason.CONCURRENT_CHANGE)
