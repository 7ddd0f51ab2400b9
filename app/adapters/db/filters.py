"""Translation of a filter's tree to a WHERE clause, over the fields that a resource allows.

All input of a caller is bound as parameters, never written into the SQL. All faults of a filter are
detected here, before the database is queried.

A metadata column holds, for each key, an object with one typed value in the API's form: `{"source":
{"stringValue": "mail"}, "seen": {"timestampValue": "2030-01-02T03:04:05Z"}}`. Times are stored in
UTC in exactly this form, so their first 19 characters sort in order of time. A value of a type
other than the filter's never matches. The negation of a filter matches whenever the filter does
not, also where the key is missing.

In the text of a `filter`, a condition is `metadata.key` or `metadata."any key"`, an operator and a
value. The form of the value decides the type of the comparison:

| Value | Is compared with | Operators |
| --- | --- | --- |
| a number without quotes | numbers | `=` `!=` `<` `<=` `>` `>=` |
| `true`, `false` without quotes | truth values | `=` `!=` |
| an ISO 8601 moment without quotes | moments | `=` `!=` `<` `<=` `>` `>=` |
| an ISO 8601 moment in quotes | moments | `<` `<=` `>` `>=` |
| any other, and all in quotes | texts | `=` `!=` |
| `*` without quotes | any value: the key is there | `:` |
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, assert_never

from pydantic.alias_generators import to_camel
from sqlalchemy import ColumnElement, Text, and_, collate, func, literal, or_, true
from sqlalchemy.dialects.postgresql import JSONB
from typing_extensions import override

from app.adapters.db.filter_fields import (
    REGEX_OPERATORS,
    Column,
    Condition,
    Field,
    KeyedField,
    invalid_value,
    is_not_true,
    read_moment,
)
from app.adapters.db.regex import PatternRefusedError, to_postgres
from app.kernel.errors import InvalidArgument
from app.kernel.filters import (
    And,
    Comparison,
    MetadataFilter,
    MetadataOperator,
    MetadataValue,
    Node,
    Not,
    Operator,
    Or,
    invalid_filter,
    parse_filter,
)
from app.settings.settings import Settings

Fields = Mapping[str, Field]
"""Filterable fields by snake_case path, such as `create_time` or `topics.x`."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A translated filter."""

    condition: Condition
    needs_limit: bool
    """True if the statement needs a time limit."""
    seconds: float | None = None
    """The time limit from the settings; for `snapshot` and `limited`."""


def to_clause(tree: Node | None, fields: Fields, *, regex_max_chars: int) -> Clause:
    """Return the clause of a filter; no filter matches everything.

    Raises:
        InvalidArgument: a field, operator or value is not accepted; the error has the column.
    """
    if tree is None:
        return Clause(true(), needs_limit=False)
    return _Compiler(fields, regex_max_chars).compile(tree)


class _Compiler:
    """The translator of one tree."""

    def __init__(self, fields: Fields, regex_max_chars: int) -> None:
        self._names = list(fields)
        camel = {".".join(map(to_camel, name.split("."))): fields[name] for name in fields}
        self._fields = {**camel, **fields}
        self._regex_max_chars = regex_max_chars
        self._needs_limit = False

    def compile(self, tree: Node) -> Clause:
        condition = self._condition(tree)
        return Clause(condition, self._needs_limit)

    def _condition(self, node: Node) -> Condition:
        match node:
            case And(terms):
                return and_(*map(self._condition, terms))
            case Or(terms):
                return or_(*map(self._condition, terms))
            case Not(term):
                return is_not_true(self._condition(term))
            case Comparison():
                return self._comparison(node)
            case _:
                assert_never(node)

    def _comparison(self, comparison: Comparison) -> Condition:
        field = self._field(comparison)
        name = self._name(comparison)
        if not field.operators:
            raise invalid_filter(comparison.column, f'must name a key: {name}."key".')
        if comparison.operator not in field.operators:
            accepted = " ".join(sorted(field.operators))
            raise invalid_filter(comparison.column, f"{name} takes the operators {accepted}")
        if comparison.asks_for_presence and not field.takes_presence:
            raise invalid_filter(comparison.value_column, "this field does not take a bare *.")
        self._needs_limit |= field.needs_limit or comparison.operator in REGEX_OPERATORS
        if comparison.operator in REGEX_OPERATORS:
            comparison = self._with_pattern(comparison)
        return field.condition(comparison)

    def _field(self, comparison: Comparison) -> Field:
        *parents, last = comparison.path
        field = self._fields.get(".".join(comparison.path))
        parent = self._fields.get(".".join(parents))
        if field is None and isinstance(parent, KeyedField):
            return parent.at(last)
        if field is None:
            accepted = ", ".join(map(self._describe, self._names))
            raise invalid_filter(comparison.column, f"accepts these fields: {accepted}.")
        return field

    def _name(self, comparison: Comparison) -> str:
        """Return the name of an existing field, without the caller's key."""
        path = ".".join(comparison.path)
        return path if path in self._fields else f'{".".join(comparison.path[:-1])}."key"'

    def _describe(self, name: str) -> str:
        field = self._fields[name]
        if not isinstance(field, KeyedField):
            return name
        return f'{name}, {name}."key"' if field.operators else f'{name}."key"'

    def _with_pattern(self, comparison: Comparison) -> Comparison:
        try:
            pattern = to_postgres(comparison.value, self._regex_max_chars)
        except PatternRefusedError as refused:
            raise invalid_filter(comparison.value_column, f"{refused}.") from None
        return replace(comparison, value=pattern)


def read_filter(
    text: str | None, fields: Fields, settings: Settings, *, may_scan: bool = False
) -> Clause:
    """Return the clause of a filter's text, with its statement's time limit.

    `may_scan`: no index serves some of the fields; every filter then has the limit.

    Raises:
        InvalidArgument: the text is not a filter over these fields; the error has the column.
    """
    tree = parse_filter(text)
    clause = to_clause(tree, fields, regex_max_chars=settings.tuning.filter_regex_max_chars)
    is_limited = clause.needs_limit or (may_scan and tree is not None)
    return replace(clause, seconds=settings.filter_timeout_seconds if is_limited else None)


FIELD = "filterGroups"

_SECONDS_CHARS = len("2030-01-02T03:04:05")
# Byte order, independent of the database's collation.
_BYTE_ORDER = "C"
_Compare = Callable[[Column, ColumnElement[Any]], Condition]
_ORDERINGS: dict[MetadataOperator, _Compare] = {
    MetadataOperator.GREATER_THAN: operator.gt,
    MetadataOperator.LESS_THAN: operator.lt,
}

_WRITTEN: dict[Operator, tuple[MetadataOperator, ...]] = {
    Operator.EQUAL: (MetadataOperator.EQUAL,),
    Operator.NOT_EQUAL: (MetadataOperator.EQUAL,),
    Operator.LESS: (MetadataOperator.LESS_THAN,),
    Operator.LESS_OR_EQUAL: (MetadataOperator.LESS_THAN, MetadataOperator.EQUAL),
    Operator.GREATER: (MetadataOperator.GREATER_THAN,),
    Operator.GREATER_OR_EQUAL: (MetadataOperator.GREATER_THAN, MetadataOperator.EQUAL),
}
_EQUALITY = frozenset({Operator.EQUAL, Operator.NOT_EQUAL})
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TRUTHS = {"true": True, "false": False}


class MetadataField(KeyedField):
    """A metadata column, compared key by key."""

    operators = frozenset()

    def __init__(self, column: Column) -> None:
        self._column = column

    @override
    def at(self, key: str) -> Field:
        return _MetadataEntry(self._column, key)

    @override
    def condition(self, comparison: Comparison) -> Condition:
        raise AssertionError("Metadata has no operators of its own.")


class _MetadataEntry(Field):
    """One metadata key."""

    operators = frozenset({*_WRITTEN, Operator.HAS})
    takes_presence = True
    needs_limit = True

    def __init__(self, column: Column, key: str) -> None:
        self._column = column
        self._key = key

    @override
    def condition(self, comparison: Comparison) -> Condition:
        if comparison.operator is Operator.HAS:
            if not comparison.asks_for_presence:
                raise invalid_value(comparison, "after a colon must be a bare *.")
            return self._column.bool_op("?")(literal(self._key, Text()))
        value = _value(comparison)
        condition = or_(
            *(
                _condition(self._column, MetadataFilter(self._key, asked, value), "")
                for asked in _WRITTEN[comparison.operator]
            )
        )
        return is_not_true(condition) if comparison.operator is Operator.NOT_EQUAL else condition


def _value(comparison: Comparison) -> MetadataValue:
    text, is_equality = comparison.value, comparison.operator in _EQUALITY
    if comparison.is_quoted and is_equality:
        return text
    if not comparison.is_quoted and _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if is_equality and text in _TRUTHS:
        return _TRUTHS[text]
    try:
        return read_moment(text)
    except (ValueError, OverflowError):
        if is_equality:
            return text
    raise invalid_value(
        comparison,
        "must be a number without quotes or an ISO 8601 moment; texts and truth values take = and"
        " != alone.",
    )


def metadata_clause(column: Column, groups: Sequence[Sequence[MetadataFilter]]) -> Condition:
    """Return the clause of filter groups: AND within a group, OR between groups; none: every row.

    Raises:
        InvalidArgument: a group is empty, or an operator does not fit its value.
    """
    if not groups:
        return true()
    return or_(*(_group(column, group, index) for index, group in enumerate(groups)))


def _group(column: Column, group: Sequence[MetadataFilter], index: int) -> Condition:
    path = f"{FIELD}[{index}].filters"
    if not group:
        raise InvalidArgument.of_field(path, "must hold at least one filter.")
    return and_(*(_filter(column, entry, f"{path}[{at}]") for at, entry in enumerate(group)))


def _filter(column: Column, asked: MetadataFilter, path: str) -> Condition:
    condition = _condition(column, asked, path)
    return is_not_true(condition) if asked.negate else condition


def _condition(column: Column, asked: MetadataFilter, path: str) -> Condition:
    is_equality = asked.operator not in _ORDERINGS
    match asked.value:
        case bool() if not is_equality:
            raise InvalidArgument.of_field(f"{path}.op", "must be EQUAL for a boolValue.")
        case bool():
            return _contains(column, asked.key, {"boolValue": asked.value})
        case str() if is_equality:
            return _contains(column, asked.key, {"stringValue": asked.value})
        case str():
            text = _text(column, asked.key, "stringValue")
            return _compared(collate(text, _BYTE_ORDER), asked.operator, asked.value)
        case datetime():
            text = _text(column, asked.key, "timestampValue")
            stored = collate(func.left(text, _SECONDS_CHARS), _BYTE_ORDER)
            return _compared(stored, asked.operator, _whole_seconds(asked.value))
        case _:
            return _number_condition(column, asked.key, asked.operator, asked.value)


def _number_condition(
    column: Column, key: str, asked: MetadataOperator, number: float
) -> Condition:
    stored = _entry(column, key).op("->", return_type=JSONB())(literal("doubleValue", Text()))
    # jsonb compares numbers by value: 1 equals 1.0. It also orders values of different types, which
    # must not match here.
    is_number = func.jsonb_typeof(stored) == literal("number", Text())
    compare: _Compare = _ORDERINGS.get(asked, operator.eq)
    return and_(is_number, compare(stored, literal(number, JSONB())))


def _compared(stored: Column, asked: MetadataOperator, text: str) -> Condition:
    compare: _Compare = _ORDERINGS.get(asked, operator.eq)
    return compare(stored, literal(text, Text()))


def _contains(column: Column, key: str, value: dict[str, bool | str]) -> Condition:
    return column.bool_op("@>")(literal({key: value}, JSONB()))


def _entry(column: Column, key: str) -> Column:
    return column.op("->", return_type=JSONB())(literal(key, Text()))


def _text(column: Column, key: str, kind: str) -> ColumnElement[str]:
    return _entry(column, key).op("->>", return_type=Text())(literal(kind, Text()))


def _whole_seconds(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
