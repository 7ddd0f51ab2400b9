"""Filter rows of lists: fields and chips of pairs, with their state in the URL."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, cached_property
from types import MappingProxyType
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from app.kernel.auth import Conditions
from app.surfaces import filters
from app.surfaces.console.texts import TEXTS

_LONG_QUERY = 300
ORDER, SIZE = "order", "rows"
"""The parameters for the order of a list, and for the number of rows of a page."""
SIZES, _USUAL_SIZE = ("25", "50", "100"), "50"
_TIME = "datetime-local"
_SPANS = {"1 h": timedelta(hours=1), "24 h": timedelta(hours=24), "7 d": timedelta(days=7)}


@dataclass(frozen=True)
class FilterField:
    """A field of a filter row.

    Attributes:
        comparison: builds the field's part of the API filter from its value; empty: none.
        kind: the type of the input; `select` accepts only the options.
        options: the possible values with their labels; the empty value means no filter.
    """

    name: str
    label: str
    comparison: Callable[[str], str] = lambda _: ""
    kind: str = "text"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FilterChips:
    """A field of a filter row that takes any number of pairs `key=value`.

    `suggestions` is the path below the engine's path that suggests pairs; empty: none.
    """

    name: str
    label: str
    field: str
    suggestions: str = ""


SCOPES = FilterChips("scope", TEXTS.filter_scope, "scope", "scopes")


@dataclass(frozen=True)
class FilterRow:
    """The state of a filter row.

    Attributes:
        switches: other parameters to keep in links.
        locked: the pairs of the scope that always apply.
        orders: the orders of the API with their labels, the default first; empty: there is one.
    """

    fields: Sequence[FilterField]
    values: Mapping[str, str]
    kinds: Sequence[FilterChips]
    chips: Mapping[str, tuple[str, ...]]
    switches: Mapping[str, str]
    locked: tuple[str, ...]
    orders: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        query: QueryParams,
        fields: Sequence[FilterField],
        kinds: Sequence[FilterChips] = (),
        *,
        switches: Sequence[str] = (),
        conditions: Conditions = MappingProxyType({}),
        orders: Mapping[str, str] = MappingProxyType({}),
    ) -> "FilterRow":
        """Read the row from a URL; screens that filter by scope themselves pass the conditions."""
        locked = locked_pairs(conditions)
        return cls(
            fields=fields,
            values={field.name: query.get(field.name, "").strip() for field in fields},
            kinds=kinds,
            chips={kind.name: _distinct(query.getlist(kind.name), locked) for kind in kinds},
            switches={name: query[name] for name in (*switches, ORDER, SIZE) if query.get(name)},
            locked=locked,
            orders=orders,
        )

    @property
    def is_empty(self) -> bool:
        """True if the user has set no filter."""
        return not self.chosen()

    @property
    def order(self) -> str:
        """The order of the list as the API names it; empty: its only one."""
        asked = self.switches.get(ORDER, "")
        return asked if asked in self.orders else next(iter(self.orders), "")

    @property
    def rows(self) -> str:
        """The number of rows of a page."""
        asked = self.switches.get(SIZE, "")
        return asked if asked in SIZES else _USUAL_SIZE

    def spans(self, now: datetime) -> list[tuple[str, str]]:
        """Return the last hour, day and week, each with its query, if there is a field of time."""
        times = [one.name for one in self.fields if one.kind == _TIME][:1]
        return [
            (label, self.instead(name, self.values[name], f"{now - span:%Y-%m-%dT%H:%M}"))
            for name in times
            for label, span in _SPANS.items()
        ]

    def chosen(self) -> list[tuple[str, str]]:
        """Return the user's filters as parameters of a URL."""
        return [
            *((name, pair) for name, pairs in self.chips.items() for pair in pairs),
            *((name, value) for name, value in self.values.items() if value),
        ]

    def query(self, **more: str) -> str:
        """Return the query of a URL with this row; empty parameters are left out."""
        named = {**self.switches, **more}
        kept = [(name, value) for name, value in named.items() if value]
        return urlencode([*self.chosen(), *kept])

    def at(self, path: str) -> str:
        """Return a path with this row as its query."""
        query = self.query()
        return f"{path}?{query}" if query else path

    def without(self, name: str, pair: str) -> str:
        """Return the query without one pair."""
        return "&".join([*self._others(name, pair), *self._kept_switches])

    def instead(self, name: str, pair: str, other: str) -> str:
        """Return the query with a pair in the place of another."""
        return "&".join(filter(None, (self.without(name, pair), urlencode([(name, other)]))))

    # Cached, because rows of a list have many pairs in common.
    @cached_property
    def within(self) -> Callable[[str, str], str]:
        """Function that adds a pair to the query; a long query loses all other filters."""
        return cache(self._within)

    def _within(self, name: str, pair: str) -> str:
        others = self._others(name, pair)
        if sum(map(len, others)) + len(others) > _LONG_QUERY:
            others = []
        return "&".join([*others, urlencode([(name, pair)]), *self._kept_switches])

    def _others(self, name: str, pair: str) -> list[str]:
        return [part for chosen, part in self._parts if chosen != (name, pair)]

    # Cached, because each row of a list has several links with the same parts.
    @cached_property
    def _parts(self) -> list[tuple[tuple[str, str], str]]:
        return [(chosen, urlencode([chosen])) for chosen in self.chosen()]

    @cached_property
    def _kept_switches(self) -> list[str]:
        return [urlencode([switch]) for switch in self.switches.items()]

    def scope(self) -> tuple[str, ...]:
        """Return the pairs of the scope by which the list is filtered."""
        return (*self.locked, *self.chips.get(SCOPES.name, ()))

    def text_of_api(self) -> str:
        """Return the filter in the API's syntax."""
        pairs = (
            filters.pair(kind.field, pair) for kind in self.kinds for pair in self.chips[kind.name]
        )
        written = (
            field.comparison(self.values[field.name])
            for field in self.fields
            if self.values[field.name]
        )
        locked = (filters.pair(SCOPES.field, pair) for pair in self.locked)
        return filters.all_of([*locked, *pairs, *written])


def locked_pairs(conditions: Conditions) -> tuple[str, ...]:
    """Return the pairs of the scope that a key's conditions fix to one value."""
    return tuple(
        filters.written_pair(key, next(iter(values)))
        for key, values in sorted(conditions.items())
        if len(values) == 1
    )


def equals(field: str) -> Callable[[str], str]:
    """Return a function that builds an equality comparison for a field."""
    return lambda written: f"{field}={filters.quoted(written)}"


def contains(field: str) -> Callable[[str], str]:
    """Return a function that builds a comparison for a text anywhere in a field."""
    return lambda written: filters.contains(field, written)


def named(*options: str) -> dict[str, str]:
    """Return options whose labels equal their values."""
    return {option: option for option in options}


def since(field: str, name: str, label: str) -> FilterField:
    """Return a filter field for the earliest time."""
    return FilterField(name, label, lambda written: f"{field}>={filters.moment(written)}", _TIME)


def until(field: str, name: str, label: str) -> FilterField:
    """Return a filter field for the latest time, which is exclusive."""
    return FilterField(name, label, lambda written: f"{field}<{filters.moment(written)}", _TIME)


MADE_BETWEEN = (
    since("create_time", "after", TEXTS.filter_after),
    until("create_time", "before", TEXTS.filter_before),
)
"""The range of the time of creation."""
CHANGED_BETWEEN = (
    since("update_time", "changed_after", TEXTS.filter_changed_after),
    until("update_time", "changed_before", TEXTS.filter_changed_before),
)
"""The range of the time of the last change."""


def _distinct(pairs: Sequence[str], locked: Sequence[str]) -> tuple[str, ...]:
    stripped = (pair.strip() for pair in pairs)
    return tuple(dict.fromkeys(pair for pair in stripped if pair and pair not in locked))
