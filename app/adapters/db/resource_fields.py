"""Filter fields that name resources or scopes, and fields that need another request parameter."""

import re

from sqlalchemy import Text, literal
from sqlalchemy.dialects.postgresql import JSONB
from typing_extensions import override

from app.adapters.db.filter_fields import (
    EQUALITY,
    Column,
    ColumnField,
    Condition,
    Field,
    KeyedField,
    invalid_value,
    is_not_true,
    scope_in,
)
from app.kernel.auth import of_one
from app.kernel.filters import Comparison, Operator, invalid_filter
from app.kernel.names import EngineName


class ResourceField(Field):
    """A column with ids of an engine's resources; filters may also use full names.

    `name` is a regular expression for the part of a name after the engine, with the id as a group.
    """

    operators = EQUALITY

    def __init__(self, column: Column, engine: EngineName, name: str) -> None:
        self._column = column
        self._engine = engine
        self._name = re.compile(f"(.+?)/{name}")

    @override
    def condition(self, comparison: Comparison) -> Condition:
        identity = literal(self._id(comparison), Text())
        if comparison.operator is Operator.NOT_EQUAL:
            return self._column.is_distinct_from(identity)
        return self._column == identity

    def _id(self, comparison: Comparison) -> str:
        if "/" not in comparison.value:
            return comparison.value
        match = self._name.fullmatch(comparison.value)
        if match is None or not self._engine.is_named(match[1]):
            raise invalid_value(comparison, "must be an id, or a full name in this engine.")
        return match[2]


class OptionalResourceField(ResourceField):
    """A `ResourceField` of a column that may be null."""

    operators = ResourceField.operators | {Operator.HAS}
    takes_presence = True

    @override
    def condition(self, comparison: Comparison) -> Condition:
        if comparison.operator is not Operator.HAS:
            return super().condition(comparison)
        if not comparison.asks_for_presence:
            raise invalid_value(comparison, "after a colon must be a bare *.")
        return self._column.is_not(None)


class WithheldField(Field):
    """A field that filters may name only if the request also sets the parameter in `needs`."""

    operators = frozenset(Operator)
    takes_presence = True

    def __init__(self, needs: str) -> None:
        self._needs = needs

    @override
    def condition(self, comparison: Comparison) -> Condition:
        name = ".".join(comparison.path)
        raise invalid_filter(comparison.column, f"{name} needs {self._needs}.")


class ScopesField(ColumnField, KeyedField):
    """The scopes that a row concerns, as the values of each key (see `conditions.ByScopes`).

    A whole `scope` must be the only one; `scope.key` compares with each of the key's values. Rows
    that concern all scopes list no values, so only `!=` matches them.
    """

    operators = EQUALITY

    @override
    def at(self, key: str) -> Field:
        return _ScopesEntry(self._column, key)

    @override
    def condition(self, comparison: Comparison) -> Condition:
        scopes = literal(of_one(scope_in(comparison)), JSONB())
        # The index serves the first condition.
        is_only: Condition = self._column.bool_op("@>")(scopes) & (self._column == scopes)
        return is_not_true(is_only) if comparison.operator is Operator.NOT_EQUAL else is_only


class _ScopesEntry(Field):
    operators = frozenset({Operator.EQUAL, Operator.NOT_EQUAL, Operator.HAS})
    takes_presence = True

    def __init__(self, column: Column, key: str) -> None:
        self._column = column
        self._key = key

    @override
    def condition(self, comparison: Comparison) -> Condition:
        if comparison.asks_for_presence:
            return self._column.bool_op("?")(literal(self._key, Text()))
        named: Condition = self._column.bool_op("@>")(
            literal({self._key: [comparison.value]}, JSONB())
        )
        return is_not_true(named) if comparison.operator is Operator.NOT_EQUAL else named
