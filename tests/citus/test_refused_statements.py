"""A statement that the cluster refuses is the service's fault, told once: nothing repeats it."""

from datetime import timedelta

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from app.kernel.clock import SystemClock
from app.kernel.errors import Reason
from app.platform.operations.services.runner import Job
from app.platform.operations.store import leases
from tests.citus.conftest import Service
from tests.support.citus import ask
from tests.support.errors import refusal
from tests.support.queue import enqueue, runner_of, stored

_MEMORY = {"scope": {"user_id": "1"}, "fact": "I like tea."}
_FAULT = (500, "INTERNAL", Reason.INTERNAL)
_REFUSED = "could not run distributed query"


@pytest.fixture
async def refusing(url: str, service: Service) -> Service:
    """A service whose cluster takes each statement for one that concerns all engines."""
    name = str(ask(url, "select current_database()")[0][0])
    ask(url, f'alter database "{name}" set citus.enable_router_execution = off')
    # Settings of a database are those of connections that are opened later.
    await service[1].db.engine.dispose()
    return service


async def test_a_request_fails_once_and_the_log_names_who_sent_it(refusing: Service) -> None:
    client, _ = refusing
    with capture_logs() as lines:
        answer = await client.post("/memories", json=_MEMORY)
    assert refusal(answer) == _FAULT
    (line,) = [each for each in lines if each["event"] == "database.statement_refused"]
    assert line["sqlstate"] == "0A000"
    assert line["message"].startswith(_REFUSED)
    assert line["statement"].startswith("app.")


async def test_a_job_fails_at_its_first_attempt(service: Service) -> None:
    _, resources = service
    db, clock = resources.db, SystemClock()

    async def work(job: Job) -> None:
        async with job.db.transaction() as session:
            await session.execute(text("set local citus.enable_router_execution = off"))
            await leases.renew(session, job.claim.owned, timedelta(seconds=30))

    operation = await enqueue(db, clock)
    assert await runner_of(db, clock, resources.settings, work).run_pending() == 1
    row = await stored(db, operation)
    assert (row.state, row.attempts) == ("FAILED", 1)
    assert row.error is not None
    assert row.error["code"] == 13
