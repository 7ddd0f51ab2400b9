"""Write an engine to an archive: configuration, memories with history, sessions, tasks."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from app.adapters.api_client import ApiClient, Query
from app.adapters.terminal import fail
from app.kernel.clock import SystemClock
from app.kernel.errors import ServiceError
from app.memory.transfer.logic.kinds import MEMORY
from app.memory.transfer.logic.reading import ArchiveReader, Block
from app.process.private_file import written
from app.process.progress import progress, stoppable
from app.process.remote_api import KeyFile, Url, connected, engine_path

_STDOUT = "-"
_POLL_SECONDS = 1.0
_WARNING = "Note: the export holds personal data in clear; keep it as safe as the database."
_NOT_IMPORTED = {"version", "source", "position", "heldTime", "deleteTime", "recoverUntil"}
"""Fields of archived memories that an import does not accept."""


def run(  # noqa: PLR0913 - one argument an option
    *,
    engine: Annotated[str, typer.Option(help="Engine, by its id.")] = "1",
    output: Annotated[
        str | None,
        typer.Option(
            help="File to write, or - for standard output.", show_default="ENGINE-TIME.omb.gz"
        ),
    ] = None,
    vectors: Annotated[bool, typer.Option("--vectors", help="With the vectors.")] = False,
    no_artifacts: Annotated[
        bool, typer.Option("--no-artifacts", help="Without the artifacts of task memory.")
    ] = False,
    no_sessions: Annotated[
        bool, typer.Option("--no-sessions", help="Without sessions and their states.")
    ] = False,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Only the memories that are live, one JSON a line, as imports take it."
        ),
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait first until every operation has ended.")
    ] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    path = engine_path(engine)
    suffix = "jsonl" if plain else "omb.gz"
    name = output or f"{engine}-{SystemClock().now():%Y%m%dT%H%M%SZ}.{suffix}"
    target = None if name == _STDOUT else Path(name)
    if target is not None and target.exists() and not force:
        fail(f"{target} exists; --force replaces it.")
    query = {
        "vectors": vectors,
        "artifacts": not (no_artifacts or plain),
        "sessions": not (no_sessions or plain),
    }
    with connected(url, key_file) as api, stoppable("Stopped: nothing is exported."):
        _wait(api, path, wait)
        typer.echo(_WARNING, err=True)
        with _output(target) as file:
            reader, lines = _copy(api.download(f"{path}:export", query), file, is_plain=plain)
    _report(reader, target, lines if plain else None)


def _wait(api: ApiClient, path: str, seconds: float) -> None:
    ends = time.monotonic() + seconds
    query: Query = {"filter": "done=false", "pageSize": 1}
    while seconds and api.ask("GET", f"{path}/operations", query=query).get("operations"):
        if time.monotonic() > ends:
            typer.echo(f"After {seconds:g} seconds, operations have not ended.", err=True)
            return
        time.sleep(_POLL_SECONDS)


@contextmanager
def _output(target: Path | None) -> Iterator[BinaryIO]:
    """Open the output, a file or standard output."""
    if target is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with written(target) as file:
        yield file


def _copy(
    download: AbstractContextManager[Iterator[bytes]], file: BinaryIO, *, is_plain: bool
) -> tuple[ArchiveReader, int]:
    """Copy the archive, or its live memories; return its reader, and the memories copied alone."""
    reader, lines = ArchiveReader(), 0
    try:
        with download as pieces, progress("Exporting", unit="lines") as shown:
            for piece in pieces:
                if not is_plain:
                    file.write(piece)
                for block in reader.feed(piece):
                    shown.advance(len(block.lines))
                    if is_plain:
                        plain = _plain(block)
                        file.write(b"".join(plain))
                        lines += len(plain)
        reader.end()
    except ServiceError as error:
        fail(f"{error.message} Export again.")
    return reader, lines


def _plain(block: Block) -> list[bytes]:
    lines = (plain_memory(line.values) for line in block.lines if line.kind is MEMORY)
    return [
        json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines if line is not None
    ]


def plain_memory(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a line of `memories:import` from the values of a memory; None: it is deleted."""
    if values["delete_time"] is not None:
        return None
    encoded = MEMORY.encode([values[field.column] for field in MEMORY.fields])
    if values["held_time"] is not None:
        # Edited by hand since its event, so the time of the last change applies instead.
        encoded.pop("eventTime", None)
    return {
        name: value
        for name, value in encoded.items()
        if name not in _NOT_IMPORTED and value not in ({}, [])
    }


def _report(reader: ArchiveReader, target: Path | None, lines: int | None) -> None:
    trailer = reader.end()
    counts = trailer.counts if lines is None else {MEMORY.name: lines}
    counted = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    typer.echo(f"Exported to {target or 'standard output'}: {counted}.", err=True)
    for name, told in trailer.left.items():
        typer.echo(f"Left out: {told.get('count')} {name}: {told.get('reason')}.", err=True)
