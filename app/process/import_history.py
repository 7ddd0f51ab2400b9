"""`memory-bank import --revisions`: imports memories with their history as an archive.

Both files are held in memory, because the lines of an archive are ordered. The archive is a
temporary file that only its owner can read, and it is deleted after the transfer.
"""

import gzip
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from app.adapters.terminal import FAILED, fail
from app.kernel.wire.violations import described
from app.memory.bulk.schemas import ImportedMemory
from app.memory.memories.schemas.memories import stored_type
from app.memory.revisions.schemas import ExtractedMemory
from app.memory.transfer.logic.importers import vertex_history
from app.memory.transfer.logic.importers.drafts import ItemError, Json
from app.memory.transfer.logic.importers.records import read_records
from app.memory.transfer.logic.importers.registry import Converted, ItemLine, Rejected
from app.memory.transfer.logic.importers.rules import check_storable
from app.memory.transfer.logic.importers.vertex_history import ListedRevision, RevisedMemory
from app.process.import_files import LinesFile, opened
from app.process.import_preview import listed
from app.process.remote_api import connected
from app.process.restoring import WantedRestore, run
from app.process.target_engine import TargetEngine

_PRIVATE = 0o600
_WITHOUT_MEMORY = "revisions of memories that are not in the file"
_LISTED_TWICE = "memories that are listed twice"


@dataclass
class RevisedMemories:
    """The memories of one file with their revisions from another file.

    Attributes:
        now: the latest allowed time.
        losses: the numbers of omitted items, by kind.
        found: the memories.
        added: the number of revisions created from memories that differ from their last revision.
        rejected: the rejected items of both files.
    """

    now: datetime
    losses: Counter[str]
    found: list[RevisedMemory] = field(default_factory=list)
    added: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    _taken: set[int] = field(default_factory=set)

    @property
    def revisions(self) -> int:
        """The number of revisions of all memories."""
        return sum(len(history.revisions) for history in self.found)

    def read(self, items: Iterable[Converted], file: Path) -> None:
        """Join the memories with the revisions in a file.

        Raises:
            FileError: a file cannot be read to its end.
        """
        of_memory = vertex_history.by_memory(self._listed(file))
        known: set[str] = set()
        for made in items:
            if isinstance(made, Rejected):
                self.rejected.append(made)
            elif isinstance(made, ItemLine):
                source_id = str(made.item.get("name")).rpartition("/")[2]
                own = of_memory.pop(source_id, ())
                if made.line["memoryId"] in known:
                    self.losses[_LISTED_TWICE] += 1
                else:
                    known.add(made.line["memoryId"])
                    self._add(made, own)
        left = sum(map(len, of_memory.values()))
        self.losses.update({_WITHOUT_MEMORY: left} if left else ())

    def _listed(self, file: Path) -> Iterator[ListedRevision]:
        with opened(str(file), ()) as data:
            for record in read_records(data.pieces, vertex_history.CONTAINERS):
                try:
                    yield vertex_history.read_revision(record, self.now)
                except ItemError as error:
                    self._reject(record.number, record.value, error)

    def _add(self, made: ItemLine, revisions: Iterable[ListedRevision]) -> None:
        """Add a memory with its revisions; revisions that cannot be stored are rejected."""
        try:
            memory = checked(made.line)
            states = []
            for revision in revisions:
                try:
                    states.append((revision, vertex_history.state_of(revision, memory, checked)))
                except ItemError as error:
                    self._reject(revision.record.number, revision.record.value, error)
            history, is_added = vertex_history.history_of(memory, states, self.now, self._taken)
        except ItemError as error:
            self._reject(made.number, made.item, error)
            return
        self.found.append(history)
        self.added += is_added

    def _reject(self, number: int, item: Any, error: ItemError) -> None:  # noqa: ANN401 - any JSON value
        self.rejected.append(Rejected(number, error.reason, error.detail, item))


class _StateFields(ImportedMemory):
    """A memory with its extracted memories."""

    extracted_memories: list[ExtractedMemory] | None = None


def checked(line: Json) -> Json:
    """Validate a memory and return its fields in the API's format.

    Raises:
        ItemError: the API would refuse the memory; the detail names fields but quotes no content.
    """
    check_storable(line)
    try:
        read = _StateFields.model_validate(line)
    except ValidationError as error:
        told = [
            ".".join(map(str, problem["loc"])) + ": " + described(problem)
            for problem in error.errors()[:3]
        ]
        raise ItemError("ITEM_INVALID", "; ".join(told)) from None
    return {**read.wire(), "memoryType": stored_type(read.memory_type).value}


def preview(histories: RevisedMemories) -> None:
    """Print a preview; exit with 1 if an item would be rejected."""
    typer.echo(f"Would import: {len(histories.found):,}")
    _tell(histories)
    for line in listed("Would reject", Counter(one.reason for one in histories.rejected)):
        typer.echo(line)
    if histories.rejected:
        raise typer.Exit(FAILED)


def finish(
    histories: RevisedMemories,
    rejections: Path,
    target: TargetEngine,
    url: str | None,
    key_file: Path | None,
) -> None:
    """Restore the memories into an engine and print the result.

    Exits with 1 if an item was rejected or a call fails, for example if the engine is not empty.
    """
    with LinesFile(rejections, adds=False) as rejected:
        for refused in histories.rejected:
            rejected.write(refused.wire())
    if histories.found:
        with connected(url, key_file) as api:
            engine = api.ask("GET", target.path(api))
        _restore(histories.found, engine, url, key_file)
        target.done()
    typer.echo(f"Imported: {len(histories.found):,}")
    _tell(histories)
    if histories.rejected:
        fail(f"Rejected: {len(histories.rejected):,}; see {rejections}.", FAILED)


def _tell(histories: RevisedMemories) -> None:
    typer.echo(f"Revisions: {histories.revisions:,}")
    if histories.added:
        typer.echo(f"Of these, made of memories that differ: {histories.added:,}")
    for line in listed("Left out", histories.losses):
        typer.echo(line)


def _restore(
    found: Iterable[RevisedMemory], target: Json, url: str | None, key_file: Path | None
) -> None:
    """Restore an archive of the memories into an engine and keep its configuration."""
    engine = target["name"].rpartition("/")[2]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vertex.omb.gz"
        file.touch(_PRIVATE)
        with gzip.open(file, "wb", compresslevel=1) as written:
            written.writelines(vertex_history.archive_of(target, found))
        run(WantedRestore(file, engine, extends_recovery=False, verifies=False), url, key_file)
