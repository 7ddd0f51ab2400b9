"""Bodies of forms that end with a file, which is read as it arrives. Source: RFC 7578."""

import asyncio
import re
from contextlib import suppress

from starlette.requests import Request
from starlette.types import Message, Receive

from app.kernel.errors import InvalidArgument, Reason
from app.web.body import BodyPace, Incoming

_BOUNDARY = re.compile(r'multipart/form-data; *boundary="?([^";, ]{1,70})"?')
_NAME = re.compile(rb'form-data; name="([^"]*)"(; filename)?')
_MAX_HEAD_BYTES = 128 * 1024
"""Bytes that are held before the file: a field, and the file's first piece."""
_DROP_SECONDS = 10.0
Field = tuple[str, str]
"""A name and a value."""


class FormFile:
    """A form with a file, as the body of a request; about a piece of it is held.

    Args:
        content_type: the request's; its boundary ends each field, and the file.
        receive: the `receive` of the request.
    """

    def __init__(self, content_type: str, receive: Receive) -> None:
        boundary = _BOUNDARY.match(content_type)
        if boundary is None:
            raise _unreadable()
        self._receive = receive
        self._mark = f"\r\n--{boundary[1]}".encode()
        # The first boundary has no line break before it.
        self._held = b"\r\n"
        self._has_more = True
        self._has_ended = False

    async def fields(self, receive: Receive, most: int) -> list[Field]:
        """Read the fields before the file, at most so many, by another `receive`.

        Raises:
            InvalidArgument: the form cannot be read, or has no file.
        """
        fields: list[Field] = []
        await self._until(self._mark, receive)
        while len(fields) <= most:
            named = _NAME.search(await self._until(b"\r\n\r\n", receive))
            if named is None:
                break
            if named[2]:
                return fields
            value = await self._until(self._mark, receive)
            fields.append((named[1].decode(errors="replace"), value.decode(errors="replace")))
        raise _unreadable()

    async def receive(self) -> Message:
        """Return a part of the file, as an ASGI server does; a cancelled call loses nothing."""
        while not self._has_ended:
            at = self._held.find(self._mark)
            self._has_ended = at >= 0
            # The last bytes may be the beginning of a boundary.
            length = at if self._has_ended else max(len(self._held) - len(self._mark), 0)
            piece, self._held = self._held[:length], self._held[length:]
            if piece or self._has_ended:
                return {"type": "http.request", "body": piece, "more_body": not self._has_ended}
            if not await self._read(self._receive):
                return {"type": "http.disconnect"}
        return await self._receive()

    async def drop(self) -> None:
        """Drop what still arrives within some seconds: browsers read no answer before its end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_DROP_SECONDS):
                while await self._read(self._receive):
                    self._held = b""

    async def _until(self, mark: bytes, receive: Receive) -> bytes:
        """Return the bytes before a mark; neither is held any more."""
        while (at := self._held.find(mark)) < 0:
            if len(self._held) > _MAX_HEAD_BYTES or not await self._read(receive):
                raise _unreadable()
        before, self._held = self._held[:at], self._held[at + len(mark) :]
        return before

    async def _read(self, receive: Receive) -> bool:
        """Hold the next part of the request; return False if there is none."""
        if self._has_more:
            message = await receive()
            self._held += message.get("body", b"")
            self._has_more = message.get("more_body", False)
            return bool(message["type"] == "http.request")
        return False


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
