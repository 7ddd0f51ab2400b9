"""Brings the schema to the state that this release needs, and says when it is not there."""

import functools
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

import migrations
from app.db.engine import driver_url

# Any constant does; it only has to be the same in every release.
_EXTENSION_LOCK = 7_260_110_422
_FILE_TEMPLATE = "%(year)d%(month).2d%(day).2d_%(hour).2d%(minute).2d_%(slug)s"


class SchemaError(RuntimeError):
    """The database cannot be used as it is; the message says what to do."""


def _config() -> Config:
    config = Config()
    folder = str(Path(migrations.__file__).parent)
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.set_main_option("file_template", _FILE_TEMPLATE.replace("%", "%%"))
    return config


def _open(url: str) -> Engine:
    return create_engine(driver_url(url), poolclass=NullPool)


def upgrade(url: str, revision: str = "head") -> None:
    """Migrate the database. Blocks; safe to run from several processes at once.

    Raises:
        SchemaError: the `vector` extension cannot be had.
    """
    config = _config()
    with _connected(url) as connection:
        _create_extension(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.commit()


def downgrade(url: str, revision: str) -> None:
    """Take migrations back to `revision`. Blocks."""
    config = _config()
    with _connected(url) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
        connection.commit()


def make_revision(url: str, message: str) -> None:
    """Write a new migration from the difference between the tables and the database."""
    config = _config()
    with _connected(url) as connection:
        config.attributes["connection"] = connection
        command.revision(config, message, autogenerate=True)


def check(url: str) -> None:
    """Make sure that the database is ready for this release. Blocks.

    Raises:
        SchemaError: the extension is missing or the schema is not at this release's revision.
    """
    with _connected(url) as connection:
        if not _has_extension(connection):
            raise SchemaError(
                "The database lacks the `vector` extension (pgvector); install it and run"
                " `memory-bank migrate`."
            )
        heads = set(MigrationContext.configure(connection).get_current_heads())
    if heads != {wanted_revision()}:
        raise SchemaError(
            "The database schema is not that of this release; run `memory-bank migrate`."
        )


@functools.cache
def wanted_revision() -> str:
    """Return the revision of the schema that this release needs. Reads files."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def _connected(url: str) -> Connection:
    try:
        return _open(url).connect()
    except OperationalError as error:
        raise SchemaError(
            "The database cannot be reached; check MEMORY_BANK_DATABASE_URL and that it runs."
        ) from error


def _has_extension(connection: Connection) -> bool:
    found = connection.execute(text("select 1 from pg_extension where extname = 'vector'"))
    return found.first() is not None


def _create_extension(connection: Connection) -> None:
    if _has_extension(connection):
        return
    offered = connection.execute(
        text("select 1 from pg_available_extensions where name = 'vector'")
    ).first()
    if offered is None:
        raise SchemaError("This Postgres has no `vector` extension; install pgvector >= 0.7 there.")
    # `if not exists` does not keep two processes from trying at the same moment.
    connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _EXTENSION_LOCK})
    connection.execute(text("create extension if not exists vector"))
    connection.commit()
