"""What JSON holds is counted in its bytes as it would be after parsing, and refused alike."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.wire.reading import Structure, bound, count, read_object

_BODIES = 1_000
"""As many find a count that forgets, at the end of a block, what it is in the middle of."""
_TEXTS = ("", "a", "[]", "{,:", '"', '\\"', "\\", "\\\\", 'é"]', "\t\\n", "x" * 9)
_BLANKS = ("", "", "", " ", "\n\t", " " * 7)


class _Writer:
    """Writes any JSON, with blanks and escapes anywhere, and knows what it wrote."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.values = 0
        self.depth = 0

    def write(self, room: int = 6, level: int = 1) -> str:
        self.values += 1
        self.depth = max(self.depth, level)
        kind = self._random.choice("ldtn" if room else "tn")
        if kind == "t":
            return self._blank(self._text())
        if kind == "n":
            return self._blank(self._random.choice(["1", "-2.5e3", "true", "null"]))
        items = [self.write(room - 1, level + 1) for _ in range(self._random.randrange(5))]
        if kind == "l":
            return self._blank(f"[{','.join(items) or self._blank('')}]")
        return self._blank(f"{{{','.join(map(self._pair, items)) or self._blank('')}}}")

    def _pair(self, value: str) -> str:
        self.values += 1
        return f"{self._blank(self._text())}:{value}"

    def _text(self) -> str:
        parts = self._random.choices(_TEXTS, k=self._random.randrange(4))
        return json.dumps("".join(parts), ensure_ascii=self._random.random() < 0.5)

    def _blank(self, text: str) -> str:
        return f"{self._random.choice(_BLANKS)}{text}{self._random.choice(_BLANKS)}"


def _counted(text: bytes, piece_bytes: int) -> Structure:
    (*_, found) = count(text, piece_bytes)
    return found


def test_what_is_counted_in_bytes_is_what_is_there() -> None:
    for seed in range(_BODIES):
        writer = _Writer(seed)
        text = writer.write().encode()
        expected = Structure(writer.values, writer.depth)
        assert _counted(text, 1 + seed % 40) == _counted(text, 10_000) == expected, text
        most = bound(text)
        assert most.values >= expected.values
        assert most.depth >= expected.depth


def _walk(value: object, level: int = 1) -> Iterator[int]:
    """Yield the level of every key and value, after parsing."""
    yield level
    if isinstance(value, dict):
        for below in value.values():
            yield level + 1
            yield from _walk(below, level + 1)
    elif isinstance(value, list):
        for below in value:
            yield from _walk(below, level + 1)


def _bounded(text: bytes, max_values: int, max_depth: int) -> str | dict[str, Any]:
    """Read as `read_object` does, but look at the parsed value."""
    found: dict[str, Any] = json.loads(text)
    levels = list(_walk(found))
    if max(levels) > max_depth:
        return f"The body must not be nested deeper than {max_depth}."
    if len(levels) > max_values:
        return f"The body must not hold more than {max_values} keys and values."
    return found


def _distinct(writer: _Writer) -> str:
    """Write an object without a key that comes twice."""
    items = [writer.write() for _ in range(5)]
    text = json.dumps({"a": [json.loads(item) for item in items]}, indent=1)
    return text.replace("[", "[ ")


def test_every_body_is_read_or_refused_as_after_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = 0
    for seed in range(_BODIES):
        text = _distinct(_Writer(seed)).encode()
        bounds = random.Random(seed)
        max_values, max_depth = bounds.randrange(10, 80), bounds.randrange(3, 9)
        monkeypatch.setattr("app.kernel.wire.reading.MAX_VALUES", max_values)
        monkeypatch.setattr("app.kernel.wire.reading.MAX_DEPTH", max_depth)
        expected = _bounded(text, max_values, max_depth)
        try:
            found: str | dict[str, Any] = read_object(text, "body")
        except InvalidArgument as error:
            found = error.message
        assert found == expected, text
        refused += isinstance(found, str)
    assert _BODIES / 10 < refused < _BODIES * 9 / 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"x":[' + b"[]," * 99_996 + b"[]]}", None),
        (b'{"x":[' + b"[]," * 99_997 + b"[]]}", "more than 100000 keys and values."),
        (b'{"x":' + b"[" * 99 + b"]" * 99 + b"}", None),
        (b'{"x":' + b"[" * 100 + b"]" * 100 + b"}", "nested deeper than 100."),
        (b'{"x":' + b"[" * 98 + b"1" + b"]" * 98 + b"}", None),
        (b'{"x":' + b"[" * 99 + b"1" + b"]" * 99 + b"}", "nested deeper than 100."),
        (b'{"x":"' + b'[]{},:\\"' * 100_000 + b'"}', None),
        (b" " * 65_536 + b"{}", None),
        (b"\n" * 65_537 + b"{}", "must not begin with more than 65536 blanks."),
        (b"[" * 1_000_000, "nested deeper than 100."),
        # What is no JSON is refused, too, and costs no more.
        (b"{,:" * 1_000_000, "nested deeper than 100."),
        (b'{"x" 1,' + b"[]," * 1_000_000, "more than 100000 keys and values."),
        (b'"' + b"[]," * 1_000_000, "is not JSON: Unterminated string starting at line 1, column"),
        (b"]" * 1_000_000, "is not JSON: Expecting value at line 1, column 1."),
        (b'{"x": ' + b"1" * 5_000 + b"}", "holds a number that is too long."),
    ],
)
def test_the_bounds_are_exact(text: bytes, said: str | None) -> None:
    if said is None:
        assert read_object(text, "body") == json.loads(text)
        return
    with pytest.raises(InvalidArgument) as refused:
        read_object(text, "body")
    assert refused.value.reason is Reason.BODY_NOT_JSON
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (b'{"a": 1, "a": 1}', '"a"'),
        (b'{"a": 1, "b": {"c": [{"d": 1, "\\u0064": 2}]}}', '"d"'),
        (b'{"x": [{}, {"": 1, "b": 2, "": 3}]}', '""'),
        (b'{"\\ud800": 1, "\\ud800": 2}', r'"\ud800"'),
        (b'{"' + b"k" * 500 + b'": 1, "' + b"k" * 500 + b'": "s3cret"}', '"' + "k" * 80 + '"'),
    ],
)
def test_a_key_that_comes_twice_is_refused_at_any_depth(text: bytes, key: str) -> None:
    """One request has one meaning."""
    with pytest.raises(InvalidArgument) as refused:
        read_object(text, "line")
    assert refused.value.reason is Reason.BODY_NOT_JSON
    assert refused.value.message == f"The line holds the key {key} twice."


def test_the_same_key_in_two_objects_is_none_that_comes_twice() -> None:
    text = b'{"a": {"a": [{"a": 1}, {"a": 2}]}}'
    assert read_object(text, "body") == json.loads(text)
