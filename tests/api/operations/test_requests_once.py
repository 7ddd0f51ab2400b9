"""A request with an id has one effect and one answer, for each method that changes something."""

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from app.adapters.db.base import Base
from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.audit.store import AuditEventRow, ServiceEventRow
from app.platform.limits.store import EngineTotalsRow
from app.platform.operations.services.runner import Runner
from app.web.routing import REPLAYED
from tests.support.bank import TAKEN, ok, refusal
from tests.support.changes import CHANGES
from tests.support.engines import COLLECTION

_OPENAPI = Path(__file__).parents[3] / "openapi" / "openapi.json"
WITHOUT_ID = {
    "createKey": "its answer has the secret, which is not stored",
    "importMemories": "its lines may be too many for one transaction; it takes an importId",
    "restoreReasoningEngine": "the id of the archive takes its place",
    "revokeKey": "to revoke a key twice is the same",
    "rotateKey": "its answer has the secret, which is not stored",
}
"""Changes without a request id, and why they have none."""
ANSWERED_AGAIN = {"queryNamespace", "summarizeNamespace", "extractNamespace"}
"""Their answers hold texts, so that only their ids are stored, and a model answers again."""
WITHOUT_MARK = {*ANSWERED_AGAIN, "eraseScope", "uploadArtifact"}
"""Without the header of a repetition; any later request for the same gets the same answer."""
BY_CONTENT = {"uploadArtifact"}
"""Takes an id as all changes do, and ignores it: the bytes decide whether it is a repetition."""
_WITH_ID = sorted(CHANGES.keys() - WITHOUT_ID.keys())
_ONCE = {"Idempotency-Key": "once"}
_NOT_EFFECTS = {AuditEventRow.__table__, ServiceEventRow.__table__, EngineTotalsRow.__table__}


async def _rows(database: Database) -> dict[str, int]:
    """Count the rows of all tables, except the audit log and sums over others."""
    async with database.snapshot() as session:
        return {
            table.name: (
                await session.execute(select(func.count()).select_from(table))
            ).scalar_one()
            for table in Base.metadata.sorted_tables
            if table not in _NOT_EFFECTS
        }


async def _prepared(client: httpx.AsyncClient, runner: Runner, method: str) -> httpx.Request:
    request = await CHANGES[method](client, runner)
    request.headers.update(_ONCE)
    return request


def _with_parameter(request: httpx.Request) -> httpx.Request:
    """Return the request with its id in the query."""
    headers = httpx.Headers(request.headers)
    url = request.url.copy_merge_params({"requestId": headers.pop("idempotency-key")})
    return httpx.Request(request.method, url, headers=headers, content=request.content)


def test_every_change_takes_a_request_id() -> None:
    paths = json.loads(_OPENAPI.read_text())["paths"].values()
    taken = {
        operation["operationId"]
        for path in paths
        for operation in path.values()
        for parameter in operation.get("parameters", [])
        if parameter["name"] == "requestId"
    }
    assert CHANGES.keys() - taken == WITHOUT_ID.keys()


@pytest.mark.parametrize("method", _WITH_ID)
async def test_the_same_request_is_done_once(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock, method: str
) -> None:
    request = await _prepared(client, runner, method)
    first = await client.send(request)
    assert REPLAYED not in first.headers
    rows = await _rows(database)
    clock.advance(timedelta(hours=23, minutes=59))
    for repeated in (request, _with_parameter(request)):
        again = await client.send(repeated)
        assert ok(again) == ok(first) or method in ANSWERED_AGAIN
        if method not in WITHOUT_MARK:
            assert again.headers[REPLAYED] == "true"
    assert await _rows(database) == rows


@pytest.mark.parametrize("method", _WITH_ID)
async def test_the_same_request_at_once_is_done_once(
    client: httpx.AsyncClient, runner: Runner, database: Database, method: str
) -> None:
    request = await _prepared(client, runner, method)
    answers = await asyncio.gather(*(client.send(request) for _ in range(4)))
    bodies = [ok(answer) for answer in answers]
    assert bodies == [bodies[0]] * 4 or method in ANSWERED_AGAIN
    if method not in WITHOUT_MARK:
        assert sorted(REPLAYED in answer.headers for answer in answers) == [False, *[True] * 3]
    rows = await _rows(database)
    assert ok(await client.send(request)) == bodies[0] or method in ANSWERED_AGAIN
    assert await _rows(database) == rows


@pytest.mark.parametrize("method", sorted({*_WITH_ID} - BY_CONTENT))
async def test_another_request_under_the_same_id_is_409(
    client: httpx.AsyncClient, runner: Runner, database: Database, method: str
) -> None:
    request = await _prepared(client, runner, method)
    if request.url.path.endswith("/reasoningEngines"):
        ok(await client.post(COLLECTION, json={"displayName": "another"}, headers=_ONCE))
    else:
        engine = re.match(r".*/reasoningEngines/\d+", str(request.url))
        assert engine is not None
        ok(await client.patch(engine[0], json={"displayName": "another"}, headers=_ONCE))
    rows = await _rows(database)
    answer = await client.send(request)
    assert refusal(answer) == TAKEN
    assert answer.json()["error"]["details"][0]["reason"] == "REQUEST_ID_REUSED"
    assert await _rows(database) == rows
