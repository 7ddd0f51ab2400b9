"""Rows of a caller's schema, with their places in artifacts."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue

from app.kernel.errors import Cancelled, Reason
from app.kernel.wire.base import WireModel
from app.kernel.wire.json_schema import JsonObject
from app.kernel.wire.row_schema import (
    MAX_PROPERTIES,
    MAX_PROPERTY_CHARS,
    RowFormat,
    RowReader,
    RowText,
)
from app.kernel.wire.task_fields import TaskId, TaskModel

_LISTED = 20
_Column = Annotated[str, Field(min_length=1, max_length=MAX_PROPERTY_CHARS)]


def _named(columns: object) -> object:
    # The framework's own error would repeat the name of a property, which may be a tool's output.
    parts = [part for item in columns.items() for part in item] if type(columns) is dict else []
    if not all(type(part) is str and 0 < len(part) <= MAX_PROPERTY_CHARS for part in parts):
        raise ValueError(f"names and columns must have 1 to {MAX_PROPERTY_CHARS} characters")
    return columns


class RowSource(TaskModel):
    """Places of rows and values in JSON, CSV and HTML tables, for the built-in reader."""

    path: str = Field(
        "",
        max_length=MAX_PROPERTY_CHARS,
        pattern="^(/.*)?$",
        description="JSON pointer to the list of rows, or to the only row; absent: the whole file,"
        " or each line of JSON lines. CSV and HTML have none.",
    )
    columns: Annotated[dict[_Column, _Column], BeforeValidator(_named)] = Field(
        default_factory=dict,
        max_length=MAX_PROPERTIES,
        description="Names of columns, headers or keys by property, or JSON pointers within a row;"
        " absent: the property's own name. Case, spaces and underscores do not matter.",
    )


class RowPlace(WireModel):
    """The place of a row: its piece of the text, or less."""

    artifact: TaskId = Field(description="Name of the artifact within the namespace.")
    start: int = Field(ge=0, description="First character, counted like `start` of a citation.")
    end: int = Field(ge=0, description="First character after it; 0: the whole artifact.")


class ExtractedRow(RowPlace):
    """A row that meets the schema, and its place."""

    values: JsonObject = Field(description="Values by property.")


class RejectedRow(RowPlace):
    """A row that does not meet the schema, or a part that cannot be read; without content."""

    reason: str = Field(description="The reason, in a sentence.")


class FoundRows:
    """Rows found so far: converted, checked, counted and bounded.

    Attributes:
        listed: the rows as such, if they are to be kept beside their text.
        is_full: a row had no room.
        is_partial: a part of the text was not read.
        is_over: nothing waits for the rows any longer, which ends a thread that adds some.
    """

    def __init__(self, schema: JsonObject, form: RowFormat, most: int, most_bytes: int) -> None:
        self._reader = RowReader(schema)
        self.names = list(self._reader.properties)
        self.written = RowText(form, self.names, most_bytes)
        self.listed: list[ExtractedRow] = []
        self.rejected: list[RejectedRow] = []
        self.count = self.rejected_count = 0
        self.is_full = self.is_partial = self.is_listed = self.is_over = False
        self._most = most

    def add(self, values: Mapping[str, JsonValue], artifact: str, start: int, end: int) -> None:
        """Add a row, or reject it.

        Raises:
            Cancelled: nothing waits for the rows any longer.
        """
        if self.is_over:
            raise Cancelled("The request was given up.", Reason.REQUEST_ABANDONED)
        try:
            row = self._reader(values)
        except ValueError as fault:
            self.reject(str(fault), artifact, start, end)
            return
        found = ExtractedRow(artifact=artifact, start=start, end=end, values=row)
        if self.count == self._most or not self.written.add(row, found.wire()):
            self.is_full = True
            return
        self.count += 1
        if self.is_listed:
            self.listed.append(found)

    def reject(self, reason: str, artifact: str, start: int, end: int) -> None:
        """Count a row or a part that gave none, and list the first ones."""
        self.rejected_count += 1
        if len(self.rejected) < _LISTED:
            rejected = RejectedRow(artifact=artifact, start=start, end=end, reason=reason)
            self.rejected.append(rejected)
