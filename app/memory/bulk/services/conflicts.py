"""Effects of an import's lines, including lines with ids that are in use."""

from collections.abc import Mapping, Sequence
from enum import Enum, auto

from app.adapters.concurrency import each
from app.kernel.errors import AlreadyExists, ServiceError
from app.memory.bulk.services.bulk import Creating, Outcome, id_taken
from app.memory.bulk.services.plan import BulkItem, ImportOptions, repeated
from app.memory.bulk.store import repository as bulk
from app.memory.memories.schemas.memories import stored_type
from app.memory.memories.store import repository as memories
from app.memory.memories.store.tables import ColumnRole, MemoryRow, columns_of

_CONTENT = tuple(columns_of(MemoryRow, ColumnRole.CONTENT))


class Resolution(Enum):
    """Effect of a line on the memory with its id."""

    CREATE = auto()
    """No memory visible to the caller has the id."""
    SKIP = auto()
    """The memory exists with the same content."""
    KEEP = auto()
    """The memory exists with other content, and does not change."""
    OVERWRITE = auto()
    """The memory exists with other content, which the line's content replaces."""
    RESTORE = auto()
    """The memory is deleted, and the line restores it with the line's content."""
    REFUSE = auto()
    """The id belongs to a memory of another scope or type, or to one that must stay deleted."""


UNWRITTEN = frozenset({Resolution.SKIP, Resolution.KEEP})
"""Resolutions without a change to the memory."""
_CHANGES = frozenset({Resolution.OVERWRITE, Resolution.RESTORE})


def _resolution(row: MemoryRow | None, item: BulkItem, options: ImportOptions) -> Resolution:
    """Decide the effect of a line on the live or recoverable memory with its id."""
    if row is None:
        return Resolution.CREATE
    wanted = item.request
    # Scope and type of a memory never change.
    if row.scope != wanted.scope or row.memory_type != stored_type(wanted.memory_type):
        return Resolution.REFUSE
    if row.delete_time is not None:
        return Resolution.RESTORE if options.may_restore else Resolution.REFUSE
    content = wanted.content()
    # Expiry and times are not compared; the provenance is derived from the content.
    if all(getattr(row, name) == content[name] for name in _CONTENT):
        return Resolution.SKIP
    return Resolution.OVERWRITE if options.overwrite else Resolution.KEEP


Result = Resolution | ServiceError
"""Effect of a line, or the error that prevented it."""


async def resolve(
    creating: Creating, items: Sequence[BulkItem], options: ImportOptions
) -> dict[int, Result]:
    """Write the memories of lines; return the effects by line number.

    A line with the id of an earlier line applies to the memory that the earlier line wrote.

    Raises:
        ResourceExhausted: the engine has no room for all memories.
    """
    results: dict[int, Result] = {}
    while items:
        again = {item.place for item in repeated(items)}
        first = [item for item in items if item.place not in again]
        results |= await _write(creating, first, options)
        items = [item for item in items if item.place in again]
    return results


async def _write(
    creating: Creating, items: Sequence[BulkItem], options: ImportOptions
) -> dict[int, Result]:
    """Write the memories of lines with distinct ids."""
    session, engine_id = creating.session, creating.engine.engine_id
    is_known = memories.is_known(creating.new.now)
    ids = [item.memory_id for item in items if item.memory_id is not None]
    # Locked before any insert, so that two imports cannot deadlock.
    locked = await memories.lock(session, engine_id, ids, is_known) if ids else ()
    rows = {row.memory_id: row for row in locked}
    results: dict[int, Result] = dict(await resolutions(items, rows, options))
    new = [item for item in items if results[item.place] is Resolution.CREATE]
    changed = [
        (item, rows[str(item.memory_id)]) for item in items if results[item.place] in _CHANGES
    ]
    results |= _errors(new, await creating.create(new))
    results |= _errors([item for item, _ in changed], await creating.change(changed))
    raced = [item for item in new if isinstance(results[item.place], AlreadyExists)]
    ids = [str(item.memory_id) for item in raced]
    rows = await bulk.find_all(session, engine_id, ids, is_known)
    for place, how in (await resolutions(raced, rows, options)).items():
        if how in UNWRITTEN:
            results[place] = how
    refused = [place for place, result in results.items() if result is Resolution.REFUSE]
    return {**results, **{place: id_taken("memoryId") for place in refused}}


async def resolutions(
    items: Sequence[BulkItem], rows: Mapping[str, MemoryRow], options: ImportOptions
) -> dict[int, Resolution]:
    """Return the effects of lines on the memories with their ids, by line number."""
    decided = await each(
        items, lambda item: _resolution(rows.get(item.memory_id or ""), item, options)
    )
    return {item.place: how for item, how in zip(items, decided, strict=True)}


def _errors(items: Sequence[BulkItem], outcomes: Sequence[Outcome]) -> dict[int, ServiceError]:
    return {
        item.place: outcome
        for item, outcome in zip(items, outcomes, strict=True)
        if isinstance(outcome, ServiceError)
    }
