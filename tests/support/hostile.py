"""Hostile requests: good ones with values put in that are wrong, huge, empty or strange."""

import json
from typing import Any
from urllib.parse import quote, quote_from_bytes

from hypothesis import strategies as st
from pydantic.alias_generators import to_snake

from tests.support.asgi import ADMIN, JSON, Sent
from tests.support.hostile_parts import FILTERS, FLOATS, NUMBERS, TEMPLATES, TEXTS, TOKENS, Json

_ODD_HEADERS = [
    b"if-match",
    b"idempotency-key",
    b"x-request-id",
    b"content-length",
    b"content-type",
    b"accept",
    b"x-goog-api-key",
    b"authorization",
]
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "X"]
_VERSIONS = ["/v1beta1", "/v1"]
_PARENTS = ["/projects/default/locations/local", "/projects/-/locations/-", ""]
_COLLECTIONS = ["/reasoningEngines", "/memoryBanks"]
_VERBS = ["", ":purge", ":wait", ":cancel", ":rollback"]

_Path = tuple[str | int, ...]

_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_texts = st.sampled_from(TEXTS + FILTERS + TOKENS) | _any_text
_leaves: st.SearchStrategy[Json] = (
    _texts | st.sampled_from([*NUMBERS, *FLOATS, None, True, False, [], {}]) | st.floats()
)
_values = _leaves | st.lists(_leaves, max_size=3) | st.dictionaries(_texts, _leaves, max_size=3)


def _places(value: Json, path: _Path = ()) -> list[_Path]:
    """Return the way to every value inside a JSON value, itself included."""
    items: list[tuple[Any, Json]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path] + [place for key, item in items for place in _places(item, (*path, key))]


def _at(value: Json, path: _Path) -> Json:
    for key in path:
        value = value[key]
    return value


def _with(value: Json, path: _Path, new: Json) -> Json:
    """Return the value with another one at a place."""
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = _with(value[path[0]], path[1:], new)
    return copied


@st.composite
def _spoilt(draw: st.DrawFn, value: Json) -> Json:
    """Change one place: another value there, a new entry, or one entry less."""
    place = draw(st.sampled_from(_places(value)))
    old = _at(value, place)
    change = draw(st.sampled_from(["replace", "replace", "add", "drop"]))
    if change == "replace" or not isinstance(old, dict):
        return _with(value, place, draw(_values))
    if change == "add":
        return _with(value, place, {**old, draw(_texts): draw(_values)})
    return _with(value, place, dict(list(old.items())[1:]))


@st.composite
def _bodies(draw: st.DrawFn, template: Json) -> bytes:
    kind = draw(st.integers(0, 20))
    if kind == 0:
        return draw(st.binary(max_size=40))
    if template is None and kind < 19:
        return b""
    value: Json = {} if template is None else template
    for _ in range(draw(st.integers(0, 3))):
        value = draw(_spoilt(value))
    return json.dumps(value).encode()


@st.composite
def _queries(draw: st.DrawFn, names: list[str]) -> bytes:
    if draw(st.integers(0, 15)) == 0:
        return draw(st.binary(max_size=30))
    known = [*names, *map(to_snake, names)]
    parts = []
    for _ in range(draw(st.integers(0, 2))):
        is_known = bool(known) and draw(st.integers(0, 9)) > 0
        name = draw(st.sampled_from(known)) if is_known else draw(_texts)[:50]
        parts.append(f"{quote(name)}={quote(draw(_texts)[:6000])}")
    return "&".join(parts).encode()


@st.composite
def _paths(draw: st.DrawFn, path: str) -> bytes:
    if path.startswith("!"):
        path = path[1:]
    else:
        heads = (_VERSIONS, _PARENTS, _COLLECTIONS)
        path = "".join(draw(st.sampled_from(head)) for head in heads) + path
    parts = path.encode().split(b"/")[1:]
    if draw(st.integers(0, 5)) == 0:
        strange = st.binary(max_size=20) | _texts.map(lambda text: text[:2000].encode())
        index = draw(st.integers(0, len(parts) - 1))
        parts[index] = (
            quote_from_bytes(draw(strange), safe="").encode()
            + draw(st.sampled_from(_VERBS)).encode()
        )
    return b"".join(b"/" + part for part in parts)


@st.composite
def hostile_requests(draw: st.DrawFn) -> Sent:
    """Requests that are good but for up to a few strange parts."""
    method, path, template, names = draw(st.sampled_from(TEMPLATES))
    if draw(st.integers(0, 30)) == 0:
        method = draw(st.sampled_from(_METHODS))
    headers = [ADMIN]
    if draw(st.integers(0, 20)):
        headers.append(JSON)
    if draw(st.integers(0, 8)) == 0:
        headers.insert(0, (draw(st.sampled_from(_ODD_HEADERS)), draw(st.binary(max_size=200))))
    return Sent(method, draw(_paths(path)), draw(_queries(names)), headers, draw(_bodies(template)))
