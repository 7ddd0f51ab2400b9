"""Backups of the embedded Postgres: made amid writes, damaged, restored, and erased again."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from app.adapters.db import migrate
from app.adapters.db.migrate import SchemaError
from app.adapters.db.schema import wanted_revision
from app.adapters.postgres.backup import Taken, keep, run_program
from app.adapters.postgres.catalog import (
    CATALOG,
    MANIFEST,
    Backup,
    BackupError,
    BackupFolder,
    BackupKind,
)
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.postgres.server import has_cluster
from app.memory.erasures.logic import ERASURE_LIST
from app.process.commands.backup import back_up
from app.process.commands.backups import verified
from app.process.commands.pg import PROGRAMS
from app.process.commands.restore_backup import BackupRestore, restore
from app.process.migrating import migrate_own
from app.settings.settings import EmbedderChoice, Settings
from tests.packaging.checkout import scratch_folder
from tests.support import forks
from tests.support.clusters import fill
from tests.support.commands import command, sentence
from tests.support.live import live_server
from tests.support.traffic import ENGINE, Traffic, open_client

_FORMER = "c4d7e2a91000"
"""A schema before that of this release."""
_ERASED = "quill-77"
_WRITES = 50
_SOON_SECONDS = 60


def _ignore(step: str, done: int, total: int) -> None:
    """Show no progress."""


def _settings(folder: Path) -> Settings:
    return Settings(data_dir=folder, embedder=EmbedderChoice.HASH)


def _back_up(
    data: Path, directory: Path, *, is_incremental: bool = False, kept: int = 7
) -> tuple[Taken, Sequence[str]]:
    return back_up(
        _settings(data), directory, is_incremental=is_incremental, kept=kept, report=_ignore
    )


@dataclass(frozen=True)
class Bank:
    """Backups that were made beside a service and its writers.

    Attributes:
        data: the data folder, whose service has stopped.
        directory: the backups: a full one and two incremental ones.
        acknowledged: the names of the memories that were acknowledged before each of them.
    """

    data: Path
    directory: Path
    acknowledged: list[set[str]]


@pytest.fixture(scope="module")
def bank() -> Iterator[Bank]:
    with scratch_folder() as folder:
        data, directory = folder / "data", folder / "kept"
        data.mkdir(mode=0o755)
        acknowledged = []
        with live_server(data, MEMORY_BANK_EMBEDDER="hash") as server:
            with open_client(server.url) as client:
                body = {"fact": "I play the flute.", "scope": {"user_id": _ERASED}}
                assert client.post(f"{ENGINE}/memories", json=body).status_code == 200
            with Traffic(server.url, writers=2, generators=0) as traffic:
                for number in range(3):
                    traffic.await_answers(_WRITES)
                    acknowledged.append(set(traffic.acknowledged.memories))
                    taken, _ = _back_up(data, directory, is_incremental=number > 0)
                    assert taken.why_full is None
            with open_client(server.url) as client:
                body = {"scope": {"user_id": _ERASED}}
                name = client.post(f"{ENGINE}:eraseScope", json=body).json()["name"]
                deadline = time.monotonic() + _SOON_SECONDS
                while not client.get(f"/v1beta1/{name}").json().get("done"):
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
        yield Bank(data, directory, acknowledged)


def _rows(data: Path, query: str) -> list[tuple[Any, ...]]:
    with (
        EmbeddedPostgres(_settings(data)) as postgres,
        closing(psycopg.connect(postgres.url)) as db,
    ):
        return db.execute(query.encode()).fetchall()


def _memories(data: Path) -> tuple[set[str], bool]:
    """Return the names of all memories, and whether that of the erased user is among them."""
    rows = _rows(data, "select memory_id, scope ->> 'user_id' from memories")
    parent = ENGINE.removeprefix("/v1beta1/")
    return {f"{parent}/memories/{name}" for name, _ in rows}, _ERASED in {user for _, user in rows}


def _listed(bank: Bank) -> list[str]:
    return [backup.id for backup in BackupFolder(bank.directory).list_all()]


def test_the_newest_has_all_that_was_acknowledged_and_is_erased_again(
    bank: Bank, tmp_path: Path
) -> None:
    asked = BackupRestore(bank.directory, erasures=bank.data / ERASURE_LIST)
    assert restore(_settings(tmp_path), asked, _ignore).erased == 1
    names, has_erased = _memories(tmp_path)
    assert bank.acknowledged[2] <= names
    assert not has_erased
    certificate = (bank.data / ERASURE_LIST).read_text().strip()
    assert certificate in (tmp_path / ERASURE_LIST).read_text()
    # Its history parts from that of the other cluster here, so none of these can be its parent.
    with scratch_folder() as folder:
        subprocess.run(["cp", "-a", bank.directory, folder / "kept"], check=True)
        taken, removed = _back_up(tmp_path, folder / "kept", is_incremental=True, kept=1)
        assert taken.backup.kind is BackupKind.FULL
        assert taken.why_full is not None
        assert removed == _listed(bank)


def test_a_full_one_is_restored_without_its_followers(bank: Bank, tmp_path: Path) -> None:
    first = _listed(bank)[0]
    asked = BackupRestore(bank.directory, first, ignores_erasures=True)
    assert restore(_settings(tmp_path), asked, _ignore).erased == 0
    names, has_erased = _memories(tmp_path)
    assert bank.acknowledged[0] <= names
    assert has_erased


def test_folders_and_files_are_their_owners_alone(bank: Bank) -> None:
    modes = {path.stat().st_mode & 0o777 for path in bank.directory.rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in bank.directory.rglob("*") if path.is_dir()}
    assert (modes, folders, bank.directory.stat().st_mode & 0o777) == ({0o600}, {0o700}, 0o700)


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", [MANIFEST, "base/1/1259", "pg_wal/0*", "backup_label"])
@pytest.mark.parametrize("change", [_flip, Path.unlink])
def test_a_damaged_file_is_named_and_nothing_is_restored(
    bank: Bank, tmp_path: Path, name: str, change: Any
) -> None:
    place = bank.directory / _listed(bank)[0]
    path = next(place.glob(name))
    content = path.read_bytes()
    change(path)
    try:
        reasons = [reason for _, reason in verified(bank.directory, _ignore)]
        assert reasons[0] is not None
        assert reasons[0].startswith(f"{path} ")
        # What builds on it cannot be restored either.
        with pytest.raises(BackupError, match=path.name):
            restore(_settings(tmp_path), BackupRestore(bank.directory), _ignore)
    finally:
        path.write_bytes(content)
        path.chmod(0o600)
    assert not has_cluster(tmp_path)
    assert [path.name for path in (tmp_path / "postgres").glob("cluster*")] == []


def test_a_stray_file_is_named(bank: Bank) -> None:
    stray = bank.directory / _listed(bank)[0] / "base" / "stray"
    stray.touch()
    try:
        (reason, *_) = [reason for _, reason in verified(bank.directory, _ignore)]
    finally:
        stray.unlink()
    assert reason == f"{stray} is not part of the backup."


def test_the_commands_make_list_and_restore(bank: Bank, tmp_path: Path) -> None:
    done = command("backups", str(bank.directory))
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == _listed(bank)
    assert done.stdout.count("  whole\n") == 3
    kept, new = tmp_path / "kept", tmp_path / "new"
    done = command("backup", str(kept), "--incremental", data_dir=str(bank.data))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Made a full backup, since no backup of this database in ")
    name = done.stdout.partition(":")[0]
    done = command("restore-backup", str(kept), "--id", name, "--data-dir", str(new))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name}: restored into {new} and checked.\nErasures repeated: 0.\n"
    asked = ["psql", "-Atc", "select count(*) > 40 from memories"]
    done = command("pg", *asked, data_dir=str(new))
    assert (done.returncode, done.stdout) == (0, "t\n"), done.stderr


def test_what_cannot_be_done_is_told_in_a_sentence(bank: Bank, tmp_path: Path) -> None:
    kept, data, new = str(bank.directory), str(bank.data), str(tmp_path / "new")
    assert sentence("backup", f"{data}/kept", data_dir=data).startswith(
        f"{data}/kept is in the data folder: a backup there is lost with it."
    )
    assert "There is no database in" in sentence("backup", kept, data_dir=new)
    assert "There is no backup in" in sentence("restore-backup", new, "--data-dir", new)
    assert "has a database already" in sentence("restore-backup", kept, "--data-dir", data)
    assert "There is no backup x in" in sentence(
        "restore-backup", kept, "--id", "x", "--data-dir", new
    )
    assert not has_cluster(Path(new))
    external = command("backup", kept, database_url="postgresql://nobody@127.0.0.1/nothing")
    assert (external.returncode, external.stderr.count("\n")) == (2, 1)


def test_a_restore_needs_the_list_of_erasures(bank: Bank, tmp_path: Path) -> None:
    kept = bank.directory / ERASURE_LIST
    content = kept.read_text()
    kept.unlink()
    try:
        with pytest.raises(BackupError, match="--no-erasures"):
            restore(_settings(tmp_path), BackupRestore(bank.directory), _ignore)
        given = tmp_path / "given"
        given.write_text("{}\n")
        with pytest.raises(BackupError, match="given: line 1"):
            restore(_settings(tmp_path), BackupRestore(bank.directory, erasures=given), _ignore)
    finally:
        kept.write_text(content)


def test_another_major_version_is_told_in_words(bank: Bank, tmp_path: Path) -> None:
    folder = BackupFolder(bank.directory)
    catalog = folder.path / CATALOG
    content = catalog.read_text()
    catalog.write_text(content.replace('"postgres": "18.', '"postgres": "17.'))
    try:
        with pytest.raises(BackupError, match="is of Postgres 17; this release carries 18"):
            restore(_settings(tmp_path), BackupRestore(bank.directory), _ignore)
    finally:
        catalog.write_text(content)


def test_one_command_at_a_time_uses_a_folder(bank: Bank) -> None:
    with (
        BackupFolder(bank.directory).locked(),
        pytest.raises(BackupError, match="Another command is using the backups"),
    ):
        _back_up(bank.data, bank.directory)


def test_ctrl_c_leaves_nothing(bank: Bank, tmp_path: Path) -> None:
    directory = tmp_path / "kept"
    variables = {**os.environ, "MEMORY_BANK_DATA_DIR": str(bank.data)}
    errors = tmp_path / "errors"
    with errors.open("wb") as said:
        started = forks.start(
            ["-m", "app.process.cli", "backup", str(directory)], variables, said, said
        )
    deadline = time.monotonic() + _SOON_SECONDS
    while not list(directory.glob("*.part/base")):
        assert time.monotonic() < deadline, errors.read_text()
        time.sleep(0.005)
    started.send_signal(signal.SIGINT)
    assert started.wait(_SOON_SECONDS) == 130, errors.read_text()
    assert errors.read_text() == "Stopped; the unfinished backup was removed.\n"
    assert [path.name for path in directory.iterdir()] == ["lock"]


def test_without_summaries_of_the_log_a_backup_is_full(bank: Bank, tmp_path: Path) -> None:
    """See that a cluster whose server did not summarise its log is not continued."""
    left = tmp_path / "20261123T201500Z-full.part"
    left.mkdir()
    _back_up(bank.data, tmp_path)
    assert not left.exists()
    for _ in range(3):
        _rows(bank.data, "select pg_switch_wal()")
    for summary in (bank.data / "postgres" / "cluster" / "pg_wal" / "summaries").iterdir():
        summary.unlink()
    taken, _ = _back_up(bank.data, tmp_path, is_incremental=True)
    assert taken.backup.kind is BackupKind.FULL
    assert taken.why_full is not None
    assert "WAL summaries are required" in taken.why_full


def test_chains_go_as_a_whole_and_only_if_one_that_stays_is_whole(tmp_path: Path) -> None:
    folder = BackupFolder(tmp_path)
    for name, parent in [("a", None), ("b", "a"), ("before-x", None), ("c", None), ("d", "c")]:
        folder.part_of(name).mkdir()
        folder.add(_entry(name, parent))
    with pytest.raises(BackupError, match="None of the backups to keep is whole"):
        keep(folder, 1, _ignore)
    folder.part_of("e").mkdir()
    folder.add(_entry("e", None))
    assert keep(folder, 2, _ignore) == ["a", "b"]
    assert [backup.id for backup in folder.list_all()] == ["before-x", "c", "d", "e"]


def test_the_newest_of_several_databases_is_not_guessed(tmp_path: Path) -> None:
    folder = BackupFolder(tmp_path)
    for name, identifier in (("a", "1"), ("b", "2")):
        folder.part_of(name).mkdir()
        folder.add(_entry(name, None).model_copy(update={"system_identifier": identifier}))
    with pytest.raises(BackupError, match="several databases; name one with --id: a, b"):
        folder.find(None)
    assert folder.find("a").id == "a"


def _entry(name: str, parent: str | None) -> Backup:
    now = datetime(2026, 1, 15, tzinfo=UTC)
    return Backup(
        id=name,
        kind=BackupKind.FULL if parent is None else BackupKind.INCREMENTAL,
        parent=parent,
        release="0.1.0",
        schema_revision="",
        postgres="18.4",
        system_identifier="1",
        bytes=0,
        start_time=now,
        end_time=now,
        manifest="",
    )


def _old(folder: Path) -> Path:
    """Make a data folder whose database has the schema of a former release."""
    data = folder / "data"
    data.mkdir(mode=0o755)
    fill(data)
    with EmbeddedPostgres(_settings(data)) as postgres:
        migrate.downgrade(postgres.url, _FORMER)
    return data


def _copied(backup: Path, data: Path) -> str | None:
    """Start a full backup as it stands, as the page on upgrading tells; return its schema."""
    cluster = data / "postgres" / "cluster"
    cluster.parent.mkdir(parents=True, mode=0o711)
    subprocess.run(["cp", "-a", backup, cluster], check=True)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "nobody", cluster], check=True)
    with EmbeddedPostgres(_settings(data)) as postgres:
        return migrate.pending(postgres.url)


def test_a_start_backs_up_what_it_migrates(monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch_folder() as folder:
        data = _old(folder)
        backups = BackupFolder(data / "backups")
        with live_server(data, MEMORY_BANK_EMBEDDER="hash"):
            (backup,) = backups.list_all()
        assert backup.id.startswith(f"before-{wanted_revision()}-2")
        assert backup.schema_revision == _FORMER
        # The former release serves it.
        assert _copied(backups.place_of(backup.id), folder / "before") == _FORMER
        # A restore goes on to the schema of this release.
        new = folder / "new"
        made: list[list[Backup]] = []
        restore(_settings(new), BackupRestore(backups.path), _ignore)
        with EmbeddedPostgres(_settings(new)) as postgres:
            assert migrate.pending(postgres.url) is None
            there = BackupFolder(new / "backups")
            for _ in range(2):
                migrate.downgrade(postgres.url, _FORMER)
                migrate_own(_settings(new), postgres.url)
                migrate_own(_settings(new), postgres.url)
                made.append(there.list_all())
            # A migration that is repeated pushes out its own backup alone.
            assert [len(some) for some in made] == [1, 1]
            assert made[0] != made[1]
            migrate.downgrade(postgres.url, _FORMER)
            full = SimpleNamespace(free=0)
            monkeypatch.setattr("shutil.disk_usage", lambda _: full)
            with pytest.raises(SchemaError, match="BACKUP_BEFORE_MIGRATION to false") as refused:
                migrate_own(_settings(new), postgres.url)
            assert "bytes of free space; it has 0." in str(refused.value)
            assert migrate.pending(postgres.url) == _FORMER
            off = _settings(new).model_copy(update={"backup_before_migration": False})
            migrate_own(off, postgres.url)
            assert migrate.pending(postgres.url) is None


@pytest.mark.parametrize(
    "program", ["pg_basebackup", "pg_combinebackup", "pg_checksums", *PROGRAMS]
)
def test_the_bundled_programs_run(program: str) -> None:
    """See that those which this release uses are not broken: `pg_verifybackup` is."""
    run_program(program, "--version")
