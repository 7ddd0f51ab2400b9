"""The manifest of a base backup, and the verification of a backup against it.

The bundled `pg_verifybackup` ends with a segmentation fault, so a backup is verified here.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class WalRange:
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

    Args:
        folder: the backup.
        expected: all files of the backup but the manifest, by their paths within it.
        report: receives the progress.
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
