"""Task memory by keys that are bound to scopes: a namespace is seen by the keys of its user."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import BAD, GONE, Json, ok, refusal
from tests.support.bound import USERS, Bound, assert_alike
from tests.support.cases import in_one_test
from tests.support.tasks import MEMORY, process, store, stored, text_output, upload

TAKEN = (409, "ALREADY_EXISTS")


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    (tmp_path / "note.md").write_text("a")
    return settings.model_copy(update={"task_import_sources": {"in": tmp_path}})


async def _load(client: httpx.AsyncClient, path: str, **fields: Any) -> httpx.Response:
    return await client.post(f"{path}:load", json={"source": "in", "path": "note.md", **fields})


def _path(user: str) -> str:
    return f"{MEMORY}/namespaces/n-{user}"


@pytest.fixture
async def kept(bank: httpx.AsyncClient) -> httpx.AsyncClient:
    """The administrator's client, of a bank where each user has a namespace."""
    for user in USERS:
        output = text_output(f"Said to {user}.", name="a")
        ok(await store(bank, output, path=_path(user), userId=user))
    ok(await store(bank, text_output("Nobody's.", name="a"), path=_path("nobody")))
    return bank


async def test_lists_have_what_the_key_sees(bound: Bound, kept: httpx.AsyncClient) -> None:
    users = bound.kind.users
    listed = ok(await bound.client.get(f"{MEMORY}/namespaces")).get("namespaces", [])
    assert sorted(one["userId"] for one in listed) == sorted(users)
    page = ok(await bound.client.get(f"{MEMORY}/namespaces", params={"pageSize": 1}))
    assert ("nextPageToken" in page) is (len(users) > 1)
    memory = await bound.client.get(MEMORY)
    assert (ok(memory)["namespaceCount"] if users else refusal(memory)) == (len(users) or GONE)
    memories = ok(await bound.client.get("/taskMemories")).get("taskMemories", [])
    assert [one["namespaceCount"] for one in memories] == ([len(users)] if users else [])
    assert ok(await kept.get(MEMORY))["namespaceCount"] == len(USERS) + 1


async def test_a_text_that_waits_to_be_cut_is_told_to_who_sees_it(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    long = b"The tea was warm. " * 70_000
    for user in USERS:
        path, whose = f"{_path(user)}/artifacts/a", {"userId": user}
        ok(await upload(bank, long, path, "text/plain", params=whose))
    listed = ok(await bound.client.get(f"{MEMORY}/namespaces")).get("namespaces", [])
    readable = {one["userId"]: one["reference"]["readableWith"] for one in listed}
    assert readable == {user: ["query", "summarize"] for user in bound.kind.users}


async def test_a_namespace_is_used_where_the_key_sees_it(
    bound: Bound, kept: httpx.AsyncClient
) -> None:
    del kept
    client = bound.client
    for user in bound.kind.users:
        path = _path(user)
        assert ok(await client.get(path))["reference"]["count"] == 1
        assert (await client.get(f"{path}/artifacts/a/content")).text == f"Said to {user}."
        assert ok(await client.get(f"{path}/artifacts/a:text"))["text"] == f"Said to {user}."
        ok(await store(client, text_output("More."), path=path))
        ok(await upload(client, b"bytes", f"{path}/artifacts/b", params={"userId": user}))
        ok(await upload(client, b"other", f"{path}/artifacts/b", headers={"If-Match": "*"}))
        ok(await process(client, text_output("More."), namespace=f"n-{user}", offPrompt=True))
        ok(await client.patch(path, json={"sensitive": True, "ttl": "60s"}))
        assert len(ok(await client.get(f"{path}/artifacts"))["artifacts"]) == 4
        ok(await client.get(f"{path}/artifacts/b"))
        ok(await client.delete(f"{path}/artifacts/b"))
        ok(await client.delete(path))
        assert refusal(await client.get(path)) == GONE


REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "get": ("GET", "", {}),
    "artifacts": ("GET", "/artifacts", {}),
    "artifact": ("GET", "/artifacts/a", {}),
    "content": ("GET", "/artifacts/a/content", {}),
    "text": ("GET", "/artifacts/a:text", {}),
    "update": ("PATCH", "", {"json": {"sensitive": True}}),
    "delete": ("DELETE", "", {}),
    "delete an artifact": ("DELETE", "/artifacts/a", {}),
}


@in_one_test("request_name", REQUESTS)
async def test_a_foreign_namespace_is_told_as_one_that_is_not_there(
    bound: Bound, kept: httpx.AsyncClient, request_name: str
) -> None:
    method, tail, options = REQUESTS[request_name]
    missing = await bound.client.request(method, f"{_path('missing')}{tail}", **options)
    assert refusal(missing) == GONE
    for user in (*bound.kind.hidden_users, "nobody"):
        foreign = await bound.client.request(method, _path(user) + tail, **options)
        assert_alike(foreign, missing, f"/n-{user}", "/n-missing")
        assert ok(await kept.get(_path(user)))["sensitive"] is False


async def test_it_begins_for_users_of_the_key_alone(
    bound: Bound, bank: httpx.AsyncClient, database: Database
) -> None:
    said = {"userId": "7"}
    for user in (*USERS, None):
        whose: Json = {} if user is None else {"userId": user}
        path = _path(f"new-{user}")
        answers = [
            await store(bound.client, text_output("a"), path=path, **whose),
            await process(bound.client, text_output("a"), offPrompt=True, **whose),
            await upload(bound.client, b"a", f"{path}/artifacts/b", params=whose),
            await _load(bound.client, path, **whose),
        ]
        if user in bound.kind.users:
            assert [answer.status_code for answer in answers] == [200] * 4
            # The same bytes again are no second upload.
            ok(await upload(bound.client, b"a", f"{path}/artifacts/b", params=whose))
        else:
            assert [refusal(answer) for answer in answers] == [GONE] * 4
    assert (await stored(database))["task_namespaces"] == 2 * len(bound.kind.users)
    del said, bank


async def test_a_name_that_others_have_taken_says_nothing_but_that(
    mine: httpx.AsyncClient, kept: httpx.AsyncClient, database: Database
) -> None:
    before = await stored(database)
    answer = await store(mine, text_output("a"), path=_path("7"), userId="42")
    assert refusal(answer) == TAKEN
    answer = await upload(mine, b"a", f"{_path('7')}/artifacts/b", params={"userId": "42"})
    assert refusal(answer) == TAKEN
    assert refusal(await _load(mine, _path("7"), userId="42")) == TAKEN
    assert refusal(await _load(mine, _path("7"))) == GONE
    assert refusal(await store(mine, text_output("a"), path=_path("7"))) == GONE
    assert await stored(database) == before
    assert ok(await kept.get(_path("7")))["reference"]["count"] == 1


async def test_another_user_of_the_key_is_another(kept: httpx.AsyncClient, bound: Bound) -> None:
    del kept
    if bound.kind.users == ("42", "43"):
        answer = await store(bound.client, text_output("a"), path=_path("42"), userId="43")
        assert refusal(answer) == BAD


async def test_a_memory_is_erased_as_far_as_the_key_sees_it(
    mine: httpx.AsyncClient, kept: httpx.AsyncClient
) -> None:
    ok(await mine.delete(MEMORY))
    left = ok(await kept.get(f"{MEMORY}/namespaces"))["namespaces"]
    assert {one.get("userId") for one in left} == {"43", "7", None}
    assert refusal(await mine.delete(MEMORY)) == GONE


class TestLater:
    """A service that has texts cut by a worker."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_index_at_once_bytes": 10})

    async def test_what_is_queued_concerns_the_user(
        self, mine: httpx.AsyncClient, bank: httpx.AsyncClient, runner: Runner, clock: FixedClock
    ) -> None:
        del clock
        path = f"{_path('42')}/artifacts/a"
        options = {"params": {"userId": "42"}}
        ok(await upload(mine, b"The kettle is green.", path, "text/plain", **options))
        ok(await store(bank, text_output("The kettle is red."), path=_path("7"), userId="7"))
        assert ok(await mine.get(path))["state"] == "indexing"
        await runner.run_pending()
        assert ok(await mine.get(path))["state"] == "ready"
        seen = ok(await mine.get("/operations"))["operations"]
        assert sum("IndexArtifact" in str(one["metadata"]) for one in seen) == 1
