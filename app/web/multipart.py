"""Bodies of forms that end with a file, which is read as it arrives. Source: RFC 7578."""

import asyncio
from collections import deque
from contextlib import suppress

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import Request
from starlette.types import Message, Receive

from app.kernel.errors import InvalidArgument, Reason
from app.web.body import BodyPace, Incoming

_MAX_HEAD_BYTES = 128 * 1024
"""Bytes that may come before the file."""
_DROP_SECONDS = 10.0
Field = tuple[str, str]
"""A name and a value."""


class FormFile:
    """A form with a file, as the body of a request; about a piece of it is held.

    Args:
        content_type: the request's, which has the boundary of the form's parts.
        receive: the `receive` of the request.
    """

    def __init__(self, content_type: str, receive: Receive) -> None:
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise _unreadable()
        self._receive = receive
        try:
            self._parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._begin_part,
                    "on_header_field": self._add_header_name,
                    "on_header_value": self._add_header_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._end_headers,
                    "on_part_data": self._add,
                    "on_part_end": self._end_part,
                },
            )
        except FormParserError:
            raise _unreadable() from None
        self._fields: list[Field] = []
        self._pieces: deque[bytes] = deque()
        self._has_more = True
        self._is_file = self._has_ended = self._is_told = False

    async def fields(self, receive: Receive, most: int) -> list[Field]:
        """Read the fields before the file, at most so many, by another `receive`.

        Raises:
            InvalidArgument: the form cannot be read, or has no file.
        """
        size = 0
        while not self._is_file:
            read = await self._read(receive)
            size += read or 0
            is_long = size > _MAX_HEAD_BYTES and not self._is_file
            if read is None or is_long or len(self._fields) > most:
                raise _unreadable()
        return self._fields

    async def receive(self) -> Message:
        """Return a part of the file, as an ASGI server does; a cancelled call loses nothing."""
        while not self._is_told:
            if self._pieces or self._has_ended:
                piece = self._pieces.popleft() if self._pieces else b""
                self._is_told = self._has_ended and not self._pieces
                return {"type": "http.request", "body": piece, "more_body": not self._is_told}
            if await self._read(self._receive) is None:
                return {"type": "http.disconnect"}
        return await self._receive()

    async def drop(self) -> None:
        """Drop what still arrives within some seconds: browsers read no answer before its end."""
        with suppress(TimeoutError, InvalidArgument):
            async with asyncio.timeout(_DROP_SECONDS):
                while await self._read(self._receive) is not None:
                    self._pieces.clear()

    async def _read(self, receive: Receive) -> int | None:
        """Parse the next part of the request; return its length, or None if there is none."""
        if not self._has_more:
            return None
        message = await receive()
        self._has_more = message.get("more_body", False)
        if message["type"] != "http.request":
            return None
        try:
            return self._parser.write(message.get("body", b""))
        except FormParserError:
            raise _unreadable() from None

    def _begin_part(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._header = self._header_value = self._value = b""

    def _add_header_name(self, data: bytes, begin: int, end: int) -> None:
        self._header += data[begin:end]

    def _add_header_value(self, data: bytes, begin: int, end: int) -> None:
        self._header_value += data[begin:end]

    def _end_header(self) -> None:
        self._headers[self._header.lower()] = self._header_value
        self._header = self._header_value = b""

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        self._name = options.get(b"name", b"").decode(errors="replace")
        self._is_file = self._is_file or b"filename" in options

    def _add(self, data: bytes, begin: int, end: int) -> None:
        if not self._is_file:
            self._value += data[begin:end]
        elif not self._has_ended:
            self._pieces.append(data[begin:end])

    def _end_part(self) -> None:
        if self._is_file:
            self._has_ended = True
        else:
            self._fields.append((self._name, self._value.decode(errors="replace")))


async def open_upload(request: Request, most: int) -> tuple[list[Field], FormFile]:
    """Read the form of a request up to its file, with at most so many fields.

    Raises:
        DeadlineExceeded: the form arrives too slowly.
        InvalidArgument: the form cannot be read, or has no file.
        ResourceExhausted: too many bodies are open.
    """
    tuning = request.app.state.resources.settings.tuning
    pace = BodyPace(tuning.body_seconds, tuning.body_min_bytes_per_second)
    upload = FormFile(request.headers.get("content-type", ""), request.receive)
    # Only up to the file: the route that reads it looks at its pace.
    with Incoming(request.scope, request.receive, pace, is_streamed=True) as incoming:
        return await upload.fields(incoming.receive, most), upload


def _unreadable() -> InvalidArgument:
    return InvalidArgument("The form cannot be read, or has no file.", Reason.BODY_NOT_JSON)
