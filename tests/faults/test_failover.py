"""A standby that is promoted: a service with both addresses goes on there, with all it has said."""

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from app.adapters.db import migrate
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.postgres.files import find_binaries, postgres_program
from app.kernel.errors import Reason
from app.process.main import create_app
from app.process.serving import open_process
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.clusters import fill
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.operations import USER

_SOON_SECONDS = 5
_CATCHING_UP_SECONDS = 20
_IS_BEHIND = b"""
    select count(*) = 0 or bool_or(replay_lsn < pg_current_wal_lsn()) from pg_stat_replication
"""


@pytest.fixture
def pair() -> Iterator[tuple[EmbeddedPostgres, str]]:
    """A primary, and the address of a standby that follows it."""
    with ExitStack() as stack:
        folders = []
        for _ in range(2):
            # Short, since a Unix socket's path may have about 100 characters.
            folder = Path(tempfile.mkdtemp(prefix="omb-"))
            folder.chmod(0o755)
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            folders.append(folder)
        fill(folders[0])
        primary = stack.enter_context(EmbeddedPostgres(Settings(data_dir=folders[0])))
        migrate.upgrade(primary.url)
        _copy(primary.url, *(folder / "postgres" for folder in folders))
        standby = stack.enter_context(EmbeddedPostgres(Settings(data_dir=folders[1])))
        yield primary, standby.url


def _copy(url: str, primary: Path, standby: Path) -> None:
    """Make a standby of a running server, which is given access for that."""
    with (primary / "pg_hba.conf").open("a") as access:
        access.write("local replication all trust\n")
    with psycopg.connect(url) as connection:
        connection.execute(b"select pg_reload_conf()")
    standby.mkdir(mode=0o711)
    copying = str(postgres_program(find_binaries(), "pg_basebackup"))
    target = standby / "cluster"
    command = [copying, "-d", url, "-D", str(target), "--write-recovery-conf", "--checkpoint=fast"]
    subprocess.run(command, check=True, capture_output=True)
    owner = (primary / "cluster").stat()
    for path in (target, *target.rglob("*")):
        shutil.chown(path, owner.st_uid, owner.st_gid)


def _both(primary: str, standby: str) -> str:
    """Return an address of two servers, of which the one that takes writes is wanted."""
    one, other = conninfo_to_dict(primary), conninfo_to_dict(standby)
    return (
        f"host={one['host']},{other['host']} port={one['port']},{other['port']}"
        f" user={one['user']} dbname={one['dbname']} target_session_attrs=read-write"
    )


def _until_followed(url: str) -> None:
    deadline = time.monotonic() + _CATCHING_UP_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(_IS_BEHIND).fetchone() != (False,):
            assert time.monotonic() < deadline
            time.sleep(0.05)


async def _write(client: httpx.AsyncClient, memory: str) -> httpx.Response:
    body = {"scope": USER, "fact": f"I like {memory}."}
    return await client.post("/memories", params={"memoryId": memory}, json=body)


async def test_the_first_write_comes_soon_after_the_promotion(
    pair: tuple[EmbeddedPostgres, str], tmp_path: Path
) -> None:
    primary, standby = pair
    address = _both(primary.url, standby)
    settings = Settings(
        data_dir=tmp_path, database_url=address, admin_key=ADMIN_KEY, embedder="hash"
    )
    async with (
        open_process(settings) as process,
        client_with(create_app(process.resources), ADMIN_KEY) as client,
    ):
        ok(await _write(client, "tea"))
        await asyncio.to_thread(_until_followed, primary.url)
        await asyncio.to_thread(primary.stop)
        away = await _write(client, "milk")
        assert refusal(away) == (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
        with psycopg.connect(standby, autocommit=True) as connection:
            connection.execute(b"select pg_promote()")
        deadline = time.monotonic() + _SOON_SECONDS
        while (answer := await _write(client, "coffee")).status_code != 200:
            assert time.monotonic() < deadline, answer.text
            await asyncio.sleep(0.1)
        listed = ok(await client.get("/memories"))["memories"]
        assert sorted(one["fact"] for one in listed) == ["I like coffee.", "I like tea."]
