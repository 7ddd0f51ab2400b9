"""What was refused is told, too; a refusal stays what it is, whether or not it can be told."""

import httpx
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.process.main import create_app
from app.settings.settings import Settings
from tests.support.audit import all_events, events, stored
from tests.support.bank import ENGINE, ENGINE_URL, id_of, ok, refusal
from tests.support.engines import create_engine
from tests.support.faults import RAISE, trigger
from tests.support.keys import client_with, make_key
from tests.support.operations import USER

TEA = {"fact": "I like tea.", "scope": USER}


async def test_a_permission_that_is_missing_is_in_the_log_of_the_engine(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    async with client_with(app, secret) as viewer:
        answer = await viewer.post("/memories", json=TEA)
    assert answer.status_code == 403
    (found,) = await events(client)
    assert found == {
        "name": found["name"],
        "createTime": "2026-01-15T12:00:00Z",
        "caller": found["caller"],
        "method": "createMemory",
        "resource": ENGINE,
        "address": "127.0.0.1",
        "requestId": answer.headers["x-request-id"],
        "result": "PERMISSION_DENIED",
        "reason": "PERMISSION_MISSING",
    }
    assert found["caller"] in secret


@pytest.mark.parametrize("role", ["viewer", "user"])
async def test_an_engine_out_of_reach_does_not_learn_of_who_asked_for_it(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock, role: str
) -> None:
    own = await create_engine(client)
    secret = await make_key(database, clock.now(), role, engines=[id_of(own)])
    async with client_with(app, secret) as other:
        answer = await other.post("/memories", json=TEA)
    assert answer.status_code == (403 if role == "viewer" else 404)
    assert await events(client) == []
    (found,) = await all_events(client, "engine=0")
    assert found["name"].startswith("auditEvents/")
    assert found["method"] == "createMemory"
    assert found["resource"] == "projects/?/locations/?/reasoningEngines/1"


async def test_an_engine_is_not_found_where_it_does_not_lie(client: httpx.AsyncClient) -> None:
    url = "http://test/v1/projects/other/locations/local/reasoningEngines/1/memories"
    assert (await client.post(url, json=TEA)).status_code == 404
    assert await events(client) == []
    (found,) = await all_events(client)
    # A project may be any text.
    assert found["resource"] == "projects/?/locations/?/reasoningEngines/1"


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/memories", {"fact": "I like tea."}, ("createMemory", "INVALID_ARGUMENT")),
        ("POST", "/memories?memoryId=m", TEA, ("createMemory", "ALREADY_EXISTS")),
        ("PATCH", "/memories/none", {"fact": "x"}, ("updateMemory", "NOT_FOUND")),
        ("PATCH", "/memories/m?x=1", {"fact": "x"}, ("updateMemory", "INVALID_ARGUMENT")),
        ("PATCH", "/memories/m", {"fact": "x", "etag": "7"}, ("updateMemory", "ABORTED")),
        ("DELETE", "?force=false", None, ("deleteReasoningEngine", "FAILED_PRECONDITION")),
        ("POST", "/sessions/s:compact", {}, ("compactSession", "UNIMPLEMENTED")),
    ],
)
async def test_a_change_that_is_refused_is_told_with_its_result(
    client: httpx.AsyncClient,
    method: str,
    path: str,
    body: object,
    expected: tuple[str, str],
) -> None:
    ok(await client.post("/memories?memoryId=m", json=TEA))
    answer = await client.request(method, ENGINE_URL + path, json=body)
    assert refusal(answer)[1] == expected[1]
    found = (await events(client))[0]
    assert (found["method"], found["result"]) == expected
    assert found["reason"] == answer.json()["error"]["details"][0]["reason"]
    assert found["resource"].startswith(ENGINE)
    assert "operation" not in found


async def test_what_cannot_be_an_id_is_not_repeated(client: httpx.AsyncClient) -> None:
    answer = await client.patch("/memories/Canary of mine", json={"fact": "x"})
    assert answer.status_code == 404
    (found,) = await events(client)
    assert found["resource"] == f"{ENGINE}/memories/?"


async def test_who_is_not_known_leaves_nothing(app: FastAPI, database: Database) -> None:
    for secret in (None, "nobody's"):
        async with client_with(app, secret) as stranger:
            assert (await stranger.post("/memories", json=TEA)).status_code == 401
    assert await stored(database) == []


@pytest.fixture
def slow(resources: Resources, settings: Settings) -> FastAPI:
    """The application with a rate of next to nothing."""
    bounded = settings.model_copy(
        update={"key_rate_units_per_second": 20, "rate_burst_seconds": 1, "rate_block_seconds": 1}
    )
    return create_app(
        Resources(
            bounded, resources.clock, resources.db, resources.database_url, resources.embedder
        )
    )


@pytest.mark.parametrize(("role", "status"), [("user", 400), ("viewer", 403)])
async def test_a_flood_leaves_no_more_than_its_rate(
    slow: FastAPI, database: Database, clock: FixedClock, role: str, status: int
) -> None:
    """Also one of refusals, which come before what an engine is charged."""
    secret = await make_key(database, clock.now(), role)
    async with client_with(slow, secret) as flood:
        codes = [(await flood.post("/memories", json={})).status_code for _ in range(30)]
    told = codes.count(status)
    assert 0 < told < 10
    assert codes == [status] * told + [429] * (30 - told)
    assert len(await stored(database)) == told


async def test_a_place_that_is_not_there_is_not_told_of(
    resources: Resources, settings: Settings, client: httpx.AsyncClient, database: Database
) -> None:
    full = settings.model_copy(update={"max_costly_requests_per_key": 0})
    app = create_app(
        Resources(full, resources.clock, resources.db, resources.database_url, resources.embedder)
    )
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, headers=client.headers) as other:
        url = f"{ENGINE_URL}/memories:purge"
        answer = await other.post(url, json={"filter": "fact:tea"})
    assert answer.json()["error"]["details"][0]["reason"] == "TOO_MANY_AT_ONCE"
    assert await stored(database) == []


async def test_a_refusal_that_cannot_be_told_is_the_same_refusal(
    client: httpx.AsyncClient, database: Database
) -> None:
    expected = await client.patch("/memories/none", json={"fact": "I like canaries."})
    with capture_logs() as lines:
        async with trigger(database, RAISE.format(state="P0001"), table="audit_events"):
            answer = await client.patch("/memories/none", json={"fact": "I like canaries."})
    assert (answer.status_code, answer.json()) == (expected.status_code, expected.json())
    (line,) = [line for line in lines if line["event"] == "audit.not_recorded"]
    assert line["method"] == "updateMemory"
    assert "canaries" not in str(lines)
    assert len(await stored(database)) == 1


async def test_what_the_database_refused_by_being_away_is_not_tried_again_there(
    client: httpx.AsyncClient, database: Database
) -> None:
    with capture_logs() as lines:
        async with trigger(database, RAISE.format(state="53300")):
            answers = [await client.post("/memories", json=TEA) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {503}
    # One for all of them, a minute.
    (line,) = [line for line in lines if line["event"] == "audit.not_recorded"]
    assert (line["reason"], line["left_out"]) == ("DATABASE_UNAVAILABLE", 0)
    assert await stored(database) == []
