"""Lines of the log name what was asked for: engine, project, operation, and the request itself."""

from typing import Any

import httpx
from sqlalchemy import text
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import FailedPrecondition, Reason
from app.platform.operations.services.runner import Job, Runner
from app.settings.settings import Settings
from tests.support.bank import id_of, ok
from tests.support.generation import given, said
from tests.support.operations import USER
from tests.support.queue import KIND, enqueue, overwrite, runner_of

ASKED = {"x-request-id": "asked-7"}


async def _line(client: httpx.AsyncClient, method: str, path: str, **sent: Any) -> dict[str, Any]:
    """Send a request; return the names in its line of the access log."""
    with capture_logs() as logs:
        await client.request(method, path, **sent)
    (line,) = (one for one in logs if one["event"] == "request")
    return {name: line[name] for name in ("engine", "project", "operation") if name in line}


async def test_a_request_s_line_names_engine_project_and_operation(
    client: httpx.AsyncClient,
) -> None:
    place = {"engine": 1, "project": "default"}
    for body in ({"fact": "I like tea.", "scope": USER}, {"fact": "I run.", "scope": {"a": "b"}}):
        created = await _line(client, "POST", "/memories", json=body)
        operation = created.pop("operation")
        assert created == place
        known = await _line(client, "GET", f"/operations/{operation}")
        assert known == {**place, "operation": operation}
    queued = await _line(client, "POST", "/memories:generate", json={"scope": USER, **given("A.")})
    assert queued["operation"].isdigit()
    taken = {"fact": "I sing.", "scope": USER}
    for is_first in (True, False):
        named = await _line(client, "POST", "/memories?memoryId=mine", json=taken)
        assert ("operation" in named) is is_first
    # What is no id is not repeated, nor is what is out of reach.
    strange = await _line(client, "GET", "/operations/My%20secret%20is%20tea")
    assert strange == place
    assert await _line(client, "GET", "/memories") == place
    assert await _line(client, "GET", "http://test/v1/projects/mine/reasoningEngines/7") == {}
    assert await _line(client, "GET", "http://test/v1/keys") == {}


async def test_a_worker_s_lines_have_the_request_of_who_asked(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    body = {"scope": USER, **said("I like tea.")}
    operation = ok(await client.post("/memories:generate", json=body, headers=ASKED))
    with capture_logs([merge_contextvars]) as logs:
        await runner.run_pending()
    (line,) = (one for one in logs if one["event"] == "operation.succeeded")
    assert (line["request_id"], line["engine"]) == ("asked-7", 1)
    async with database.snapshot() as session:
        rows = await session.execute(text("select operation_id, request_id from operations"))
        assert (id_of(operation), "asked-7") in rows.all()


async def test_the_line_of_a_failure_tells_kind_engine_attempts_status_and_request(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    async def refused(_: Job) -> None:
        raise FailedPrecondition("No.", Reason.MODEL_REFUSED, metadata={"httpStatus": "401"})

    operation = await enqueue(database, clock)
    await overwrite(database, operation, request_id="asked-7")
    with capture_logs([merge_contextvars]) as logs:
        await runner_of(database, clock, settings, refused).run_pending()
    (line,) = (one for one in logs if one["event"] == "operation.failed")
    told = ("kind", "engine", "attempts", "http_status", "request_id", "reason")
    assert [line[name] for name in told] == [KIND, 1, 1, "401", "asked-7", Reason.MODEL_REFUSED]
