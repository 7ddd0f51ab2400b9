"""Masking of JSON values, keys included (pure)."""

import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from app.language.privacy.checksums import MIN_CARD_DIGITS
from app.language.privacy.labels import is_label
from app.language.privacy.mask import mask

_OPAQUE_KEYS = frozenset({"thoughtSignature", "thought_signature"})
_TIME_KEYS = frozenset({"eventTime", "timestampValue"})
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{1,18}(?:Z|[+-][0-9:]{1,8})")
_FILE = frozenset({"data", "mimeType"})
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/x-ndjson")
_is_label = lru_cache(maxsize=4_096)(is_label)


def _is_time(value: object) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


@dataclass(frozen=True)
class Masked:
    """A JSON value without its sensitive values.

    Attributes:
        counts: the number of values of each kind.
        places: the paths of the texts with values, with the kinds.
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
                result = self._number(value, value, path, key)
            case float() if value.is_integer():
                result = self._number(value, int(value), path, key)
            case list():
                result = [self.of(item, f"{path}[{n}]", key) for n, item in enumerate(value)]
            case dict():
                result = self._object(value, path, key)
            case _:
                pass
        return result

    def _object(self, value: dict[str, Any], path: str, last: str) -> dict[str, Any]:
        is_file = value.keys() >= _FILE and isinstance(value["data"], str)
        result: dict[str, Any] = {}
        for key, one in value.items():
            name = self._text(key, path or "body", "")
            while name != key and name in result:
                name += "_"
            inner = f"{path}.{name}" if path else name
            # {"pin": {"doubleValue": 4812}}: the outer key labels a value under its type's name.
            label = last if len(value) == 1 and not _is_label(key) else key
            if key in _OPAQUE_KEYS or (key in _TIME_KEYS and _is_time(one)):
                result[name] = one
            elif is_file and key == "data":
                result[name] = self._file(one, str(value["mimeType"]), inner)
            else:
                found = self.of(one, inner, label)
                is_text = key == "doubleValue" and isinstance(found, str)
                result["stringValue" if is_text else name] = found
        return result

    def _text(self, text: str, path: str, key: str) -> str:
        # A key may announce a value like a label in a sentence.
        prefix = f"{key}: " if key and _is_label(key) else ""
        found, counts = mask(prefix + text, self.kinds, self.custom)
        if not found.startswith(prefix):
            prefix = ""
            found, counts = mask(text, self.kinds, self.custom)
        if counts:
            self.counts += counts
            self.places[path] = tuple(sorted(counts))
        return found.removeprefix(prefix)

    def _file(self, data: str, mime_type: str, path: str) -> str:
        """Return a file's content, in either base64 alphabet, with the values in text masked."""
        is_url_safe = "-" in data or "_" in data
        padded = "".join(data.split("\n")).rstrip("=\r")
        padded += "=" * (-len(padded) % 4)
        try:
            content = b64decode(padded, b"-_" if is_url_safe else None, validate=True)
        except ValueError:
            return self._text(data, path, "")
        if not mime_type.startswith(_TEXT_TYPES):
            return data
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return self._text(data, path, "")
        found = self._text(text, path, "")
        if found == text:
            return data
        return b64encode(found.encode(), b"-_" if is_url_safe else None).decode()

    def _number(self, number: float, whole: int, path: str, key: str) -> float | str:
        text = str(whole)
        if not (key and _is_label(key)) and len(text) < MIN_CARD_DIGITS:
            return number
        found = self._text(text, path, key)
        return number if found == text else found
