"""Lists of the API: each is declared as a `List`, and `list_page` reads a page of it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from operator import itemgetter
from types import UnionType
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic.alias_generators import to_camel
from sqlalchemy import (
    JSON,
    ColumnElement,
    Integer,
    Select,
    Text,
    and_,
    cast,
    func,
    inspect,
    literal_column,
    or_,
    true,
    tuple_,
)
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.filters import Fields, read_filter
from app.adapters.db.session import Session, long_read
from app.adapters.db.transaction_settings import limited
from app.kernel.errors import InvalidArgument
from app.kernel.paging import (
    MAX_PAGE_SIZE,
    PageRequest,
    Query,
    clamp_page_size,
    decode_token,
    encode_token,
    rows_within,
    steps_of,
    typed_key,
)
from app.kernel.reads import held_answer, hold
from app.settings.settings import Settings

_R = TypeVar("_R")
_EXPORTED_AT_ONCE = 200
"""Rows that an export reads and holds: few enough not to delay other requests."""
READ_BYTES = 1024 * 1024
"""Bytes that one statement reads, unless its first row has more: parsing them blocks the loop."""
FEW = 12
"""Rows that are read without asking for their sizes before."""
_SIZED_AT_FIRST = 101
"""Rows whose sizes are asked for at first, and then twice those shown: Postgres reads them."""
_LONG_BYTES = 256 * 1024
"""Bytes beyond which a statement waits for its turn."""
ROW_BYTES = 1024
"""Bytes beside the values of a row: the names of its fields, and its own."""
_R_co = TypeVar("_R_co", covariant=True)
_S = TypeVar("_S", bound=Select[*tuple[Any, ...]])
Key = tuple[InstrumentedAttribute[Any], ...]
"""The columns that order a list, unique together; the first alone may be null."""


class ReadRows(NamedTuple, Generic[_R_co]):
    """Rows that were read of a list; `omitted` of them did not fit into the bytes of the page."""

    rows: Sequence[_R_co]
    has_more: bool
    omitted: int = 0


@dataclass(frozen=True)
class Slice:
    """At most `size` rows, ordered by `key`, after the row whose key is `after`."""

    key: Key
    size: int
    after: tuple[Any, ...] | None = None
    is_descending: bool = False
    query: Query | None = None
    """The query of the next page's token (see `kernel.paging`); None: it needs no token."""
    max_bytes: int | None = None
    """The most that the rows have as JSON, unless the first alone has more; None: no bound."""
    where: ColumnElement[bool] = field(default_factory=true)
    """The condition of a filter."""
    seconds: float | None = None
    """The time limit of each statement; None: the default."""

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
        return cls(key, size, after, is_descending, query, page.max_bytes)

    @classmethod
    def of_export(cls, key: Key) -> "Slice":
        """Build the slice of the first rows that `exported` reads."""
        return cls(key, _EXPORTED_AT_ONCE, max_bytes=READ_BYTES)

    @property
    def limit(self) -> int:
        """The number of rows to read: with a token, one more, which shows that there is a next."""
        return self.size if self.query is None else self.size + 1

    def applied(self, statement: _S) -> _S:
        """Return the statement for these rows."""
        statement = statement.where(self.where)
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

    def fitting(self, rows: Sequence[_R], sizes: Sequence[int]) -> ReadRows[_R]:
        """Return as many of the rows as the page may have; they were read up to `limit`."""
        asked = fits = min(len(rows), self.size)
        if self.max_bytes is not None:
            fits = rows_within(sizes, self.size, self.max_bytes)
        return ReadRows(rows[:fits], fits < len(rows) or self.may_go_on(len(rows)), asked - fits)

    def may_go_on(self, read: int) -> bool:
        """Return True if further rows may follow so many, though none was looked for."""
        return self.query is None and read >= self.size

    def cut(self, part: ReadRows[_R]) -> tuple[Sequence[_R], str | None]:
        """Return the rows of the page, and the token of the next one if there is a row more."""
        if self.query is None or not part.has_more:
            return part.rows, None
        return part.rows, encode_token(self.query, self.key_of(part.rows[-1]))

    def key_of(self, row: object) -> tuple[Any, ...]:
        """Return the key of a row."""
        return tuple(getattr(row, column.key) for column in self.key)


def _is_optional(column: InstrumentedAttribute[Any]) -> bool:
    return bool(column.property.columns[0].nullable)


def _type(column: InstrumentedAttribute[Any]) -> type[object] | UnionType:
    kind: type[object] = column.type.python_type
    return kind | None if _is_optional(column) else kind


@dataclass(frozen=True)
class List:
    """A list of the API: its order, its filter, and its name in page tokens.

    Attributes:
        orders: the columns that `orderBy` may name in place of the first of `key`.
        may_scan: as for `read_filter`.
    """

    name: str
    key: Key
    is_descending: bool = False
    fields: Fields = field(default_factory=dict)
    orders: Sequence[InstrumentedAttribute[Any]] = ()
    max_size: int = MAX_PAGE_SIZE
    may_scan: bool = False

    def ordered(self, order_by: str | None) -> "List":
        """Return the list in a requested order: a field, ascending unless followed by ` desc`.

        Source: AIP-132, "Ordering". The field may be in either spelling.

        Raises:
            InvalidArgument: the field is not one of `orders`, or the direction is unknown.
        """
        if not order_by:
            return self
        name, _, direction = order_by.strip().partition(" ")
        direction = direction.strip().lower()
        columns = {column.key: column for column in self.orders}
        known = columns | {to_camel(key): column for key, column in columns.items()}
        if name not in known or direction not in {"", "asc", "desc"}:
            message = f'must be {" or ".join(columns)}, optionally with " desc".'
            raise InvalidArgument.of_field("orderBy", message)
        return replace(self, key=(known[name], *self.key[1:]), is_descending=direction == "desc")

    def page(self, request: PageRequest, **query: object) -> Slice:
        """Return the slice of a requested page.

        `query` names the parent and any other parameters of the list. Tokens hold a digest of it,
        so a release must not change its names or the form of its values.

        Raises:
            InvalidArgument: the size is negative, or the token is not one of this query.
        """
        asked = {"list": self.name, **query}
        return Slice.of(request, asked, self.key, self.max_size, is_descending=self.is_descending)

    def filtered_page(
        self, request: PageRequest, settings: Settings, filter_text: str | None, **query: object
    ) -> Slice:
        """Return the slice of a requested page with its filter; `query` is as for `page`."""
        clause = read_filter(filter_text, self.fields, settings, may_scan=self.may_scan)
        asked = {"filter": filter_text, **query}
        if self.orders:
            by = f"{self.key[0].key} " if len(self.orders) > 1 else ""
            asked["order"] = f"{by}{self.is_descending}"
        return replace(self.page(request, **asked), where=clause.condition, seconds=clause.seconds)

    def export(self, settings: Settings, filter_text: str | None, until: datetime) -> Slice:
        """Return the slice for `exported`: rows up to a time, by which the list is ordered."""
        clause = read_filter(filter_text, self.fields, settings, may_scan=self.may_scan)
        present = clause.condition & (self.key[0] <= until)
        return replace(Slice.of_export(self.key), where=present, seconds=clause.seconds)


async def list_page(
    session: Session,
    statement: Select[_R],
    page: Slice,
    size: ColumnElement[int] | None = None,
) -> tuple[Sequence[_R], str | None]:
    """Return a page of the rows that a statement selects, as `read_page`, and its next token."""
    return page.cut(await read_page(session, statement, page, size))


async def read_page(
    session: Session,
    statement: Select[*tuple[Any, ...]],
    page: Slice,
    size: ColumnElement[int] | None = None,
    made: Callable[[Any], _R] = itemgetter(0),
) -> ReadRows[_R]:
    """Read the rows of a page in steps, and none that its bytes leave out.

    `size` is the size of a row in bytes, unless the selected columns show it. `made` makes the
    page's item of a row, which has the columns of the page's key.
    """
    async with limited(session, page.seconds):
        if page.max_bytes is None:
            selected_rows = (await session.execute(page.applied(statement))).all()
            return page.fitting([made(row) for row in selected_rows], ())
        size = bytes_of(statement) if size is None else size
        if page.limit <= FEW:
            sized = page.applied(statement.add_columns(size.label("row_bytes")))
            selected_rows = (await session.execute(sized)).all()
            sizes = [row[-1] for row in selected_rows]
            hold(sum(sizes))
            return page.fitting([made(row) for row in selected_rows], sizes)
        return await _read_in_steps(
            _ListReading(session, statement, made), page, page.max_bytes, size
        )


def merged(parts: Sequence[ReadRows[_R]], page: Slice) -> ReadRows[_R]:
    """Return the page of several lists as one, each of which was read for it."""
    rows = sorted(
        (row for part in parts for row in part.rows), key=page.key_of, reverse=page.is_descending
    )
    ends = [page.key_of(part.rows[-1]) for part in parts if part.has_more]
    if ends:
        # Beyond it, a list may have rows that were not read.
        end = (max if page.is_descending else min)(ends)
        rows = rows[: [page.key_of(row) for row in rows].index(end) + 1]
    has_more = bool(ends) or len(rows) > page.size
    return ReadRows(rows[: page.size], has_more, sum(part.omitted for part in parts))


@dataclass(frozen=True)
class _ListReading(Generic[_R]):
    """A list that is read."""

    session: Session
    statement: Select[*tuple[Any, ...]]
    made: Callable[[Any], _R]

    async def sizes(self, step: Slice, size: ColumnElement[int]) -> Sequence[int]:
        sized = step.applied(self.statement.with_only_columns(size))
        async with long_read(self.session):
            return (await self.session.execute(sized)).scalars().all()

    async def rows(self, step: Slice, sizes: Sequence[int]) -> AsyncIterator[_R]:
        for few in steps_of(sizes, READ_BYTES):
            size = sum(sizes[few])
            hold(size)
            statement = replace(step, size=len(sizes[few])).applied(self.statement)
            async with long_read(self.session) if size > _LONG_BYTES else nullcontext():
                selected_rows = (await self.session.execute(statement)).all()
            if not selected_rows:
                # On a cluster, rows may go between the question for their sizes and this one.
                return
            rows = [self.made(row) for row in selected_rows]
            for row in rows:
                yield row
            step = replace(step, after=step.key_of(rows[-1]))


async def _read_in_steps(
    reading: _ListReading[_R], page: Slice, left: int, size: ColumnElement[int]
) -> ReadRows[_R]:
    rows: list[_R] = []
    step = replace(page, query=None)
    while True:
        step = replace(step, size=min(max(_SIZED_AT_FIRST, 2 * len(rows)), page.limit - len(rows)))
        sizes = await reading.sizes(step, size)
        asked = min(len(sizes), page.size - len(rows))
        fits = rows_within(sizes, asked, left, least=0 if rows else 1)
        rows += [row async for row in reading.rows(step, sizes[:fits])]
        if fits < len(sizes):
            return ReadRows(rows, has_more=True, omitted=asked - fits)
        if len(sizes) < step.size or len(rows) == page.limit:
            return ReadRows(rows, has_more=page.may_go_on(len(rows)))
        left -= sum(sizes)
        step = replace(step, after=step.key_of(rows[-1]))


async def read_by_key(
    sizes: Mapping[str, int], read: Callable[[Sequence[str]], Awaitable[Mapping[str, _R]]]
) -> dict[str, _R]:
    """Read rows in steps, by their keys, whose sizes are given; `read` reads some."""
    keys, ordered = list(sizes), list(sizes.values())
    rows: dict[str, _R] = {}
    for few in steps_of(ordered, READ_BYTES):
        hold(sum(ordered[few]))
        rows |= await read(keys[few])
    return rows


def bytes_of(statement: Select[*tuple[Any, ...]]) -> ColumnElement[int]:
    """Return the size of what a statement selects of a row, as JSON; Postgres need not send it."""
    selected = (one["expr"] for one in statement.column_descriptions)
    return _sum_of(tuple(one for one in selected if isinstance(one, type) or _varies(one)))


@cache
def _sum_of(selected: tuple[Any, ...]) -> ColumnElement[int]:
    size: ColumnElement[int] = literal_column(str(ROW_BYTES), Integer())
    for column in (column for one in selected for column in _columns(one) if _varies(column)):
        size += _length(column)
    return size


def _columns(selected: Any) -> list[ColumnElement[Any]]:  # noqa: ANN401 - a class or a column
    if not isinstance(selected, type):
        return [selected]
    attributes: Any = inspect(selected).column_attrs
    return [getattr(selected, attribute.key) for attribute in attributes if not attribute.deferred]


def _varies(column: ColumnElement[Any]) -> bool:
    return isinstance(column.type, Text | JSON)


def _length(column: ColumnElement[Any]) -> ColumnElement[int]:
    # Of a text with its escapes, as JSON has it.
    written = column if isinstance(column.type, JSON) else func.to_json(column)
    return func.coalesce(func.octet_length(cast(written, Text())), literal_column("0", Integer()))


async def exported(
    page: Slice, read: Callable[[Slice], Awaitable[ReadRows[_R]]]
) -> AsyncIterator[Sequence[_R]]:
    """Yield all rows of a list from a slice `of_export`, in batches of one transaction each."""
    held = held_answer()
    before = 0 if held is None else held.size
    while True:
        part = await read(page)
        yield part.rows
        if held is not None:
            # The caller has sent these rows when it asks for the next ones.
            held.keep(before)
        if not part.has_more:
            return
        page = replace(page, after=page.key_of(part.rows[-1]))
