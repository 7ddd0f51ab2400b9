"""What an authentication costs the database: little, whatever is sent."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import event, text

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Unauthenticated, Unavailable
from app.platform.access.logic import check_sum, mint
from app.platform.access.services.access import AccessService
from app.platform.access.services.lookups import KeyLookups
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.engines import FIRST
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.statements import beside_admission, statements_on

_LIFE = timedelta(milliseconds=750)


class _Stopped:
    """A monotonic clock that stands still, so that a slow machine changes nothing."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def stopped() -> _Stopped:
    return _Stopped()


@pytest.fixture
def lookups(database: Database, clock: FixedClock, stopped: _Stopped) -> KeyLookups:
    return KeyLookups(database, clock, stopped)


@dataclass(frozen=True)
class _Asked:
    """The statements that were sent so far, by what they ask for."""

    statements: list[str]

    @property
    def changes(self) -> int:
        return sum("api_key_changes" in one for one in self.statements)

    @property
    def keys(self) -> int:
        return sum("secret_hash = ANY" in one for one in self.statements)

    @property
    def own_shape(self) -> int:
        return len(self.statements) - self.changes - self.keys


@pytest.fixture
def asked(database: Database) -> Iterator[_Asked]:
    with statements_on(database, "SELECT api_key") as found:
        yield _Asked(found)


async def test_a_key_is_looked_up_once_as_long_as_none_ends(
    lookups: KeyLookups, database: Database, clock: FixedClock, asked: _Asked
) -> None:
    secrets = [await make_key(database, clock.now(), "viewer") for _ in range(3)]
    for _ in range(5):
        for secret in secrets:
            assert await lookups.find(secret) is not None
    assert (asked.changes, asked.keys) == (1, 3)
    clock.advance(_LIFE)
    for secret in secrets:
        assert await lookups.find(secret) is not None
    assert (asked.changes, asked.keys) == (2, 3)


@pytest.mark.parametrize(
    "statement",
    [
        "update api_keys set revoke_time = create_time",
        "update api_keys set roles = '[\"user\"]'",
        "update api_key_secrets set expire_time = create_time",
        "delete from api_key_secrets",
        "delete from api_keys",
        "truncate api_keys cascade",
    ],
)
async def test_whatever_ends_a_key_is_seen(
    lookups: KeyLookups, database: Database, clock: FixedClock, statement: str
) -> None:
    ended = await make_key(database, clock.now(), "viewer")
    before = await lookups.find(ended)
    async with database.transaction() as session:
        await session.execute(text(statement))
    assert await lookups.find(ended) is before
    clock.advance(_LIFE)
    found = await lookups.find(ended)
    assert found is None or found != before


async def test_what_ends_no_key_makes_nobody_ask_again(
    lookups: KeyLookups, database: Database, clock: FixedClock, asked: _Asked
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    await lookups.find(secret)
    await make_key(database, clock.now(), "viewer")
    async with database.transaction() as session:
        await session.execute(text("update api_keys set last_use_time = create_time"))
    clock.advance(_LIFE)
    await lookups.find(secret)
    assert (asked.changes, asked.keys) == (2, 1)


async def test_a_key_that_ends_while_it_is_looked_up_is_not_kept(
    lookups: KeyLookups, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "viewer")

    def learn(*arguments: Any) -> None:
        if "secret_hash = ANY" in arguments[2]:
            # Another request is told of a change before this statement is read.
            lookups._version = -1

    engine = database.engine.sync_engine
    event.listen(engine, "after_cursor_execute", learn)
    try:
        assert await lookups.find(secret) is not None
    finally:
        event.remove(engine, "after_cursor_execute", learn)
    assert not lookups._good
    assert await lookups.find(secret) is not None
    assert len(lookups._good) == 1


async def test_nothing_is_known_for_longer_when_the_clock_of_the_machine_is_set_back(
    lookups: KeyLookups, clock: FixedClock, stopped: _Stopped, asked: _Asked
) -> None:
    await lookups.find("garbage")
    clock.advance(-timedelta(hours=1))
    stopped.seconds += 0.75
    await lookups.find("garbage")
    assert asked.changes == 2


async def test_nobody_relies_on_an_answer_that_was_long_in_coming(
    lookups: KeyLookups, database: Database, clock: FixedClock, stopped: _Stopped, asked: _Asked
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    first = asyncio.create_task(lookups.find(secret))
    for _ in range(3):
        await asyncio.sleep(0)
    # The first statement of the other request is under way; for this one it is too old.
    stopped.seconds += 0.75
    assert await lookups.find(secret) is not None
    assert await first is not None
    assert asked.changes == 2


async def test_an_unknown_secret_is_looked_up_once_in_a_while(
    lookups: KeyLookups, clock: FixedClock, asked: _Asked
) -> None:
    secret = mint()
    for _ in range(5):
        assert await lookups.find(secret) is None
    assert asked.keys == 1
    clock.advance(_LIFE)
    assert await lookups.find(secret) is None
    assert asked.keys == 2


async def test_a_mistyped_secret_asks_for_nothing(lookups: KeyLookups, asked: _Asked) -> None:
    for _ in range(5):
        body = mint()[:-6]
        assert await lookups.find(body + check_sum(body + "x")) is None
    assert asked.statements == []


async def test_garbage_is_held_against_what_was_read_once(
    lookups: KeyLookups, clock: FixedClock, asked: _Asked
) -> None:
    garbage = [f"garbage {number}" for number in range(50)]
    assert await asyncio.gather(*map(lookups.find, garbage)) == [None] * 50
    for secret in garbage:
        assert await lookups.find(secret) is None
    assert (asked.changes, asked.own_shape, asked.keys) == (1, 1, 0)
    clock.advance(_LIFE)
    assert await asyncio.gather(*map(lookups.find, garbage)) == [None] * 50
    assert (asked.changes, asked.own_shape, asked.keys) == (2, 1, 0)


async def test_who_asks_for_one_secret_at_a_time_shares_a_statement(
    lookups: KeyLookups, database: Database, clock: FixedClock, asked: _Asked
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    found = await asyncio.gather(*(lookups.find(secret) for _ in range(50)))
    assert {one.caller.key_id for one in found if one} == {found[0] and found[0].caller.key_id}
    assert None not in found
    assert (asked.changes, asked.keys) == (1, 1)


async def test_who_asks_for_several_secrets_waits_for_few_statements(
    lookups: KeyLookups, database: Database, clock: FixedClock, asked: _Asked
) -> None:
    known = [await make_key(database, clock.now(), "viewer") for _ in range(3)]
    secrets = [mint() for _ in range(150)]
    secrets[10], secrets[75], secrets[149] = known
    found = await asyncio.gather(*map(lookups.find, secrets))
    assert [number for number, one in enumerate(found) if one is not None] == [10, 75, 149]
    assert len({one.caller.key_id for one in found if one}) == 3
    assert (asked.changes, asked.keys) == (1, 2)


async def test_a_request_that_is_broken_off_takes_nothing_from_those_beside_it(
    lookups: KeyLookups, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "viewer")
    first = asyncio.create_task(lookups.find(secret))
    second = asyncio.create_task(lookups.find(secret))
    await asyncio.sleep(0)
    first.cancel()
    assert await second is not None
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_what_is_known_is_bounded(
    lookups: KeyLookups, database: Database, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.platform.access.services.lookups.MAX_KNOWN", 3)
    good = [await make_key(database, clock.now(), "viewer") for _ in range(5)]
    for secret in (*good, *(mint() for _ in range(5))):
        await lookups.find(secret)
    assert (len(lookups._good), len(lookups._bad)) == (3, 3)
    with statements_on(database, "api_key_secrets") as asked:
        for secret in reversed(good):
            assert await lookups.find(secret) is not None
    assert len(asked) == 2


async def test_a_configured_key_works_at_once_where_it_is_made_and_soon_elsewhere(
    database: Database, clock: FixedClock
) -> None:
    here, elsewhere = AccessService(database, clock), AccessService(database, clock)
    for service in (here, elsewhere):
        with pytest.raises(Unauthenticated):
            await service.authenticate("chosen")
    await here.ensure_first_key("chosen")
    assert (await here.authenticate("chosen")).reach.is_all
    clock.advance(timedelta(seconds=1))
    assert (await elsewhere.authenticate("chosen")).reach.is_all


async def test_a_configured_key_may_have_the_shape_of_a_made_one(
    database: Database, clock: FixedClock
) -> None:
    access = AccessService(database, clock)
    secret = mint()
    await access.ensure_first_key(secret)
    assert (await access.authenticate(secret)).reach.is_all


async def test_a_database_that_is_away_is_told_and_forgotten(
    database: Database, clock: FixedClock, settings: Settings
) -> None:
    away = Database(open_engine("postgresql://nobody@127.0.0.1:1/nothing", settings))
    lookups = KeyLookups(away, clock)
    secret = await make_key(database, clock.now(), "viewer")
    for one in (secret, "garbage"):
        found = await asyncio.gather(*(lookups.find(one) for _ in range(3)), return_exceptions=True)
        assert [type(error) for error in found] == [Unavailable] * 3
    lookups._db = database
    assert await lookups.find(secret) is not None
    assert await lookups.find("garbage") is None
    await away.close()


async def test_a_flood_of_bad_keys_through_the_application_asks_for_little(
    app: FastAPI, client: httpx.AsyncClient, database: Database
) -> None:
    assert (await client.get(FIRST)).status_code == 200
    body = mint()[:-6]
    mistyped = body + check_sum(body + "x")
    with statements_on(database, "api_key") as asked:
        for number in range(60):
            async with client_with(app, (f"garbage-{number}", mistyped)[number % 2]) as bad:
                assert refusal(await bad.get(FIRST))[0] == 401
    assert len(beside_admission(asked)) <= 1
    assert (await client.get(FIRST, headers={"x-goog-api-key": ADMIN_KEY})).status_code == 200


async def test_roles_and_permissions_of_a_newer_release_allow_nothing(
    lookups: KeyLookups, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "owner", permissions=["keys.eat"])
    found = await lookups.find(secret)
    assert found is not None
    assert found.caller.permissions == frozenset()


async def test_a_key_that_cannot_be_read_keeps_nobody_waiting(
    lookups: KeyLookups, database: Database, clock: FixedClock
) -> None:
    odd = await make_key(database, clock.now(), "viewer", engines=["none"])
    with pytest.raises(ValueError, match="invalid literal"):
        await lookups.find(odd)
    assert await lookups.find(await make_key(database, clock.now(), "viewer")) is not None
