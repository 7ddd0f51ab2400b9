"""Lists of the API: each is declared as a `List`, and `list_page` reads a page of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from pydantic.alias_generators import to_camel
from sqlalchemy import ColumnElement, Select
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.filters import Fields, read_filter
from app.adapters.db.pages import Key, Slice, read_page
from app.adapters.db.session import Session
from app.kernel.errors import InvalidArgument
from app.kernel.paging import MAX_PAGE_SIZE, PageRequest
from app.settings.settings import Settings

_R = TypeVar("_R")


@dataclass(frozen=True)
class List:
    """A list of the API: its order, its filter, and its name in page tokens.

    Attributes:
        name: its name in page tokens.
        key: the columns that order it.
        is_descending: the direction of this order.
        fields: the fields that a filter may name.
        orders: the columns that `orderBy` may name in place of the first of `key`.
        max_size: the most rows of a page.
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

        `query` names what selects the rows of the list: the parent, and any other parameters.
        Tokens hold a digest of it, so a release must not change its names or the form of its
        values.

        Raises:
            InvalidArgument: the size is negative, or the token is not one of this query.
        """
        asked = {"list": self.name, **query}
        return Slice.of(request, asked, self.key, self.max_size, is_descending=self.is_descending)

    def filtered_page(
        self, request: PageRequest, settings: Settings, filter_text: str | None, **query: object
    ) -> Slice:
        """Return the slice of a requested page with its filter; `query` is as for `page`.

        Raises:
            InvalidArgument: the filter is invalid; and as for `page`.
        """
        clause = read_filter(filter_text, self.fields, settings, may_scan=self.may_scan)
        asked = {"filter": filter_text, **query}
        if self.orders:
            by = f"{self.key[0].key} " if len(self.orders) > 1 else ""
            asked["order"] = f"{by}{self.is_descending}"
        return replace(self.page(request, **asked), where=clause.condition, seconds=clause.seconds)

    def export(self, settings: Settings, filter_text: str | None, until: datetime) -> Slice:
        """Return the slice for `exported`, of the rows up to a time, by which the list is ordered.

        Raises:
            InvalidArgument: the filter is invalid.
        """
        clause = read_filter(filter_text, self.fields, settings, may_scan=self.may_scan)
        present = clause.condition & (self.key[0] <= until)
        return replace(Slice.of_export(self.key), where=present, seconds=clause.seconds)


async def list_page(
    session: Session,
    statement: Select[_R],
    page: Slice,
    size: ColumnElement[int] | None = None,
) -> tuple[Sequence[_R], str | None]:
    """Return a page of the rows that a statement selects, and the token of the next page, if any.

    The arguments are as for `read_page`.
    """
    return page.cut(await read_page(session, statement, page, size))
