"""What summaries may take: bytes of the engine, and policies of one session."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.limits import Counted
from app.platform.operations.logic.states import SUMMARIZE
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import Json, ok, refusal
from tests.support.operations import path_of
from tests.support.queue import all_stored
from tests.support.sessions import create_session, events, new_path
from tests.support.summaries import (
    BY_THREE,
    context,
    covers,
    session_with,
    summaries,
    talk,
    verbatim,
)
from tests.support.totals import held, recounted

_MOST = 2
_BYTES = 20_000


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(
        update={"max_session_policies": _MOST, "engine_max_bytes": _BYTES, "daily_max_tokens": None}
    )


def _policy(label: str, **fields: Any) -> Json:
    return {**BY_THREE, "humanLabel": label, **fields}


async def _ask(client: httpx.AsyncClient, path: str, label: str, **fields: Any) -> httpx.Response:
    return await client.post(f"{path}:context", json={"policy": _policy(label, **fields)})


async def _ask_all(client: httpx.AsyncClient, path: str, labels: Sequence[str]) -> list[int]:
    return [(await _ask(client, path, label)).status_code for label in labels]


async def _fill(database: Database) -> None:
    """Use up the bytes of the engine."""
    statement = text(
        "insert into engine_totals (engine_id, backend, memories, sessions, events, bytes)"
        " values (1, -1, 0, 0, 0, :bytes)"
    )
    async with database.transaction() as session:
        await session.execute(statement, {"bytes": _BYTES})


async def _empty(database: Database) -> None:
    async with database.transaction() as session:
        await session.execute(text("delete from engine_totals where backend = -1"))


async def test_a_session_is_summarised_by_so_many_policies_of_requests(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await new_path(client)
    await talk(client, path, 1, 2, 3)
    # While the summaries are still to be made, and once they are.
    assert await _ask_all(client, path, ["A", "B", "C", "A"]) == [200, 200, 429, 200]
    await runner.run_pending()
    assert await _ask_all(client, path, ["B", "A", "C"]) == [200, 200, 429]
    refused = await _ask(client, path, "C")
    assert refusal(refused) == (429, "RESOURCE_EXHAUSTED")
    error = refused.json()["error"]
    assert error["details"][0]["reason"] == "QUOTA_EXHAUSTED"
    assert error["details"][0]["metadata"] == {"quota": "sessionPolicies", "limit": str(_MOST)}
    assert "max_session_policies" in error["message"]
    kept = await all_stored(database)
    assert len([row for row in kept if row.kind == SUMMARIZE]) == _MOST


async def test_a_policy_by_which_nothing_is_made_is_never_refused(
    client: httpx.AsyncClient,
) -> None:
    path = await new_path(client)
    await talk(client, path, 1, 2, 3)
    await _ask_all(client, path, ["A", "B"])
    assert (await _ask(client, path, "C", every=4)).status_code == 200
    window = {"policy": {"strategy": "window", "window": 3}}
    ok(await client.post(f"{path}:context", json=window))


async def test_the_policy_of_the_session_is_never_refused(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await session_with(client, **_policy("Own"))
    await talk(client, path, 1, 2)
    await talk(client, path, 3)
    assert await _ask_all(client, path, ["A", "B", "C", "Own"]) == [200, 200, 429, 200]
    assert (await context(client, path))["summaryState"] == "pending"
    await runner.run_pending()
    assert (await context(client, path))["summaryState"] == "current"
    await talk(client, path, 4, 5, 6)
    await runner.run_pending()
    assert len(await summaries(client, path, state="active")) == 4


async def test_policies_of_which_nothing_is_left_do_not_count(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client)
    await talk(client, path, 1, 2, 3)
    await _ask_all(client, path, ["A", "B"])
    await runner.run_pending()
    ok(await client.post(f"{path}:clear"))
    await talk(client, path, 4, 5, 6)
    assert await _ask_all(client, path, ["C", "D", "A"]) == [200, 200, 429]


async def test_policies_of_other_sessions_do_not_count(client: httpx.AsyncClient) -> None:
    for name in ("a", "a-b", "b"):
        await create_session(client, name)
        path = f"/sessions/{name}"
        await talk(client, path, 1, 2, 3)
        assert await _ask_all(client, path, ["A", "B"]) == [200, 200]


async def test_summaries_and_policies_count_in_the_bytes_of_the_engine(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await session_with(client, **_policy("Own"))
    template = {"template": "{chat_transcript}" + "x" * 2_000}
    before = (await held(database))[1][Counted.BYTES]
    ok(await client.patch(path, json={"memoryPolicy": _policy("Own", **template)}))
    assert (await held(database))[1][Counted.BYTES] > before + 2_000
    await talk(client, path, 1, 2, 3)
    before = (await held(database))[1][Counted.BYTES]
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6)]
    # The summary, and the policy that it was made by.
    assert (await held(database))[1][Counted.BYTES] > before + 2_000
    assert await held(database) == await recounted(database)
    first = path_of((await events(client, path))[0]["name"])
    ok(await client.delete(first))
    await runner.run_pending()
    assert await held(database) == await recounted(database)
    ok(await client.post(f"{path}:clear"))
    ok(await client.patch(path, params={"updateMask": "memoryPolicy"}, json={}))
    assert await held(database) == await recounted(database)
    ok(await client.delete(path))
    assert await held(database) == {}


async def test_no_summary_is_made_where_the_bytes_are_used_up(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await _fill(database)
    await runner.run_pending()
    # The prompt goes on with the events.
    assert (await context(client, path))["summaryState"] == "failed"
    assert await verbatim(client, path) == [1, 2, 3, 4, 5, 6]
    (failed,) = await summaries(client, path, state="failed")
    assert failed["error"] == "QUOTA_EXHAUSTED"
    # It is put off, as after any other failure.
    (operation,) = [one for one in await all_stored(database) if one.kind == SUMMARIZE]
    assert operation.due_time > clock.now()
    assert await runner.run_pending() == 0
    await _empty(database)
    clock.advance(timedelta(hours=1))
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6)]
    assert await summaries(client, path, state="failed") == []


async def test_a_policy_of_a_request_makes_nothing_where_the_bytes_are_used_up(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await new_path(client)
    await talk(client, path, 1, 2, 3)
    await _fill(database)
    assert (await _ask(client, path, "A")).status_code == 200
    await runner.run_pending()
    answer = ok(await _ask(client, path, "A"))
    assert answer["summaryState"] == "failed"
    assert len(answer["messages"]) == 6


async def test_nothing_is_made_again_where_the_bytes_are_used_up(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    (made,) = await summaries(client, path, state="active")
    await _fill(database)
    answer = await client.post(f"{path_of(made['name'])}:regenerate")
    assert refusal(answer) == (429, "RESOURCE_EXHAUSTED")
