"""`resources:find`: what an id, a full name or the value of a scope stands for."""

from datetime import timedelta

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.bank import ENGINE, GONE, Json, field_of, ok, refusal
from tests.support.cases import in_one_test
from tests.support.engines import API, create_engine
from tests.support.errors import refusal as reason_of
from tests.support.keys import client_with, id_of, make_key
from tests.support.operations import create_memory, path_of
from tests.support.sessions import create_session

USER = "user-0042"
SCOPE = {"user_id": USER, "app": "x"}
PLACE = ENGINE.rpartition("/")[0]


async def _find(client: httpx.AsyncClient, words: str) -> list[Json]:
    found: list[Json] = ok(await client.post("/resources:find", json={"text": words}))["resources"]
    return found


@pytest.fixture
async def names(client: httpx.AsyncClient, database: Database, clock: FixedClock) -> dict[str, str]:
    """The full names of a memory, its revision and operation, a session and a key, by kind."""
    memory = (await create_memory(client, "I like tea.", SCOPE))["name"]
    (revision,) = ok(await client.get(f"{path_of(memory)}/revisions"))["memoryRevisions"]
    return {
        "MEMORY": memory,
        "REVISION": revision["name"],
        "OPERATION": revision["operation"],
        "SESSION": (await create_session(client, "Talk_5", userId=USER))["name"],
        "KEY": f"keys/{id_of(await make_key(database, clock.now(), 'viewer'))}",
        "ENGINE": ENGINE,
    }


async def test_each_kind_is_found_by_its_id_and_by_its_full_name(
    client: httpx.AsyncClient, names: dict[str, str]
) -> None:
    for kind, name in names.items():
        found = [{"kind": kind, "name": name}]
        assert await _find(client, name) == found
        assert await _find(client, name.rpartition("/")[2]) == found
    assert await _find(client, names["MEMORY"].replace("projects/default", "projects/-")) == [
        {"kind": "MEMORY", "name": names["MEMORY"]}
    ]


async def test_the_value_of_a_scope_is_found_with_its_key(
    client: httpx.AsyncClient, names: dict[str, str]
) -> None:
    del names
    assert await _find(client, USER) == [{"kind": "SCOPE", "scope": {"user_id": USER}}]
    assert await _find(client, "x") == [{"kind": "SCOPE", "scope": {"app": "x"}}]
    await create_session(client, userId="group/7 µ")
    assert await _find(client, "group/7 µ") == [
        {"kind": "SCOPE", "scope": {"user_id": "group/7 µ"}}
    ]


async def test_one_text_may_name_several(client: httpx.AsyncClient) -> None:
    ok(
        await client.post(
            "/memories",
            params={"memoryId": "tea"},
            json={"fact": "I like tea.", "scope": {"user_id": "tea", "team": "tea"}},
        )
    )
    await create_session(client, "tea", userId="tea")
    assert await _find(client, "tea") == [
        {"kind": "MEMORY", "name": f"{ENGINE}/memories/tea"},
        {"kind": "SESSION", "name": f"{ENGINE}/sessions/tea"},
        {"kind": "SCOPE", "scope": {"team": "tea"}},
        {"kind": "SCOPE", "scope": {"user_id": "tea"}},
    ]


async def test_at_most_ten_are_answered(client: httpx.AsyncClient) -> None:
    for key in "abcdefgh":
        await create_memory(client, "I like tea.", {key: "same", f"{key}{key}": "same"})
    assert len(await _find(client, "same")) == 10


async def test_a_deleted_memory_is_found_while_it_can_be_recovered(
    client: httpx.AsyncClient, names: dict[str, str], clock: FixedClock
) -> None:
    memory, revision = names["MEMORY"], names["REVISION"]
    ok(await client.delete(path_of(memory)))
    assert await _find(client, memory) == [{"kind": "MEMORY", "name": memory, "isDeleted": True}]
    assert await _find(client, revision) == [{"kind": "REVISION", "name": revision}]
    assert await _find(client, "x") == []
    clock.advance(timedelta(days=2))
    for gone in (memory, revision):
        assert await _find(client, gone) == []


async def test_what_is_elsewhere_is_not_found_here(
    client: httpx.AsyncClient, app: FastAPI, names: dict[str, str]
) -> None:
    other = (await create_engine(client))["name"]
    number = other.rpartition("/")[2]
    assert await _find(client, number) == [{"kind": "ENGINE", "name": other}]
    assert await _find(client, other) == [{"kind": "ENGINE", "name": other}]
    transport, url = httpx.ASGITransport(app=app), f"{API}/{other}"
    async with httpx.AsyncClient(
        transport=transport, base_url=url, headers=client.headers
    ) as theirs:
        for kind, name in names.items():
            found = [{"kind": kind, "name": name}] if kind in {"KEY", "ENGINE"} else []
            assert await _find(theirs, name) == found
            assert await _find(theirs, name.rpartition("/")[2]) == found
        assert await _find(theirs, USER) == []
    memory = names["MEMORY"].rpartition("/")[2]
    revision = names["REVISION"].rpartition("/")[2]
    for name in (
        f"{other}/memories/{memory}",
        f"{ENGINE}/memories/other/revisions/{revision}",
        f"{ENGINE}/sessions/talk_5",
        f"{PLACE}/none/reasoningEngines/1",
        f"{PLACE}/99",
        "99999999999999999999",
        "keys/none",
        "a/b/c",
        "-",
    ):
        assert await _find(client, name) == []


async def test_a_bound_key_finds_nothing_of_others(
    app: FastAPI,
    client: httpx.AsyncClient,
    names: dict[str, str],
    database: Database,
    clock: FixedClock,
) -> None:
    own = (await create_memory(client, "Mine.", {"user_id": "7", "app": "y"}))["name"]
    secret = await make_key(database, clock.now(), "admin", scope_conditions={"user_id": ["7"]})
    async with client_with(app, secret) as bound:
        assert await _find(bound, own) == [{"kind": "MEMORY", "name": own}]
        assert await _find(bound, "7") == [{"kind": "SCOPE", "scope": {"user_id": "7"}}]
        assert await _find(bound, ENGINE) == [{"kind": "ENGINE", "name": ENGINE}]
        for kind, name in names.items():
            if kind != "ENGINE":
                assert await _find(bound, name) == []
                assert await _find(bound, name.rpartition("/")[2]) == []
        for text in (USER, "x"):
            assert await _find(bound, text) == []


async def test_a_key_of_some_engines_finds_no_other(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    other = (await create_engine(client))["name"]
    for projects in (None, ["default"]):
        secret = await make_key(database, clock.now(), "admin", engines=["1"], projects=projects)
        async with client_with(app, secret) as bound:
            assert await _find(bound, other) == []
            assert await _find(bound, other.rpartition("/")[2]) == []
            assert (
                refusal(await bound.post(f"{API}/{other}/resources:find", json={"text": "1"}))
                == GONE
            )


async def test_each_kind_takes_the_permission_to_get_it(
    app: FastAPI,
    client: httpx.AsyncClient,
    names: dict[str, str],
    database: Database,
    clock: FixedClock,
) -> None:
    wanted = {
        "MEMORY": "memories.get",
        "REVISION": "revisions.get",
        "OPERATION": "operations.get",
        "SESSION": "sessions.get",
        "KEY": "keys.manage",
        "SCOPE": "memories.list",
    }
    texts = {**names, "SCOPE": "x"}
    del texts["ENGINE"]
    for kind, permission in wanted.items():
        secret = await make_key(database, clock.now(), permissions=["engines.get", permission])
        async with client_with(app, secret) as client_of_one:
            seen = {other: bool(await _find(client_of_one, text)) for other, text in texts.items()}
        assert seen == {other: other == kind for other in texts}
    secret = await make_key(database, clock.now(), permissions=["memories.get"])
    async with client_with(app, secret) as without:
        answer = await without.post("/resources:find", json={"text": names["MEMORY"]})
        assert reason_of(answer)[2] == Reason.PERMISSION_MISSING
    del client


@in_one_test(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": 5}, "text"),
        ({"text": "x" * 1_025}, "text"),
        ({"text": "x", "kind": "MEMORY"}, "kind"),
    ],
)
async def test_a_malformed_request_names_its_field(
    client: httpx.AsyncClient, body: Json, field: str
) -> None:
    assert field_of(await client.post("/resources:find", json=body)) == field


class TestSlowScopes:
    """Lookups of scopes that take too long."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"filter_timeout_seconds": 0.2})

    async def test_they_hide_no_resource(
        self, client: httpx.AsyncClient, names: dict[str, str], database_url: str
    ) -> None:
        with psycopg.connect(database_url) as connection:
            connection.execute("lock table memories in access exclusive mode")
            key = names["KEY"]
            assert await _find(client, key) == [{"kind": "KEY", "name": key}]
            answer = await client.post("/resources:find", json={"text": "no such value"})
            assert field_of(answer) == "text"


async def test_what_a_page_shows_of_an_id_is_found(
    client: httpx.AsyncClient, names: dict[str, str]
) -> None:
    for kind in ("MEMORY", "REVISION", "OPERATION"):
        end = names[kind][-6:]
        for text in (f"…{end}", f"...{end}", end):
            found = await _find(client, text)
            assert {"kind": kind, "name": names[kind]} in found
            assert all(one["name"].endswith(end) for one in found)
    assert await _find(client, f"…{names['MEMORY'][-5:]}") == []
    session = (await create_session(client, userId="7"))["name"]
    assert {"kind": "SESSION", "name": session} in await _find(client, f"…{session[-6:]}")


async def test_the_end_of_an_id_finds_only_what_no_name_finds(client: httpx.AsyncClient) -> None:
    memory = (await create_memory(client, "I like tea."))["name"]
    await create_memory(client, "I like milk.", {"user_id": memory[-6:]})
    scope = {"kind": "SCOPE", "scope": {"user_id": memory[-6:]}}
    assert await _find(client, memory[-6:]) == [scope]
    assert {"kind": "MEMORY", "name": memory} in await _find(client, f"…{memory[-6:]}")


async def test_a_bound_key_finds_no_end_of_others(
    app: FastAPI,
    client: httpx.AsyncClient,
    names: dict[str, str],
    database: Database,
    clock: FixedClock,
) -> None:
    own = (await create_memory(client, "Mine.", {"user_id": "7"}))["name"]
    secret = await make_key(database, clock.now(), "admin", scope_conditions={"user_id": ["7"]})
    async with client_with(app, secret) as bound:
        assert {"kind": "MEMORY", "name": own} in await _find(bound, f"…{own[-6:]}")
        for kind in ("MEMORY", "REVISION", "OPERATION"):
            found = [one["name"] for one in await _find(bound, f"…{names[kind][-6:]}")]
            assert names[kind] not in found
