"""Masking of JSON values, keys included (pure)."""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from app.language.privacy.checksums import MIN_CARD_DIGITS
from app.language.privacy.labels import is_label
from app.language.privacy.mask import mask

_OPAQUE_KEYS = frozenset({"thoughtSignature", "thought_signature", "eventId"})
_FILE = frozenset({"data", "mimeType"})
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/x-ndjson")
_is_label = lru_cache(maxsize=4_096)(is_label)


@dataclass(frozen=True)
class Masked:
    """A value without what was sensitive in it.

    Attributes:
        counts: how many values there were of each kind.
        places: the paths of the texts that had any, with the kinds.
    """

    value: Any
    counts: Counter[str]
    places: Mapping[str, tuple[str, ...]]


def masked(
    value: object, kinds: Collection[str], custom: Mapping[str, Any], path: str = ""
) -> Masked:
    """Return a JSON value with the sensitive values in its texts masked."""
    walk = _Walk(kinds, custom)
    return Masked(walk.of(value, path), walk.counts, walk.places)


@dataclass
class _Walk:
    kinds: Collection[str]
    custom: Mapping[str, Any]
    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, value: object, path: str, key: str = "") -> Any:  # noqa: ANN401 - any JSON
        result = value
        match value:
            case str():
                result = self._text(value, path, key)
            case bool():
                pass
            case int():
                result = self._number(value, path, key)
            case list():
                result = [self.of(one, f"{path}[{n}]", key) for n, one in enumerate(value)]
            case dict():
                result = self._object(value, path, key)
            case _:
                pass
        return result

    def _object(self, value: dict[str, Any], path: str, last: str) -> dict[str, Any]:
        if value.keys() >= _FILE:
            return value | {"data": self._file(value, f"{path}.data" if path else "data")}
        result: dict[str, Any] = {}
        for key, one in value.items():
            inner = f"{path}.{key}" if path else key
            name = self._text(key, path or "body", "")
            while name != key and name in result:
                name += "_"
            # {"pin": {"numberValue": 4812}}: a value in its type's name is its key's.
            label = last if len(value) == 1 and not _is_label(key) else key
            result[name] = one if key in _OPAQUE_KEYS else self.of(one, inner, label)
        return result

    def _text(self, text: str, path: str, key: str) -> str:
        # A key may announce a value, as a label does in a sentence.
        prefix = f"{key}: " if key and _is_label(key) else ""
        found, counts = mask(prefix + text, self.kinds, self.custom)
        if not found.startswith(prefix):
            prefix = ""
            found, counts = mask(text, self.kinds, self.custom)
        if counts:
            self.counts += counts
            self.places[path] = tuple(sorted(counts))
        return found.removeprefix(prefix)

    def _file(self, value: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - base64, or none
        """Return the content of a file in base64, masked where it is text."""
        if not str(value["mimeType"]).startswith(_TEXT_TYPES):
            return value["data"]
        try:
            text = b64decode(value["data"]).decode()
        except (TypeError, ValueError):
            return value["data"]
        found = self._text(text, path, "")
        return value["data"] if found == text else b64encode(found.encode()).decode()

    def _number(self, number: int, path: str, key: str) -> int | str:
        text = str(number)
        if not (key and _is_label(key)) and len(text) < MIN_CARD_DIGITS:
            return number
        found = self._text(text, path, key)
        return number if found == text else found
