"""Many values as one parameter of a statement.

The driver parses a statement's text for each new number of parameters. With hundreds of parameters
this blocks the event loop for milliseconds.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    CollectionAggregate,
    Column,
    TableValuedAlias,
    Text,
    all_,
    any_,
    func,
    literal,
)
from sqlalchemy.dialects.postgresql import ARRAY


def any_of(texts: Collection[str]) -> CollectionAggregate[bool]:
    """Return an expression that equals any of the texts."""
    return any_(literal(list(texts), ARRAY(Text())))


def all_of(texts: Collection[str]) -> CollectionAggregate[bool]:
    """Return an expression for `!=`, which is true if a column equals none of the texts."""
    return all_(literal(list(texts), ARRAY(Text())))


def rows_of(
    name: str, columns: Mapping[str, Column[Any]], rows: Sequence[Sequence[Any]]
) -> TableValuedAlias:
    """Return rows of values as a table; `columns` maps its column names to columns of the type."""
    lists = zip(*rows, strict=True) if rows else [() for _ in columns]
    arrays = [
        literal(list(values), ARRAY(column.type))
        for values, column in zip(lists, columns.values(), strict=True)
    ]
    return func.unnest(*arrays).table_valued(*columns).render_derived(name)
