"""The files of an import: its input, unpacked within limits, and its output files."""

import gzip
import json
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO, RawIOBase
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

from typing_extensions import override

from app.process.imports.records import FileError

STDIN = "-"
MAX_UNPACKED_BYTES = 8 * 1024**3
"""Largest unpacked size of a zip or gzip file."""
MAX_RATIO = 200
"""Largest ratio of unpacked to packed bytes."""
_FREE_BYTES = 1024 * 1024
"""Unpacked size from which the ratio is checked: short repetitive files pack very well."""
_PIECE_BYTES = 256 * 1024
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_ENCRYPTED = 1
_JSON_ENDINGS = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".af")
_OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Opened:
    """An open input file.

    Attributes:
        total: the size of the file or of the zip member in bytes; None if unknown.
        done: returns the number of those bytes that have been read.
    """

    pieces: Iterator[bytes]
    total: int | None
    done: Callable[[], int]


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class _CountedStream(RawIOBase):
    """A stream that counts the bytes read and can peek at its beginning."""

    def __init__(self, stream: IO[bytes]) -> None:
        # `read1` returns the data available in a pipe without waiting for a full piece.
        self._read = getattr(stream, "read1", stream.read)
        self._first = BytesIO(stream.read(len(_ZIP)))
        self.count = 0

    def beginning(self) -> bytes:
        return self._first.getvalue()

    @override
    def readable(self) -> bool:
        return True

    @override
    def read(self, size: int = -1) -> bytes:
        piece = self._first.read(size) or self._read(size)
        self.count += len(piece)
        return piece


@contextmanager
def opened(file: str, members: Sequence[str]) -> Iterator[Opened]:
    """Open a plain or packed file, or the standard input for "-".

    `members` names files in a zip, in order of preference; empty: its only JSON file.

    Raises:
        FileError: the file cannot be read, or its unpacked size exceeds the limits. Reading the
            pieces may also raise it.
    """
    with ExitStack() as stack:
        try:
            path = None if file == STDIN else Path(file)
            stream = sys.stdin.buffer if path is None else stack.enter_context(path.open("rb"))
            counted = _CountedStream(stream)
            total = None if path is None else path.stat().st_size
            if counted.beginning() == _ZIP:
                if path is None:
                    raise FileError("A zip cannot be read from the standard input.")
                yield _member(stack, path, members)
            elif counted.beginning().startswith(_GZIP):
                packed = gzip.GzipFile(fileobj=counted)
                yield Opened(_unpacked(packed, lambda: counted.count), total, lambda: counted.count)
            else:
                yield Opened(_plain(counted), total, lambda: counted.count)
        except OSError as error:
            raise FileError(f"{file} cannot be read: {error.strerror or error}.") from None


def _plain(stream: _CountedStream) -> Iterator[bytes]:
    while piece := stream.read(_PIECE_BYTES):
        yield piece


def _member(stack: ExitStack, path: Path, members: Sequence[str]) -> Opened:
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
    except zipfile.BadZipFile:
        raise FileError("The zip is damaged.") from None
    info = _chosen(archive.infolist(), members)
    if info.flag_bits & _ENCRYPTED:
        raise FileError("The zip has a password; unpack it first.")
    try:
        counted = _CountedStream(stack.enter_context(archive.open(info)))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        raise FileError("The zip is damaged, or packed in a way that is not supported.") from None
    # The sizes declared in a zip may be false, so the limits apply to the bytes read.
    pieces = _unpacked(counted, lambda: info.compress_size)
    if counted.beginning().startswith(_GZIP):
        pieces = _unpacked(gzip.GzipFile(fileobj=counted), lambda: counted.count)
    return Opened(pieces, info.file_size, lambda: counted.count)


def _chosen(infos: Sequence[zipfile.ZipInfo], members: Sequence[str]) -> zipfile.ZipInfo:
    files = [info for info in infos if not info.is_dir()]
    for member in members:
        for info in files:
            if info.filename.rpartition("/")[2] == member:
                return info
    fit = [info for info in files if info.filename.lower().endswith(_JSON_ENDINGS)]
    if not members and len(fit) == 1:
        return fit[0]
    wanted = " or ".join(members) or "exactly one file of JSON"
    has = ", ".join(sorted(info.filename for info in files)[:20]) or "nothing"
    raise FileError(f"The zip must have {wanted}; it has: {has}.")


def _unpacked(stream: _Readable, packed: Callable[[], int]) -> Iterator[bytes]:
    count = 0
    try:
        while piece := stream.read(_PIECE_BYTES):
            count += len(piece)
            if count > MAX_UNPACKED_BYTES:
                raise FileError(f"The file has more than {MAX_UNPACKED_BYTES} bytes unpacked.")
            if count > max(MAX_RATIO * packed(), _FREE_BYTES):
                raise FileError(f"The file has more than {MAX_RATIO} bytes for each packed one.")
            yield piece
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError):
        raise FileError("The file is damaged: it cannot be unpacked.") from None


class LinesFile:
    """A file of JSON lines that only its owner can read; existing lines stay if it `adds`."""

    def __init__(self, path: Path, *, adds: bool) -> None:
        self.path = path
        self._mode = os.O_APPEND if adds else os.O_TRUNC
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        if self._mode == os.O_TRUNC:
            self.path.unlink(missing_ok=True)
        return self

    def __exit__(
        self,
        _: type[BaseException] | None,
        __: BaseException | None,
        ___: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, line: dict[str, Any]) -> None:
        """Append a line and flush it."""
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | self._mode
            self._file = os.fdopen(os.open(self.path, flags, _OWNER_ONLY), "a", encoding="utf-8")
            self.path.chmod(_OWNER_ONLY)
        # ASCII, because a lone surrogate cannot be encoded in UTF-8.
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
