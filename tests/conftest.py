"""Settings, database, application, client, clock: and nothing else.

The database is a real Postgres, migrated once. Tests commit for real; after each test the rows
are deleted.
"""

import asyncio
import gc
import json
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from sqlalchemy import ColumnElement, DateTime, Interval, TextClause, literal, text

from app.adapters.allocator import collect_seldom
from app.adapters.db.distribution import is_distributed
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.db.statistics import TableStatistics
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.access.services.access import AccessService
from app.platform.engines.services.engines import EngineService
from app.platform.operations.services.runner import Runner
from app.process.features import register
from app.process.main import create_app
from app.process.metadata import metadata
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.support.citus import MISSING, Cluster, is_given
from tests.support.clusters import Template, fill
from tests.support.copies import EMPTIED, FILLED_BY_ITSELF
from tests.support.documented import CHECKED
from tests.support.model_server import ModelServer, model_server
from tests.support.scripted_models import ScriptedEmbedder

# Nothing that imports and collection make is garbage.
gc.disable()
# Tests run on the service's event loop. A factory of loops would be a parameter of tests that wait,
# and those that do not would have the database set up anew.
with suppress(ImportError):
    import uvloop

    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())  # type: ignore[deprecated]  # not before 3.16
# They have another environment: `make browser`.
collect_ignore = ["browser"]
pytest_plugins = ["tests.architecture.statements_plugin"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so, and programs under test would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ADMIN_KEY = "tests-own-admin-key"
_ENDS_SECONDS = 10
START = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
# In one message, since every test pays for it.
_EMPTY = text(
    "do $$ begin set local memory_bank.audit_retention = 'on';"
    f" {' '.join(f'delete from {table.name};' for table in EMPTIED)} end $$"
)
_FIRST = ("soak", "faults", "properties", "access", "conformance")
"""Folders with files that take long: begun last, one would leave the other processes idle."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test-citus`."""
    parser.addoption(
        "--on-citus",
        action="store_true",
        help="have tests use databases that are distributed over the cluster of the variable",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test on a cluster that nobody has named."""
    if config.getoption("--on-citus") and not is_given():
        raise pytest.UsageError(MISSING)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes long; leave out what a cluster cannot show."""
    for item in items if config.getoption("--on-citus") else ():
        if (marker := item.get_closest_marker("plain_postgres")) is not None:
            item.add_marker(pytest.mark.skip(reason=marker.args[0]))

    def rank(item: pytest.Item) -> int:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        return _FIRST.index(folder) if folder in _FIRST else len(_FIRST)

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests, which live as long as the process."""
    gc.collect()
    gc.freeze()
    collect_seldom()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _entered_temporary_folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let Postgres, which root runs as another user, enter the folders above `tmp_path`."""
    folder = tmp_path_factory.getbasetemp()
    while folder.parent != folder and folder != Path(tempfile.gettempdir()):
        folder.chmod(0o755)
        folder = folder.parent


@pytest.fixture(scope="session", autouse=True)
def _database_to_copy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Have all processes of a run share one database that servers of tests start on a copy of."""
    folder = tmp_path_factory.getbasetemp()
    is_one_of_several = hasattr(request.config, "workerinput")
    Template.folder = (folder.parent if is_one_of_several else folder) / "database"


@pytest.fixture(scope="session", autouse=True)
def _cluster_is_asked_as_in_production(pytestconfig: pytest.Config) -> Iterator[None]:
    """With `--on-citus`, send the time of a test's clock as a call, as the server's own time is.

    A cluster evaluates calls before it sends a statement on, and for that it writes it anew.
    """

    def called(value: datetime, kind: DateTime) -> ColumnElement[datetime]:
        # A sum of a time and an interval depends on the zone of the session.
        return literal(value, kind) + literal(timedelta(), Interval())

    with pytest.MonkeyPatch.context() as patch:
        if pytestconfig.getoption("--on-citus"):
            patch.setattr("app.adapters.db.clock.literal", called)
        yield


@pytest.fixture
def is_nightly(pytestconfig: pytest.Config) -> bool:
    """True in `make test-nightly`, which tries more."""
    profile: str | None = pytestconfig.getoption("--hypothesis-profile")
    return profile == "nightly"


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    # Short, since a Unix socket's path may have about 100 characters.
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def database_url(pytestconfig: pytest.Config, data_dir: Path) -> Iterator[str]:
    """A migrated database on a Postgres of its own, which does not outlive the tests.

    With `--on-citus`, one that is distributed over the cluster.
    """
    if pytestconfig.getoption("--on-citus"):
        with Cluster.given().distributed() as url:
            yield url
        return
    fill(data_dir)
    with EmbeddedPostgres(Settings(data_dir=data_dir)) as postgres:
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            # Nothing waits for the disk. What survives a crash is for tests with their own server.
            connection.execute(b"alter database memory_bank set synchronous_commit = off")
        yield postgres.url


@pytest.fixture(scope="session")
def settings(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, admin_key=ADMIN_KEY, worker_retry_base_seconds=0.01)


@pytest.fixture(scope="session")
async def shared_database(database_url: str, data_dir: Path) -> AsyncIterator[Database]:
    database = Database(open_engine(database_url, Settings(data_dir=data_dir)))
    database.is_distributed = await is_distributed(database.engine)
    yield database
    await database.close()


@pytest.fixture
async def database(shared_database: Database, clock: FixedClock) -> AsyncIterator[Database]:
    """The database, whose time is that of the clock; emptied after the test.

    Each test counts its own insertions, since the statements that update statistics run seconds
    later, when the next test counts statements.
    """
    before = asyncio.all_tasks()
    server = shared_database.server
    statistics = TableStatistics(shared_database.engine)
    statistics.after, server.statistics = server.statistics.after, statistics
    yield shared_database.at(clock)
    await statistics.close()
    await _ended(asyncio.all_tasks() - before)
    async with shared_database.transaction() as session:
        await session.execute(_EMPTY)


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    """Wait for the tasks of a test: a worker among them would run what the next tests start."""
    tasks.discard(asyncio.current_task())
    _, running = await asyncio.wait(tasks, timeout=_ENDS_SECONDS) if tasks else ((), ())
    assert not running


@pytest.fixture
def clock() -> FixedClock:
    """A clock that stands still at `START` until the test moves it."""
    return FixedClock(START)


# One a module: what a service of another still asks after its test would be answered here.
@pytest.fixture(scope="module")
def running_server() -> Iterator[ModelServer]:
    with model_server() as found:
        yield found


@pytest.fixture
def server(running_server: ModelServer) -> ModelServer:
    """A server of models on the loopback address that has been asked nothing yet."""
    running_server.reset()
    return running_server


@pytest.fixture
async def embedder() -> AsyncIterator[ScriptedEmbedder]:
    """An embedder whose distances the test decides."""
    scripted = ScriptedEmbedder()
    yield scripted
    await scripted.close()


@pytest.fixture(scope="session")
async def seeds(database_url: str, data_dir: Path) -> TextClause:
    """The statement that inserts the administrator's key and the first engine.

    The service inserts them once; their rows are read back, so that a test costs one statement.
    """
    settings, clock = Settings(data_dir=data_dir), FixedClock(START)
    shared = Database(open_engine(database_url, settings))
    database = shared.at(clock)
    await AccessService(database, clock).ensure_first_key(ADMIN_KEY)
    embedder = ScriptedEmbedder()
    resources = Resources(settings, clock, database, database_url, embedder)
    await EngineService.of(resources).ensure_first()
    await embedder.close()
    inserts = []
    async with database.transaction() as session:
        for table in metadata.sorted_tables:
            rows = await session.scalar(text(f"select json_agg(t) from {table.name} t"))
            if rows and table.name not in FILLED_BY_ITSELF:
                literal = json.dumps(rows).replace("'", "''")
                inserts.append(
                    f"insert into {table.name} select *"
                    f" from json_populate_recordset(null::{table.name}, '{literal}');"
                )
        await session.execute(_EMPTY)
    await shared.close()
    return text(f"do $$ begin {' '.join(inserts)} end $$")


@pytest.fixture
async def resources(
    settings: Settings,
    clock: FixedClock,
    database: Database,
    database_url: str,
    embedder: ScriptedEmbedder,
    seeds: TextClause,
) -> Resources:
    async with database.transaction() as session:
        await session.execute(seeds)
    return register(Resources(settings, clock, database, database_url, embedder))


@pytest.fixture
def app(resources: Resources) -> FastAPI:
    return create_app(resources)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the administrator's key; paths are relative to the first engine."""
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url="http://test/v1beta1/projects/default/locations/local/reasoningEngines/1/",
        headers={"Authorization": f"Bearer {ADMIN_KEY}"},
        event_hooks=CHECKED,
    ) as found:
        yield found


@pytest.fixture
def runner(resources: Resources) -> Runner:
    """The worker; `await runner.run_pending()` runs what is due."""
    return make_runner(resources)
