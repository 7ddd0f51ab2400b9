"""The HTTP client for providers: bounded replies, and Retry-After. Anthropic's needs httpx2."""

from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from math import isfinite
from ssl import SSLContext

import httpx2
from typing_extensions import override

CONNECT_SECONDS = 5.0
_TOO_LONG = "The model's reply is longer than the service reads."
_PACKED = "The model's reply is compressed, which was not requested."

_HEAD_BYTES = 4_096
"""The part of a reply in which a provider's words are searched."""
_LEAST_KEY_CHARS = 6
_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_NO_SECRET = "api-version"  # noqa: S105 - a name
"""A part of addresses' queries that is no key."""


@dataclass
class ResponseHead:
    """The beginning of the last reply, and the keys (`secrets`) that were sent with its request."""

    content: bytes = b""
    secrets: tuple[str, ...] = ()


_RESPONSE_HEAD: ContextVar[ResponseHead] = ContextVar("response_head")


@contextmanager
def response_head_kept() -> Iterator[ResponseHead]:
    """Keep the beginning of each reply that is read in the block."""
    response_head = ResponseHead()
    token = _RESPONSE_HEAD.set(response_head)
    try:
        yield response_head
    finally:
        _RESPONSE_HEAD.reset(token)


class ReplyUnread(httpx2.TransportError):
    """The reply is not read; the message says why."""


@cache
def certificates(*, is_direct: bool) -> SSLContext:
    """Return the trusted certificates, which clients share: reading them takes longest of all."""
    return httpx2.create_ssl_context(trust_env=not is_direct)


def open_client(
    timeout_seconds: float, max_reply_bytes: int, *, is_direct: bool = False
) -> httpx2.AsyncClient:
    """Return a client that stops reading a reply at `max_reply_bytes`, declared or not.

    An unsuccessful reply is cut there instead of raising an error. `is_direct`: bypass proxies.
    """

    async def bound(response: httpx2.Response) -> None:
        stream, encoding = response.stream, response.headers.pop("content-encoding", None)
        assert isinstance(stream, httpx2.AsyncByteStream)
        secrets = secrets_of(response.request)
        is_cut = not response.is_success
        chunks = bounded(stream, encoding, max_reply_bytes, is_cut=is_cut, secrets=secrets)
        response.stream = _BoundStream(stream, chunks)

    return httpx2.AsyncClient(
        verify=certificates(is_direct=is_direct),
        timeout=httpx2.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
        headers={"Accept-Encoding": "identity"},
        trust_env=not is_direct,
        # A hook and not a transport: with its own transport the client would bypass the proxies
        # of the environment.
        event_hooks={"response": [bound]},
    )


def bounded(
    chunks: AsyncIterable[bytes],
    encoding: str | None,
    max_bytes: int,
    *,
    is_cut: bool,
    secrets: tuple[str, ...],
) -> AsyncIterator[bytes]:
    """Return the chunks of a reply of bounded length: more is an error, or is cut.

    `encoding` is the reply's Content-Encoding; `secrets` are the keys of its request.
    """
    # Compressed data, which was not asked for, says nothing about its length.
    is_packed = (encoding or "identity").lower() != "identity"
    if is_packed and not is_cut:
        raise ReplyUnread(_PACKED)
    response_head = _RESPONSE_HEAD.get(None) or ResponseHead()
    response_head.content, response_head.secrets = b"", secrets

    async def read() -> AsyncIterator[bytes]:
        left = 0 if is_packed else max_bytes
        async for chunk in chunks:
            left -= len(chunk)
            if left >= 0:
                response_head.content += chunk[: _HEAD_BYTES - len(response_head.content)]
                yield chunk
            elif is_cut:
                return
            else:
                raise ReplyUnread(_TOO_LONG)

    return read()


@dataclass
class _BoundStream(httpx2.AsyncByteStream):
    """A response body of bounded length."""

    inner: httpx2.AsyncByteStream
    chunks: AsyncIterator[bytes]

    @override
    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.chunks

    @override
    async def aclose(self) -> None:
        await self.inner.aclose()


def secrets_of(request: httpx2.Request) -> tuple[str, ...]:
    """Return the keys that a request has in its headers and in its address."""
    sent = (request.headers.get(name, "") for name in _CREDENTIALS)
    parts = (part for name, part in request.url.params.items() if name != _NO_SECRET)
    keys = (value.removeprefix("Bearer ") for value in (*sent, *parts))
    # A shorter value is not a key, such as the word that servers without keys are sent.
    return tuple(key for key in keys if len(key) >= _LEAST_KEY_CHARS)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the seconds the server asks to wait, or None; the keys of `headers` are lower case.

    A date is compared with the server's own `Date`. Source: RFC 9110, section 10.2.3.
    """
    asked = headers.get("retry-after", "")
    try:
        try:
            seconds = float(asked)
        except ValueError:
            wait = parsedate_to_datetime(asked) - parsedate_to_datetime(headers.get("date", ""))
            seconds = wait.total_seconds()
    except (ValueError, TypeError):
        return None
    return max(seconds, 0) if isfinite(seconds) else None
