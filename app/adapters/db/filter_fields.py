r"""The field types of filters: the operators and values of each, and its SQL condition.

| Kind | Operators |
| --- | --- |
| text | `=` `!=`; `:` the text holds the value; `:*` is not empty; `=~` `!~` all the text |
| moment | `=` `!=` `<` `<=` `>` `>=` with ISO 8601 (default UTC) or microseconds since 1970 |
| optional moment | as a moment, and `:` as `=`; `:*` it has one |
| enum | `=` `:` `!=` with a known name |
| truth value | `=` `!=` with `true` or `false` |
| integer | `=` `:` `!=` with a whole number of at most 64 bits, not negative |
| number | `=` `!=` `<` `<=` `>` `>=` with such a number |
| resource | `=` `!=` with an id, or a full name in the engine of the list; `:*` there is one |
| map entry (`labels.k`) | `=` `:` `!=`, `=~` `!~`; `:*` the key is there |
| map (`labels`) | `:` has this key |
| scope | as a map, and `=` `!=` with a JSON object as text: `scope="{\"user_id\": \"1\"}"` |
| metadata entry (`metadata.k`) | see `metadata_filters` |
| member (`topics.x`) | `=` `:` a list holds an object with this value; `!=` |

`!=` and `!~` match where the value is missing. Text comparison is case-sensitive; a star in a value
stands for itself.

Source: AIP-160; the product's documentation of memory filters.
"""

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    DateTime,
    SQLColumnExpression,
    Text,
    func,
    literal,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB
from typing_extensions import override

from app.kernel.errors import InvalidArgument
from app.kernel.filters import Comparison, Operator, invalid_filter
from app.kernel.names import MAX_INT64
from app.kernel.wire.reading import read_object
from app.kernel.wire.scalars import parse_timestamp

Column = SQLColumnExpression[Any]
Condition = ColumnElement[bool]

EQUALITY = frozenset({Operator.EQUAL, Operator.NOT_EQUAL})
_EQUALITY_OR_HAS = EQUALITY | {Operator.HAS}
REGEX_OPERATORS = frozenset({Operator.MATCHES, Operator.MATCHES_NOT})
_ORDER = frozenset(Operator) - REGEX_OPERATORS - {Operator.HAS}

_COMPARISONS: dict[Operator, Callable[[Column, ColumnElement[Any]], Condition]] = {
    Operator.EQUAL: operator.eq,
    Operator.HAS: operator.eq,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER = re.compile(r"[0-9]{1,19}")

_MICROSECONDS = re.compile(r"-?[0-9]{1,18}")
_NO_OFFSET = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?"
)


class Field(ABC):
    """A field that filters can name."""

    operators: ClassVar[frozenset[Operator]]
    takes_presence: ClassVar[bool] = False
    """True if `field:*` tests for presence."""
    needs_limit: ClassVar[bool] = False
    """True if no index serves the field; a statement with it then needs a time limit."""

    @abstractmethod
    def condition(self, comparison: Comparison) -> Condition:
        """Return the condition of a comparison whose operator is in `operators`.

        A regular expression is already translated to the syntax of Postgres.

        Raises:
            InvalidArgument: the value does not fit the field.
        """


class KeyedField(Field):
    """A field with entries that are fields as well."""

    @abstractmethod
    def at(self, key: str) -> Field:
        """Return the entry under a key as a field."""


class ColumnField(Field):
    """A field of one column."""

    def __init__(self, column: Column) -> None:
        self._column = column


class TextField(ColumnField):
    """A text column."""

    operators = _EQUALITY_OR_HAS | REGEX_OPERATORS
    takes_presence = True

    @override
    def condition(self, comparison: Comparison) -> Condition:
        value = comparison.value
        if comparison.operator is Operator.HAS:
            if comparison.asks_for_presence:
                return self._column != literal("", Text())
            return func.strpos(self._column, value) > 0
        return _text_condition(self._column, comparison.operator, value)


class TimestampField(ColumnField):
    """A timestamp column."""

    operators = _ORDER

    @override
    def condition(self, comparison: Comparison) -> Condition:
        moment = literal(_moment(comparison), DateTime(timezone=True))
        return _ordered_condition(self._column, comparison.operator, moment)


class OptionalTimestampField(TimestampField):
    """A timestamp column that is null in some rows."""

    operators = TimestampField.operators | {Operator.HAS}
    takes_presence = True

    @override
    def condition(self, comparison: Comparison) -> Condition:
        if comparison.asks_for_presence:
            # The predicate of a partial index, word for word.
            return self._column.is_not(None)
        return super().condition(comparison)


class EnumField(Field):
    """A text column with a fixed set of names; a mapping gives the stored value of each name."""

    operators = _EQUALITY_OR_HAS

    def __init__(self, column: Column, names: Collection[str] | Mapping[str, str]) -> None:
        self._column = column
        self._stored = names if isinstance(names, Mapping) else {name: name for name in names}

    @override
    def condition(self, comparison: Comparison) -> Condition:
        _check_name(comparison, self._stored)
        # As a literal, because the planner must see the value to choose a partial index.
        stored = literal(self._stored[comparison.value], Text(), literal_execute=True)
        if comparison.operator is Operator.NOT_EQUAL:
            return self._column.is_distinct_from(stored)
        return self._column == stored


class BooleanField(Field):
    """A truth value defined by a condition; a second condition selects exactly the other rows."""

    operators = EQUALITY

    def __init__(self, is_true: Condition, is_false: Condition) -> None:
        self._conditions = {"true": is_true, "false": is_false}

    @override
    def condition(self, comparison: Comparison) -> Condition:
        _check_name(comparison, self._conditions)
        is_true = (comparison.value == "true") is (comparison.operator is Operator.EQUAL)
        return self._conditions["true" if is_true else "false"]


class IntegerField(ColumnField):
    """An integer column of identifiers, which have no order."""

    operators = _EQUALITY_OR_HAS

    @override
    def condition(self, comparison: Comparison) -> Condition:
        number = _whole_number(comparison)
        if comparison.operator is Operator.NOT_EQUAL:
            return self._column.is_distinct_from(number)
        return self._column == number


class NumberField(ColumnField):
    """An integer column of numbers, which have an order."""

    operators = _ORDER

    @override
    def condition(self, comparison: Comparison) -> Condition:
        return _ordered_condition(self._column, comparison.operator, _whole_number(comparison))


class MemberField(Field):
    """A jsonb list of objects; one of them must have the value under a key."""

    operators = _EQUALITY_OR_HAS

    def __init__(self, column: Column, key: str, names: Collection[str] = ()) -> None:
        self._column = column
        self._key = key
        self._names = names

    @override
    def condition(self, comparison: Comparison) -> Condition:
        if self._names:
            _check_name(comparison, self._names)
        member = literal([{self._key: comparison.value}], JSONB())
        held: Condition = self._column.bool_op("@>")(member)
        return held if comparison.operator is not Operator.NOT_EQUAL else is_not_true(held)


class MapField(KeyedField):
    """A jsonb object of texts.

    `indexed` returns a faster form of "has this value under this key" that matches the same rows.
    """

    operators = frozenset({Operator.HAS})

    def __init__(
        self, column: Column, indexed: Callable[[str, str], Condition] | None = None
    ) -> None:
        self._column = column
        self._indexed = indexed

    @override
    def at(self, key: str) -> Field:
        return _EntryField(self._column, key, self._indexed)

    @override
    def condition(self, comparison: Comparison) -> Condition:
        return self._column.bool_op("?")(literal(comparison.value, Text()))


class ScopeField(MapField):
    """The scope: a map that can also be compared as a whole.

    `indexed` returns a condition that all rows with the given scope meet, such as one on its hash.
    """

    operators = _EQUALITY_OR_HAS

    def __init__(
        self, column: Column, indexed: Callable[[dict[str, str]], Condition] | None = None
    ) -> None:
        # The index for conditions serves this form. All values of a scope are texts, so `@>` and
        # `->>` match the same rows.
        super().__init__(
            column, lambda key, value: column.bool_op("@>")(literal({key: value}, JSONB()))
        )
        self._indexed_scope = indexed

    @override
    def condition(self, comparison: Comparison) -> Condition:
        if comparison.operator is Operator.HAS:
            return super().condition(comparison)
        scope = scope_in(comparison)
        equal: Condition = self._column == literal(scope, JSONB())
        if comparison.operator is Operator.NOT_EQUAL:
            return is_not_true(equal)
        return equal if self._indexed_scope is None else self._indexed_scope(scope) & equal


class _EntryField(Field):
    """One entry of a map."""

    operators = _EQUALITY_OR_HAS | REGEX_OPERATORS
    takes_presence = True

    def __init__(
        self, column: Column, key: str, indexed: Callable[[str, str], Condition] | None
    ) -> None:
        self._column = column
        self._key = key
        self._indexed = indexed

    @override
    def condition(self, comparison: Comparison) -> Condition:
        key = literal(self._key, Text())
        if comparison.asks_for_presence:
            return self._column.bool_op("?")(key)
        is_equality = comparison.operator in {Operator.EQUAL, Operator.HAS}
        if is_equality and self._indexed is not None:
            return self._indexed(self._key, comparison.value)
        entry = self._column.op("->>", return_type=Text())(key)
        return _text_condition(entry, comparison.operator, comparison.value)


def is_not_true(condition: Condition) -> Condition:
    """Negate a condition; a missing value matches, because the result is never unknown."""
    return condition.is_not(true())


def _text_condition(column: Column, asked: Operator, value: str) -> Condition:
    bound = literal(value, Text())
    match asked:
        case Operator.NOT_EQUAL:
            return column.is_distinct_from(bound)
        case Operator.MATCHES:
            return column.regexp_match(bound)
        case Operator.MATCHES_NOT:
            return is_not_true(column.regexp_match(bound))
        case _:
            return column == bound


def _ordered_condition(column: Column, asked: Operator, value: ColumnElement[Any]) -> Condition:
    if asked is Operator.NOT_EQUAL:
        return column.is_distinct_from(value)
    return _COMPARISONS[asked](column, value)


def _whole_number(comparison: Comparison) -> ColumnElement[Any]:
    text = comparison.value
    if _INTEGER.fullmatch(text) is None or int(text) > MAX_INT64:
        raise invalid_value(comparison, f"must be a whole number of 0 to {MAX_INT64}.")
    return literal(int(text), BigInteger())


def _check_name(comparison: Comparison, names: Collection[str]) -> None:
    if comparison.value not in names:
        raise invalid_value(comparison, f"must be one of {', '.join(names)}.")


def read_moment(text: str) -> datetime:
    """Parse an ISO 8601 time; without an offset it is UTC."""
    if _NO_OFFSET.fullmatch(text):
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    return parse_timestamp(text)


def _moment(comparison: Comparison) -> datetime:
    text = comparison.value
    try:
        if _MICROSECONDS.fullmatch(text):
            return _EPOCH + timedelta(microseconds=int(text))
        return read_moment(text)
    except (ValueError, OverflowError):
        raise invalid_value(
            comparison,
            'must be an ISO 8601 moment, like "2030-01-02T03:04:05Z" or "2030-01-02", or whole '
            "microseconds since 1970, in the years 1 to 9999.",
        ) from None


def scope_in(comparison: Comparison) -> dict[str, str]:
    """Return the scope that a comparison gives as a JSON object."""
    try:
        scope = read_object(comparison.value.encode("utf-8", "surrogatepass"), "value")
    except InvalidArgument:
        scope = None
    if scope is None or not all(isinstance(value, str) for value in scope.values()):
        raise invalid_value(
            comparison, r'must be a JSON object of texts, like "{\"user_id\": \"1\"}".'
        )
    return scope


def invalid_value(comparison: Comparison, description: str) -> InvalidArgument:
    """Return the error for a comparison's value; `description` must not repeat the value."""
    return invalid_filter(comparison.value_column, f"the value {description}")
