"""A page of a list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A page.

    Attributes:
        items: its items, in order.
        next_page_token: the token of the next page; None: this is the last.
        answer: all that the service answered.
    """

    items: Sequence[Item]
    next_page_token: str | None
    answer: Mapping[str, Any]


AsyncFetch = Callable[[str | None], Awaitable[Page[Item]]]
Fetch = Callable[[str | None], Page[Item]]
"""Asks for the page of a token; None: for the first."""


def page_of(answer: Mapping[str, Any], field: str) -> Page[Any]:
    """Return the page that is in an answer, whose items are under a name."""
    return Page(answer.get(field) or [], answer.get("nextPageToken") or None, answer)
