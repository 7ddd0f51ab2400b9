"""Contexts of sessions of which summaries are made."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import Json, ok
from tests.support.contexts import (
    SYSTEM,
    context,
    exchange,
    of_events,
    of_exchanges,
    ranges,
    said,
    talk,
)
from tests.support.operations import create_memory, path_of
from tests.support.scripted import written_by
from tests.support.sessions import new_path
from tests.support.summaries import Summariser

_SPLIT = {"strategy": "agent_summary", "tokenLimit": 4_032}
_BASE = "b" * 928
"""232 tokens."""


async def _operations(client: httpx.AsyncClient) -> int:
    page = ok(await client.get("/operations"))
    kinds = [one["metadata"]["@type"] for one in page.get("operations", [])]
    return sum(kind.endswith("SummarizeSessionOperationMetadata") for kind in kinds)


async def test_what_leaves_the_events_share_is_summarised(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await of_events(client, 60)
    asked = {"policy": _SPLIT, "systemPrompt": _BASE}
    before = await context(client, path, **asked)
    assert before["summaryState"] == "pending"
    # Nothing is missing meanwhile, as far as there is room: 3,000 tokens.
    assert ranges(before["coverage"]["verbatim"]) == [(31, 60)]
    await runner.run_pending()
    found = await context(client, path, **asked)
    assert found["summaryState"] == "current"
    assert (found["tokens"]["stmBudget"], found["tokens"]["ltsBudget"]) == (2_250, 750)
    assert ranges(found["coverage"]["verbatim"]) == [(39, 60)]
    assert ranges(found["coverage"]["summarised"]) == [(1, 38)]
    assert found["coverage"]["omitted"] == []
    assert found["messages"][1]["role"] == "user"
    assert found["messages"][1]["source"]["kind"] == "summary"


async def _stored(database: Database) -> Json:
    """Return all rows that a context may change."""
    tables = ("sessions", "session_events", "session_summaries", "operations", "model_usage")
    async with database.snapshot() as session:
        return {
            table: await session.scalar(
                text(f"select jsonb_agg(t order by t::text) from {table} t")
            )
            for table in tables
        }


async def test_a_preview_is_the_same_context_and_changes_nothing(
    client: httpx.AsyncClient, database: Database, runner: Runner
) -> None:
    await create_memory(client, "Likes tea.")
    path = await of_events(client, 60)
    asked = {
        "policy": _SPLIT,
        "systemPrompt": _BASE,
        "pendingMessage": "Tea?",
        "includeMemories": {},
    }
    for state in ("pending", "current"):
        before = await _stored(database)
        preview = await client.post(f"{path}:context", json={**asked, "preview": True})
        assert await _stored(database) == before
        assert ok(preview)["summaryState"] == state
        real = await client.post(f"{path}:context", json=asked)
        assert preview.content == real.content.removesuffix(b"}") + b',"isPreview":true}'
        await runner.run_pending()
    assert await _operations(client) == 1


async def test_the_window_is_divided_by_whole_numbers(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    for policy, expected in (
        (_SPLIT, (2_250, 750)),
        ({**_SPLIT, "tokenLimit": 4_034}, (2_250, 750)),
        ({**_SPLIT, "split": {"stm": 1, "lts": 1}}, (1_500, 1_500)),
    ):
        tokens = (await context(client, path, policy=policy, systemPrompt=_BASE))["tokens"]
        assert (tokens["stmBudget"], tokens["ltsBudget"]) == expected


async def test_a_summary_that_is_due_is_asked_for_once(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await of_events(client, 60)
    for _ in range(3):
        await context(client, path, policy=_SPLIT, systemPrompt=_BASE)
    assert await _operations(client) == 1
    await runner.run_pending()
    await context(client, path, policy=_SPLIT, systemPrompt=_BASE)
    assert await _operations(client) == 1


async def test_what_is_not_summarised_yet_is_shown_word_for_word(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await of_exchanges(client, 3, memoryPolicy={"strategy": "every_n"})
    before = await context(client, path)
    assert before["summaryState"] == "pending"
    assert ranges(before["coverage"]["verbatim"]) == [(1, 6)]
    await runner.run_pending()
    after = await context(client, path)
    assert after["summaryState"] == "current"
    assert ranges(after["coverage"]["summarised"]) == [(1, 6)]
    assert after["coverage"]["verbatim"] == after["coverage"]["omitted"] == []
    summary = after["messages"][0]["source"]["summary"]
    assert after["coverage"]["summarised"][0]["summary"] == summary


async def test_a_context_can_wait_for_what_is_due(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await of_events(client, 60)
    asked = {"policy": _SPLIT, "systemPrompt": _BASE, "consistency": "wait"}
    waiting = asyncio.create_task(context(client, path, **asked, waitTimeout="20s"))
    while not waiting.done():
        await runner.run_pending()
        await asyncio.sleep(0.01)
    found = await waiting
    assert found["summaryState"] == "current"
    assert ranges(found["coverage"]["summarised"]) == [(1, 38)]


async def test_a_context_waits_for_more_than_another_has_asked_for(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await of_events(client, 60)
    await context(client, path, policy=_SPLIT)
    asked = {"policy": _SPLIT, "systemPrompt": "b" * 4_128, "consistency": "wait"}
    waiting = asyncio.create_task(context(client, path, **asked, waitTimeout="20s"))
    while not waiting.done():
        await runner.run_pending()
        await asyncio.sleep(0.01)
    found = await waiting
    # Of 2,200 tokens three quarters are the events'.
    assert ranges(found["coverage"]["verbatim"]) == [(45, 60)]
    assert ranges(found["coverage"]["summarised"]) == [(1, 44)]


async def test_a_wait_ends_with_what_there_is(client: httpx.AsyncClient) -> None:
    path = await of_events(client, 60)
    asked = {"policy": _SPLIT, "systemPrompt": _BASE, "consistency": "wait"}
    found = await context(client, path, **asked, waitTimeout="0.1s")
    assert found["summaryState"] == "pending"
    assert ranges(found["coverage"]["verbatim"]) == [(31, 60)]


async def test_a_wait_ends_where_the_summary_fails(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    model = Summariser()
    model.is_down = True
    runner = make_runner(written_by(resources, model))
    path = await of_events(client, 60)
    asked = {"policy": _SPLIT, "systemPrompt": _BASE, "consistency": "wait"}
    waiting = asyncio.create_task(context(client, path, **asked, waitTimeout="60s"))
    while not waiting.done():
        await runner.run_pending()
        await asyncio.sleep(0.01)
    found = await waiting
    assert found["summaryState"] == "failed"
    assert ranges(found["coverage"]["verbatim"]) == [(31, 60)]


async def test_a_wait_is_none_where_the_next_attempt_is_put_off_beyond_it(
    client: httpx.AsyncClient, resources: Resources, sent: list[tuple[str, Any]]
) -> None:
    model = Summariser()
    model.is_down = True
    settings = resources.settings.model_copy(update={"worker_retry_base_seconds": 600})
    runner = make_runner(written_by(replace(resources, settings=settings), model))
    path = await of_events(client, 60)
    asked = {"policy": _SPLIT, "systemPrompt": _BASE}
    await context(client, path, **asked)
    await runner.run_pending()
    del sent[:]
    found = await context(client, path, **asked, consistency="wait", waitTimeout="20s")
    assert found["summaryState"] == "failed"
    # It has not even looked whether there is something new.
    assert sum("FROM session_events" in text for text, _ in sent) == 1


async def test_nothing_is_due_where_all_between_is_erased(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    policy = {"strategy": "agent_summary", "tokenLimit": 300, "reserveOutputTokens": 0}
    path = await new_path(client, memoryPolicy=policy)
    long = said("user", "c" * 2_000)
    await talk(client, path, [said("user", "a" * 40), said("agent", "b" * 40), long])
    assert (await context(client, path))["summaryState"] == "pending"
    for one in ok(await client.get(f"{path}/events"))["sessionEvents"][:2]:
        ok(await client.delete(path_of(one["name"])))
    await runner.run_pending()
    found = await context(client, path)
    assert found["summaryState"] == "current"
    assert ranges(found["coverage"]["omitted"]) == [(1, 2)]
    assert await runner.run_pending() == 0


async def test_as_much_is_read_as_shows_that_a_summary_is_due(client: httpx.AsyncClient) -> None:
    path = await of_events(client, 200, tokens=25)
    policy = {**_SPLIT, "tokenLimit": 4_000, "reserveOutputTokens": 0, "countPending": False}
    # Beside it there is room for 2,000 tokens; the events' share is 3,000 in spite of it.
    found = await context(client, path, policy=policy, pendingMessage="x" * 8_000)
    assert found["tokens"]["stmBudget"] == 3_000
    assert found["summaryState"] == "pending"


async def test_another_strategy_leaves_summaries_as_they_are(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await of_exchanges(client, 12)
    first, second = {"strategy": "every_n", "every": 4}, {"strategy": "fully_abstracted", "cap": 5}
    await context(client, path, policy=first)
    await runner.run_pending()
    made = (await context(client, path, policy=first))["coverage"]["summarised"]
    assert len(made) == 3
    await context(client, path, policy=second)
    await runner.run_pending()
    assert ranges((await context(client, path, policy=second))["coverage"]["summarised"]) == [
        (1, 20)
    ]
    again = await context(client, path, policy=first)
    assert (again["coverage"]["summarised"], again["summaryState"]) == (made, "current")
    assert await _operations(client) == 2


async def test_older_states_of_a_session_have_the_summaries_of_then(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client, memoryPolicy={"strategy": "fully_abstracted", "cap": 2})
    for _ in range(5):
        await exchange(client, path)
        await runner.run_pending()
    now = await context(client, path)
    assert ranges(now["coverage"]["summarised"]) == [(1, 8)]
    then = await context(client, path, asOfSeq=6)
    assert ranges(then["coverage"]["summarised"]) == [(1, 4)]
    assert ranges(then["coverage"]["verbatim"]) == [(5, 6)]
    assert then["summaryState"] == "current"


async def test_many_summaries_give_way_to_the_newest(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await of_exchanges(client, 20)
    policy = {"strategy": "every_n", "every": 2, "summaryTokens": 40}
    await context(client, path, policy=policy)
    await runner.run_pending()
    whole = await context(client, path, policy=policy)
    tokens = whole["tokens"]["summaries"] + whole["tokens"]["framingTokens"]
    assert len(whole["coverage"]["summarised"]) == 10
    limit = 400 + tokens - 6
    found = await context(client, path, policy=policy, systemPrompt=SYSTEM, tokenLimit=limit)
    kept = ranges(found["coverage"]["summarised"])
    assert 0 < len(kept) < 10
    assert kept[-1] == (37, 40)
    assert ranges(found["coverage"]["omitted"]) == [(1, kept[0][0] - 1)]


async def test_what_stands_after_a_gap_is_shown_word_for_word_until_it_is_closed(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await of_exchanges(client, 6)
    policy = {"strategy": "every_n", "every": 1}
    asked = {"policy": policy, "tokenLimit": 4_000}
    await context(client, path, **asked)
    await runner.run_pending()
    assert len((await context(client, path, **asked))["coverage"]["summarised"]) == 6
    page = ok(await client.get(f"{path}/events"))["sessionEvents"]
    ok(await client.delete(path_of(page[4]["name"])))
    found = await context(client, path, **asked)
    assert ranges(found["coverage"]["summarised"]) == [(1, 2), (3, 4)]
    assert ranges(found["coverage"]["verbatim"]) == [(6, 12)]
    assert ranges(found["coverage"]["omitted"]) == [(5, 5)]
    assert found["summaryState"] == "pending"
    await runner.run_pending()
    closed = await context(client, path, **asked)
    assert ranges(closed["coverage"]["summarised"])[2:4] == [(5, 6), (7, 8)]
    assert closed["coverage"]["verbatim"] == []
    assert closed["summaryState"] == "current"


_TUTORIAL = [
    ("My sister Nora lives in Bergen. " * 4, "How nice. " * 17),
    ("When can I visit her? " * 6, "In May, she says. " * 9),
    ("Is it far from Oslo to there? " * 5, "Seven hours by train. " * 7),
]


@pytest.mark.parametrize(
    "policy",
    [
        {"strategy": "every_n", "every": 1},
        {"strategy": "every_n", "every": 1, "refresh": "whole"},
        {"strategy": "abstraction_inclusive", "cap": 3},
        {"strategy": "abstraction_inclusive", "cap": 1, "maxAbstractions": 2},
        {"strategy": "fully_abstracted", "cap": 1},
        {"strategy": "agent_summary", "tokenLimit": 160, "reserveOutputTokens": 0},
    ],
    ids=str,
)
async def test_without_a_model_a_context_with_summaries_is_no_longer_than_the_exchanges(
    client: httpx.AsyncClient, runner: Runner, policy: Json
) -> None:
    path = await new_path(client, memoryPolicy=policy)
    for asked, answered in _TUTORIAL:
        await exchange(client, path, asked.strip(), answered.strip())
        await context(client, path)
        await runner.run_pending()
    for form in ("text", "messages", "openai", "gemini"):
        whole = await context(client, path, format=form, policy={"strategy": "inclusive"})
        bare = await context(client, path, format=form, framing=False)
        assert bare["coverage"]["summarised"]
        assert bare["tokens"]["framingTokens"] == 0
        assert bare["tokens"]["total"] <= whole["tokens"]["total"]
        framed = await context(client, path, format=form)
        assert framed["tokens"]["total"] <= whole["tokens"]["total"] + 30
    whole = await context(client, path, format="text", policy={"strategy": "inclusive"})
    bare = await context(client, path, format="text", framing=False)
    assert len(bare["text"]) <= len(whole["text"])
    framed = await context(client, path, format="text")
    assert framed["text"].count("<session_summary>") == 1


async def test_an_exchange_that_nothing_shortens_stands_word_for_word(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client, memoryPolicy={"strategy": "every_n", "every": 1})
    for asked, answered in (("Hi. Hello. Good day.", "Hi. What is it?"), ("Tea. Now.", "No. Yes.")):
        await exchange(client, path, asked, answered)
    await context(client, path)
    await runner.run_pending()
    found = await context(client, path, format="text", framing=False)
    assert found["coverage"]["verbatim"] == []
    inclusive = await context(client, path, format="text", policy={"strategy": "inclusive"})
    assert found["text"] == inclusive["text"]


async def test_a_list_of_summaries_has_one_frame_which_is_counted(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    policy = {"strategy": "abstraction_inclusive", "cap": 1}
    path = await of_exchanges(client, 12, memoryPolicy=policy)
    await context(client, path)
    await runner.run_pending()
    found = await context(client, path, pendingMessage="Hi")
    summaries, pending = found["messages"]
    assert summaries["content"].count("<session_summary>") == 1
    listed = [one["summary"] for one in found["coverage"]["summarised"]]
    assert summaries["source"]["summaries"] == listed
    assert (summaries["source"]["summary"], len(listed)) == (listed[0], 12)
    tokens = found["tokens"]
    sent = sum(-(-len(one["content"]) // 4) for one in (summaries, pending))
    assert sent <= tokens["total"] <= sent + 12
    assert tokens["total"] == tokens["summaries"] + tokens["framingTokens"] + tokens["pending"]
    # With one token less than all of it, the oldest summary gives way.
    less = await context(client, path, pendingMessage="Hi", tokenLimit=tokens["total"] - 2)
    assert len(less["coverage"]["summarised"]) < 12
    bare = await context(client, path, pendingMessage="Hi", framing=False)
    assert [one["source"]["summary"] for one in bare["messages"][:-1]] == listed
    assert bare["tokens"]["total"] == tokens["total"] - tokens["framingTokens"]
    assert bare["policyKey"] == found["policyKey"]


async def test_a_template_without_a_model_is_told(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    template = {"template": "In ten words: {chat_transcript}"}
    assert "warnings" not in await context(client, path, policy={"strategy": "every_n"})
    found = await context(client, path, policy={"strategy": "every_n", **template})
    assert found["warnings"] == ["template_needs_model"]
    recursive = {"recursiveTemplate": template["template"], "tokenLimit": 2_000}
    found = await context(client, path, policy={"strategy": "agent_summary", **recursive})
    assert found["warnings"] == ["template_needs_model"]
