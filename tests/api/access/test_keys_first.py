"""The administrator's first key: of the settings, or made by the first start."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Unauthenticated
from app.kernel.paging import PageRequest
from app.platform.access.logic import check_sum, mint
from app.platform.access.schemas import CreateKeyRequest
from app.platform.access.services.access import AccessService, KeyService
from app.platform.audit.store import ServiceEventRow
from app.process.listening import ServeError
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings

_DAY = timedelta(days=1)


@pytest.fixture
def keys(database: Database, clock: FixedClock, settings: Settings) -> KeyService:
    return KeyService(database, clock, settings)


class _Starts:
    """Starts of the service, each of a process that knows nothing yet."""

    def __init__(self, database: Database, clock: FixedClock) -> None:
        self._database = database
        self._clock = clock
        self.logged: list[Any] = []

    async def __call__(self, configured: str | None) -> AccessService:
        self._clock.advance(_DAY)
        access = AccessService(self._database, self._clock)
        with capture_logs() as lines:
            await access.ensure_first_key(configured)
        self.logged = [line["event"] for line in lines]
        assert configured is None or configured not in str(lines)
        return access


@pytest.fixture
def start(database: Database, clock: FixedClock) -> _Starts:
    return _Starts(database, clock)


async def _works(access: AccessService, secret: str) -> bool:
    try:
        await access.authenticate(secret)
    except Unauthenticated:
        return False
    return True


async def _id(access: AccessService, secret: str) -> str:
    return (await access.authenticate(secret)).key_id


async def test_a_configured_key_that_was_rotated_away_stays_dead_over_starts(
    start: _Starts, keys: KeyService
) -> None:
    access = await start("chosen")
    rotated = await keys.rotate(await _id(access, "chosen"), timedelta())
    assert rotated.secret is not None
    for _ in range(2):
        access = await start("chosen")
        assert start.logged == ["admin_key.refused"]
        assert not await _works(access, "chosen")
        assert await _works(access, rotated.secret)


async def test_a_configured_key_that_was_revoked_stays_dead_over_starts(
    start: _Starts, keys: KeyService
) -> None:
    access = await start("chosen")
    await keys.revoke(await _id(access, "chosen"), force=True)
    for _ in range(2):
        access = await start("chosen")
        assert start.logged == ["admin_key.refused"]
        assert not await _works(access, "chosen")
    access = await start("another")
    assert start.logged == []
    assert await _works(access, "another")


async def test_a_changed_setting_ends_the_key_before_and_not_what_it_was_rotated_to(
    start: _Starts, keys: KeyService
) -> None:
    access = await start("leaked")
    rotated = await keys.rotate(await _id(access, "leaked"), timedelta(days=30))
    assert rotated.secret is not None
    access = await start("leaked")
    assert start.logged == []
    assert await _works(access, "leaked")
    access = await start("new")
    assert await _works(access, "new")
    assert not await _works(access, "leaked")
    assert await _works(access, rotated.secret)
    page = await keys.list_keys(PageRequest())
    assert [key.revoke_time for key in page.keys] == [None, None]


async def test_a_changed_setting_revokes_the_key_that_it_named_alone(
    start: _Starts, keys: KeyService
) -> None:
    await start("old")
    access = await start("new")
    old, new = (await keys.list_keys(PageRequest())).keys[::-1]
    assert old.revoke_time is not None
    assert new.name == f"keys/{await _id(access, 'new')}"
    access = await start("old")
    assert start.logged == ["admin_key.refused"]
    assert await _works(access, "new")


async def test_a_key_that_someone_names_like_the_configured_one_is_left_alone(
    start: _Starts, keys: KeyService
) -> None:
    await start("old")
    request = CreateKeyRequest.model_validate({"displayName": "configured", "roles": ["viewer"]})
    made = await keys.create(request)
    access = await start("new")
    assert made.secret is not None
    assert await _works(access, made.secret)


async def test_a_setting_that_is_taken_away_leaves_its_key(start: _Starts) -> None:
    await start("chosen")
    access = await start(None)
    assert await _works(access, "chosen")


@pytest.mark.parametrize("configured", ["chosen", None])
async def test_processes_that_start_together_make_one_key(
    database: Database, clock: FixedClock, keys: KeyService, configured: str | None
) -> None:
    services = [AccessService(database, clock) for _ in range(8)]
    made = await asyncio.gather(*(one.ensure_first_key(configured) for one in services))
    assert len((await keys.list_keys(PageRequest())).keys) == 1
    shown = [secret for secret in made if secret is not None]
    assert len(shown) == (configured is None)
    for service in services:
        assert await _works(service, configured or shown[0])


async def test_of_keys_that_are_revoked_together_one_is_left(keys: KeyService) -> None:
    request = CreateKeyRequest.model_validate({"displayName": "one", "roles": ["admin"]})
    ids = [(await keys.create(request)).name.rpartition("/")[2] for _ in range(6)]
    ends = await asyncio.gather(*map(keys.revoke, ids), return_exceptions=True)
    assert sum(isinstance(end, Exception) for end in ends) == 1


async def test_a_configured_key_that_is_mistyped_stops_the_start(
    database: Database, database_url: str, settings: Settings, clock: FixedClock, keys: KeyService
) -> None:
    del database  # which is empty, and emptied afterwards
    body = mint()[:-6]
    given = {
        "database_url": SecretStr(database_url),
        "embedder": EmbedderChoice.HASH,
        "admin_key": SecretStr(body + check_sum(body + "x")),
    }
    with pytest.raises(ServeError, match="wrong checksum"):
        async with open_process(settings.model_copy(update=given), clock):
            pass
    assert (await keys.list_keys(PageRequest())).keys == []


async def test_the_audit_log_tells_of_keys_that_a_start_makes_and_revokes(
    database: Database, clock: FixedClock
) -> None:
    access = AccessService(database, clock)
    await access.ensure_first_key("one-admin-key")
    await access.ensure_first_key("another-admin-key")
    async with database.snapshot() as session:
        rows = (await session.execute(select(ServiceEventRow))).scalars().all()
    assert sorted((row.method, row.caller) for row in rows) == [
        ("createKey", None),
        ("createKey", None),
        ("revokeKey", None),
    ]
    assert len({row.resource for row in rows}) == 2
