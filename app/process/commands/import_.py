"""Import memories of another product; the same command again doubles nothing."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from app.adapters.api_client import RemoteError
from app.adapters.terminal import FAILED, MISUSED, fail
from app.kernel.clock import SystemClock
from app.process.import_history import RevisedMemories, restore
from app.process.imports.files import LinesFile, opened
from app.process.imports.items import Conversation, Options
from app.process.imports.products import SOURCES, Converted, ItemLine, Rejected, converted
from app.process.imports.records import FileError, read_records
from app.process.imports.sending import Importer, undo
from app.process.progress import progress, stoppable
from app.process.remote_api import KeyFile, Url, connected
from app.process.restoring import TargetEngine

_SAMPLES = 5
_SHOWN_CHARS = 400
_STDIN, _STDIN_NAME = "-", "stdin"
_SEVERAL = re.compile("=.*,[^,=]+=")
_STEPS = (["operation"], ["session"])
"""Fields of the lines in a file of results."""

_File = Annotated[
    str | None, typer.Argument(help="File with the memories; - reads the standard input.")
]
_From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Product that the file is of: mem0, openmemory, vertex, hindsight, zep, graphiti,"
        " letta, langgraph, mcp-memory or jsonl.",
    ),
]
_Engine = Annotated[
    str | None,
    typer.Option(help="Engine, by its id; `new` creates one, and another once all is imported."),
]
_Scope = Annotated[
    list[str] | None,
    typer.Option(
        help="KEY=VALUE that each scope gets, or KEY,KEY: the keys to keep of the source's scopes,"
        " for langgraph the names of a namespace's places; repeatable."
    ),
]
_Label = Annotated[
    list[str] | None,
    typer.Option(help="KEY=VALUE, a label of each memory's first revision; repeatable."),
]
_Metadata = Annotated[
    list[str] | None, typer.Option(help="KEY=VALUE that each memory gets; repeatable.")
]
_Infer = Annotated[
    bool, typer.Option("--infer", help="Generate memories from the texts, not store the texts.")
]
_Sessions = Annotated[
    bool, typer.Option("--sessions", help="Import messages as sessions (letta, vertex).")
]
_WithEnded = Annotated[
    bool,
    typer.Option("--with-ended", help="Import facts that have ended, and delete them recoverably."),
]
_Limit = Annotated[int | None, typer.Option(help="Items to read, the first of the file.", min=1)]
_Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace memories that were changed here since.")
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Send nothing; print what would be imported and lost.")
]
_Revisions = Annotated[
    Path | None,
    typer.Option(help="File with the revisions of vertex's memories, for an empty engine."),
]
_Undo = Annotated[bool, typer.Option("--undo", help="Undo the import that wrote this FILE.result.")]


def run(  # noqa: PLR0913 - one parameter for each option: typer reads them
    *,
    file: _File = None,
    source: _From = None,
    engine: _Engine = None,
    scope: _Scope = None,
    label: _Label = None,
    metadata: _Metadata = None,
    infer: _Infer = False,
    sessions: _Sessions = False,
    with_ended: _WithEnded = False,
    limit: _Limit = None,
    overwrite: _Overwrite = False,
    dry_run: _DryRun = False,
    revisions: _Revisions = None,
    undo: _Undo = False,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    if file is None:
        fail("Give a FILE, or - for the standard input.", MISUSED)
    if revisions is not None:
        others = {
            "--undo": undo,
            "--infer": infer,
            "--sessions": sessions,
            "--with-ended": with_ended,
            "--overwrite": overwrite,
        }
        _check_fits_revisions(file, source, others)
    if undo:
        _undo(Path(file), url, key_file)
        return
    if source is None:
        fail("--from: must name the product that the file is of.", MISUSED)
    options = _options(source, scope or (), label or (), metadata or (), sessions=sessions)
    options = replace(options, infer=infer, with_ended=with_ended, overwrite=overwrite)
    reading = _Input(file, options, limit)
    if file != _STDIN and not Path(file).exists():
        fail(f"{file} does not exist.", MISUSED)
    target = _target(reading, engine, is_dry=dry_run)
    if revisions is not None:
        _import_history(reading, revisions, target, url, key_file)
    elif target is None:
        _preview(reading)
    else:
        _import(reading, target, url, key_file)


def _check_fits_revisions(file: str, source: str | None, others: Mapping[str, bool]) -> None:
    for option, is_given in others.items():
        if is_given:
            fail(f"--revisions: cannot be used with {option}.", MISUSED)
    if source != "vertex":
        fail("--revisions: must be used with --from vertex.", MISUSED)
    if file == _STDIN:
        fail("--revisions: needs a FILE that is not the standard input.", MISUSED)


def _target(reading: "_Input", engine: str | None, *, is_dry: bool) -> TargetEngine | None:
    if engine is None and is_dry:
        return None
    target = TargetEngine(engine or "", reading.beside(".importing"), reading.options.source)
    target.check()
    if target.is_new and reading.file == _STDIN:
        # A repeated command could read different data from standard input.
        fail("--engine: new needs a FILE that is not the standard input.", MISUSED)
    return None if is_dry else target


@dataclass(frozen=True)
class _Input:
    """An input file with the options for reading it."""

    file: str
    options: Options
    limit: int | None

    def beside(self, ending: str) -> Path:
        return Path((_STDIN_NAME if self.file == _STDIN else self.file) + ending)

    @contextmanager
    def converted(self, losses: Counter[str], doing: str) -> Iterator[Iterator[Converted]]:
        product = SOURCES[self.options.source]
        with (
            opened(self.file, product.members) as data,
            progress(doing, data.total, "items") as shown,
        ):
            records = islice(read_records(data.pieces, product.containers), self.limit)

            def counted() -> Iterator[Converted]:
                for item in converted(records, self.options, losses):
                    yield item
                    shown.advance(1, data.done() - shown.done)

            yield counted()


def _options(
    source: str,
    scope: Sequence[str],
    labels: Sequence[str],
    metadata: Sequence[str],
    *,
    sessions: bool,
) -> Options:
    if source not in SOURCES:
        fail(f"--from: must be one of {', '.join(SOURCES)}.", MISUSED)
    if any(_SEVERAL.search(written) for written in scope):
        fail("--scope: takes one KEY=VALUE; give each a --scope of its own.", MISUSED)
    pairs = _pairs("--scope", [written for written in scope if "=" in written])
    keys = tuple(key for written in scope if "=" not in written for key in written.split(","))
    if SOURCES[source].needs_keys and not keys:
        fail("--scope: must name the places of a namespace, such as kind,user_id.", MISUSED)
    if "" in keys:
        fail("--scope: must be KEY=VALUE, or KEY,KEY.", MISUSED)
    if sessions and not SOURCES[source].has_sessions:
        fail("--sessions: must be used with letta or vertex.", MISUSED)
    return Options(
        source,
        SystemClock().now(),
        pairs,
        keys,
        _pairs("--label", labels),
        _pairs("--metadata", metadata),
        sessions,
    )


def _pairs(option: str, written: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for pair in written:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            fail(f"{option}: must be KEY=VALUE.", MISUSED)
        pairs[key] = value
    return pairs


def _import(reading: _Input, target: TargetEngine, url: str | None, key_file: Path | None) -> None:
    losses: Counter[str] = Counter()
    results, rejections = reading.beside(".result"), reading.beside(".rejected.ndjson")
    _check_writable(results, rejections)
    with (
        connected(url, key_file) as api,
        stoppable(f"Interrupted. The same command goes on; import --undo {results} takes it back."),
        LinesFile(results, adds=True) as steps,
        LinesFile(rejections, adds=False) as rejected,
    ):
        path = target.path(api)
        name = path.removeprefix("/")
        typer.echo(f"Importing into {name} (--engine {name.partition('/')[2]}).", err=True)
        importer = Importer(api, path, reading.options, steps, rejected, losses)
        broken: FileError | None = None
        try:
            try:
                with reading.converted(losses, "Importing") as items:
                    for item in items:
                        importer.add(item)
            except FileError as error:
                broken = error
            importer.finish()
        except (RemoteError, KeyboardInterrupt):
            if importer.operations:
                _report(importer, results)
            raise
    _report(importer, results)
    if broken is not None:
        fail(str(broken), FAILED)
    if importer.counts["rejected"]:
        fail(f"Rejected: {importer.counts['rejected']:,}; see {rejections}.", FAILED)
    target.done()


def _check_writable(*files: Path) -> None:
    for file in files:
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            fail(f"{file} cannot be written.", MISUSED)


def _report(importer: Importer, results: Path) -> None:
    for name, count in importer.counts.items():
        if name != "rejected" and (count or name == "imported"):
            typer.echo(f"{_words(name)}: {count:,}")
    _print_counts("Left out", importer.losses)
    if importer.operations or results.exists():
        typer.echo(f"To take it back: memory-bank import --undo {results}")
    for operation in importer.operations:
        typer.echo(operation)


def _print_counts(title: str, counts: Counter[str]) -> None:
    names = sorted(+counts)
    if names:
        typer.echo(f"{title}:")
    for name in names:
        typer.echo(f"  {name}: {counts[name]:,}")


def _words(name: str) -> str:
    text = "".join(f" {char.lower()}" if char.isupper() else char for char in name)
    return text.capitalize()


@dataclass
class _Preview:
    """Counts of converted items, with the first items as samples."""

    losses: Counter[str]
    with_ended: bool
    scopes: Counter[str] = field(default_factory=Counter)
    conversations: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    _samples: list[ItemLine] = field(default_factory=list)

    def add(self, item: Converted) -> None:
        if isinstance(item, Rejected):
            self.reasons[item.reason] += 1
        elif isinstance(item, Conversation):
            self.conversations.update(sessions=1, events=len(item.events))
        elif item.ended and not self.with_ended:
            self.losses["ended facts"] += 1
        else:
            self.scopes[", ".join(sorted(item.line["scope"]))] += 1
            if len(self._samples) < _SAMPLES:
                self._samples.append(item)

    def print(self) -> None:
        typer.echo(f"Would import: {self.scopes.total():,}")
        _print_counts("By the keys of their scopes", self.scopes)
        _print_counts("Conversations", self.conversations)
        _print_counts("Would reject", self.reasons)
        _print_counts("Left out", self.losses)
        for item in self._samples:
            typer.echo(f"\nBefore: {_shown(item.item)}\nAfter:  {_shown(item.line)}")


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # A lone surrogate cannot be printed.
    text = text.encode(errors="replace").decode()
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def _preview(reading: _Input) -> None:
    losses: Counter[str] = Counter()
    preview = _Preview(losses, reading.options.with_ended)
    try:
        with stoppable("Interrupted."), reading.converted(losses, "Reading") as items:
            for item in items:
                preview.add(item)
    except FileError as error:
        fail(str(error), FAILED)
    preview.print()
    if preview.reasons:
        raise typer.Exit(FAILED)


def _import_history(
    reading: _Input,
    revisions: Path,
    target: TargetEngine | None,
    url: str | None,
    key_file: Path | None,
) -> None:
    losses: Counter[str] = Counter()
    histories = RevisedMemories(reading.options.now, losses)
    # A fixed time, because a repeated command must build the same archive despite expiry.
    options = replace(reading.options, now=datetime.min.replace(tzinfo=UTC))
    try:
        with (
            stoppable("Interrupted. Nothing was sent."),
            replace(reading, options=options).converted(losses, "Reading") as items,
        ):
            histories.read(items, revisions)
    except FileError as error:
        fail(str(error), FAILED)
    if target is None:
        typer.echo(f"Would import: {len(histories.memories):,}")
        _report_history(histories)
        _print_counts("Would reject", Counter(item.reason for item in histories.rejected))
        if histories.rejected:
            raise typer.Exit(FAILED)
        return
    rejections = reading.beside(".rejected.ndjson")
    _check_writable(rejections)
    with LinesFile(rejections, adds=False) as rejected:
        for item in histories.rejected:
            rejected.write(item.wire())
    if histories.memories:
        restore(histories.memories, target, url, key_file)
    typer.echo(f"Imported: {len(histories.memories):,}")
    _report_history(histories)
    if histories.rejected:
        fail(f"Rejected: {len(histories.rejected):,}; see {rejections}.", FAILED)


def _report_history(histories: RevisedMemories) -> None:
    typer.echo(f"Revisions: {histories.revisions:,}")
    if histories.added:
        typer.echo(f"Of these, made of memories that differ: {histories.added:,}")
    _print_counts("Left out", histories.losses)


def _undo(file: Path, url: str | None, key_file: Path | None) -> None:
    """Undo the steps in a file of results, the last one first; then remove the file."""
    steps = _steps_in(file)
    counts: Counter[str] = Counter()
    with (
        connected(url, key_file) as api,
        stoppable("Interrupted. The same command goes on."),
        progress("Undoing", len(steps), "steps") as shown,
    ):
        for step in reversed(steps):
            counts.update(undo(api, step))
            shown.advance()
    if counts["missing"] == len(steps):
        fail(f"This service has nothing that {file} names; is it that of --url?", FAILED)
    file.unlink()
    typer.echo(f"Undone: {counts['undone']:,}")
    if counts["skipped"]:
        typer.echo(f"Left alone, since they have changed: {counts['skipped']:,}")
    if counts["sessions"]:
        typer.echo(f"Sessions deleted: {counts['sessions']:,}")


def _steps_in(file: Path) -> list[dict[str, str]]:
    try:
        steps = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.", MISUSED)
    except ValueError:
        steps = [None]
    if not all(isinstance(step, dict) and [*step] in _STEPS for step in steps):
        fail(f"{file} must be the .result file of an import.", MISUSED)
    return steps
