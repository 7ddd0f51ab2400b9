"""Runs of migrations by Alembic; the only module that imports it, because the import is slow."""

from collections.abc import Iterator
from contextlib import contextmanager

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

from app.adapters.db.schema import FOLDER, RevisionError

_FILE_TEMPLATE = "%(year)d%(month).2d%(day).2d_%(hour).2d%(minute).2d_%(slug)s"


def upgrade(connection: Connection, revision: str, statement_seconds: int) -> None:
    """Run migrations up to a revision, within the connection's transaction."""
    with _configured(connection) as config:
        config.attributes["statement_seconds"] = statement_seconds
        command.upgrade(config, revision)


def downgrade(connection: Connection, revision: str) -> None:
    """Revert migrations back to a revision, within the connection's transaction."""
    with _configured(connection) as config:
        command.downgrade(config, revision)


def write(connection: Connection, message: str) -> None:
    """Write a migration script from the difference between the mapped tables and the database."""
    with _configured(connection) as config:
        command.revision(config, message, autogenerate=True)


@contextmanager
def _configured(connection: Connection) -> Iterator[Config]:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("file_template", _FILE_TEMPLATE.replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        yield config
    except CommandError as error:
        raise RevisionError(str(error)) from error
