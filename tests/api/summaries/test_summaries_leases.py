"""The worker that makes summaries: it stops once another has its work, and keeps nobody waiting."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from sqlalchemy import event
from typing_extensions import override

from app.adapters.db.session import Database
from app.adapters.llm.ports import Meter, OutputT, Prompt
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.logic.states import SUMMARIZE
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.process.worker import make_runner
from tests.support.bank import ok
from tests.support.queue import all_stored, overwrite
from tests.support.scripted import written_by
from tests.support.summaries import (
    BY_THREE,
    SlowSummariser,
    Summariser,
    context,
    covers,
    session_with,
    summaries,
    talk,
)

_END = "END"
BUDGET = {"strategy": "agent_summary", "tokenLimit": 1_000, "summaryModel": "builtin"}


class _Failing(SlowSummariser):
    """Fails once it may answer."""

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        await super().ask(prompt, output, meter)
        raise self.failure


@contextmanager
def noted(database: Database) -> Iterator[list[str]]:
    """Collect all statements while the block runs, and where transactions end."""
    sent: list[str] = []

    def note(*arguments: object) -> None:
        sent.append(str(arguments[2]) if len(arguments) > 1 else _END)

    engine = database.engine.sync_engine
    names = ("before_cursor_execute", "commit", "rollback")
    for name in names:
        event.listen(engine, name, note)
    try:
        yield sent
    finally:
        for name in names:
            event.remove(engine, name, note)


def locks_session(statement: str) -> bool:
    """Say whether a statement locks a session."""
    return "FROM sessions" in statement and "FOR UPDATE" in statement


async def summarizing(database: Database) -> OperationRow:
    """Return the operation that makes summaries."""
    (found,) = [one for one in await all_stored(database) if one.kind == SUMMARIZE]
    return found


async def take_away(database: Database, clock: FixedClock) -> None:
    """Let the lease of that operation end."""
    operation = await summarizing(database)
    await overwrite(database, operation.operation_id, lease_until=clock.now())


async def test_a_worker_that_has_lost_its_lease_stops_though_more_is_due(
    client: httpx.AsyncClient, resources: Resources, database: Database, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, *range(1, 10))
    slow, other = SlowSummariser(), SlowSummariser()
    work = asyncio.create_task(make_runner(written_by(resources, slow)).run_pending())
    await slow.is_asked.wait()
    await take_away(database, clock)
    again = asyncio.create_task(make_runner(written_by(resources, other)).run_pending())
    await other.is_asked.wait()
    slow.may_answer.set()
    await work
    other.may_answer.set()
    await again
    assert (len(slow.asked), len(other.asked)) == (1, 3)
    assert await covers(client, path, state=None) == [(1, 6), (7, 12), (13, 18)]
    engine = ok(await client.get("http://test/v1beta1/reasoningEngines/1:usage"))
    assert engine["total"]["callCount"] == 4


async def test_a_worker_that_has_lost_its_lease_writes_no_failure(
    client: httpx.AsyncClient, resources: Resources, database: Database, clock: FixedClock
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    slow = _Failing()
    work = asyncio.create_task(make_runner(written_by(resources, slow)).run_pending())
    await slow.is_asked.wait()
    await take_away(database, clock)
    await make_runner(written_by(resources, Summariser())).run_pending()
    slow.may_answer.set()
    await work
    (found,) = await summaries(client, path, state=None)
    assert found["state"] == "active"
    assert (await context(client, path))["summaryState"] == "current"


async def test_what_was_made_so_far_is_told_while_more_is_made(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, *range(1, 7))
    slow = SlowSummariser()
    slow.may_answer.set()
    work = asyncio.create_task(make_runner(written_by(resources, slow)).run_pending())
    await slow.is_asked.wait()
    slow.may_answer.clear()
    slow.is_asked.clear()
    await slow.is_asked.wait()
    told = (await summarizing(database)).details
    slow.may_answer.set()
    await work
    assert (told["summaryCount"], told["modelCallCount"]) == (1, 1)
    ended = (await summarizing(database)).details
    assert (ended["summaryCount"], ended["modelCallCount"]) == (2, 2)


async def test_no_event_is_read_while_the_session_is_locked(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await session_with(client, **BUDGET)
    for number in range(10):
        body = {"input": f"question {number} " * 30, "output": "x" * 200}
        ok(await client.post(f"{path}/exchanges", json=body))
    await context(client, path)
    with noted(database) as sent:
        await runner.run_pending()
    is_locked, read = False, 0
    for statement in sent:
        is_locked = statement != _END and (is_locked or locks_session(statement))
        if "session_events.content" in statement:
            assert not is_locked
            read += 1
    assert len([one for one in sent if locks_session(one)]) >= 2
    assert read >= 2
    assert len(await covers(client, path)) == 1


async def test_what_is_said_just_before_the_work_ends_is_seen(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    slow = SlowSummariser()
    work = asyncio.create_task(make_runner(written_by(resources, slow)).run_pending())
    await slow.is_asked.wait()
    await talk(client, path, 4, 5, 6)
    slow.may_answer.set()
    await work
    assert await covers(client, path) == [(1, 6), (7, 12)]
    assert (await summarizing(database)).details["summaryCount"] == 2
