"""The restore of an engine from an archive, as a client of the REST API."""

import gzip
import json
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import typer

from app.adapters.api_client import ApiClient
from app.adapters.terminal import FAILED, MISUSED, fail
from app.kernel.errors import InvalidArgument
from app.memory.transfer.logic.comparing import ArchiveDigests
from app.memory.transfer.logic.format import MEDIA_TYPE, NDJSON_TYPE, Header
from app.memory.transfer.logic.reading import ArchiveReader
from app.process.progress import progress
from app.process.remote_api import connected, engine_path

_NOTE_SUFFIX = ".restoring"
_GZIP = b"\x1f\x8b"
_PIECE_BYTES = 256 * 1024
_PRIVATE = 0o600
_NEW = "new"


@dataclass(frozen=True)
class WantedRestore:
    """The arguments of the command."""

    file: Path
    engine: str
    extends_recovery: bool
    verifies: bool


def run(wanted: WantedRestore, url: str | None, key_file: Path | None) -> None:
    """Restore an archive and print the result.

    Exits with 1 if the verification finds a difference, and with 2 if the file cannot be read.
    """
    header = header_of(wanted.file)
    note = wanted.file.with_name(wanted.file.name + _NOTE_SUFFIX)
    target = TargetEngine(wanted.engine, note, header.archive_id)
    with connected(url, key_file) as api:
        path = target.path(api)
        typer.echo(f"Restoring into {path.removeprefix('/')}.", err=True)
        query = {"extendRecovery": True} if wanted.extends_recovery else {}
        with _sent(wanted.file) as (pieces, media_type):
            answer = api.upload(f"{path}:restore", pieces, media_type, query)
        target.done()
        for kind, count in answer["counts"].items():
            if count:
                typer.echo(f"{kind}: {count:,}")
        for name, meaning in _PASSED.items():
            if answer[name]:
                typer.echo(f"{meaning}: {answer[name]:,}")
        if answer["vectors"] != "USED":
            typer.echo("Facts are embedded in the background; searches go by words meanwhile.")
        for warning in answer["warnings"]:
            typer.echo(f"Warning: {warning}", err=True)
        typer.echo(f"Restored: {path.removeprefix('/')}")
        if wanted.verifies:
            _verify(api, path, wanted, header, uses_vectors=answer["vectors"] == "USED")


_PASSED = {
    "pastRecovery": "Deleted memories past recovery, removed soon",
    "pastExpiry": "Expired, removed soon",
}


def header_of(file: Path) -> Header:
    """Return the header of an archive; end the command if the file has none."""
    reader = ArchiveReader()
    try:
        with file.open("rb") as opened:
            while reader.header is None and (data := opened.read(_PIECE_BYTES)):
                for _ in reader.feed(data):
                    break
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.", MISUSED)
    except InvalidArgument as error:
        fail(f"{file}: {error.message}", FAILED)
    if reader.header is None:
        fail(f"{file} is no archive: it has no header.", FAILED)
    return reader.header


@contextmanager
def _sent(file: Path) -> Iterator[tuple[Iterator[bytes], str]]:
    size = file.stat().st_size
    with file.open("rb") as opened, progress("Restoring", size, "bytes") as shown:
        is_zipped = opened.read(len(_GZIP)) == _GZIP
        opened.seek(0)

        def pieces() -> Iterator[bytes]:
            while data := opened.read(_PIECE_BYTES):
                yield data
                shown.advance(len(data))

        yield pieces(), MEDIA_TYPE if is_zipped else NDJSON_TYPE


def _verify(
    api: ApiClient, path: str, wanted: WantedRestore, header: Header, *, uses_vectors: bool
) -> None:
    """Export the engine and compare; end the command with status 1 if the archives differ."""
    with_vectors = uses_vectors and bool(header.options.get("vectors"))
    query = {
        "vectors": with_vectors,
        "artifacts": bool(header.options.get("artifacts", True)),
        "sessions": bool(header.options.get("sessions", True)),
    }
    second = wanted.file.with_name(wanted.file.name + ".verifying")
    try:
        with api.download(f"{path}:export", query) as pieces, second.open("wb") as opened:
            second.chmod(_PRIVATE)
            for data in pieces:
                opened.write(data)
        by = header_of(second).export_time
        first_digests = _digests(wanted.file, by, wanted)
        second_digests = _digests(second, by, wanted)
    finally:
        second.unlink(missing_ok=True)
    # This service embeds the facts again in the background, which changes its usage.
    ignored = () if with_vectors else ("vector", "usage")
    unlike = [name for name in first_digests.unlike(second_digests) if not name.startswith(ignored)]
    if unlike:
        fail("The restored engine differs from the archive in " + "; ".join(unlike) + ".", FAILED)
    passed = first_digests.passed
    left_out = (
        f" {passed} lines and revisions that have expired since were left out." if passed else ""
    )
    typer.echo(f"Verified: the restored engine is what the archive has.{left_out}")


def _digests(file: Path, by: datetime, wanted: WantedRestore) -> ArchiveDigests:
    digests = ArchiveDigests(by, wanted.extends_recovery)
    try:
        digests.add(_lines(file))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        fail(f"{file} cannot be compared: {error}.", FAILED)
    return digests


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        is_zipped = opened.read(len(_GZIP)) == _GZIP
        opened.seek(0)
        if not is_zipped:
            yield from opened
            return
        with gzip.open(opened) as unzipped:
            yield from unzipped


@dataclass(frozen=True)
class TargetEngine:
    """The engine named by a command.

    Attributes:
        engine: the id, or `new`. A repeated command creates a new engine only once.
        note: the file that records a new engine until the command is done.
        content: the identity of the content to store. Other content gets another new engine.
    """

    engine: str
    note: Path
    content: str

    @property
    def is_new(self) -> bool:
        """True if the command creates the engine."""
        return self.engine == _NEW

    def check(self) -> None:
        """End the command if `engine` is neither an id nor `new`."""
        if not self.is_new and not self.engine.isdecimal():
            fail("--engine: must be the id of an engine, such as 1, or new.", MISUSED)

    def path(self, api: ApiClient) -> str:
        """Return the engine's path for the client; a new engine is created if necessary."""
        self.check()
        return engine_path(self._created(api) if self.is_new else self.engine)

    def done(self) -> None:
        """Delete the note about a new engine; the same command then creates another one."""
        if self.is_new:
            self.note.unlink(missing_ok=True)

    def _created(self, api: ApiClient) -> str:
        wanted = {"content": self.content, "url": api.url}
        known = self._noted()
        if any(known.get(name) != value for name, value in wanted.items()):
            known = {**wanted, "requestId": secrets.token_hex(16)}
            self._write(known)
        if "engine" not in known:
            query = {"requestId": known["requestId"]}
            created = api.ask("POST", "/reasoningEngines", {}, query)
            known["engine"] = created["response"]["name"].rpartition("/")[2]
            self._write(known)
        return known["engine"]

    def _noted(self) -> dict[str, str]:
        try:
            known = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _write(self, known: dict[str, str]) -> None:
        part = self.note.with_name(self.note.name + ".part")
        try:
            part.touch(_PRIVATE)
            part.write_text(json.dumps(known), encoding="utf-8")
            part.replace(self.note)
        except OSError as error:
            fail(
                f"{self.note}, which notes the new engine, cannot be written: {error.strerror};"
                " create an engine yourself and name it by --engine.",
                MISUSED,
            )
