"""Keys that are bound to projects or to engines: issue 4, section 1.

What they do not reach does not exist for them.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import GONE, Json, id_of, ok, refusal
from tests.support.bound import assert_alike
from tests.support.cases import in_one_test
from tests.support.copies import Copies
from tests.support.engines import API, COLLECTION, create_engine, names
from tests.support.keys import client_with, make_key
from tests.support.sessions import event

MINE = "projects/mine/locations/here"
THEIRS = "projects/theirs/locations/there"
DENIED = (403, "PERMISSION_DENIED")
ANYWHERE = f"{API}/projects/-/locations/-/reasoningEngines"


@dataclass(frozen=True)
class World:
    """Engines of two projects, with a memory `m` and a session `s` each, and who reaches them.

    `mine` are two, of which `first` is one; `other` is the engine of the other project.
    """

    admin: httpx.AsyncClient
    by_project: httpx.AsyncClient
    by_engine: httpx.AsyncClient
    first: str
    second: str
    other: str

    def clients(self) -> tuple[httpx.AsyncClient, httpx.AsyncClient]:
        return self.by_project, self.by_engine


async def _engine(admin: httpx.AsyncClient, location: str) -> None:
    name = (await create_engine(admin, location, displayName=location))["name"]
    body: Json = {"fact": f"A secret of {location}.", "scope": {"user_id": "42"}}
    ok(await admin.post(f"{API}/{name}/memories", params={"memoryId": "m"}, json=body))
    session = {"userId": "42", "displayName": f"A secret of {location}"}
    ok(await admin.post(f"{API}/{name}/sessions", params={"sessionId": "s"}, json=session))
    ok(await admin.post(f"{API}/{name}/sessions/s:appendEvent", json=event("I like tea.")))


@pytest.fixture
async def world(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, copies: Copies
) -> AsyncIterator[World]:
    async def fill() -> None:
        for location in (MINE, MINE, THEIRS):
            await _engine(client, location)

    await copies.fill(database, "engines of two projects", fill)
    other, second, first, _ = await names(client, ANYWHERE)
    now = clock.now()
    by_project = await make_key(database, now, "admin", projects=["mine"])
    by_engine = await make_key(database, now, "admin", engines=[first.rpartition("/")[2]])
    async with client_with(app, by_project) as one, client_with(app, by_engine) as two:
        yield World(client, one, two, first, second, other)


async def test_engines_are_listed_that_the_key_reaches(world: World) -> None:
    both = [world.second, world.first]
    for url in (ANYWHERE, f"{API}/reasoningEngines", f"{API}/memoryBanks"):
        assert await names(world.by_project, url) == both
        assert await names(world.by_engine, url) == [world.first]
    for params in ({"filter": 'display_name:"secret" OR display_name!="x"'}, {"pageSize": 1000}):
        assert await names(world.by_project, ANYWHERE, **params) == both
    mine = f"{API}/{MINE}/reasoningEngines"
    assert await names(world.by_project, mine) == both
    assert await names(world.by_engine, mine) == [world.first]
    assert await names(world.by_engine, f"{API}/{THEIRS}/reasoningEngines") == []


async def test_pages_of_engines_have_no_gap_and_no_foreign_one(world: World) -> None:
    for client, wanted in (
        (world.by_project, [world.second, world.first]),
        (world.by_engine, [world.first]),
    ):
        found: list[str] = []
        token: str | None = ""
        while token is not None:
            params = {"pageSize": "1", "pageToken": token}
            page = ok(await client.get(ANYWHERE, params=params))
            found += [one["name"] for one in page["reasoningEngines"]]
            token = page.get("nextPageToken")
        assert found == wanted
    whole = ok(await world.admin.get(ANYWHERE, params={"pageSize": 1}))
    rest = await names(world.by_engine, ANYWHERE, pageToken=whole["nextPageToken"])
    assert rest == [world.first]


async def test_a_project_out_of_reach_is_told_as_one_without_engines(world: World) -> None:
    for method in ("GET", "POST"):
        foreign = await world.by_project.request(method, f"{API}/{THEIRS}/reasoningEngines")
        nowhere = f"{API}/projects/nowhere/locations/there/reasoningEngines"
        missing = await world.by_project.request(method, nowhere)
        assert refusal(missing) == GONE
        assert_alike(foreign, missing, "/theirs/", "/nowhere/")


async def test_engines_are_created_in_projects_of_the_key_alone(world: World) -> None:
    made = await create_engine(world.by_project, MINE)
    assert made["name"] in await names(world.by_project, ANYWHERE)
    # These would be of the default project.
    for url in (f"{API}/reasoningEngines", ANYWHERE, COLLECTION):
        answer = await world.by_project.post(url)
        assert refusal(answer) == GONE
        assert "default" in answer.json()["error"]["message"]
    for url in (f"{API}/{MINE}/reasoningEngines", ANYWHERE):
        assert refusal(await world.by_engine.post(url)) == DENIED
    assert len(await names(world.admin, ANYWHERE)) == 5


async def test_an_engine_within_reach_is_used_by_each_form_of_its_name(world: World) -> None:
    engine_id = world.first.rpartition("/")[2]
    forms = (
        f"{API}/{world.first}",
        f"http://test/v1/{world.first}",
        f"{API}/reasoningEngines/{engine_id}",
        f"{API}/memoryBanks/{engine_id}",
        f"{ANYWHERE}/{engine_id}",
        f"{API}/projects/mine/locations/-/reasoningEngines/{engine_id}",
        f"{API}/projects/-/locations/here/memoryBanks/{engine_id}",
    )
    for client in world.clients():
        for form in forms:
            assert ok(await client.get(form))["name"] == world.first
            assert ok(await client.get(f"{form}/memories/m"))["fact"]
    wrong = (
        f"{API}/{MINE.replace('mine', 'default')}/reasoningEngines/{engine_id}",
        f"{API}/{MINE.replace('here', 'there')}/reasoningEngines/{engine_id}",
        f"{API}/{THEIRS}/reasoningEngines/{engine_id}",
    )
    for client in world.clients():
        for form in wrong:
            for tail in ("", "/memories", "/memories/m", "/operations"):
                assert refusal(await client.get(form + tail)) == GONE


Path = Callable[[str], str]
FORMS: Mapping[str, Path] = {
    "full": lambda engine: f"{API}/{engine}",
    "short": lambda engine: f"{API}/reasoningEngines/{engine.rpartition('/')[2]}",
    "bank": lambda engine: f"http://test/v1/memoryBanks/{engine.rpartition('/')[2]}",
    "any": lambda engine: f"{ANYWHERE}/{engine.rpartition('/')[2]}",
    "own project": lambda engine: f"{API}/{MINE}/reasoningEngines/{engine.rpartition('/')[2]}",
}
REQUESTS: tuple[tuple[str, str, Json], ...] = (
    ("GET", "", {}),
    ("PATCH", "", {"json": {"displayName": "Mine now"}}),
    ("DELETE", "", {"params": {"force": "true"}}),
    ("GET", ":usage", {}),
    ("GET", "/memories", {}),
    ("POST", "/memories", {"json": {"fact": "a", "scope": {"user_id": "42"}}}),
    ("GET", "/memories/m", {}),
    ("DELETE", "/memories/m", {"params": {"permanent": "true"}}),
    ("GET", "/memories/-/revisions", {}),
    ("POST", "/memories:retrieve", {"json": {"scope": {"user_id": "42"}}}),
    ("POST", "/memories:purge", {"json": {"filter": 'fact:"a"', "force": True}}),
    ("GET", "/sessions/s/events", {}),
    ("POST", "/sessions/s:appendEvent", {"json": event("Slipped in.")}),
    ("GET", "/operations", {}),
    ("GET", "/auditEvents", {}),
)


@in_one_test("form", FORMS)
async def test_an_engine_out_of_reach_is_told_as_one_that_is_not_there(
    world: World, form: str
) -> None:
    theirs, nothing = world.other.rpartition("/")[2], "7777777"
    for method, tail, options in REQUESTS:
        for client in world.clients():
            for engine in {world.other, world.second if client is world.by_engine else world.other}:
                missing_name = engine.rpartition("/")[0] + f"/{nothing}"
                missing = await client.request(method, FORMS[form](missing_name) + tail, **options)
                foreign = await client.request(method, FORMS[form](engine) + tail, **options)
                assert refusal(missing) == GONE
                assert_alike(foreign, missing, engine.rpartition("/")[2], nothing)
    assert ok(await world.admin.get(f"{API}/{world.other}"))["displayName"] == THEIRS
    assert theirs != nothing


async def test_ids_that_no_engine_can_have_are_told_alike(world: World) -> None:
    engine_id = world.first.rpartition("/")[2]
    for client in world.clients():
        for other in (f"0{engine_id}", f"+{engine_id}", f"{engine_id}.0", "\uff10", "9" * 20, "-1"):
            answer = await client.get(f"{API}/reasoningEngines/{other}")
            assert refusal(answer) == GONE, other


async def test_what_engines_leave_behind_is_seen_by_who_reached_them(
    world: World, runner: Runner
) -> None:
    for engine in (world.second, world.other):
        ok(await world.admin.delete(f"{API}/{engine}", params={"force": "true"}))
    await runner.run_pending()
    left = ok(await world.by_project.get(f"{API}/{world.second}/operations"))["operations"]
    assert ok(await world.by_project.get(f"{API}/{left[0]['name']}"))["done"]
    gone = ok(await world.admin.get(f"{API}/{world.other}/operations"))["operations"]
    for client in world.clients():
        assert refusal(await client.get(f"{API}/{gone[0]['name']}")) == GONE
    assert refusal(await world.by_engine.get(f"{API}/{left[0]['name']}")) == GONE


async def test_names_in_a_body_lead_to_no_other_engine(world: World, runner: Runner) -> None:
    mine = f"{API}/{world.first}"
    (theirs,) = ok(await world.admin.get(f"{API}/{world.other}/memories/m/revisions"))[
        "memoryRevisions"
    ]
    (own,) = ok(await world.admin.get(f"{mine}/memories/m/revisions"))["memoryRevisions"]
    for client in world.clients():
        for target in (
            theirs["name"],
            id_of(theirs),
            theirs["name"].removeprefix(f"{THEIRS}/"),
            # Its own revision, by the name of another engine.
            theirs["name"].rpartition("/")[0] + "/" + id_of(own),
            own["name"].replace("/mine/", "/theirs/"),
        ):
            answer = await client.post(
                f"{mine}/memories/m:rollback", json={"targetRevisionId": target}
            )
            assert refusal(answer) == GONE, target
        # The engine beside its own is within reach of the key that is bound to the project.
        beyond = [world.other, *([world.second] if client is world.by_engine else [])]
        for session in (f"{engine}/sessions/s" for engine in beyond):
            source = {"vertexSessionSource": {"session": session}}
            answer = await client.post(f"{mine}/memories:generate", json=source)
            missing = await client.post(
                f"{mine}/memories:generate",
                json={"vertexSessionSource": {"session": session[:-1] + "n"}},
            )
            assert refusal(missing) == GONE
            assert_alike(answer, missing, "/s ", "/n ")
    for target in (own["name"], own["name"].removeprefix(f"{MINE}/"), id_of(own)):
        body = {"targetRevisionId": target}
        ok(await world.by_engine.post(f"{mine}/memories/m:rollback", json=body))
    for client, engine in ((world.by_engine, world.first), (world.by_project, world.second)):
        source = {"vertexSessionSource": {"session": f"{engine}/sessions/s"}}
        ok(await client.post(f"{mine}/memories:generate", json=source))
    await runner.run_pending()


async def test_the_whole_service_is_out_of_reach(world: World) -> None:
    for client in world.clients():
        for url in ("http://test/metrics", "http://test/v1/keys", "http://test/v1/auditEvents"):
            assert refusal(await client.get(url)) == DENIED, url


async def test_a_request_id_tells_nothing_of_an_engine_of_others(world: World) -> None:
    params = {"requestId": "same"}
    made = ok(await world.admin.post(f"{API}/{MINE}/reasoningEngines", params=params))
    again = ok(await world.by_project.post(f"{API}/{MINE}/reasoningEngines", params=params))
    assert made["name"] != again["name"]
