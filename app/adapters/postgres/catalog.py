"""A folder of backups: its catalog, chains, lock, and the manifests of its backups.

DIR/
  catalog.json                all backups, the oldest first
  erasures.ndjson             the list of erasures, as of the last backup
  lock                        held while a backup is made, removed or restored
  20261123T201500Z-full/      a full backup
  20261124T201500Z-incr/      the changes since its parent
  20261125T201500Z-full.part  an unfinished one, which the next backup removes
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from app.adapters.postgres.programs import open_private, sync_folder, try_lock

CATALOG = "catalog.json"
BEFORE = "before-"
"""The beginning of the names of backups before migrations."""
_LOCK = "lock"
_PART = ".part"
_NAME = re.compile(r"(before-[0-9a-z_]+-)?[0-9]{8}T[0-9]{6}Z(-full|-incr)?")
MANIFEST = "backup_manifest"
"""The name of the manifest in a backup's folder."""
_WAL = "pg_wal"
_ALGORITHM = "SHA256"
Report = Callable[[str, int, int], None]
"""Receives the name of a step, the number of finished bytes, and the total."""


class BackupError(RuntimeError):
    """A backup cannot be made or used; the message gives the reason."""


@dataclass(frozen=True)
class ListedFile:
    """A file of a backup: its size in bytes, and its SHA-256 in hexadecimal digits."""

    size: int
    sha256: str


class WalRange(NamedTuple):
    """A range of the WAL that a restored server reads; positions are like `0/2000028`."""

    timeline: int
    start: str
    end: str


@dataclass(frozen=True)
class Manifest:
    """A manifest with a verified digest."""

    digest: str
    system_identifier: str
    files: Mapping[str, ListedFile]
    """The files by their paths within the backup, without the files in `pg_wal`."""
    ranges: Sequence[WalRange]


class BackupKind(StrEnum):
    """The kind of a backup."""

    FULL = "full"
    INCREMENTAL = "incremental"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Backup(_Model):
    """A backup in the catalog."""

    id: str
    kind: BackupKind
    parent: str | None
    """The id of the backup on which an incremental one builds."""
    release: str
    schema_revision: str
    postgres: str
    """The version of Postgres, such as `18.0`."""
    system_identifier: str
    bytes: int
    start_time: datetime
    end_time: datetime
    manifest: str
    """The digest of the manifest."""
    wal: dict[str, ListedFile] = Field(default_factory=dict)
    """The files of the write-ahead log by their paths, which the manifest leaves out."""

    @property
    def is_before_migration(self) -> bool:
        """True if it was made by itself, before a migration."""
        return self.id.startswith(BEFORE)


class _Catalog(_Model):
    backups: list[Backup] = Field(default_factory=list)


class BackupFolder:
    """A folder of backups. Blocking."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def place_of(self, name: str) -> Path:
        """Return the folder of a backup."""
        return self.path / name

    def part_of(self, name: str) -> Path:
        """Return the folder of an unfinished backup."""
        return self.path / f"{name}{_PART}"

    def list_all(self) -> list[Backup]:
        """Return the backups whose folders exist, the oldest first."""
        path = self.path / CATALOG
        try:
            listed = _Catalog.model_validate_json(path.read_bytes()).backups
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
        except ValidationError as error:
            raise BackupError(f"{path} is damaged: it is no catalog of backups.") from error
        return [backup for backup in listed if self.place_of(backup.id).is_dir()]

    def list_some(self) -> list[Backup]:
        """Return the backups like `list_all`."""
        if listed := self.list_all():
            return listed
        raise BackupError(f"There is no backup in {self.path}.")

    def find(self, name: str | None) -> Backup:
        """Return the backup with an id, or the newest if `name` is None."""
        listed = self.list_some()
        for backup in listed:
            if backup.id == name:
                return backup
        names = ", ".join(backup.id for backup in listed)
        if name is None:
            if len({backup.system_identifier for backup in listed}) == 1:
                return listed[-1]
            raise BackupError(
                f"{self.path} has backups of several databases; name one with --id: {names}."
            )
        raise BackupError(f"There is no backup {name} in {self.path}; there are: {names}.")

    def chain_of(self, backup: Backup) -> list[Backup]:
        """Return the chain that ends with this backup, beginning with the full one."""
        known = {each.id: each for each in self.list_all()}
        chain = [backup]
        while (parent := chain[0].parent) is not None:
            if parent not in known:
                raise BackupError(
                    f"{self.place_of(parent)} is missing; {chain[0].id} builds on it."
                )
            chain.insert(0, known[parent])
        return chain

    def add(self, backup: Backup) -> None:
        """Enter a finished backup into the catalog, and give it its final name."""
        # The entry first: entries without a folder are skipped, but a folder without an entry
        # would be lost.
        self._write([*self.list_all(), backup])
        self.part_of(backup.id).rename(self.place_of(backup.id))

    def remove(self, names: Sequence[str]) -> None:
        """Remove backups; after an interruption, none is incomplete under its final name."""
        for name in names:
            self.place_of(name).rename(self.part_of(name))
        self._write([backup for backup in self.list_all() if backup.id not in names])
        self._remove_unfinished()

    def _remove_unfinished(self) -> None:
        for path in self.path.glob(f"*{_PART}"):
            if _NAME.fullmatch(path.name.removesuffix(_PART)):
                shutil.rmtree(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from changing the folder during the block; remove their leftovers."""
        try:
            # An existing folder keeps its mode: others may use it, and backups have stricter modes.
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = open_private(self.path / _LOCK)
        except OSError as error:
            raise BackupError(f"{self.path} cannot be used: {error.strerror}.") from error
        with self._held(lock):
            self._remove_unfinished()
            yield

    @contextmanager
    def read_locked(self) -> Iterator[None]:
        """Keep other commands from removing backups during the block, where that is possible."""
        try:
            lock = open_private(self.path / _LOCK)
        except OSError:  # a read-only folder, from which no command can remove backups
            yield
            return
        with self._held(lock):
            yield

    @contextmanager
    def _held(self, lock: int) -> Iterator[None]:
        try:
            if not try_lock(lock):
                raise BackupError(f"Another command is using the backups in {self.path}.")
            yield
        finally:
            os.close(lock)

    def write_file(self, name: str, content: str) -> None:
        """Replace a file of this folder durably and atomically."""
        made = self.path / f"{name}{_PART}"
        made.unlink(missing_ok=True)
        descriptor = open_private(made)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        made.replace(self.path / name)
        sync_folder(self.path)

    def _write(self, backups: list[Backup]) -> None:
        catalog = _Catalog(backups=backups).model_dump_json(by_alias=True, indent=1)
        self.write_file(CATALOG, catalog + "\n")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a backup, and check the digest in its last line.

    Raises:
        BackupError: the manifest is absent or damaged, or has digests other than SHA-256.
    """
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
    body, _, last = content.rstrip(b"\n").rpartition(b"\n")
    digest = hashlib.sha256(body + b"\n").hexdigest()
    if f'"Manifest-Checksum": "{digest}"'.encode() not in last:
        raise BackupError(f"{path} is damaged: its own digest does not match.")
    read = json.loads(content)
    if any(file["Checksum-Algorithm"] != _ALGORITHM for file in read["Files"]):
        raise BackupError(f"{path} has other digests than {_ALGORITHM}.")
    return Manifest(
        digest,
        str(read["System-Identifier"]),
        {_path_of(file): ListedFile(file["Size"], file["Checksum"]) for file in read["Files"]},
        [
            WalRange(each["Timeline"], each["Start-LSN"], each["End-LSN"])
            for each in read["WAL-Ranges"]
        ],
    )


def _path_of(file: Mapping[str, str]) -> str:
    if "Path" in file:
        return file["Path"]
    return bytes.fromhex(file["Encoded-Path"]).decode("utf-8", "surrogateescape")


def list_wal(folder: Path) -> dict[str, ListedFile]:
    """Return the files of a backup's write-ahead log, which are not in its manifest."""
    return {
        str(path.relative_to(folder)): ListedFile(path.stat().st_size, sha256_of(path))
        for path in sorted((folder / _WAL).rglob("*"))
        if path.is_file()
    }


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def damages(folder: Path, expected: Mapping[str, ListedFile], report: Report) -> Iterator[str]:
    """Compare a backup's files with the expected files; yield a sentence for each difference.

    `expected` lacks the manifest. The bundled `pg_verifybackup` ends with a segmentation fault.
    """
    done, total = 0, sum(file.size for file in expected.values())
    for name, file in expected.items():
        path = folder / name
        if not path.is_file():
            yield f"{path} is missing."
        elif path.stat().st_size != file.size:
            yield f"{path} has {path.stat().st_size} bytes in place of {file.size}."
        elif sha256_of(path) != file.sha256:
            yield f"{path} is damaged: its SHA-256 does not match."
        done += file.size
        report(f"verifying {folder.name}", done, total)
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_dir() and name not in expected and name != MANIFEST:
            yield f"{path} is not part of the backup."
