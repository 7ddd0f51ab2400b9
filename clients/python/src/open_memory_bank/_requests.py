"""One request: its path, its query, its headers and its body."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from ipaddress import ip_address
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from open_memory_bank.types import MemoryMetadataValue

Answer = TypeVar("Answer")
MetadataValue = MemoryMetadataValue | str | float | bool | datetime
"""A value of a memory's metadata: plain, or by its kind as on the wire."""

_FULL_NAME = re.compile(
    r"(?:projects/([^/]+)/locations/([^/]+)/)?reasoningEngines/([^/]+)(?:/(?:[^/]+/)*([^/]+))?"
)
_KEY = re.compile(r"[!-~]+")
_NO_IDS = frozenset({"", ".", ".."})
_JSON = "application/json"


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """An operation of the service.

    Attributes:
        query, body: its arguments, by where they go, with their names on the wire.
        is_change: it takes an id of the request, under which it is done once.
        is_repeatable: doing it twice does no harm, or the id prevents it.
        has_typed_metadata: `metadata` are values by their kind.
    """

    id: str
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, str] = field(default_factory=dict)
    is_change: bool = False
    is_repeatable: bool = True
    has_typed_metadata: bool = False


@dataclass(frozen=True)
class Engine:
    """The place of an engine."""

    project: str
    location: str
    id: str

    @property
    def parent(self) -> str:
        """The path of all engines of its place."""
        place = f"projects/{_quoted(self.project)}/locations/{_quoted(self.location)}"
        return f"/v1beta1/{place}/reasoningEngines"

    @property
    def path(self) -> str:
        """Its path."""
        return f"{self.parent}/{_quoted(self.id)}"

    @property
    def name(self) -> str:
        """Its full name."""
        return f"projects/{self.project}/locations/{self.location}/reasoningEngines/{self.id}"


@dataclass(frozen=True)
class Request:
    """A request that can be sent, as often as needed."""

    method: str
    path: str
    query: Mapping[str, str]
    is_repeatable: bool
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


def address_of(url: str) -> httpx.URL:
    """Return the address of a service.

    Raises:
        ValueError: it is none, or has a password, a query or a fragment.
    """
    said = "url must be http://HOST or https://HOST, with no password and no query."
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        raise ValueError(said) from None
    is_more = bool(address.userinfo or address.query or address.fragment)
    if address.scheme not in ("http", "https") or not address.host or is_more:
        raise ValueError(said)
    return address


def check_key(key: str | None) -> None:
    """Refuse a key that no header can hold, without naming it.

    Raises:
        ValueError: it has a space, a line break, or a sign outside of ASCII.
    """
    if key is not None and _KEY.fullmatch(key) is None:
        raise ValueError("key must be of printable ASCII characters, without spaces.")


def is_here(host: str) -> bool:
    """Return True for a host that is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def engine_of(name: str) -> Engine:
    """Return the engine of an id or a full name.

    Raises:
        ValueError: it is neither.
    """
    found = _FULL_NAME.fullmatch(name)
    if name in _NO_IDS or ("/" in name and (found is None or found[4] is not None)):
        raise ValueError(f"engine must be an id or a full name; got {name!r}.")
    if found is None:
        return Engine("default", "local", name)
    return Engine(found[1] or "default", found[2] or "local", found[3])


def request_of(
    call: Call[Any], engine: Engine, ids: Mapping[str, str], options: Mapping[str, Any]
) -> Request:
    """Return the request of a call.

    Args:
        call: the operation.
        engine: the engine that it is sent to.
        ids: the other parts of its path, by their names: ids or full names.
        options: its arguments, in snake_case.

    Raises:
        TypeError: an argument is not the call's.
        ValueError: an id cannot be part of a path, or belongs to another engine.
    """
    places = {name: _part(name, value, engine) for name, value in ids.items()}
    path = call.path.format(engine=engine.path, engines=engine.parent, **places)
    headers = _headers(call, options)
    unknown = options.keys() - call.query.keys() - call.body.keys() - _IN_HEADERS.keys()
    if unknown:
        raise TypeError(f"{call.id} takes no {', '.join(sorted(unknown))}.")
    query = {
        wire: _text(options[name])
        for name, wire in call.query.items()
        if options.get(name) is not None
    }
    content = None
    if call.body:
        headers["Content-Type"] = _JSON
        body = {wire: options[name] for name, wire in call.body.items() if name in options}
        content = _json(body, call)
    return Request(call.method, path, query, call.is_repeatable, headers, content)


_IN_HEADERS = {
    "idempotency_key": "Idempotency-Key",
    "etag": "If-Match",
    "content_digest": "Content-Digest",
}


def _headers(call: Call[Any], options: Mapping[str, Any]) -> dict[str, str]:
    headers = {
        header: str(options[name])
        for name, header in _IN_HEADERS.items()
        if options.get(name) is not None
    }
    if call.is_change:
        headers.setdefault("Idempotency-Key", secrets.token_hex(16))
    return headers


def _part(name: str, value: str, engine: Engine) -> str:
    found = _FULL_NAME.fullmatch(value)
    if found is not None and found[4]:
        if found[3] != engine.id:
            raise ValueError(f"{name} must be of engine {engine.id}; got {value!r}.")
        value = found[4]
    if value in _NO_IDS:
        raise ValueError(f"{name} must be an id or a full name; got {value!r}.")
    return _quoted(value)


def _quoted(value: str) -> str:
    return quote(value, safe="")


def _text(value: Any) -> str:  # noqa: ANN401 - any value of a query
    return str(value).lower() if isinstance(value, bool) else str(value)


def _json(body: Mapping[str, Any], call: Call[Any]) -> bytes:
    if call.has_typed_metadata and body.get("metadata") is not None:
        typed = {name: metadata_value(value) for name, value in body["metadata"].items()}
        body = {**body, "metadata": typed}
    return json_bytes(body)


def json_bytes(value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Return JSON in which values that are not finite are refused."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


def metadata_value(value: MetadataValue) -> MemoryMetadataValue:
    """Return a value of metadata by its kind."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, (int, float)):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, datetime):
        moment = value.astimezone(timezone.utc).replace(tzinfo=None)
        return {"timestampValue": f"{moment.isoformat()}Z"}
    return value
