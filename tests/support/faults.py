"""Faults of the database, made inside it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import text

from app.adapters.db.session import Database

RAISE = "raise exception 'no' using errcode = '{state}';"
CUT = "perform pg_terminate_backend(pg_backend_pid());"


async def end_other_connections(database: Database) -> None:
    """End every connection to the database but the one that asks, and wait until they are gone."""
    async with database.transaction() as session:
        await session.execute(
            text(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                " where pid <> pg_backend_pid() and datname = current_database()"
            )
        )


@asynccontextmanager
async def trigger(
    database: Database, action: str, *, at_commit: bool = True, table: str = "memory_revisions"
) -> AsyncIterator[None]:
    """Make each new row of a table do something to its transaction."""
    kind = "constraint trigger fault after" if at_commit else "trigger fault before"
    when = "deferrable initially deferred" if at_commit else ""
    body = f"begin {action} return new; end"
    async with database.transaction() as session:
        for statement in (
            f"create function fault() returns trigger language plpgsql as $$ {body} $$",
            f"create {kind} insert on {table} {when} for each row execute function fault()",
        ):
            await session.execute(text(statement))
    try:
        yield
    finally:
        async with database.transaction() as session:
            await session.execute(text("drop function fault() cascade"))
