"""Runs migrations on the connection that `app.adapters.db.migrate` opens, in its transaction."""

from alembic import context
from sqlalchemy import Connection, text

from app.adapters.db.migrate import STATEMENT_SECONDS
from app.process.metadata import metadata
from migrations import totals

connection: Connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    compare_type=True,
    process_revision_directives=totals.complete,
)
with context.begin_transaction():
    # A migration that waits for a table makes every later reader of it wait as well.
    connection.execute(text("set local lock_timeout = '5s'"))
    seconds: int = context.config.attributes.get("statement_seconds", STATEMENT_SECONDS)
    connection.execute(text(f"set local statement_timeout = '{seconds}s'"))
    context.run_migrations()
