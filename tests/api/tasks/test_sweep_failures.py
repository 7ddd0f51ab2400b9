"""A namespace that cannot be freed keeps no other from its turn."""

from dataclasses import replace
from datetime import timedelta

import httpx
import psycopg
from sqlalchemy import text
from structlog.testing import capture_logs

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.bank import ok
from tests.support.sweeping import sweep
from tests.support.tasks import MEMORY, store, text_output

_LIMIT = 2
"""Fewer than expire in the namespace that fails."""


async def _left(database: Database) -> list[str]:
    async with database.snapshot() as session:
        found = await session.execute(text("select distinct namespace from task_artifacts"))
        return sorted(found.scalars())


async def _derive(database: Database) -> None:
    """Say of what is in the namespace `d` that it was made of what is in `n`."""
    async with database.transaction() as session:
        await session.execute(
            text(
                "update task_artifacts set depth = 1, derived_from = jsonb_build_array("
                "jsonb_build_object('namespace', 'n', 'name', 'a')) where namespace = 'd'"
            )
        )


async def test_a_sweep_goes_on_with_the_others_and_says_so(
    client: httpx.AsyncClient,
    database: Database,
    database_url: str,
    resources: Resources,
    clock: FixedClock,
) -> None:
    ok(await store(client, *(text_output("x", name=name) for name in "abc"), ttl="1s"))
    for name in ("m", "o"):
        path = f"{MEMORY}/namespaces/{name}"
        ok(await store(client, text_output("x"), text_output("y"), path=path, ttl="2s"))
    ok(await store(client, text_output("made", name="a"), path=f"{MEMORY}/namespaces/d"))
    await _derive(database)
    clock.advance(timedelta(seconds=5))
    impatient = resources.settings.model_copy(
        update={"database_statement_timeout_seconds": 0.5, "sweep_batch_rows": _LIMIT}
    )
    sweeping = Database(open_engine(database_url, impatient)).at(clock)
    own = replace(resources, settings=impatient, db=sweeping)
    try:
        with psycopg.connect(database_url) as holding:
            # What was made of the first cannot be marked meanwhile.
            holding.execute(
                "select 1 from task_artifacts where engine_id = 1 and namespace = 'd' for update"
            )
            with capture_logs() as lines:
                await sweep(own, "artifacts")
        (line,) = [one for one in lines if one["event"] == "sweep.row_failed"]
        assert (line["what"], line["reason"]) == ("artifacts", Reason.DATABASE_UNAVAILABLE)
        assert await _left(database) == ["d", "n"]
        clock.advance(timedelta(hours=1))
        await sweep(own, "artifacts")
        assert await _left(database) == ["d"]
    finally:
        await sweeping.close()
