"""What a context costs others: long work is done aside, and no transaction waits for it."""

import asyncio
import json
import threading
import time
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.conversation.contexts.services.answers import encoded
from app.conversation.strategies.logic.rendering import render
from app.conversation.strategies.logic.turns import SourceField
from app.conversation.strategies.service import Scale
from app.kernel.errors import Reason
from app.platform.sessions.logic.event_text import text_of
from tests.support.contexts import context, detail, of_events
from tests.support.sessions import new_path


async def test_many_short_events_are_rendered_aside(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def noted(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return render(*arguments)

    monkeypatch.setattr("app.conversation.contexts.services.answers.render", noted)
    path = await of_events(client, 1_000, tokens=1)
    await context(client, path)
    await context(client, path, policy={"strategy": "window", "window": 2})
    long, short = (thread is threading.main_thread() for thread in threads)
    assert (long, short) == (False, True)


async def test_the_loop_turns_while_events_are_read(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn, turns = 0, []

    def noted(content: Any) -> str:
        turns.append(turn)
        # Longer than any work may take between two turns.
        time.sleep(0.002)
        return text_of(content)

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    path = await of_events(client, 50, tokens=1)
    monkeypatch.setattr("app.platform.sessions.store.event_texts.text_of", noted)
    counting = asyncio.create_task(count())
    await context(client, path)
    counting.cancel()
    assert len(turns) == len(set(turns)) == 50


def test_items_of_lists_are_encoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    dumps, values = json.dumps, list[object]()

    def noted(value: object, **options: Any) -> str:
        values.append(value)
        return dumps(value, **options)

    answer = {"messages": [{"content": "Käse"}, {"content": "Tee"}], "tokens": {"total": 3}}
    monkeypatch.setattr("json.dumps", noted)
    assert encoded(answer) == dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
    assert encoded({"messages": []}) == b'{"messages":[]}'
    assert not any(isinstance(value, list) for value in values)


async def test_the_system_prompt_is_weighed_before_a_transaction_is_open(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool: Any = database.engine.sync_engine.pool
    path = await new_path(client)
    used: list[int] = []
    of_part = Scale.of_part

    def noted(scale: Scale, kind: SourceField, text: str) -> int:
        if kind is SourceField.SYSTEM:
            used.append(pool.checkedout())
        return of_part(scale, kind, text)

    monkeypatch.setattr(Scale, "of_part", noted)
    await context(client, path, systemPrompt="x" * 1_000)
    await context(client, path, systemPrompt="x" * 1_000, format="text")
    assert used == [0, 0, 0]


async def test_a_window_too_small_names_what_is_reserved(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    policy = {"strategy": "agent_summary", "tokenLimit": 500}
    refused = await client.post(f"{path}:context", json={"policy": policy})
    assert detail(refused)["reason"] == Reason.BUDGET_TOO_SMALL
    message = refused.json()["error"]["message"]
    assert "beside the 800 that reserveOutputTokens keeps for the answer" in message
    assert "800 with agent_summary" in message
