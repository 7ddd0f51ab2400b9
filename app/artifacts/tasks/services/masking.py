"""Masking of sensitive values in uploaded texts, which must be read as a whole."""

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from app.adapters.documents.charsets import charset_of
from app.artifacts.tasks.logic.kinds import Kind
from app.kernel.errors import InvalidArgument, Reason, ResourceExhausted
from app.kernel.media_types import MediaType
from app.kernel.wire.reading import MAX_DEPTH, MAX_VALUES, bound
from app.platform.privacy.logic.guard import Guard

_FIELD = "body"


async def read_whole(pieces: AsyncIterator[bytes], most: int) -> bytes:
    """Return all bytes of an upload.

    Raises:
        ResourceExhausted: the upload is longer than `most`.
    """
    whole = bytearray()
    async for piece in pieces:
        whole += piece
        if len(whole) > most:
            raise ResourceExhausted(
                f"A text or JSON artifact must have at most {most} bytes where the engine has rules"
                " about sensitive values in artifacts.",
                Reason.ARTIFACT_TOO_LARGE,
                http=413,
            )
    return bytes(whole)


async def in_one_piece(data: bytes) -> AsyncIterator[bytes]:
    """Yield all bytes at once."""
    yield data


def check_digest(declared: bytes | None, digest: bytes) -> None:
    """Check that the digest of an upload equals the declared digest, if there is one.

    Raises:
        InvalidArgument: the digests differ.
    """
    if declared not in {None, digest}:
        message = "Content-Digest: must match the bytes; nothing was stored."
        raise InvalidArgument(message, Reason.DIGEST_MISMATCH)


def masked(
    guard: Guard, data: bytes, kind: Kind, media_type: str, digest: bytes | None
) -> tuple[bytes, Mapping[str, int]]:
    """Return the masked bytes of a text or JSON, and the number of masked values by kind.

    Raises:
        InvalidArgument: the engine's rules reject a value, or the declared digest does not match.
    """
    if digest is not None:
        check_digest(digest, hashlib.sha256(data).digest())
    value = _parsed(data) if kind is Kind.JSON else None
    if value is not None:
        found = guard.admitted(value, _FIELD)
        text = json.dumps(found.value, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="surrogatepass") if found.counts else data, found.counts
    charset = charset_of(data, MediaType.parse(media_type).charset)
    found = guard.admitted(data.decode(charset), _FIELD)
    return found.value.encode(charset) if found.counts else data, found.counts


def _parsed(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value, or None if it is invalid or too complex to be parsed quickly."""
    size = bound(data)
    if size.depth > MAX_DEPTH or size.values > MAX_VALUES:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
