"""The database of a command that works without a service, or beside one, and its checks.

An embedded Postgres belongs to a running server, or is started for the command.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine, plain_url
from app.adapters.db.migrate import SchemaError
from app.adapters.db.nodes import working_for
from app.adapters.db.session import Database
from app.adapters.llm.names import ModelSetupError
from app.adapters.postgres.embedded import check_exists
from app.adapters.postgres.programs import PostgresStartError
from app.adapters.postgres.server import find_running
from app.adapters.resources import Resources, open_resources
from app.adapters.terminal import fail
from app.kernel.errors import ServiceError
from app.platform.checking.logic import CheckReport
from app.platform.checking.service import CheckOptions, CheckService
from app.process.features import FEATURES, register
from app.process.listening import tell_new_folder
from app.process.migrating import own_database
from app.settings.settings import Settings

_T = TypeVar("_T")


def run_on_database(settings: Settings, work: Callable[[Resources], Awaitable[_T]]) -> _T:
    """Run `work` on the resources of the settings; report errors in one sentence."""

    async def main() -> _T:
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(database_of(settings, may_make=False))
            return await work(
                register(await stack.enter_async_context(open_resources(settings, url)))
            )

    try:
        return asyncio.run(main())
    except (SchemaError, PostgresStartError, ModelSetupError, ServiceError) as error:
        fail(str(error))


@asynccontextmanager
async def database_of(settings: Settings, *, may_make: bool) -> AsyncIterator[str]:
    """Open the configured database, even while a server uses it, and yield its address.

    Raises:
        PostgresStartError: the embedded Postgres cannot start, or must not be created.
        SchemaError: the database is not ready for this release.
    """
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        await asyncio.to_thread(
            migrate.check, url, settings.tuning.database_connect_timeout_seconds
        )
        yield plain_url(url)
        return
    running = await asyncio.to_thread(find_running, settings.data_dir)
    if running is not None:
        await asyncio.to_thread(migrate.check, running)
        yield running
        return
    if not may_make:
        await asyncio.to_thread(check_exists, settings.data_dir)
    tell_new_folder(settings.data_dir, sys.stderr)
    async with own_database(settings) as url:
        yield url


def _nothing(_rows: int) -> None:
    """Ignore the progress."""


async def check_database(
    settings: Settings,
    url: str,
    options: CheckOptions = CheckOptions(),  # noqa: B008 - never changes
    examined: Callable[[int], None] = _nothing,
) -> CheckReport:
    """Check the integrity of the database at an address, even while a service uses it.

    `examined` is called with the number of rows after each batch.

    Raises:
        FailedPrecondition: the restored database is already in use.
        NotFound: the engine of the options does not exist.
        Unavailable: the database cannot be reached.
    """
    db = Database(open_engine(url, settings))
    examinations = [examination for feature in FEATURES for examination in feature.examinations]
    counted = [rows for feature in FEATURES for rows in feature.counted]
    try:
        with working_for(options.engine_id):
            return await CheckService(db, settings, options, examinations, counted, examined).run()
    finally:
        await db.close()
