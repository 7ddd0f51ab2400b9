"""The commands of the page on backups of an external Postgres run as they stand there."""

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import httpx
import psycopg
import pytest
from sqlalchemy import make_url

from app.adapters.db import migrate
from app.adapters.postgres.embedded import COPIES
from app.adapters.postgres.programs import Account, binaries_for, is_root
from app.adapters.resources import Resources
from app.platform.access.services.access import AccessService
from app.platform.engines.services.engines import EngineService
from app.process.commands.erasures import listed
from app.process.on_database import check_database
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.schema.conftest import database_beside, service_on
from tests.support.bank import ENGINE_URL, ok
from tests.support.documents import DOCS, ROOT

_SECONDS = 120
_ADDRESS = "postgresql://bank@db.example.com/bank_restored"
_PROGRAM = '#!/bin/sh\nexec "$PYTHON" -m app.process.cli "$@"\n'
_FACTS = b"select fact from memories order by fact"


@pytest.fixture(scope="module")
def account() -> Account | None:
    """The user that runs Postgres in place of root."""
    if not is_root():
        return None
    entry = pwd.getpwnam(Settings().postgres_user)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


@pytest.fixture
def shell(account: Account | None) -> Iterator[Callable[..., str]]:
    """Runs commands with the programs of Postgres and `memory-bank`, in a folder of its own."""
    binaries = binaries_for(account, COPIES)
    with tempfile.TemporaryDirectory(prefix="omb-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        program = folder / "memory-bank"
        program.write_text(_PROGRAM)
        program.chmod(0o755)

        def run(script: str, user: Account | None = None, **variables: str) -> str:
            path = f"{folder}:{binaries / 'bin'}:{os.environ['PATH']}"
            given = {"PATH": path, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT), **variables}
            with tempfile.TemporaryFile() as out:
                # No pipe: a server that a command starts would hold it open.
                ended = subprocess.run(
                    ["sh", "-euc", script],
                    cwd=folder,
                    env={**os.environ, "MEMORY_BANK_EMBEDDER": "hash", **given},
                    stdout=out,
                    stderr=out,
                    check=False,
                    timeout=_SECONDS,
                    user=None if user is None else user.uid,
                    group=None if user is None else user.gid,
                )
                out.seek(0)
                told = out.read().decode()
            assert ended.returncode == 0, told
            return told

        yield run


def _blocks(heading: str, language: str = "sh") -> list[str]:
    """Return the samples below a heading of the page."""
    page = (DOCS / "operations" / "backup.md").read_text()
    part = re.split(r"^##+ ", page.partition(f"\n### {heading}\n")[2], flags=re.MULTILINE)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)


async def _fill(resources: Resources, client: httpx.AsyncClient) -> None:
    await AccessService(resources.db, resources.clock).ensure_first_key(ADMIN_KEY)
    await EngineService.of(resources).ensure_first()
    for user in ("42", "43"):
        body = {"scope": {"user_id": user}, "fact": f"I am {user}."}
        ok(await client.post("/memories", json=body))


async def test_a_dump_is_restored_by_a_plain_user_and_stays_erased(
    database_url: str, settings: Settings, shell: Callable[..., str]
) -> None:
    dump, prepare, restore = _blocks("Dump")
    assert _ADDRESS in restore
    server = make_url(database_url)
    superuser = {"PGHOST": str(server.query["host"]), "PGPORT": "5432", "PGUSER": "memory_bank"}
    target = server.set(database="bank_restored", username="bank").render_as_string()
    with database_beside(database_url, "source") as source:
        migrate.upgrade(source)
        async with service_on(source, settings) as (resources, client):
            await _fill(resources, client)
            shell(dump, MEMORY_BANK_DATABASE_URL=source)
            ok(await client.post(f"{ENGINE_URL}:eraseScope", json={"scope": {"user_id": "43"}}))
            await make_runner(resources).run_pending()
            shell(f"cat > erasures.ndjson <<'END'\n{await listed(resources)}END")
        try:
            shell(f"psql -d postgres -c 'create role bank login'\n{prepare}", **superuser)
            told = shell(restore.replace(_ADDRESS, f"'{target}'"))
            assert "The database is whole" in told
            assert "Erasures repeated: 1." in told
            with psycopg.connect(target) as connection:
                assert connection.execute(_FACTS).fetchall() == [("I am 42.",)]
            assert (await check_database(settings, target)).is_whole
        finally:
            shell(
                "psql -d postgres -c 'drop database if exists bank_restored'"
                " -c 'drop role if exists bank'",
                **superuser,
            )


@pytest.fixture
def on_its_machine(
    shell: Callable[..., str], account: Account | None
) -> Iterator[Callable[..., str]]:
    """Runs commands as the user of a Postgres that archives its log as the page says.

    The folders of the page lie in that of the server's socket, `PGHOST`.
    """
    (archiving,) = _blocks("Point in time", "ini")
    with tempfile.TemporaryDirectory(prefix="omb-") as name:
        folder = Path(name)
        for made in (folder, folder / "backups", folder / "backups" / "wal", folder / "srv"):
            made.mkdir(exist_ok=True)
            if account:
                shutil.chown(made, account.uid, account.gid)

        def run(script: str) -> str:
            there = re.sub(
                "/var/backups|/srv", lambda place: f"{name}/{Path(place[0]).name}", script
            )
            place = {"PGHOST": name, "PGUSER": "memory_bank", "PGDATABASE": "postgres"}
            return shell(there, account, **place)

        options = f"unix_socket_directories = '{name}'\nlisten_addresses = ''\nfsync = off"
        run("initdb -D /srv/cluster -U memory_bank --auth=trust --no-instructions")
        run(f"cat >> /srv/cluster/postgresql.conf <<'END'\n{archiving}{options}\nEND")
        run("pg_ctl -D /srv/cluster -w -l /srv/log start")
        try:
            yield run
        finally:
            for cluster in folder.glob("srv/*/postmaster.pid"):
                run(f"pg_ctl -D /srv/{cluster.parent.name} -w -m fast stop")


async def test_a_moment_is_restored_from_the_log(
    on_its_machine: Callable[..., str], settings: Settings
) -> None:
    back_up, restore = _blocks("Point in time")
    url = f"postgresql://memory_bank@/postgres?host={quote(on_its_machine('printf $PGHOST'))}"
    migrate.upgrade(url)
    on_its_machine(back_up)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(b"create table kept as select 1 as n")
        (moment,) = connection.execute(b"select clock_timestamp()").fetchall()[0]
        connection.execute(b"drop table kept")
    # What stops in order has archived all of its log.
    on_its_machine("pg_ctl -D /srv/cluster -w -m fast stop")
    (told,) = re.findall(r"recovery_target_time = '(.*)'", restore)
    assert datetime.fromisoformat(told).tzinfo == UTC
    on_its_machine(restore.replace(told, f"{moment:%Y-%m-%d %H:%M:%S.%f%z}"))
    with psycopg.connect(url) as connection:
        assert connection.execute(b"select n from kept").fetchall() == [(1,)]
    assert (await check_database(settings, url)).is_whole
