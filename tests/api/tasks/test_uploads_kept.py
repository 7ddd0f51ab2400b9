"""Uploads: what is there stays whole, whoever breaks off, comes late or guesses."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import event, text
from sqlalchemy.orm import Session as SyncSession

from app.adapters.db.session import Database
from app.artifacts.tasks.store.contents import PAGE_BYTES
from app.kernel.clock import FixedClock
from app.settings.settings import Settings
from tests.support.bank import BAD, STALE, ok, refusal
from tests.support.keys import client_with, make_key
from tests.support.tasks import (
    AGENT,
    ARTIFACT,
    MEMORY,
    NAMESPACE,
    NOTHING,
    process,
    store,
    stored,
    text_output,
    upload,
)
from tests.support.totals import held, recounted

_ANY = {"If-Match": "*"}
_MANY_COMMITS = 30
_DRIFT = """
    select n.artifacts - count(a.*), n.bytes - coalesce(sum(a.size_bytes), 0)
    from task_namespaces n
    left join task_artifacts a using (engine_id, memory, namespace)
    group by n.engine_id, n.memory, n.namespace
"""


@contextmanager
def _cancelled_after(commits: int) -> Iterator[list[int]]:
    """Cancel the task that has committed so often, before it hears of that."""
    left = [commits]

    def count(_: SyncSession) -> None:
        left[0] -= 1
        task = asyncio.current_task()
        if left[0] == 0 and task is not None:
            task.cancel()

    event.listen(SyncSession, "after_commit", count)
    try:
        yield left
    finally:
        event.remove(SyncSession, "after_commit", count)


async def test_an_upload_that_is_cancelled_has_replaced_what_was_there_or_has_not(
    client: httpx.AsyncClient, database: Database
) -> None:
    before = b"old" * 1_000
    ok(await upload(client, before))
    for commits in range(1, _MANY_COMMITS):
        after = os.urandom(PAGE_BYTES + commits)
        with _cancelled_after(commits) as left:
            task = asyncio.create_task(upload(client, after, headers=_ANY))
            await asyncio.wait([task])
        content = (await client.get(f"{ARTIFACT}/content")).content
        assert content in (before, after)
        before = content
        async with database.snapshot() as session:
            assert (await session.execute(text(_DRIFT))).all() == [(0, 0)]
        assert await held(database) == await recounted(database)
        if left[0] > 0:
            assert content == after
            return
    pytest.fail("it commits more often than is tried here")


async def test_an_upload_whose_time_is_over_is_not_put_under_its_name(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    ok(await upload(client, b"old"))
    before = await stored(database)

    taken = 0

    async def late(more: int) -> AsyncIterator[bytes]:
        nonlocal taken
        yield b"x" * PAGE_BYTES
        # A sweep may free the pages that have come, from now on.
        clock.advance(timedelta(hours=1))
        for _ in range(more):
            taken += 1
            yield b"y" * PAGE_BYTES

    for more, most in ((0, 0), (5, 2)):
        answer = await client.put(ARTIFACT, content=late(more), headers=_ANY)
        assert refusal(answer) == (409, "ABORTED")
        assert answer.json()["error"]["details"][0]["reason"] == "CONCURRENT_CHANGE"
        assert taken <= most
    assert (await client.get(f"{ARTIFACT}/content")).content == b"old"
    assert await stored(database) == before


@dataclass(frozen=True)
class _Guesser:
    """A key, the namespace in which it guesses, and whether it is told that it is right."""

    permissions: list[str]
    is_sensitive: bool
    is_told: bool


class TestGuesses:
    """Keys that may not read what is stored, and send bytes to learn whether it is that."""

    @pytest.mark.parametrize(
        "case",
        [
            _Guesser(AGENT, is_sensitive=True, is_told=False),
            _Guesser(AGENT, is_sensitive=False, is_told=True),
            _Guesser(["artifacts.write"], is_sensitive=False, is_told=False),
            _Guesser([*AGENT, "artifacts.content"], is_sensitive=True, is_told=True),
            _Guesser(["artifacts.write", "artifacts.content"], is_sensitive=True, is_told=True),
        ],
    )
    async def test_who_may_not_know_the_bytes_is_answered_as_for_others(
        self,
        client: httpx.AsyncClient,
        app: FastAPI,
        database: Database,
        clock: FixedClock,
        case: _Guesser,
    ) -> None:
        ok(await store(client, text_output("4711", name="a"), sensitive=case.is_sensitive))
        secret = await make_key(database, clock.now(), permissions=case.permissions)
        async with client_with(app, secret) as agent:
            wrong = await upload(agent, b"4710", media_type="text/plain")
            right = await upload(agent, b"4711", media_type="text/plain")
        assert refusal(wrong) == STALE
        if case.is_told:
            ok(right)
        else:
            assert right.json() == wrong.json()
            assert right.headers.keys() == wrong.headers.keys()

    async def test_with_an_etag_the_same_bytes_are_other_ones(
        self, client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
    ) -> None:
        ok(await store(client, text_output("4711", name="a"), sensitive=True))
        first = ok(await client.get(ARTIFACT))["etag"]
        secret = await make_key(database, clock.now(), permissions=AGENT)
        async with client_with(app, secret) as agent:
            sent = await upload(agent, b"4711", media_type="text/plain", headers=_ANY)
        assert ok(sent)["etag"] != first


class TestSmall:
    """A service whose namespaces have little room."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        few = {
            "task_max_artifact_bytes": 600,
            "task_max_namespace_bytes": 1_000,
            "task_max_namespace_artifacts": 2,
            "engine_max_artifact_bytes": 1_000,
        }
        return settings.model_copy(update=few)

    async def test_what_takes_the_place_of_something_needs_no_room_beside_it(
        self, client: httpx.AsyncClient
    ) -> None:
        ok(await upload(client, b"x" * 600))
        ok(await upload(client, b"x" * 300, f"{NAMESPACE}/artifacts/b"))
        ok(await upload(client, b"x" * 600))
        ok(await upload(client, b"y" * 600, headers=_ANY))
        ok(await upload(client, b"z" * 500, headers=_ANY))
        for path, length in ((ARTIFACT, 600), (f"{NAMESPACE}/artifacts/b", 501)):
            more = await upload(client, b"x" * length, path, headers=_ANY)
            if length == 600:
                ok(more)
            else:
                assert more.status_code == 429

    async def test_what_is_under_way_takes_room_also_when_nobody_says_how_much(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        come, go_on = asyncio.Event(), asyncio.Event()

        async def slow() -> AsyncIterator[bytes]:
            yield b"x"
            come.set()
            await go_on.wait()
            yield b"y"

        first = asyncio.create_task(client.put(ARTIFACT, content=slow()))
        await come.wait()
        assert (await held(database))[1]["artifact_bytes"] == 600
        other = f"{NAMESPACE}/artifacts/b"
        for answer in (
            await upload(client, b"x" * 500, other),
            await store(client, text_output("x" * 500)),
            await store(client, text_output("x"), text_output("y")),
        ):
            assert answer.status_code == 429
            assert answer.json()["error"]["details"][0]["reason"] == "QUOTA_EXHAUSTED"
        ok(await upload(client, b"x" * 400, other))
        go_on.set()
        assert ok(await first)["sizeBytes"] == "2"
        assert (await held(database))[1]["artifact_bytes"] == 402
        assert await held(database) == await recounted(database)


async def test_what_is_a_part_or_compressed_is_not_kept_as_the_whole(
    client: httpx.AsyncClient, database: Database
) -> None:
    answer = await upload(client, b"x", headers={"Content-Range": "bytes 5-5/10"})
    assert refusal(answer) == BAD
    violations = answer.json()["error"]["details"][1]["fieldViolations"]
    assert [one["field"] for one in violations] == ["Content-Range"]
    answer = await upload(client, b"x", headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 415
    assert await stored(database) == NOTHING
    ok(await upload(client, b"x", headers={"Content-Encoding": "identity"}))


async def test_an_upload_begins_a_namespace_as_strict_as_it_says(
    client: httpx.AsyncClient,
) -> None:
    ok(await upload(client, b"x", params={"sensitive": "true", "local_only": "true"}))
    found = ok(await client.get(NAMESPACE))
    assert (found["sensitive"], found["localOnly"]) == (True, True)
    # What comes after it makes it no looser.
    ok(await upload(client, b"x", f"{NAMESPACE}/artifacts/b", params={"sensitive": "false"}))
    assert ok(await client.get(NAMESPACE))["sensitive"] is True
    other = f"{MEMORY}/namespaces/open"
    ok(await upload(client, b"x", f"{other}/artifacts/a"))
    ok(await upload(client, b"x", f"{other}/artifacts/b", params={"localOnly": "true"}))
    found = ok(await client.get(other))
    assert (found["sensitive"], found["localOnly"]) == (False, True)


async def test_what_a_tool_uploads_is_under_its_policy(client: httpx.AsyncClient) -> None:
    policy = {"offPrompt": True, "sensitive": True, "ttl": "60s"}
    ok(await client.put(f"{MEMORY}/toolPolicies/web", json=policy))
    params = {"tool": "web", "ttl": "3600s", "sensitive": "false"}
    sent = ok(await upload(client, b"x", params=params))
    assert sent["expireTime"] == "2026-01-15T12:01:00Z"
    found = ok(await client.get(NAMESPACE))
    assert (found["sensitive"], found["tool"]) == (True, "web")
    answer = ok(await process(client, text_output("y"), namespace="n"))
    assert answer["disposition"] == "stored"
    unknown = ok(await upload(client, b"x", ARTIFACT.replace("/n/", "/m/"), params={"tool": "t"}))
    assert unknown["expireTime"] == "2026-01-16T12:00:00Z"
    for wrong in ({"tool": "a/b"}, {"sensitive": "perhaps"}):
        assert refusal(await upload(client, b"x", params=wrong)) == BAD
