"""Names of erased resources in texts and in JSON, pseudonyms of their scopes, the list's name."""

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from app.kernel.ids import canonical

ERASURE_LIST = "erasures.ndjson"
"""The file in the data folder with a line for each erasure."""
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

_ALIAS_CHARS = 12
_ID_CHARS = 16
_PREFIX = "hmac-sha256:"


class Mention(NamedTuple):
    """The name of a resource in a text: its collection, its id, and where the collection begins."""

    collection: str
    name: str
    start: int


def mentions(text: str) -> list[Mention]:
    """Return the names of resources in a text, in their order."""
    return [
        Mention(collection, match[collection], match.start() - len(collection))
        for match in _NAME.finditer(text)
        if (collection := match.lastgroup) is not None
    ]


def ids_of(all_mentions: Iterable[Mention]) -> dict[str, set[str]]:
    """Return the ids of mentions and of the task memories that contain them, by collection."""
    ids: dict[str, set[str]] = {}
    for collection, name, _ in all_mentions:
        ids.setdefault(collection, set()).update((name, _parent(name)))
    return ids


def _parent(name: str) -> str:
    # The id of a resource in a task memory begins with the id of the task memory.
    return name.partition("/")[0]


@dataclass(frozen=True)
class Erased:
    """The erased part of a bank: ids of resources by collection, the scope, and the alias."""

    ids: Mapping[str, Collection[str]]
    scope: Mapping[str, str]
    alias: str

    def renamed(self, text: str, named: Sequence[Mention] | None = None) -> str:
        """Cut a text at the first erased resource that it names; the alias replaces the id."""
        for mention in mentions(text) if named is None else named:
            ids = self.ids.get(mention.collection, ())
            if mention.name != self.alias and (mention.name in ids or _parent(mention.name) in ids):
                return self._cut(text, mention)
        return text

    def cut(self, text: str, named: Sequence[Mention]) -> str:
        """Return a text cut at the first resource that it names; the alias replaces the id."""
        for mention in named:
            if mention.name != self.alias:
                return self._cut(text, mention)
        return text

    def _cut(self, text: str, mention: Mention) -> str:
        return f"{text[: mention.start]}{mention.collection}/{self.alias}"

    def pruned(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return a JSON object without parts that name erased resources or concern the scope."""
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
    """Return the allowed values of scope keys without one scope; None: they allow no other.

    If several keys of the scope have other values, all values stay.
    """
    others = [key for key, value in scope.items() if set(values[key]) != {value}]
    if not others:
        return None
    left = {key: list(some) for key, some in values.items()}
    if len(others) == 1:
        left[others[0]] = [value for value in left[others[0]] if value != scope[others[0]]]
    return left


@dataclass(frozen=True, repr=False)
class Pseudonyms:
    """The pseudonyms that one key makes; a holder of the key can test a guess."""

    key: bytes

    @property
    def key_id(self) -> str:
        """The id of the key; it does not reveal the key."""
        return hashlib.sha256(b"pseudonym-key:" + self.key).hexdigest()[:_ID_CHARS]

    def of(self, scope: Mapping[str, str]) -> str:
        """Return the pseudonym of a scope."""
        return _PREFIX + hmac.new(self.key, canonical(scope), hashlib.sha256).hexdigest()


def alias_of(pseudonym: str) -> str:
    """Return the short form that replaces names."""
    return f"erased-{pseudonym.removeprefix(_PREFIX)[:_ALIAS_CHARS]}"
