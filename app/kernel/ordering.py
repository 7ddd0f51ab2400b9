"""The order of a list: by one field, ascending unless followed by ` desc`.

Source: AIP-132, "Ordering".
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic.alias_generators import to_camel

from app.kernel.errors import InvalidArgument


@dataclass(frozen=True)
class Order:
    """The order of a list: by one field, then by id."""

    field: str
    """The name of the field, in snake_case."""
    is_descending: bool


def read_order(text: str | None, default: str, fields: Sequence[str]) -> Order:
    """Parse `orderBy`; without one, use `default`. The field may be in either spelling.

    Raises:
        InvalidArgument: the field is not one of `fields`, or the direction is unknown.
    """
    field, _, direction = (text or default).strip().partition(" ")
    direction = direction.strip().lower()
    known = {spelling: name for name in fields for spelling in (name, to_camel(name))}
    if field not in known or direction not in {"", "asc", "desc"}:
        named = " or ".join(fields)
        raise InvalidArgument.of_field("orderBy", f'must be {named}, optionally with " desc".')
    return Order(known[field], direction == "desc")
