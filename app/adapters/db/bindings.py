"""Bindings of tables to scopes, declared by each table as `conditioned_by`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from psycopg.types.json import Jsonb
from sqlalchemy import ColumnElement, Index, Table, Text, and_, any_, false, literal, select
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from app.adapters.db.base import Base
from app.kernel.auth import Conditions


class Binding(Protocol):
    """The relation of a table's rows to scopes."""

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows that meet conditions; `columns` is the mapped class or its table's `c`.

        `conditions` must not be empty.
        """
        ...


@dataclass(frozen=True)
class ByScope:
    """A binding of rows with their scope in a column, as an object of texts."""

    column: str = "scope"

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose scope meets the conditions."""
        scope = getattr(columns, self.column)
        return and_(
            *(
                _holds_any(scope, [{key: value} for value in sorted(values)])
                for key, values in sorted(conditions.items())
            )
        )

    def text(self, alias: str, conditions: Conditions) -> tuple[str, dict[str, Any]]:
        """Return the condition as SQL text for a statement in text form, with its values."""
        parts, values = ["true"], {}
        for number, (key, some) in enumerate(sorted(conditions.items())):
            parts.append(f"{alias}.{self.column} @> any(%(reach_{number})s::jsonb[])")
            values[f"reach_{number}"] = [Jsonb({key: value}) for value in sorted(some)]
        return " and ".join(parts), values


@dataclass(frozen=True)
class ByKeys:
    """A binding of rows with a fixed set of scope keys, each in its own column."""

    columns: Mapping[str, str]

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose scope meets the conditions."""
        if not conditions.keys() <= self.columns.keys() or not all(conditions.values()):
            # No row has this key, or the list of values is empty.
            return false()
        return and_(
            *(
                getattr(columns, self.columns[key]).in_(sorted(values))
                for key, values in sorted(conditions.items())
            )
        )


@dataclass(frozen=True)
class ByScopes:
    """A binding of rows that concern several scopes, as an object with the values of each key.

    A null column means all scopes.
    """

    column: str = "scopes"

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows all of whose scopes meet the conditions."""
        scopes = getattr(columns, self.column)
        return and_(
            *(
                # The first clause uses the index; the second is the actual condition.
                _holds_any(scopes, [{key: [value]} for value in sorted(values)])
                & _is_within(scopes, key, sorted(values))
                for key, values in sorted(conditions.items())
            )
        )


@dataclass(frozen=True)
class ByParent:
    """A binding of rows to the parent row of another table with equal values in columns `on`."""

    table: str
    on: tuple[str, ...]

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose parent meets the conditions."""
        parent, table = _parent(self.table)
        same = (table.c[name] == getattr(columns, name) for name in self.on)
        is_met = parent.conditioned_by.clause(table.c, conditions)  # type: ignore[attr-defined]  # conditioned_rows has looked
        return select(literal(1)).select_from(table).where(*same, is_met).exists()


def _holds_any(column: Any, parts: Sequence[Mapping[str, Any]]) -> ColumnElement[bool]:  # noqa: ANN401
    """Return a condition for the GIN index; unlike `->>`, Postgres estimates it from statistics."""
    clause: ColumnElement[bool] = column.bool_op("@>")(any_(literal(parts, ARRAY(JSONB()))))
    return clause


def _is_within(column: Any, key: str, values: Sequence[str]) -> ColumnElement[bool]:  # noqa: ANN401
    # The key is bound as text: SQLAlchemy's own type for it cannot be compared.
    entry = column.op("->", return_type=JSONB())(literal(key, Text()))
    clause: ColumnElement[bool] = entry.contained_by(literal(values, JSONB()))
    return clause


def parts_index(name: str, column: str) -> Index:
    """Return the index that serves conditions on a column of scopes."""
    return Index(
        name,
        column,
        postgresql_using="gin",
        postgresql_ops={column: "jsonb_path_ops"},
        postgresql_with={"fastupdate": "off"},
    )


def conditioned_rows() -> Iterator[type[Base]]:
    """Yield the mapped classes with a binding."""
    for mapper in Base.registry.mappers:
        if hasattr(mapper.class_, "conditioned_by"):
            yield mapper.class_


@cache
def _parent(table: str) -> tuple[type[Base], Any]:
    """Return the class of a table's rows, and an alias of the table.

    The alias separates the parent from the same table in the surrounding statement.
    """
    parent = next(row for row in conditioned_rows() if table_of(row).name == table)
    return parent, table_of(parent).alias()


def table_of(row: type[Base]) -> Table:
    """Return the table of a mapped class."""
    assert isinstance(row.__table__, Table)
    return row.__table__
