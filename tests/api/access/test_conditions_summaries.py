"""Summaries of sessions by keys that are bound to scopes."""

import httpx
import pytest

from app.platform.operations.services.runner import Runner
from tests.support.bank import GONE, Json, ok, refusal
from tests.support.bound import USERS, Bound, assert_alike
from tests.support.cases import in_one_test
from tests.support.operations import path_of
from tests.support.summaries import context, events_of, summaries, talk

POLICY = {"strategy": "every_n", "every": 1, "keepRecent": 1}
LONG = {"strategy": "every_n", "every": 50}


@pytest.fixture
async def made(bank: httpx.AsyncClient, runner: Runner) -> dict[str, Json]:
    """A summary of each user's session, by user."""
    for user in USERS:
        path = f"/sessions/s-{user}"
        ok(await bank.patch(path, json={"memoryPolicy": POLICY}))
        await talk(bank, path, 1, 2)
    await runner.run_pending()
    found = {user: await summaries(bank, f"/sessions/s-{user}") for user in USERS}
    return {user: one for user, (one, *_) in found.items()}


async def test_summaries_are_made_and_read_where_the_key_sees_the_session(
    bound: Bound, runner: Runner, made: dict[str, Json]
) -> None:
    for user in bound.kind.users:
        path = f"/sessions/s-{user}"
        await talk(bound.client, path, 3)
        await context(bound.client, path, asOfSeq=3)
        await runner.run_pending()
        found = await summaries(bound.client, path)
        assert found[0] == made[user]
        assert len(found) == 2
        assert ok(await bound.client.get(path_of(found[0]["name"]))) == found[0]
        assert await summaries(bound.client, path, policyKey=found[0]["policyKey"]) == found
        assert ok(await bound.client.get(f"{path}/usage"))["summaries"]["active"] == 2
        name = ok(await bound.client.post(f"{path_of(found[0]['name'])}:regenerate"))["name"]
        await runner.run_pending()
        assert ok(await bound.client.get(path_of(name)))["metadata"]["summaryCount"] == 1
        said = (await events_of(bound.client, path))[0]
        ok(await bound.client.delete(path_of(said["name"])))
        await context(bound.client, path)
        await runner.run_pending()
        assert len(await summaries(bound.client, path)) == 2
        ok(await bound.client.post(f"{path}:clear"))
        assert await summaries(bound.client, path) == []


async def test_a_long_session_is_read_from_its_end_where_the_key_sees_it(bound: Bound) -> None:
    said = {
        "author": "user",
        "invocationId": "i",
        "timestamp": "2026-01-15T12:00:00Z",
        "content": {"role": "user", "parts": [{"text": "Are you there?"}]},
    }
    for user in bound.kind.users:
        path = f"/sessions/s-{user}"
        ok(await bound.client.post(f"{path}/events:batch", json={"events": [said] * 150}))
        # Of less room than one page fills, it is asked whether there is more.
        found = await context(bound.client, path, policy=LONG, tokenLimit=8)
        assert found["coverage"]["verbatim"] == [
            {"firstSeq": found["lastSeq"] - 1, "lastSeq": found["lastSeq"]}
        ]


async def test_a_summary_that_fails_is_shown_where_the_key_sees_the_session(
    bound: Bound, runner: Runner, made: dict[str, Json]
) -> None:
    del made
    for user in bound.kind.users:
        path = f"/sessions/s-{user}"
        policy = {"strategy": "fully_abstracted", "cap": 1}
        await context(bound.client, path, policy=policy)
        await context(bound.client, path, policy=policy)
        await runner.run_pending()
        found = await context(bound.client, path, policy=policy)
        assert found["summaryState"] == "current"


REQUESTS = [
    ("GET", "/summaries"),
    ("GET", "/usage"),
    ("GET", "/summaries/{summary}"),
    ("POST", "/summaries/{summary}:regenerate"),
    ("POST", ":clear"),
]


@in_one_test(("method", "place"), REQUESTS)
async def test_of_other_sessions_there_is_nothing(
    bound: Bound, bank: httpx.AsyncClient, made: dict[str, Json], method: str, place: str
) -> None:
    for user in bound.kind.hidden_users:
        summary = made[user]["name"].rpartition("/")[2]
        path = f"/sessions/s-{user}" + place.format(summary=summary)
        answer = await bound.client.request(method, path)
        assert refusal(answer) == GONE
        absent = await bound.client.request(method, path.replace(f"s-{user}", "s-none"))
        assert_alike(answer, absent, f"s-{user}", "s-none")
        assert await summaries(bank, f"/sessions/s-{user}") == [made[user]]


async def test_a_summary_is_not_found_below_another_session(
    bound: Bound, made: dict[str, Json]
) -> None:
    for user in bound.kind.users:
        for other in bound.kind.hidden_users:
            summary = made[other]["name"].rpartition("/")[2]
            answer = await bound.client.get(f"/sessions/s-{user}/summaries/{summary}")
            assert refusal(answer) == GONE
