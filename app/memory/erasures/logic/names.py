"""Names of erased resources in texts and in JSON."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_ID = r"[\w.-]+"
_IDS = {
    **dict.fromkeys(("memories", "sessions", "events", "operations"), _ID),
    "taskMemories": rf"{_ID}(?:/namespaces/{_ID})?",
}
"""The forms of ids of the collections whose resources belong to scopes."""
_NAME = re.compile(
    # The slash comes first, since a search for one character is quick.
    "/(?:" + "|".join(rf"(?<=\b{name}/)(?P<{name}>{ids})" for name, ids in _IDS.items()) + ")"
)
_GONE: Final = object()


def mentioned(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return the ids that texts name, by collection."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for collection, name, _ in _names(text):
            ids = found.setdefault(collection, set())
            ids.add(name)
            ids.add(_parent(name))
    return found


def _names(text: str) -> Iterator[tuple[str, str, int]]:
    for match in _NAME.finditer(text):
        collection = match.lastgroup or ""
        yield collection, match[collection], match.start() - len(collection)


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from texts_in(below)
    elif isinstance(value, list):
        for below in value:
            yield from texts_in(below)


def _parent(name: str) -> str:
    """Return the id of the task memory in which a resource is; any other id is its own."""
    return name.partition("/")[0]


@dataclass(frozen=True)
class Erased:
    """An erased part of a bank: ids of resources, by collection, and the scope of the rest."""

    ids: Mapping[str, Collection[str]]
    scope: Mapping[str, str]
    alias: str

    def renamed(self, text: str) -> str:
        """Return a text that ends, where it names something erased, with the alias in its place."""
        for collection, name, start in _names(text):
            ids = self.ids.get(collection, ())
            if name != self.alias and (name in ids or _parent(name) in ids):
                return f"{text[:start]}{collection}/{self.alias}"
        return text

    def pruned(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return a JSON object without the parts that name or concern what is erased."""
        if not isinstance(value, dict):
            return value
        parts = {key: self._part(below) for key, below in value.items() if not self._is_in(key)}
        return {key: part for key, part in parts.items() if part is not _GONE}

    def _part(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, str):
            return _GONE if self._is_in(value) else value
        if isinstance(value, list):
            parts = [self._part(below) for below in value]
            return [part for part in parts if part is not _GONE]
        if isinstance(value, dict):
            scope = value.get("scope")
            if isinstance(scope, dict) and self.scope.items() <= scope.items():
                return _GONE
            whole = {key: self._part(below) for key, below in value.items()}
            is_cut = any(self._is_in(key) for key in whole) or _GONE in whole.values()
            return _GONE if is_cut else whole
        return value

    def _is_in(self, text: str) -> bool:
        return self.renamed(text) != text


def without(
    values: Mapping[str, Collection[str]], scope: Mapping[str, str]
) -> dict[str, list[str]] | None:
    """Return the values of scope keys without a scope that they allow.

    Several pairs can only be taken away where all keys but one have no other value.

    Returns:
        None: they allow nothing else.
    """
    others = [key for key, value in scope.items() if set(values[key]) != {value}]
    if not others:
        return None
    left = {key: list(some) for key, some in values.items()}
    if len(others) == 1:
        left[others[0]] = [value for value in left[others[0]] if value != scope[others[0]]]
    return left
