"""How the rows of tables belong to scopes: what each table says of itself as `conditioned_by`."""

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
    """How a table's rows belong to scopes."""

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows that meet conditions; `columns` is the mapped class, or its table's `c`.

        Must not be called without conditions.
        """
        ...


@dataclass(frozen=True)
class ByScope:
    """Rows have their scope in a column: an object of texts."""

    column: str = "scope"

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose scope meets conditions."""
        scope = getattr(columns, self.column)
        return and_(
            *(
                _holds_any(scope, [{key: value} for value in sorted(values)])
                for key, values in sorted(conditions.items())
            )
        )

    def text(self, alias: str, conditions: Conditions) -> tuple[str, dict[str, Any]]:
        """Return the same for a statement that is text: what it adds, and the values of that."""
        parts, values = ["true"], {}
        for number, (key, some) in enumerate(sorted(conditions.items())):
            parts.append(f"{alias}.{self.column} @> any(%(reach_{number})s::jsonb[])")
            values[f"reach_{number}"] = [Jsonb({key: value}) for value in sorted(some)]
        return " and ".join(parts), values


@dataclass(frozen=True)
class ByKeys:
    """Rows have some keys of their scope in columns of their own, and no others."""

    columns: Mapping[str, str]

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose scope meets conditions."""
        if not conditions.keys() <= self.columns.keys() or not all(conditions.values()):
            # Nothing here has the key, or any of no values.
            return false()
        return and_(
            *(
                getattr(columns, self.columns[key]).in_(sorted(values))
                for key, values in sorted(conditions.items())
            )
        )


@dataclass(frozen=True)
class ByScopes:
    """Rows concern several scopes: an object of arrays, the values of each key.

    Null concerns all.
    """

    column: str = "scopes"

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows all of whose scopes meet conditions."""
        scopes = getattr(columns, self.column)
        return and_(
            *(
                # The first finds them by the index; the second is what is asked for.
                _holds_any(scopes, [{key: [value]} for value in sorted(values)])
                & _is_within(scopes, key, sorted(values))
                for key, values in sorted(conditions.items())
            )
        )


@dataclass(frozen=True)
class ByParent:
    """Rows belong to a row of another table, which has the same values in the columns `on`."""

    table: str
    on: tuple[str, ...]

    def clause(self, columns: Any, conditions: Conditions) -> ColumnElement[bool]:  # noqa: ANN401
        """Select the rows whose parent meets conditions."""
        parent, table = _parent(self.table)
        same = (table.c[name] == getattr(columns, name) for name in self.on)
        is_met = parent.conditioned_by.clause(table.c, conditions)  # type: ignore[attr-defined]  # conditioned_rows has looked
        return select(literal(1)).select_from(table).where(*same, is_met).exists()


def _holds_any(column: Any, parts: Sequence[Mapping[str, Any]]) -> ColumnElement[bool]:  # noqa: ANN401
    """Select by a GIN index; unlike those of `->>`, its matches are estimated from statistics."""
    found: ColumnElement[bool] = column.bool_op("@>")(any_(literal(parts, ARRAY(JSONB()))))
    return found


def _is_within(column: Any, key: str, values: Sequence[str]) -> ColumnElement[bool]:  # noqa: ANN401
    # The key is a text like any other: SQLAlchemy's own type for it cannot be compared.
    entry = column.op("->", return_type=JSONB())(literal(key, Text()))
    found: ColumnElement[bool] = entry.contained_by(literal(values, JSONB()))
    return found


def parts_index(name: str, column: str) -> Index:
    """Return the index by which conditions on a column of scopes find their rows."""
    return Index(
        name,
        column,
        postgresql_using="gin",
        postgresql_ops={column: "jsonb_path_ops"},
        postgresql_with={"fastupdate": "off"},
    )


def conditioned_rows() -> Iterator[type[Base]]:
    """Return every mapped class whose rows belong to scopes."""
    for mapper in Base.registry.mappers:
        if hasattr(mapper.class_, "conditioned_by"):
            yield mapper.class_


@cache
def _parent(table: str) -> tuple[type[Base], Any]:
    """Return the class of a table's rows, and an alias of the table.

    An alias, so that the parent's own place in the statement around is not taken for it.
    """
    parent = next(row for row in conditioned_rows() if table_of(row).name == table)
    return parent, table_of(parent).alias()


def table_of(row: type[Base]) -> Table:
    """Return the table of a mapped class."""
    assert isinstance(row.__table__, Table)
    return row.__table__
