"""Parsing of a bulk request, one memory after another (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from app.kernel.errors import InvalidArgument, Reason, ServiceError
from app.kernel.names import check_chosen_id
from app.kernel.wire.reading import read_object
from app.kernel.wire.violations import invalid_fields
from app.memory.bulk.logic.chunks import MAX_LINE_BYTES, ImportLine
from app.memory.bulk.schemas import ImportedMemory, NewMemory
from app.memory.memories.schemas.memories import CreateMemoryRequest
from app.platform.limits.services.sizes import check_metadata_size, check_scope_size
from app.settings.settings import Settings


@dataclass(frozen=True)
class BulkItem:
    """A requested memory.

    Attributes:
        place: its index in a batch, or its line's number in an import.
        memory_id: the id that was chosen for it, if any.
    """

    place: int
    request: CreateMemoryRequest
    memory_id: str | None


Read = BulkItem | ServiceError
"""A requested memory, or its error."""


def read_new(settings: Settings, place: int, sent: Any) -> Read:  # noqa: ANN401 - any JSON value
    """Parse one memory of a batch; errors name its fields below `requests[place]`."""
    where = ("requests", place)
    try:
        new = NewMemory.model_validate(sent)
    except ValidationError as error:
        # Without the input, which is the text of a memory.
        listed = error.errors(include_url=False, include_input=False, include_context=False)
        return invalid_fields([{**entry, "loc": (*where, *entry["loc"])} for entry in listed])
    item = BulkItem(place, new.memory, new.memory_id)
    return _checked(settings, item, prefix=f"requests[{place}].")


def read_line(settings: Settings, line: ImportLine) -> Read:
    """Parse a line of an import; errors name its fields, and none of its content."""
    if line.text is None:
        message = f"The line is longer than {MAX_LINE_BYTES} bytes."
        return InvalidArgument(message, Reason.BODY_TOO_LARGE)
    try:
        imported = ImportedMemory.model_validate(read_object(line.text, "line"))
    except InvalidArgument as error:
        return error
    except ValidationError as error:
        listed = error.errors(include_url=False, include_input=False, include_context=False)
        return invalid_fields(listed)
    return _checked(settings, BulkItem(line.number, imported, imported.memory_id))


def _checked(settings: Settings, item: BulkItem, prefix: str = "") -> Read:
    try:
        if item.memory_id is not None:
            check_chosen_id("memoryId", item.memory_id)
    except InvalidArgument as error:
        return placed(error, prefix)
    try:
        check_scope_size(settings, item.request.scope)
        check_metadata_size(settings, item.request.metadata)
    except InvalidArgument as error:
        return placed(error, memory_prefix(prefix))
    return item


def memory_prefix(prefix: str) -> str:
    """Return the prefix of a memory's fields; empty if the memory is the whole message."""
    return f"{prefix}memory." if prefix else ""


def placed(error: ServiceError, prefix: str) -> ServiceError:
    """Return an error of one memory as one of the request, with its fields below `prefix`."""
    if not prefix or not isinstance(error, InvalidArgument):
        return error
    violations = [
        replace(violation, field=f"{prefix}{violation.field}") for violation in error.violations
    ]
    return InvalidArgument(f"{prefix}{error.message}", error.reason, violations=violations)


def repeated(items: Sequence[BulkItem]) -> Iterator[BulkItem]:
    """Yield the items whose id was chosen for an earlier item, too."""
    known: set[str] = set()
    for item in items:
        if item.memory_id in known:
            yield item
        elif item.memory_id is not None:
            known.add(item.memory_id)
