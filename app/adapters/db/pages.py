"""Pages of a list: rows in one order, after a key, with the token of the next page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, and_, or_, tuple_
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

_EXPORTED_AT_ONCE = 200
"""Rows that an export reads and holds: few enough not to delay other requests."""

_R = TypeVar("_R")
_S = TypeVar("_S", bound=Select[*tuple[Any, ...]])

Key = tuple[InstrumentedAttribute[Any], ...]
"""The columns that order a list, unique together; the first alone may be null."""


@dataclass(frozen=True)
class Slice:
    """At most `size` rows, ordered by `key`, after the row whose key is `after`."""

    key: Key
    size: int
    after: tuple[Any, ...] | None = None
    is_descending: bool = False
    query: Query | None = None
    """The query of the next page's token (see `kernel.paging`); None: it needs no token."""

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
        """Build the slice of a requested page, which has a token if there is a next one.

        Raises:
            InvalidArgument: the size is negative, or the token is not one of this query.
        """
        size = clamp_page_size(page.size, maximum=maximum)
        after = None
        if page.token:
            after = typed_key(decode_token(page.token, query), *map(_type, key))
        return cls(key, size, after, is_descending, query)

    @property
    def limit(self) -> int:
        """The number of rows to read: with a token, one more, which shows that there is a next."""
        return self.size if self.query is None else self.size + 1

    def applied(self, statement: _S) -> _S:
        """Return the statement for these rows."""
        if self.after is not None:
            statement = statement.where(self._is_next(self.after))
        order = (column.desc() if self.is_descending else column.asc() for column in self.key)
        return statement.order_by(*order).limit(self.limit)

    def _is_next(self, after: tuple[Any, ...]) -> ColumnElement[bool]:
        """Select the rows after a key. As in Postgres, no value is greater than any other."""
        first, *others = self.key
        if after[0] is None:
            beside = and_(first.is_(None), self._follow(others, after[1:]))
            return or_(beside, first.is_not(None)) if self.is_descending else beside
        follows = self._follow(self.key, after)
        is_last = _is_optional(first) and not self.is_descending
        return or_(follows, first.is_(None)) if is_last else follows

    def _follow(
        self, columns: Sequence[InstrumentedAttribute[Any]], after: tuple[Any, ...]
    ) -> ColumnElement[bool]:
        row = tuple_(*columns)
        return row < after if self.is_descending else row > after

    def cut(self, rows: Sequence[_R]) -> tuple[Sequence[_R], str | None]:
        """Return the rows of the page, and the token of the next one if there is a row more."""
        shown = rows[: self.size]
        return shown, self.token(shown[-1]) if len(rows) > len(shown) else None

    def token(self, last: object) -> str | None:
        """Return the token of the page after a row, if one is needed."""
        return None if self.query is None else encode_token(self.query, self.key_of(last))

    def key_of(self, row: object) -> tuple[Any, ...]:
        """Return the key of a row."""
        return tuple(getattr(row, column.key) for column in self.key)


def _is_optional(column: InstrumentedAttribute[Any]) -> bool:
    return bool(column.property.columns[0].nullable)


def _type(column: InstrumentedAttribute[Any]) -> type[object] | UnionType:
    kind: type[object] = column.type.python_type
    return kind | None if _is_optional(column) else kind


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
    fits = rows_within(sizes, page.size, max_bytes)
    rows = (await session.execute(wanted.limit(fits))).scalars().all()
    return rows, page.token(rows[-1]) if len(sizes) > fits else None


async def exported(
    key: Key, read: Callable[[Slice], Awaitable[Sequence[_R]]]
) -> AsyncIterator[Sequence[_R]]:
    """Yield all rows of a list in small batches, in ascending order.

    `read` reads each with a transaction of its own, so that an export of any length holds none
    open.
    """
    page = Slice(key, _EXPORTED_AT_ONCE)
    while True:
        rows = await read(page)
        yield rows
        if len(rows) < page.size:
            return
        page = replace(page, after=page.key_of(rows[-1]))
