"""One transaction that holds rows while another waits for them."""

import asyncio

from sqlalchemy import text

from app.adapters.db.distribution import is_distributed
from app.adapters.db.session import Database

_WAITING = text("select count(*) from pg_locks where not granted")
_WAITING_ON_NODES = text("""
    select greatest(
        (select count(*) from pg_locks where not granted),
        (select count(distinct waiting_gpid) from citus_lock_waits)
    )
""")
_SECONDS = 5


async def until_waiting(database: Database, transactions: int = 1) -> None:
    """Return as soon as so many transactions wait for a lock.

    Beside the service's own transactions, of which a task has one at a time.
    """
    waiting = _WAITING_ON_NODES if await is_distributed(database.engine) else _WAITING
    async with asyncio.timeout(_SECONDS), database.engine.connect() as connection:
        while True:
            if (await connection.execute(waiting)).scalar_one() >= transactions:
                return
            await connection.rollback()
            await asyncio.sleep(0.01)
