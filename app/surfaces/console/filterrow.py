"""Filter rows: fields whose state is in the URL, and chips of pairs that narrow a list."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from app.surfaces.console import filters
from app.surfaces.console.texts import TEXTS

_LONG_QUERY = 300


@dataclass(frozen=True)
class FilterField:
    """A field of a filter row.

    Attributes:
        name: in the URL.
        label: what it is called.
        comparison: makes the part of the API's filter of what is written.
        kind: of the input; `select` takes nothing but the options.
        options: what may be written.
    """

    name: str
    label: str
    comparison: Callable[[str], str]
    kind: str = "text"
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class FilterChips:
    """A field of a filter row that takes any number of pairs `key=value`.

    Attributes:
        name: in the URL.
        label: what it is called.
        field: of the API's filter.
        is_suggested: whether the screen suggests pairs, below its path.
    """

    name: str
    label: str
    field: str
    is_suggested: bool = False


SCOPES = FilterChips("scope", TEXTS.filter_scope, "scope")


@dataclass(frozen=True)
class FilterRow:
    """The state of a filter row.

    Attributes:
        fields: with one value each.
        values: what is written in them.
        kinds: of its chips.
        chips: the chosen pairs, by the names of the kinds.
        switches: further parameters that its URLs keep.
    """

    fields: Sequence[FilterField]
    values: Mapping[str, str]
    kinds: Sequence[FilterChips]
    chips: Mapping[str, tuple[str, ...]]
    switches: Mapping[str, str]

    @classmethod
    def of(
        cls,
        query: QueryParams,
        fields: Sequence[FilterField],
        kinds: Sequence[FilterChips],
        switches: Sequence[str] = (),
    ) -> "FilterRow":
        """Read the row of a URL."""
        return cls(
            fields=fields,
            values={field.name: query.get(field.name, "").strip() for field in fields},
            kinds=kinds,
            chips={kind.name: _distinct(query.getlist(kind.name)) for kind in kinds},
            switches={name: query[name] for name in switches if query.get(name)},
        )

    @property
    def is_empty(self) -> bool:
        """True if the user has chosen nothing."""
        return not self._chosen()

    def _chosen(self) -> list[tuple[str, str]]:
        return [
            *((name, pair) for name, pairs in self.chips.items() for pair in pairs),
            *((name, value) for name, value in self.values.items() if value),
        ]

    def query(self, **more: str) -> str:
        """Return the query of a URL with this row; an empty parameter is left out."""
        named = {**self.switches, **more}
        kept = [(name, value) for name, value in named.items() if value]
        return urlencode([*self._chosen(), *kept])

    def without(self, name: str, pair: str) -> str:
        """Return the query without one of the pairs."""
        kept = [chosen for chosen in self._chosen() if chosen != (name, pair)]
        return urlencode([*kept, *self.switches.items()])

    def within(self, name: str, pair: str) -> str:
        """Return the query with a further pair; of a long query, no other filter stays."""
        kept = [chosen for chosen in self._chosen() if chosen != (name, pair)]
        if len(urlencode(kept)) > _LONG_QUERY:
            kept = []
        return urlencode([*kept, (name, pair), *self.switches.items()])

    def text_of_api(self) -> str:
        """Return the filter as the API takes it."""
        pairs = (
            filters.pair(kind.field, pair) for kind in self.kinds for pair in self.chips[kind.name]
        )
        written = (
            field.comparison(self.values[field.name])
            for field in self.fields
            if self.values[field.name]
        )
        return filters.all_of([*pairs, *written])


def equals(field: str) -> Callable[[str], str]:
    """Return what makes the comparison of a field with a text."""
    return lambda written: f"{field}={filters.quoted(written)}"


def made_between(field: str) -> tuple[FilterField, FilterField]:
    """Return the fields that bound a time from both sides."""
    return (
        FilterField(
            "after",
            TEXTS.filter_after,
            lambda written: f"{field}>={filters.moment(written)}",
            "datetime-local",
        ),
        FilterField(
            "before",
            TEXTS.filter_before,
            lambda written: f"{field}<{filters.moment(written)}",
            "datetime-local",
        ),
    )


def _distinct(pairs: Sequence[str]) -> tuple[str, ...]:
    stripped = (pair.strip() for pair in pairs)
    return tuple(dict.fromkeys(pair for pair in stripped if pair))
