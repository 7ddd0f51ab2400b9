# Written by `make client` from the file of the same name in _async.
"""Sending of requests, with their retries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import httpx

from open_memory_bank import _retries
from open_memory_bank._requests import Call, Engine, Request, request_of
from open_memory_bank._twins import Content, Pieces, chunks, sleep
from open_memory_bank.errors import ApiError, Unreachable, error_of, object_of

Answer = TypeVar("Answer")

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Transport:
    """The way to one engine of a service."""

    http: httpx.Client
    url: str
    key: str | None = field(repr=False)
    engine: Engine
    timeout: float
    retries: int = _retries.MOST

    def ask(
        self,
        call: Call[Answer],
        ids: Mapping[str, str] = _NOTHING,
        options: Mapping[str, Any] = _NOTHING,
        *,
        more_seconds: float = 0,
    ) -> Answer:
        """Send a request and return what is answered.

        Args:
            call: the operation.
            ids: parts of its path besides the engine.
            options: its arguments.
            more_seconds: time that the answer may take beside the client's own limit.

        Raises:
            ApiError: the service refuses it, or something else than the service answers.
            Unreachable: no whole answer came.
        """
        request = request_of(call, self.engine, ids, options)
        found: Answer = object_of(self._send(request, more_seconds=more_seconds))
        return found

    def content(
        self, call: Call[bytes], ids: Mapping[str, str], options: Mapping[str, Any] = _NOTHING
    ) -> bytes:
        """Return an answer as it is, whatever its type."""
        return (self._send(request_of(call, self.engine, ids, options))).content

    def rows(self, call: Call[bytes], options: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the JSON of each line of an answer of any length, as it comes.

        Raises:
            ApiError: the service refuses it.
            Unreachable: the answer broke off.
        """
        request = request_of(call, self.engine, {}, options)
        response = self._send(request, is_stream=True)
        rest = b""
        try:
            for piece in response.iter_bytes():
                # Texts may hold other ends of lines, such as U+2028: only a newline ends a row.
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield json.loads(line)
        except httpx.RequestError as failure:
            raise _unreachable(request, failure) from failure
        finally:
            response.close()
        if rest:
            raise Unreachable(f"{request.method} {request.path}: the answer broke off in a row.")

    def upload(
        self,
        call: Call[Answer],
        ids: Mapping[str, str],
        options: Mapping[str, Any],
        content: Content,
        media_type: str,
    ) -> Answer:
        """Send a body of any type and length, and return what is answered.

        Bytes are sent again as any request is. Anything else is read once and not sent again once
        a byte has left.
        """
        request = request_of(call, self.engine, ids, options)
        request = replace(request, headers={**request.headers, "Content-Type": media_type})
        body = None
        if isinstance(content, bytes):
            request = replace(request, content=content)
        else:
            request, body = replace(request, is_repeatable=False), _Body(content)
        found: Answer = object_of(self._send(request, body=body))
        return found

    def _send(
        self,
        request: Request,
        *,
        more_seconds: float = 0,
        is_stream: bool = False,
        body: _Body | None = None,
    ) -> httpx.Response:
        attempt = 0
        while True:
            try:
                return self._once(request, more_seconds, body, is_stream=is_stream)
            except (ApiError, httpx.RequestError) as error:
                pause = _retries.pause(
                    error, attempt, most=self.retries, is_repeatable=request.is_repeatable
                )
                if pause is None or (body is not None and body.is_begun):
                    if isinstance(error, ApiError):
                        raise
                    raise _unreachable(request, error) from error
            sleep(pause)
            attempt += 1

    def _once(
        self, request: Request, more_seconds: float, body: _Body | None, *, is_stream: bool
    ) -> httpx.Response:
        headers = {"Accept": "*/*", **request.headers}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        built = self.http.build_request(
            request.method,
            f"{self.url}{request.path}",
            params=request.query,
            headers=headers,
            content=request.content if body is None else body.pieces(),
            timeout=self.timeout + more_seconds,
        )
        response = self.http.send(built, stream=is_stream, follow_redirects=False)
        if response.is_success:
            return response
        try:
            response.read()
        finally:
            response.close()
        raise error_of(response)


class _Body:
    """A body that can be read once."""

    def __init__(self, content: Pieces) -> None:
        self._content = content
        self.is_begun = False

    def pieces(self) -> Iterator[bytes]:
        for piece in chunks(self._content):
            self.is_begun = True
            yield piece


def _unreachable(request: Request, failure: Exception) -> Unreachable:
    said = str(failure) or type(failure).__name__
    return Unreachable(f"{request.method} {request.path}: {said}")
