"""Page sizes, and opaque page tokens that are bound to their query.

A token carries the last key of its page, and a digest of the query (parent, filter, order ...) and
that key. It is neither a secret nor a permission. A forged token can only choose the start of a
page in a list that its caller may read anyway. Therefore the digest is not keyed, and every part of
the key is checked.
"""

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import UnionType
from typing import Any, NoReturn, cast, get_args

from app.kernel.errors import FieldViolation, InvalidArgument, Reason
from app.kernel.names import MAX_INT64
from app.kernel.text import UNSTORABLE

DEFAULT_PAGE_SIZE = 100
MAX_PAGE_SIZE = 1000
DEFAULT_PAGE_BYTES = 8 * 1024 * 1024

# Longer than any key of this service; bounds the decoder's work on hostile input.
MAX_TOKEN_CHARS = 4096
_DIGEST_BYTES = 12

KeyPart = str | int | float | datetime | bytes | None
"""One column of the last key of a page; None: the column has no value."""

Query = str | Mapping[str, object]
"""The query of a token: every input that decides the rows and their order, as JSON values."""


@dataclass(frozen=True)
class PageRequest:
    """A request for one page of a list: its size, and the token of the previous page.

    `max_bytes` limits the size of the rows, except for a page of a single larger row.
    """

    size: int | None = None
    token: str | None = None
    max_bytes: int = DEFAULT_PAGE_BYTES


def clamp_page_size(
    requested: int | None, default: int = DEFAULT_PAGE_SIZE, maximum: int = MAX_PAGE_SIZE
) -> int:
    """Return the page size: the default for an absent size or 0, capped at the maximum."""
    if requested is not None and requested < 0:
        raise InvalidArgument.of_field("pageSize", f"must be 0 to {maximum}.")
    return min(requested or default, maximum)


def rows_within(sizes: Sequence[int], limit: int, max_bytes: int, least: int = 1) -> int:
    """Return the number of rows that fit into a page: at most `limit`, at least `least`."""
    total = 0
    for count, size in enumerate(sizes[:limit]):
        total += size
        if count >= least and total > max_bytes:
            return count
    return min(len(sizes), limit)


def first_within(sizes: Mapping[str, int], keys: Sequence[str], max_bytes: int) -> dict[str, int]:
    """Return the sizes of the first rows that fit, in the order of their keys."""
    ordered = [sizes[key] for key in keys]
    fits = rows_within(ordered, len(ordered), max_bytes)
    return dict(zip(keys[:fits], ordered[:fits], strict=True))


def steps_of(sizes: Sequence[int], max_bytes: int) -> Iterator[slice]:
    """Yield slices of rows of at most `max_bytes` each, but at least one row."""
    first = 0
    while first < len(sizes):
        end = first + rows_within(sizes[first:], len(sizes), max_bytes)
        yield slice(first, end)
        first = end


def encode_token(query: Query, key: Sequence[KeyPart]) -> str:
    """Return the token of the page that follows the row with this key."""
    parts = [_written(part) for part in key]
    return _encode_bytes(_compact([_digest(query, parts), *parts]))


def decode_token(token: str, query: Query) -> list[str | int | float | None]:
    """Return the key of a token, with times and bytes as text: see `typed_key`.

    Raises:
        InvalidArgument: this service did not make the token for this query.
    """
    decoded = _decode_json(token)
    if not isinstance(decoded, list) or not decoded or not all(_is_scalar(p) for p in decoded):
        _refuse()
    digest, *parts = cast("list[str | int | float | None]", decoded)
    if digest != _digest(query, parts):
        _refuse()
    return parts


def typed_key(key: Sequence[object], /, *types: type[object] | UnionType) -> tuple[Any, ...]:
    """Check the parts of a decoded key against their types; parse times, in UTC, and bytes.

    Raises:
        InvalidArgument: a part is missing, is one too many, or has another type.
    """
    if len(key) != len(types):
        _refuse()
    return tuple(_typed(part, kind) for part, kind in zip(key, types, strict=True))


def _written(part: KeyPart) -> str | int | float | None:
    match part:
        case datetime():
            return part.isoformat()
        case bytes():
            return part.hex()
        case _:
            return part


def _typed(part: object, kind: type[object] | UnionType) -> object:
    kinds = get_args(kind) or (kind,)
    if datetime in kinds and isinstance(part, str):
        return _moment(part)
    if bytes in kinds and isinstance(part, str):
        return _bytes(part)
    if type(part) not in kinds:
        _refuse()
    return part


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            _refuse()
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        _refuse()


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        _refuse()


def _is_scalar(part: object) -> bool:
    # A column can hold neither bools nor text that Postgres rejects.
    if part is None or isinstance(part, bool):
        return part is None
    match part:
        case int():
            return -MAX_INT64 <= part <= MAX_INT64
        case float():
            return math.isfinite(part)
        case str():
            return UNSTORABLE.search(part) is None
        case _:
            return False


def _digest(query: Query, parts: Sequence[object]) -> str:
    text = _compact([query if isinstance(query, str) else dict(query), list(parts)])
    return _encode_bytes(hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest())


def _compact(value: object) -> bytes:
    # Escaped to ASCII, to give a query with a lone surrogate a digest as well.
    return json.dumps(value, separators=(",", ":"), sort_keys=True, default=str).encode("ascii")


def _encode_bytes(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _decode_json(token: str) -> object:
    if not token or len(token) > MAX_TOKEN_CHARS:
        _refuse()
    try:
        padded = token + "=" * (-len(token) % 4)
        return json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        _refuse()


def _refuse() -> NoReturn:
    message = "must be the nextPageToken of the previous page of the same query."
    raise InvalidArgument(
        f"pageToken: {message}",
        Reason.PAGE_TOKEN_INVALID,
        violations=[FieldViolation("pageToken", message)],
    )
