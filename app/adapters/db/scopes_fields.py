"""The field of filters over a column that names several scopes (see `bindings.ByScopes`).

`scope.key` with `=`, `:` or `!=` and a value compares with each of the key's values; `:*` tests for
the key. Rows that concern all scopes list no values, so only `!=` matches them.
"""

from sqlalchemy import Text, literal
from sqlalchemy.dialects.postgresql import JSONB
from typing_extensions import override

from app.adapters.db.filter_fields import Column, Condition, Field, KeyedField, is_not_true
from app.kernel.filtering.syntax import Comparison, Operator


class ScopesField(KeyedField):
    """The scopes that a row concerns, as the values of each key."""

    operators = frozenset()

    def __init__(self, column: Column) -> None:
        self._column = column

    @override
    def at(self, key: str) -> Field:
        return _ScopesEntry(self._column, key)

    @override
    def condition(self, comparison: Comparison) -> Condition:
        raise AssertionError("Scopes have no operators of their own.")


class _ScopesEntry(Field):
    """The values of one scope key."""

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
