"""Translation of a filter's tree to a WHERE clause, over the fields that a resource allows.

All input of a caller is bound as parameters, never written into the SQL. All faults of a filter are
detected here, before the database is queried.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from pydantic.alias_generators import to_camel
from sqlalchemy import and_, or_, true

from app.adapters.db.filter_fields import REGEX_OPERATORS, Condition, Field, KeyedField, is_not_true
from app.adapters.db.regex import PatternRefusedError, to_postgres
from app.kernel.filters import And, Comparison, Node, Not, Or, invalid_filter, parse_filter
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
