"""The limits of a process, time that passes for its rates, and what it asks of the database."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, update

from app.adapters.db.session import Database
from app.kernel.auth import Caller
from app.kernel.clock import Clock, FixedClock
from app.kernel.errors import ResourceExhausted
from app.kernel.permissions import Permission
from app.platform.limits.services.limits import LimitService
from app.platform.limits.store import RateBucketRow
from app.settings.settings import Settings


def caller(key_id: str) -> Caller:
    """Return a caller who may do everything."""
    return Caller(key_id, frozenset(Permission))


async def pass_seconds(database: Database, clock: FixedClock, seconds: float) -> None:
    """Let time pass: for the processes, and for the database, whose clock cannot be moved."""
    clock.advance(timedelta(seconds=seconds))
    moved = RateBucketRow.update_time - timedelta(seconds=seconds)
    async with database.transaction() as session:
        await session.execute(update(RateBucketRow).values(update_time=moved))


@contextmanager
def bucket_statements(database: Database) -> Iterator[list[str]]:
    """Collect the statements on the buckets that are sent while the block runs."""
    found: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if RateBucketRow.__tablename__ in statement:
            found.append(statement)

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


@asynccontextmanager
async def held_buckets(database: Database) -> AsyncIterator[None]:
    """Let everyone wait for the buckets that there are while the block runs."""
    async with database.engine.connect() as connection:
        await connection.execute(update(RateBucketRow).values(granted=0))
        yield
        await connection.rollback()


def limits(database: Database, clock: Clock, settings: Settings, **changes: float) -> LimitService:
    """Return the limits of one process; `changes` are settings."""
    return LimitService(database, clock, settings.model_copy(update=changes))


async def refused(service: LimitService, who: Caller, engine: int | None, cost: int) -> float:
    """Charge what must be refused; return when to try again, in seconds."""
    with pytest.raises(ResourceExhausted) as found:
        await service.charge(who, engine, cost)
    assert found.value.retry_after_seconds is not None
    return found.value.retry_after_seconds


async def use_up(service: LimitService, who: Caller, engine: int | None = None) -> int:
    """Charge one unit after the other until one is refused; return how many were not."""
    count = 0
    with suppress(ResourceExhausted):
        while True:
            await service.charge(who, engine, 1)
            count += 1
    return count
