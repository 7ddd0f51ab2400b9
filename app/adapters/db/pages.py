"""Pages of a list: rows in one order, after a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Select, tuple_
from sqlalchemy.orm import InstrumentedAttribute

_K = TypeVar("_K", bound=tuple[Any, ...])
_S = TypeVar("_S", bound=Select[Any])


@dataclass(frozen=True)
class Slice(Generic[_K]):
    """At most `limit` rows after the row with the key `after`."""

    limit: int
    after: _K | None
    is_descending: bool


def sliced(
    statement: _S, key: Sequence[InstrumentedAttribute[Any]], page: Slice[tuple[Any, ...]]
) -> _S:
    """Return the statement for a page's rows, ordered by `key`, whose columns are unique."""
    if page.after is not None:
        columns = tuple_(*key)
        is_next = columns < page.after if page.is_descending else columns > page.after
        statement = statement.where(is_next)
    order = [column.desc() if page.is_descending else column.asc() for column in key]
    return statement.order_by(*order).limit(page.limit)
