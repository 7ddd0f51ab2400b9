"""Pages of a list: rows in one order, after a key, with the token of the next page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Select, SQLColumnExpression, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.session import Session
from app.kernel.paging import (
    MAX_PAGE_SIZE,
    PageRequest,
    Query,
    clamp_page_size,
    decode_token,
    encode_token,
    rows_within,
    typed_key,
)

_R = TypeVar("_R")
_S = TypeVar("_S", bound=Select[Any])

Key = tuple[InstrumentedAttribute[Any], ...]
"""The columns that order a list, unique together."""


@dataclass(frozen=True)
class Slice:
    """At most `limit` rows, ordered by `key`, after the row whose key is `after`."""

    key: Key
    limit: int
    after: tuple[Any, ...] | None = None
    is_descending: bool = False
    query: Query = ""
    """The query of the token: see `kernel.paging`."""

    @classmethod
    def of(
        cls,
        page: PageRequest,
        query: Query,
        key: Key,
        maximum: int = MAX_PAGE_SIZE,
        *,
        is_descending: bool = False,
    ) -> "Slice":
        """Build the slice of a requested page and one row more, which shows that there is a next.

        Raises:
            InvalidArgument: the size is negative, or the token is not one of this query.
        """
        limit = clamp_page_size(page.size, maximum=maximum) + 1
        after = None
        if page.token:
            types = (column.type.python_type for column in key)
            after = typed_key(decode_token(page.token, query), *types)
        return cls(key, limit, after, is_descending, query)

    def applied(self, statement: _S) -> _S:
        """Return the statement for these rows."""
        if self.after is not None:
            columns = tuple_(*self.key)
            is_next = columns < self.after if self.is_descending else columns > self.after
            statement = statement.where(is_next)
        order = (column.desc() if self.is_descending else column.asc() for column in self.key)
        return statement.order_by(*order).limit(self.limit)

    def cut(self, rows: Sequence[_R]) -> tuple[Sequence[_R], str | None]:
        """Return the rows of the page, and the token of the next one if there is a row more."""
        shown = rows[: self.limit - 1]
        return shown, self.token(shown[-1]) if len(rows) > len(shown) else None

    def token(self, last: object) -> str:
        """Return the token of the page after a row."""
        return encode_token(self.query, self.key_of(last))

    def key_of(self, row: object) -> tuple[Any, ...]:
        """Return the key of a row."""
        return tuple(getattr(row, column.key) for column in self.key)


async def read_within(
    session: Session,
    statement: Select[_R],
    page: Slice,
    size: SQLColumnExpression[int],
    max_bytes: int,
) -> tuple[Sequence[_R], str | None]:
    """Read as many rows of a page as fit, at least one, and the token of the next page.

    Args:
        session: the transaction.
        statement: what selects the rows of the list.
        page: the page.
        size: the size of a row in bytes.
        max_bytes: the size of all rows of a page.
    """
    wanted = page.applied(statement)
    sizes = (await session.execute(wanted.with_only_columns(size))).scalars().all()
    fits = rows_within(sizes, page.limit - 1, max_bytes)
    rows = (await session.execute(wanted.limit(fits))).scalars().all()
    return rows, page.token(rows[-1]) if len(sizes) > fits else None
