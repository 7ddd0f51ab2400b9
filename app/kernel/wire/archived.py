"""Validation of archived rows with the types that the API uses for requests.

An archive can be forged: a restore stores only values that a request could have stored too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
)

from app.kernel.names import MAX_INT64, SESSION_ID, STORED_ID
from app.kernel.wire.reading import MAX_VALUES
from app.kernel.wire.violations import invalid_fields

WITH_MASKS = 2
"""Maximum growth factor of a text after masking: masks can be longer than the masked values."""
MAX_COUNT = 2**40
"""Far above any count in a row of any release; sums of millions of them still fit a column."""
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_RETRY = timedelta(days=366)
_FAR = timedelta(days=365_250)
"""Longer than any period counted from the present: a thousand years and one."""
_LATEST = "latest"
_IN_A_FORM = (dict, list, str)
"""Types of values that the API may store in a form other than the form received."""


class WrongColumnError(ValueError):
    """A value that no release stores.

    `path` is the path below the column, in wire spelling; empty for the column's own value.
    """

    def __init__(self, column: str, path: str, description: str) -> None:
        super().__init__(description)
        self.column = column
        self.path = path
        self.description = description


class ArchivedRow(BaseModel):
    """The columns of a line, with the types by which the API validates their values."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    former: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """By column: a function that converts a value of a former release to the current form."""

    untouched: ClassVar[frozenset[str]] = frozenset()
    """Columns whose JSON is stored unchanged: answers return it as it is."""

    @classmethod
    def read(
        cls, values: Mapping[str, Any], latest: datetime
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """Check the columns of a line.

        Returns their values in the current form, and the columns that had a former release's form.
        `latest` is the latest possible time of a past event, with minutes of clock skew allowed.

        Raises:
            WrongColumnError: no request could have stored a value.
        """
        for column, value in values.items():
            # Limited first: pydantic creates an error in memory for each wrong entry of a long
            # value.
            if isinstance(value, dict | list) and len(value) > MAX_VALUES:
                raise WrongColumnError(column, "", f"must have at most {MAX_VALUES} entries")
        given, converted = dict(values), list[str]()
        row = cls._validated(given, converted, latest)
        for column, description in row.contradictions():
            raise WrongColumnError(column, "", description)
        return given, [*converted, *row.normalise(given)]

    @classmethod
    def _validated(cls, given: dict[str, Any], converted: list[str], latest: datetime) -> Self:
        # The values of a former release are converted in place.
        try:
            # `stored` keeps configurations of engines readable that were accepted once.
            return cls.model_validate(given, context={"stored": True, _LATEST: latest})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
        column = str(first["loc"][0])
        convert = cls.former.get(column)
        if convert is None or column in converted:
            raise _wrong(column, first)
        converted.append(column)
        given[column] = convert(given[column])
        return cls._validated(given, converted, latest)

    def contradictions(self) -> Iterable[tuple[str, str]]:
        """Return the columns that contradict other columns, each with the required value."""
        return ()

    def normalise(self, values: dict[str, Any]) -> Sequence[str]:
        """Convert values in place to the form that the API stores; return the changed columns."""
        names = {name for name, value in values.items() if isinstance(value, _IN_A_FORM)}
        names -= self.untouched
        stored = self.model_dump(mode="json", by_alias=True, exclude_none=True, include=names)
        unlike = [name for name in sorted(names) if stored[name] != values[name]]
        for name in unlike:
            values[name] = stored[name]
        return unlike


def _wrong(column: str, error: Any) -> WrongColumnError:  # noqa: ANN401 - the shape is pydantic's
    refused = invalid_fields([error], skipped=1).violations[0]
    path = "" if len(error["loc"]) == 1 else refused.field
    return WrongColumnError(column, path, refused.description.rstrip("."))


def _moment(most: timedelta, description: str) -> PlainValidator:
    """Return a validator of times from 1970 to `most` after the present."""

    def read(moment: Any, info: ValidationInfo) -> datetime:  # noqa: ANN401 - pydantic hands over anything
        latest: datetime = (info.context or {})[_LATEST]
        if not isinstance(moment, datetime) or not _FIRST <= moment <= latest + most:
            raise ValueError(f"must be a time from 1970 to {description}")
        return moment

    return PlainValidator(read)


def _read_day(day: Any, info: ValidationInfo) -> date:  # noqa: ANN401 - pydantic hands over anything
    latest: datetime = (info.context or {})[_LATEST]
    if not isinstance(day, date) or not _FIRST.date() <= day <= latest.date():
        raise ValueError("must be a day from 1970 to the present one")
    return day


def _any_moment(moment: Any) -> datetime:  # noqa: ANN401 - pydantic hands over anything
    if not isinstance(moment, datetime):
        raise ValueError("must be a time")  # noqa: TRY004 - pydantic reads ValueError
    return moment


Past = Annotated[datetime, _moment(timedelta(), "5 minutes after the database's present time")]
"""The time of a past event."""
PastDay = Annotated[date, PlainValidator(_read_day)]
"""A day in UTC that has begun."""
Retry = Annotated[datetime, _moment(_RETRY, "a year from now")]
"""The time of another attempt."""
Ending = Annotated[datetime, _moment(_FAR, "a thousand years from now")]
"""The end of a period counted from the present."""
Moment = Annotated[datetime, PlainValidator(_any_moment)]
"""A time that callers may choose freely."""

Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
"""A number of items or bytes."""
Position = Annotated[int, Field(ge=1, le=MAX_COUNT)]
"""A position or a version, counted from 1."""
Amount = Annotated[float, Field(ge=0, le=MAX_COUNT)]
"""A fractional amount, such as a price."""
Place = Annotated[float, Field(allow_inf_nan=False)]
"""A position in an order that callers choose freely."""
UtcOffset = Annotated[int, Field(gt=-24 * 60, lt=24 * 60)]
"""Minutes by which a clock is ahead of UTC."""
Text = Annotated[str, Field(min_length=1, max_length=1_024)]
"""A name or an id that no method parses."""
StoredId = Annotated[str, Field(pattern=f"^(?:{STORED_ID})$")]
"""An id of a memory or an operation, chosen by a caller or made by the server."""
SessionId = Annotated[str, Field(pattern=f"^(?:{SESSION_ID})$")]
Int64Id = Annotated[int, Field(ge=1, le=MAX_INT64)]
Digest = Annotated[bytes, Field(min_length=32, max_length=32)]
"""A SHA-256 digest."""
KindName = Annotated[str, Field(pattern=r"^[A-Za-z.]{1,64}$")]
"""The name of a kind of operation or work."""
