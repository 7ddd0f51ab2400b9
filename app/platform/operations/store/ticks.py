"""Time slots of periodic work, each taken by one process, and the last successes of its parts."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.platform.operations.store.tables import TickRow


async def take_tick(session: Session, name: str, interval: timedelta) -> bool:
    """Take the present slot of a periodic task; return False if another process has it.

    Slots follow the clock of the database, the only one that all processes share. The clock is read
    once per statement, so the compared value is the stored one.
    """
    seconds = interval.total_seconds()
    await session.execute(
        upsert(TickRow)
        .values(name=name, last_slot=datetime.fromtimestamp(0, UTC))
        .on_conflict_do_nothing()
    )
    slot = func.to_timestamp(
        func.floor(func.extract("epoch", func.statement_timestamp()) / seconds) * seconds
    )
    statement = (
        update(TickRow)
        .where(TickRow.name == name, TickRow.last_slot < slot)
        .values(last_slot=slot)
        .returning(TickRow.name)
    )
    return (await session.execute(statement)).first() is not None


async def note_done(session: Session, names: Collection[str]) -> None:
    """Record that parts of periodic work have just succeeded."""
    if not names:
        return
    now = await database_now(session)
    # Always in the same order: two processes must not deadlock.
    done = upsert(TickRow).values([{"name": name, "last_slot": now} for name in sorted(names)])
    await session.execute(
        done.on_conflict_do_update(
            index_elements=[TickRow.name], set_={"last_slot": done.excluded.last_slot}
        )
    )


async def list_done(session: Session, names: Collection[str]) -> dict[str, datetime]:
    """Return the time of the last success of parts of periodic work, by name."""
    statement = select(TickRow.name, TickRow.last_slot).where(TickRow.name.in_(names))
    return dict((await session.execute(statement)).all())
