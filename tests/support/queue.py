"""Operations put into the queue and read back, for the tests of claims and runner."""

from datetime import timedelta
from typing import Any

from sqlalchemy import select, update

from app.adapters.db.session import Database
from app.kernel.clock import Clock
from app.platform.operations.services.claiming import Claiming
from app.platform.operations.services.runner import JobFunction, Runner
from app.platform.operations.store import repository
from app.platform.operations.store.leases import Claim
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow, Owned
from app.platform.operations.store.waking import tell
from app.settings.settings import Settings

ENGINE = 1
KIND = "test.work"
KEEP = timedelta(days=7)


async def enqueue(
    database: Database,
    clock: Clock,
    *,
    key: str = "key",
    engine: int = ENGINE,
    kind: str = KIND,
    caller: str | None = None,
) -> str:
    """Queue an operation and return its id."""
    new = NewOperation(
        engine_id=engine,
        engine_name=f"projects/default/locations/local/reasoningEngines/{engine}",
        kind=kind,
        now=clock.now(),
        keep=KEEP,
        details={"@type": "test"},
        caller=caller,
    )
    async with database.transaction() as session:
        await repository.insert(session, new.queued(key, {"asked": key}))
    return new.operation_id


async def stored(database: Database, operation_id: str) -> OperationRow:
    """Return an operation as it is stored."""
    async with database.snapshot() as session:
        statement = select(OperationRow).where(OperationRow.operation_id == operation_id)
        return (await session.execute(statement)).scalar_one()


async def all_stored(database: Database) -> list[OperationRow]:
    """Return every operation, oldest first."""
    async with database.snapshot() as session:
        statement = select(OperationRow).order_by(OperationRow.operation_id)
        return list((await session.execute(statement)).scalars())


async def overwrite(database: Database, operation_id: str, **values: object) -> None:
    """Do to a row what another worker, or time, would have done."""
    statement = update(OperationRow).where(OperationRow.operation_id == operation_id)
    returning = (OperationRow.engine_id, OperationRow.due_time)
    async with database.transaction() as session:
        changed = await session.execute(statement.values(**values).returning(*returning))
        for engine_id, due in changed:
            tell(session, engine_id, due)


async def claim(
    database: Database, clock: Clock, lease: timedelta = timedelta(seconds=30)
) -> Claim | None:
    """Claim an operation, as a worker does."""
    own = Settings().model_copy(update={"worker_lease_seconds": lease.total_seconds()})
    return await Claiming(database, clock, own).claim()


async def finish(database: Database, clock: Clock, owned: Owned) -> bool:
    """End an operation with success, as a job does; say whether it was still the owner's."""
    response: dict[str, Any] = {"@type": "done"}
    async with database.transaction() as session:
        return await repository.finish(session, owned, (clock.now(), KEEP), response, {})


async def cancel(database: Database, clock: Clock, operation_id: str) -> None:
    """Ask for an operation's cancellation, as a client does."""
    row = await stored(database, operation_id)
    async with database.transaction() as session:
        await repository.cancel(session, row, clock.now(), KEEP)


def runner_of(database: Database, clock: Clock, settings: Settings, work: JobFunction) -> Runner:
    """Return a worker that knows one kind of work."""
    return Runner(database, clock, settings, {KIND: work})
