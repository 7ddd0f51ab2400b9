"""Runs migrations on the connection that `app.db.migrate` opens, one run at a time."""

from alembic import context
from sqlalchemy import Connection, text

from app.metadata import metadata

# Any constant does; it only has to be the same in every release.
_LOCK = 7_260_110_421

connection: Connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, compare_type=True)
with context.begin_transaction():
    connection.execute(text("set local lock_timeout = '5s'"))
    connection.execute(text("set local statement_timeout = '10min'"))
    connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    context.run_migrations()
