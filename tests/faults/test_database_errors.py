"""Every database error leaves its SQLSTATE: in the log, the metrics, and what callers are told."""

import asyncio
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import asynccontextmanager, nullcontext
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from prometheus_client import REGISTRY
from sqlalchemy import make_url, text
from structlog.testing import capture_logs

from app.adapters.db.engine import open_engine
from app.adapters.db.errors import DatabaseErrors
from app.adapters.db.session import Database
from app.adapters.resources import open_resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Aborted, Internal, Reason, ServiceError, Unavailable
from app.settings.settings import Settings
from tests.support.distributed import used_as_distributed
from tests.support.errors import refusal
from tests.support.faults import RAISE, end_other_connections, trigger
from tests.support.live import free_port
from tests.support.operations import USER, create_memory

_FACT = "I like zebrafish."
_MEMORY = {"scope": USER, "fact": _FACT}
_AWAY = (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
_FAULT = (500, "INTERNAL", Reason.INTERNAL)
Line = MutableMapping[str, Any]


def _counted(state: str) -> float:
    name = "memory_bank_database_errors_total"
    return REGISTRY.get_sample_value(name, {"sqlstate": state}) or 0.0


@pytest.fixture
async def shared_database(database_url: str, settings: Settings) -> AsyncIterator[Database]:
    """A database of the test's own, which has told nothing in the last minute."""
    async with _opened(database_url, settings) as found:
        yield found


def _only(lines: list[Line], event: str) -> Line:
    (line,) = [line for line in lines if line["event"] == event]
    return line


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("53100", "The database has no room for writes at the moment."),
        ("53300", "The database accepts no more connections at the moment."),
        ("25006", "The database is read-only at the moment."),
        ("58030", "The database cannot be reached at the moment."),
    ],
)
async def test_what_keeps_the_database_from_writing_is_told_in_words(
    client: httpx.AsyncClient, database: Database, state: str, message: str
) -> None:
    before = _counted(state)
    raising = RAISE.format(state=state).replace("'no'", "'could not extend file'")
    async with trigger(database, raising, at_commit=False):
        with capture_logs() as lines:
            answer = await client.post("/memories", json=_MEMORY)
            await client.post("/memories", json=_MEMORY)
    assert refusal(answer) == _AWAY
    error = answer.json()["error"]
    assert error["message"] == message
    assert error["details"][0]["metadata"] == {"sqlstate": state}
    assert _counted(state) - before == 2
    line = _only(lines, "database.failed")
    assert (line["sqlstate"], line["message"]) == (state, "could not extend file")
    assert line["routine"] == "exec_stmt_raise"
    assert line["statement"].startswith("app.memory.memories.")
    assert _FACT not in str(line)


@pytest.mark.parametrize("state", ["0A000", "42703"])
async def test_a_statement_that_the_database_refuses_is_our_fault(
    client: httpx.AsyncClient, database: Database, state: str
) -> None:
    """On a server that follows no other, this passes by no waiting."""
    async with trigger(database, RAISE.format(state=state), at_commit=False):
        with capture_logs() as lines:
            answer = await client.post("/memories", json=_MEMORY)
    assert refusal(answer) == _FAULT
    line = _only(lines, "database.statement_refused")
    assert (line["sqlstate"], line["log_level"]) == (state, "error")
    assert line["statement"].startswith("app.memory.memories.")


_SPLIT = "raise exception 'could not find valid entry for shard 102008' using errcode = 'XX000';"


@pytest.mark.parametrize("is_together", [False, True])
@pytest.mark.parametrize(("failures", "status", "sent"), [(2, 200, 3), (3, 503, 3)])
async def test_a_hot_statement_that_meets_the_split_of_a_shard_is_sent_three_times(
    client: httpx.AsyncClient,
    database: Database,
    failures: int,
    status: int,
    sent: int,
    *,
    is_together: bool,
) -> None:
    # The first memories of an engine are written step by step: it has no model before.
    for fact in ("I like tea.", "I have a dog."):
        await create_memory(client, fact)
    # A sequence counts what is rolled back.
    async with database.transaction() as session:
        await session.execute(text("create sequence sent"))
    raising = f"if nextval('sent') <= {failures} then {_SPLIT} end if;"
    distributed = used_as_distributed(database) if is_together else nullcontext()
    async with trigger(database, raising, at_commit=False):
        with capture_logs() as lines, distributed:
            answer = await client.post("/memories", json=_MEMORY)
    async with database.transaction() as session:
        count = await session.scalar(text("select last_value from sent"))
        await session.execute(text("drop sequence sent"))
    assert (answer.status_code, count) == (status, sent)
    if status == 503:
        assert refusal(answer) == _AWAY
        assert answer.headers["retry-after"] == "1"
        assert _only(lines, "database.failed")["sqlstate"] == "XX000"


_LOST = "raise exception 'could not commit transaction for shard 1' using errcode = 'XX000';"


@pytest.mark.parametrize(("raised", "state"), [(_SPLIT, "XX000"), (_LOST, "08000")])
async def test_a_transaction_that_meets_a_split_or_loses_a_node_can_be_repeated(
    database: Database, raised: str, state: str
) -> None:
    with pytest.raises(Unavailable) as caught:
        await _stay(database, f"do $$ begin {raised} end $$", 0)
    assert caught.value.retry_after_seconds == 1
    assert caught.value.metadata == {"sqlstate": state}


async def test_whether_a_server_is_a_standby_is_asked_once_a_second() -> None:
    now, asked = 0.0, 0

    async def is_standby() -> bool:
        nonlocal asked
        asked += 1
        return asked == 1

    errors = DatabaseErrors(is_standby, lambda: now)
    for _ in range(2):
        assert isinstance(await errors.translate(psycopg.errors.FeatureNotSupported()), Unavailable)
    now = 1.0
    for _ in range(2):
        assert isinstance(await errors.translate(psycopg.errors.FeatureNotSupported()), Internal)
    assert asked == 2


async def test_words_that_may_quote_a_memory_are_not_logged(
    client: httpx.AsyncClient, database: Database
) -> None:
    raising = f"raise exception 'invalid: {_FACT}' using errcode = '22P02';"
    async with trigger(database, raising, at_commit=False):
        with capture_logs() as lines:
            assert refusal(await client.post("/memories", json=_MEMORY)) == _FAULT
    assert _only(lines, "database.statement_refused")["sqlstate"] == "22P02"
    assert _FACT not in str(lines)


async def test_each_state_is_told_once_a_minute_with_how_many_were_left_out() -> None:
    now = 0.0

    async def is_standby() -> bool:
        return False

    errors = DatabaseErrors(is_standby, lambda: now)
    with capture_logs() as lines:
        for _ in range(3):
            assert isinstance(await errors.translate(psycopg.errors.DiskFull()), Unavailable)
        assert isinstance(await errors.translate(psycopg.errors.FeatureNotSupported()), Internal)
        now = 60.0
        await errors.translate(psycopg.errors.DiskFull())
    told = [(line["sqlstate"], line["left_out"]) for line in lines]
    assert told == [("53100", 0), ("0A000", 0), ("53100", 2)]


@pytest.fixture
def guest(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """The owner's connection, beside a role `guest` that may read and write."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(b"create role guest login")
        owner.execute(b"grant select, insert, update on all tables in schema public to guest")
        try:
            yield owner
        finally:
            owner.execute(b"drop owned by guest")
            owner.execute(b"drop role guest")


@asynccontextmanager
async def _opened(url: str, settings: Settings, **changed: str) -> AsyncIterator[Database]:
    address = make_url(url).set(**changed).render_as_string(hide_password=False)  # type: ignore[arg-type]  # the parts of an address
    found = Database(open_engine(address, settings))
    yield found
    await found.close()


@pytest.mark.parametrize(
    ("altered", "changed", "told"),
    [
        ("connection limit 0", {"username": "guest"}, ("53300", "no more connections")),
        ("nologin", {"username": "guest"}, ("28000", "refuses the user")),
        ("login", {"username": "stranger"}, ("28000", "refuses the user")),
        ("login", {"database": "elsewhere"}, ("3D000", "does not exist")),
    ],
)
async def test_why_no_connection_can_be_opened_is_told_in_words(
    guest: psycopg.Connection[Any],
    database_url: str,
    settings: Settings,
    altered: str,
    changed: dict[str, str],
    told: tuple[str, str],
) -> None:
    state, message = told
    guest.execute(f"alter role guest {altered}".encode())
    async with _opened(database_url, settings, **changed) as database:
        with capture_logs() as lines, pytest.raises(ServiceError, match=message) as caught:
            async with database.snapshot() as session:
                await session.execute(text("select 1"))
    assert caught.value.metadata == {"sqlstate": state}
    assert "FATAL" in _only(lines, "database.failed")["message"]


async def _stay(database: Database, statement: str, pause: float) -> None:
    async with database.transaction() as session:
        await session.execute(text(statement))
        await asyncio.sleep(pause)
        await session.execute(text(statement))


@pytest.mark.parametrize("is_pooled", [False, True])
async def test_a_transaction_that_may_write_vectors_does_not_outlast_its_limit(
    database_url: str, settings: Settings, *, is_pooled: bool
) -> None:
    limited = settings.model_copy(
        update={"database_behind_pooler": is_pooled, "database_transaction_max_seconds": 0.2}
    )
    async with _opened(database_url, limited) as database:
        for statement, pause in (("select pg_sleep(60)", 0.0), ("select 1", 0.5)):
            with pytest.raises(Aborted) as caught:
                await _stay(database, statement, pause)
            assert caught.value.reason is Reason.CONCURRENT_CHANGE
        async with database.transaction(writes_vectors=False) as session:
            await session.execute(text("select pg_sleep(0.3)"))
        async with database.snapshot(statement_seconds=0) as session:
            await session.execute(text("select pg_sleep(0.3)"))


async def test_probes_tell_a_database_that_takes_no_writes(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    full = RAISE.format(state="53100")
    async with trigger(database, full, at_commit=False, table="ticks"):
        ready = await client.get("http://test/readyz")
    assert refusal(ready) == (503, "UNAVAILABLE", Reason.NOT_READY)
    checks = ready.json()["error"]["details"][0]["metadata"]
    assert checks["database"] == "ok"
    assert checks["writes"] == "The database has no room for writes at the moment."
    clock.advance(timedelta(seconds=10))
    assert (await client.get("http://test/readyz")).status_code == 200


async def test_a_database_that_is_away_is_said_to_be(settings: Settings) -> None:
    url = f"postgresql://postgres@127.0.0.1:{free_port()}/bank"
    with pytest.raises(Unavailable):
        async with open_resources(settings, url):
            pass


async def test_connections_that_the_server_has_just_ended_are_not_used(
    shared_database: Database,
) -> None:
    async def ask() -> None:
        async with shared_database.snapshot() as session:
            await session.execute(text("select pg_sleep(0.05)"))

    async def ask_directly() -> None:
        await shared_database.run(b"select pg_sleep(0.05)", [])

    # Each of them holds several connections, which are idle for less than a second.
    await asyncio.gather(*(ask() for _ in range(4)), *(ask_directly() for _ in range(4)))
    await end_other_connections(shared_database)
    await asyncio.gather(*(ask() for _ in range(4)), *(ask_directly() for _ in range(4)))
