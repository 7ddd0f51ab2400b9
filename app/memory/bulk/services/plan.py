"""Parsing of each memory in a bulk request (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from app.kernel.changes import IdempotencyKey
from app.kernel.errors import InvalidArgument, PermissionDenied, Reason, ServiceError
from app.kernel.names import check_chosen_id
from app.kernel.permissions import Permission
from app.kernel.wire.reading import read_object
from app.kernel.wire.violations import invalid_fields
from app.memory.bulk.logic import MAX_LINE_BYTES, ImportLine
from app.memory.bulk.schemas import MIN_ERRORS, ImportedMemory, NewMemory
from app.memory.memories.schemas.memories import CreateMemoryRequest
from app.memory.memories.store.changes import Times
from app.platform.limits.services.sizes import check_metadata_size, check_scope_size
from app.settings.settings import Settings

_AHEAD = timedelta(minutes=5)
"""Tolerance for a clock of another service that is ahead."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import, and permissions of its caller.

    Attributes:
        work: the key of an operation shared by several requests; None: a separate operation.
        overwrite: True replaces different content of existing memories by the line's content.
        may_set_times: True allows lines to set the times of their memories.
        may_restore: True lets lines restore deleted memories.
    """

    work: IdempotencyKey | None = None
    overwrite: bool = False
    max_errors: int = MIN_ERRORS
    may_set_times: bool = False
    may_restore: bool = False


@dataclass(frozen=True)
class BulkItem:
    """A requested memory.

    Attributes:
        place: the index in a batch, or the line number in an import.
        memory_id: the id that the caller chose.
        prefix: the path of its fields in errors; empty for a line.
        times: the times of the memory at its source; None: the memory is new.
    """

    place: int
    request: CreateMemoryRequest
    memory_id: str | None
    times: Times | None = None
    prefix: str = ""

    @property
    def memory_prefix(self) -> str:
        """The path of the memory's fields in errors; empty if the memory is the whole line."""
        return f"{self.prefix}memory." if self.prefix else ""

    def is_expired(self, now: datetime) -> bool:
        """Return True if the requested expiry time has passed."""
        end = self.request.expire_time
        return end is not None and end <= now


Read = BulkItem | ServiceError
"""Requested memory, or its error."""


def read_new(settings: Settings, place: int, sent: Any) -> Read:  # noqa: ANN401 - any JSON value
    """Parse one memory of a batch; errors name its fields below `requests[place]`."""
    where = ("requests", place)
    try:
        new = NewMemory.model_validate(sent)
    except ValidationError as error:
        # Without the input, which may contain the text of a memory.
        listed = error.errors(include_url=False, include_input=False, include_context=False)
        return invalid_fields([{**entry, "loc": (*where, *entry["loc"])} for entry in listed])
    prefix = f"requests[{place}]."
    return _checked(settings, BulkItem(place, new.memory, new.memory_id, prefix=prefix))


def read_line(settings: Settings, options: ImportOptions, now: datetime, line: ImportLine) -> Read:
    """Parse a line of an import; errors name fields, but contain no content."""
    if line.text is None:
        message = f"The line is longer than {MAX_LINE_BYTES} bytes."
        return InvalidArgument(message, Reason.BODY_TOO_LARGE)
    try:
        imported = ImportedMemory.model_validate(read_object(line.text, "line"))
        times = _times(imported, options, now)
    except (InvalidArgument, PermissionDenied) as error:
        return error
    except ValidationError as error:
        listed = error.errors(include_url=False, include_input=False, include_context=False)
        return invalid_fields(listed)
    return _checked(settings, BulkItem(line.number, imported, imported.memory_id, times))


def _times(imported: ImportedMemory, options: ImportOptions, now: datetime) -> Times | None:
    """Return the times of a line, if it has any.

    Raises:
        InvalidArgument: a time is not allowed; the error names the field.
        PermissionDenied: the caller may not set times.
    """
    created, updated, said = imported.create_time, imported.update_time, imported.event_time
    if said is not None and said > now + _AHEAD:
        raise InvalidArgument.of_field("eventTime", "must be at most 5 minutes ahead.")
    field = "createTime" if updated is None else "updateTime"
    if created is None and updated is None:
        return None
    if not options.may_set_times:
        permission = Permission.MEMORIES_IMPORT
        raise PermissionDenied(
            f"{field}: needs the permission {permission}.",
            Reason.PERMISSION_MISSING,
            metadata={"permission": permission.value},
        )
    if created is None:
        raise InvalidArgument.of_field("updateTime", "needs createTime as well.")
    updated = created if updated is None else updated
    if created < _EPOCH:
        raise InvalidArgument.of_field("createTime", "must not be before 1970.")
    if updated < created:
        raise InvalidArgument.of_field("updateTime", "must not be before createTime.")
    if updated > now + _AHEAD:
        raise InvalidArgument.of_field(field, "must be at most 5 minutes ahead.")
    return Times(created, updated)


def _checked(settings: Settings, item: BulkItem) -> Read:
    try:
        if item.memory_id is not None:
            check_chosen_id("memoryId", item.memory_id)
    except InvalidArgument as error:
        return placed(error, item.prefix)
    try:
        check_scope_size(settings, item.request.scope)
        check_metadata_size(settings, item.request.metadata)
    except InvalidArgument as error:
        return placed(error, item.memory_prefix)
    return item


def placed(error: ServiceError, prefix: str) -> ServiceError:
    """Convert a memory's error to an error of the request, with fields below `prefix`."""
    if not prefix or not isinstance(error, InvalidArgument):
        return error
    violations = [
        replace(violation, field=f"{prefix}{violation.field}") for violation in error.violations
    ]
    return InvalidArgument(f"{prefix}{error.message}", error.reason, violations=violations)


def repeated(items: Sequence[BulkItem]) -> Iterator[BulkItem]:
    """Yield the items that repeat the chosen id of an earlier item."""
    known: set[str] = set()
    for item in items:
        if item.memory_id in known:
            yield item
        elif item.memory_id is not None:
            known.add(item.memory_id)
