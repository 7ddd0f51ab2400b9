"""Opens the embedded database and migrates it to this release, after a backup."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from app.adapters.db import migrate
from app.adapters.db.migrate import SchemaError
from app.adapters.db.schema import wanted_revision
from app.adapters.postgres.backup import BACKUPS, RunningCluster, take_full
from app.adapters.postgres.catalog import BEFORE, BackupError, BackupFolder
from app.adapters.postgres.embedded import Holder, embedded_postgres
from app.process.backup_steps import keep_copy
from app.settings.settings import Settings

log = structlog.get_logger()

_KEPT = 2
"""Number of backups before migrations to keep."""


@asynccontextmanager
async def own_database(
    settings: Settings, connections: int | None = None, holder: Holder | None = None
) -> AsyncIterator[str]:
    """Run and migrate the embedded Postgres during the block; yield the database's address.

    Raises:
        PostgresStartError: the server cannot run.
        SchemaError: the migration or the backup before it failed.
    """
    async with embedded_postgres(settings, connections, holder) as postgres:
        await asyncio.to_thread(migrate_own, settings, postgres.url)
        yield postgres.url


def migrate_own(settings: Settings, url: str) -> None:
    """Migrate the embedded database to the schema of this release, after a backup. Blocking.

    Raises:
        SchemaError: the migration or the backup failed; the database is unchanged.
    """
    if settings.backup_before_migration and migrate.pending(url) is not None:
        try:
            _back_up(settings, url)
        except (BackupError, OSError) as error:
            raise SchemaError(
                f"The database was not migrated, since it could not be backed up: {error} To"
                " migrate it without a backup, set MEMORY_BANK_BACKUP_BEFORE_MIGRATION to false."
            ) from error
    migrate.upgrade(url)


def _back_up(settings: Settings, url: str) -> None:
    folder = BackupFolder(settings.data_dir / BACKUPS)
    log.info("backup.before_migration", folder=str(folder.path))
    with folder.locked():
        prefix = f"{BEFORE}{wanted_revision()}-"
        # Repeated failures of one migration must not displace the backups of earlier upgrades.
        repeated = [each.id for each in folder.list_all() if each.id.startswith(prefix)]
        backup = take_full(RunningCluster(settings.data_dir, url), folder, _ignore, prefix=prefix)
        keep_copy(settings.data_dir, folder)
        folder.remove(repeated)
        kept = [each.id for each in folder.list_all() if each.is_before_migration]
        if former := kept[:-_KEPT]:
            folder.remove(former)
    log.info("backup.made", id=backup.id, bytes=backup.bytes)


def _ignore(step: str, done: int, total: int) -> None:
    """Ignore the progress: the log has lines for the beginning and the end only."""
