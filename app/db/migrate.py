"""Brings the schema to the state that this release needs, and says when it is not there."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import NullPool

import migrations
from app.db.engine import driver_url

# Any constant does; it only has to be the same in every release.
_LOCK = 7_260_110_421
_LOCK_WAIT = "15min"
"""How long a run waits for another's. Rather long: the other may have to rewrite large tables."""
_CONNECT_SECONDS = 5
_FILE_TEMPLATE = "%(year)d%(month).2d%(day).2d_%(hour).2d%(minute).2d_%(slug)s"


class SchemaError(RuntimeError):
    """The database cannot be used as it is; the message says what to do."""


def _config() -> Config:
    config = Config()
    folder = str(Path(migrations.__file__).parent)
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.set_main_option("file_template", _FILE_TEMPLATE.replace("%", "%%"))
    return config


def upgrade(url: str, connect_seconds: int = _CONNECT_SECONDS, *, revision: str = "head") -> None:
    """Migrate the database. Blocks; safe to run from several processes at once.

    Raises:
        SchemaError: it cannot be done; nothing has changed.
    """
    with _migrating(url, connect_seconds) as (connection, config):
        _create_extension(connection)
        command.upgrade(config, revision)


def downgrade(url: str, revision: str) -> None:
    """Take migrations back to `revision`. Blocks.

    Raises:
        SchemaError: it cannot be done; nothing has changed.
    """
    with _migrating(url, _CONNECT_SECONDS) as (_, config):
        command.downgrade(config, revision)


@contextmanager
def _migrating(url: str, connect_seconds: int) -> Iterator[tuple[Connection, Config]]:
    """Open the one transaction of a run, and wait until no other run is under way."""
    config = _config()
    with _connected(url, connect_seconds) as connection, _told(), connection.begin():
        _take_lock(connection)
        config.attributes["connection"] = connection
        yield connection, config


def _take_lock(connection: Connection) -> None:
    wait = text("select set_config(:name, :limit, true)")
    connection.execute(wait, {"name": "statement_timeout", "limit": "0"})
    connection.execute(wait, {"name": "lock_timeout", "limit": _LOCK_WAIT})
    connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


@contextmanager
def _told() -> Iterator[None]:
    """Turn what an operator can mend into a sentence."""
    try:
        yield
    except CommandError as error:
        raise SchemaError(
            "The database schema is of another release, likely a newer one; use that release."
        ) from error
    except DBAPIError as error:
        told = _SENTENCES.get(getattr(error.orig, "sqlstate", None) or "")
        if told is None and not isinstance(error, OperationalError):
            raise
        raise SchemaError(told or _FAILED.format(type(error.orig).__name__)) from error


_FAILED = "The database failed ({}); run `memory-bank migrate` again."
_SENTENCES = {
    "42501": "The database user lacks a privilege; migrate as the owner of the database.",
    "55P03": "The database is in use, maybe by another migration; run `memory-bank migrate` again.",
    "57014": "The migration took too long; run `memory-bank migrate` again.",
}
"""By SQLSTATE: insufficient privilege, lock not available, query cancelled."""


def make_revision(url: str, message: str) -> None:
    """Write a new migration from the difference between the tables and the database."""
    config = _config()
    with _connected(url, _CONNECT_SECONDS) as connection:
        config.attributes["connection"] = connection
        command.revision(config, message, autogenerate=True)


def check(url: str, connect_seconds: int = _CONNECT_SECONDS) -> None:
    """Make sure that the database is ready for this release. Blocks.

    Raises:
        SchemaError: the extension is missing or the schema is not at this release's revision.
    """
    with _connected(url, connect_seconds) as connection, _told():
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


def _connected(url: str, connect_seconds: int) -> Connection:
    engine = create_engine(
        driver_url(url),
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={"connect_timeout": connect_seconds},
    )
    try:
        return engine.connect()
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
    connection.execute(text("create extension vector"))
