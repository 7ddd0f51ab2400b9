"""Archives in tests: exported, read, and taken apart."""

import gzip
import json
from collections.abc import Iterable

import httpx

from app.memory.transfer.logic.reading import ArchiveReader, Line
from tests.support.bank import ENGINE_URL, Json


async def export(client: httpx.AsyncClient, url: str = ENGINE_URL, **params: str) -> bytes:
    """Return the archive of an engine."""
    answer = await client.get(f"{url}:export", params=params)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/gzip"
    return answer.content


def read(pieces: Iterable[bytes], engine: str = "") -> tuple[ArchiveReader, list[Line]]:
    """Read a whole archive; return its reader, at its end, and its lines."""
    reader = ArchiveReader(engine)
    lines = [line for piece in pieces for block in reader.feed(piece) for line in block.lines]
    reader.end()
    return reader, lines


def raw_lines(archive: bytes) -> list[bytes]:
    """Return the lines after the header, as they are."""
    return gzip.decompress(archive).splitlines()[1:]


def of_kind(archive: bytes, kind: str) -> list[Json]:
    """Return the lines of a kind."""
    found = [json.loads(line) for line in raw_lines(archive)]
    return [line for line in found if line["kind"] == kind]
