"""Masking of JSON values, keys included (pure)."""

import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.language.privacy.detect import Finding, find
from app.language.privacy.kinds import MIN_CARD_DIGITS
from app.language.privacy.labels import CONJUNCTIONS, NUMERIC, OPAQUE, SUBJECTS, WORDY, is_label

_MAX_ROUNDS = 10
"""Maximum rounds: a mask may expose a value next to it, and a custom pattern may match its mask."""

_LABEL = f"{WORDY}|{NUMERIC}|{OPAQUE}|{SUBJECTS}"
_WORDS = r"(?:[^\s\[]+\s+)"
_ANNOUNCES = re2.compile(
    rf"(?i)(?:{CONJUNCTIONS})?\W*{_WORDS}{{0,6}}?(?:{_LABEL})(?:\W+{_WORDS}{{0,6}}|\W*)"
)
_CONCLUDES = re2.compile(rf"(?i)\W*{_WORDS}{{0,4}}?(?:{_LABEL})\W*")
_JOINS = re2.compile(rf"(?i)[;!?]\s|[,.]\s+\w|\w\s(?:{CONJUNCTIONS})\s")
_MASK = re.compile(r"\[[A-Z_]{1,32}\]")
_BETWEEN = " \t\r\n,.;:!?"
_LETTER = re.compile(r"\w")

_OPAQUE_KEYS = frozenset({"thoughtSignature", "thought_signature"})
_TIME_KEYS = frozenset({"eventTime", "timestampValue"})
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{1,18}(?:Z|[+-][0-9:]{1,8})")
_FILE = frozenset({"data", "mimeType"})
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/x-ndjson")
_is_label = lru_cache(maxsize=4_096)(is_label)


def mask(
    text: str, kinds: Collection[str], custom: Mapping[str, Any] | None = None
) -> tuple[str, Counter[str]]:
    """Return a text with its values masked, and the number of values of each kind."""
    [masked], counts = mask_together([text], kinds, custom)
    return masked, counts


def mask_together(
    texts: Sequence[str], kinds: Collection[str], custom: Mapping[str, Any] | None = None
) -> tuple[list[str], Counter[str]]:
    """Return the texts of one conversation with their values masked, and the counts.

    A label may end one text with its value in the next, and a value may span two texts.
    """
    counts: Counter[str] = Counter()
    masked = list(texts)
    for _ in range(_MAX_ROUNDS):
        findings = find("\n".join(masked), kinds, custom)
        if not findings:
            break
        counts.update(finding.kind for finding in findings)
        masked = list(_without(masked, findings))
    return masked, counts


def _without(texts: Sequence[str], findings: Sequence[Finding]) -> Iterator[str]:
    begin, first = 0, 0
    for text in texts:
        end, at = begin + len(text), begin
        pieces: list[str] = []
        while first < len(findings) and findings[first].start < end:
            finding = findings[first]
            pieces += [text[at - begin : max(finding.start - begin, 0)], f"[{finding.kind}]"]
            at = min(finding.end, end)
            if finding.end > end + 1:
                # The next text has the rest of the value.
                break
            first += 1
        yield "".join(pieces) + text[at - begin :]
        begin = end + 1


def is_only_mask(text: str) -> bool:
    """Return True for a statement with only a mask as its value: "My password is [CREDENTIAL]"."""
    *before, after = _MASK.split(text)
    if not before:
        return False
    if _LETTER.search(after) is not None:
        return not before[0].strip() and len(before) == 1 and _is_all(_CONCLUDES, after)
    return all(
        _LETTER.search(part) is None or _is_all(_ANNOUNCES, part.strip(_BETWEEN)) for part in before
    )


def _is_all(pattern: Any, text: str) -> bool:  # noqa: ANN401 - RE2 has no types
    return pattern.fullmatch(f"{text} ") is not None and _JOINS.search(text) is None


def _is_time(value: object) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


@dataclass(frozen=True)
class Masked:
    """A JSON value without its sensitive values, and the paths of the texts with some, by kinds."""

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
        for key, part in value.items():
            name = self._text(key, path or "body", "")
            while name != key and name in result:
                name += "_"
            inner = f"{path}.{name}" if path else name
            # {"pin": {"doubleValue": 4812}}: the outer key labels a value under its type's name.
            label = last if len(value) == 1 and not _is_label(key) else key
            if key in _OPAQUE_KEYS or (key in _TIME_KEYS and _is_time(part)):
                result[name] = part
            elif is_file and key == "data":
                result[name] = self._file(part, str(value["mimeType"]), inner)
            else:
                masked_part = self.of(part, inner, label)
                is_text = key == "doubleValue" and isinstance(masked_part, str)
                result["stringValue" if is_text else name] = masked_part
        return result

    def _text(self, text: str, path: str, key: str) -> str:
        # A key may announce a value like a label in a sentence.
        prefix = f"{key}: " if key and _is_label(key) else ""
        masked_text, counts = mask(prefix + text, self.kinds, self.custom)
        if not masked_text.startswith(prefix):
            prefix = ""
            masked_text, counts = mask(text, self.kinds, self.custom)
        if counts:
            self.counts += counts
            self.places[path] = tuple(sorted(counts))
        return masked_text.removeprefix(prefix)

    def _file(self, data: str, mime_type: str, path: str) -> str:
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
        masked_text = self._text(text, path, "")
        if masked_text == text:
            return data
        return b64encode(masked_text.encode(), b"-_" if is_url_safe else None).decode()

    def _number(self, number: float, whole: int, path: str, key: str) -> float | str:
        text = str(whole)
        if not (key and _is_label(key)) and len(text) < MIN_CARD_DIGITS:
            return number
        masked_text = self._text(text, path, key)
        return number if masked_text == text else masked_text
