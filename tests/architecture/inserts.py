"""Finds, among the rows that a statement inserts, those that a caller's conditions do not let in.

That a foreign key holds says only that there is a parent, not whose it is: so the parents of what
is inserted are looked up, in the same transaction.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from app.adapters.db.conditions import ByKeys, ByParent, ByScope, ByScopes
from app.kernel.auth import Conditions, Scopes, all_meet
from tests.architecture.conditions import BINDINGS
from tests.architecture.trees import bare, given_list, parameter, parse

Row = dict[str, Any]
Find = Callable[[str, Row], Awaitable[Sequence[Any] | None]]
"""Runs a statement in the transaction of the insert; returns the first row."""


def inserted(statement: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    """Yield the rows that a statement inserts into tables of scopes, each with its table."""
    for insert in parse(statement).find_all(exp.Insert):
        table = insert.this.find(exp.Table).name
        if table in BINDINGS:
            columns = [column.name for column in insert.this.expressions]
            for row in _rows(insert.expression, values):
                yield table, dict(zip(columns, row, strict=True))


def _rows(query: exp.Expr, values: Mapping[str, Any]) -> Iterator[list[Any]]:
    if (given := given_list(query)) is not None:
        for one in values[given]:
            # What is made from several values says nothing of whose the row is.
            yield [one[c.name] if isinstance(c, exp.Column) else None for c in query.expressions]
    elif isinstance(query, exp.Values):
        for row in query.expressions:
            yield [values.get(parameter(bare(one)) or "") for one in row.expressions]


def scopes_of(table: str, row: Mapping[str, Any]) -> Scopes | None:
    """Return the scopes of a row that has them itself; None: it may be any."""
    match BINDINGS[table]:
        case ByScope(column):
            return {key: [value] for key, value in (row[column] or {}).items()}
        case ByKeys(columns):
            return {key: [row[column]] for key, column in columns.items()}
        case ByScopes(column):
            found: Scopes | None = row[column]
            return found
        case other:
            raise AssertionError(other)


def owner_of(table: str, row: Row) -> tuple[str, str, Row]:
    """Return the table that has the scope of a child's row, with what finds it: text and values."""
    binding = BINDINGS[table]
    assert isinstance(binding, ByParent)
    values = {column: row[column] for column in binding.on}
    where = " and ".join(f"p0.{column} = %({column})s" for column in binding.on)
    tables = f"{binding.table} p0"
    owner, at = binding.table, 0
    while isinstance(above := BINDINGS[owner], ByParent):
        on = " and ".join(f"p{at + 1}.{column} = p{at}.{column}" for column in above.on)
        owner, at = above.table, at + 1
        tables += f" join {owner} p{at} on {on}"
    return owner, f"select to_jsonb(p{at}) from {tables} where {where}", values


async def strays(
    statement: str, values: Mapping[str, Any], conditions: Conditions, find: Find
) -> list[str]:
    """Return the tables into which a statement has inserted what is of a foreign scope."""
    return [
        table
        for table, row in inserted(statement, values)
        if not all_meet(await _scopes(table, row, find) or {}, conditions)
    ]


async def _scopes(table: str, row: Row, find: Find) -> Scopes | None:
    if not isinstance(BINDINGS[table], ByParent):
        return scopes_of(table, row)
    owner, statement, values = owner_of(table, row)
    found = await find(statement, values)
    assert found is not None, "a child without a parent"
    return scopes_of(owner, found[0])
