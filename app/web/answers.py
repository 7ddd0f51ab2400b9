"""Long answers: encoded in steps, sent in pieces, and counted from reading until sending.

The last piece does not count, because the connection holds it.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic_core import to_json
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from app.adapters.concurrency import each
from app.kernel.errors import ResourceExhausted
from app.kernel.limits import HeldBody, Limits
from app.kernel.reads import HeldAnswer, answering, held_answer
from app.kernel.wire.base import WireModel
from app.web.headers import HttpMiddleware, address_of

PIECE_BYTES = 64 * 1024
"""Longer answers are counted, and sent in pieces of this length."""
_LARGE_BYTES = 256 * 1024
"""An answer is encoded in steps if more bytes than this were read for it."""
MEDIA_TYPE = "application/x-ndjson"


class Answers(HttpMiddleware):
    """ASGI middleware that counts the bytes held for the answers of requests."""

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        with _Held(scope) as held, answering(held):
            await self._app(scope, receive, send)


class _Held(HeldAnswer):
    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._held: HeldBody | None = None
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held is not None:
            self._held.release()

    @override
    def keep(self, size: int) -> None:
        self.size = size
        try:
            if self._held is not None:
                self._held.keep(size)
            elif size > PIECE_BYTES:
                self._held = self._hold(size)
        except ResourceExhausted as error:
            # Unlike an unread body, an unsent answer leaves no bytes on the connection.
            error.ends_connection = False
            raise

    def _hold(self, size: int) -> HeldBody:
        limits: Limits = self._scope["app"].state.gate.limits
        caller = self._scope.get("state", {}).get("caller")
        address = address_of(self._scope) if caller is None else None
        return limits.hold_answer(caller, address, size)


class PiecedAnswer(Response):
    """A long answer that frees its pieces as the client receives them."""

    def __init__(
        self, pieces: list[bytes], headers: Mapping[str, str] | None = None, status: int = 200
    ) -> None:
        length = sum(map(len, pieces))
        super().__init__(None, status, {**(headers or {}), "content-length": str(length)})
        held = held_answer()
        if held is not None:
            held.keep(length)
        self._left = pieces[::-1]

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        while self._left:
            piece = self._left.pop()
            await send({"type": "http.response.body", "body": piece, "more_body": bool(self._left)})


async def encoded(answer: object) -> object:
    """Return a response in pieces for a long answer, or the answer unchanged."""
    return await _in_turns(answer, None) if isinstance(answer, WireModel) and _is_long() else answer


class JsonAnswer(JSONResponse):
    """An answer that is already JSON, encoded four times as fast as by the framework."""

    @override
    def render(self, content: Any) -> bytes:
        return to_json(content)


async def json_answer(answer: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return the response for an answer that is already JSON, and may be long."""
    return await _in_turns(answer, headers) if _is_long() else JsonAnswer(answer, headers=headers)


def in_pieces(answer: Response) -> Response:
    """Return the response with a long body split into pieces; the body is already encoded."""
    body = answer.body
    if len(body) <= PIECE_BYTES:
        return answer
    starts = range(0, len(body), PIECE_BYTES)
    pieces = [bytes(body[start : start + PIECE_BYTES]) for start in starts]
    answer.body = b""
    pieced = PiecedAnswer(pieces, status=answer.status_code)
    # Raw headers: a mapping would keep only one of several equal names.
    pieced.raw_headers = answer.raw_headers
    return pieced


def _is_long() -> bool:
    held = held_answer()
    return held is not None and held.size > _LARGE_BYTES


async def _in_turns(
    answer: WireModel | dict[str, Any], headers: Mapping[str, str] | None
) -> PiecedAnswer:
    gathered = _Gathered()
    await each(_parts(answer), gathered.add)
    return PiecedAnswer(gathered.end(), {"content-type": "application/json", **(headers or {})})


class _Gathered:
    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._last = bytearray()

    def add(self, part: bytes) -> None:
        self._last += part
        if len(self._last) >= PIECE_BYTES:
            self._pieces.append(bytes(self._last))
            self._last.clear()

    def end(self) -> list[bytes]:
        return [*self._pieces, bytes(self._last)]


def _parts(answer: WireModel | dict[str, Any]) -> Iterator[bytes]:
    lists = {name: value for name, value in _fields(answer) if value and isinstance(value, list)}
    rest = _json(answer, exclude=set(lists))
    yield rest[:-1]
    before = b"" if rest == b"{}" else b","
    for name, entries in lists.items():
        yield b'%b"%b":[' % (before, _alias(answer, name).encode())
        before = b","
        for number, entry in enumerate(entries):
            yield b"," + _json(entry) if number else _json(entry)
        yield b"]"
    yield b"}"


def _fields(answer: WireModel | dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return iter(answer.items() if isinstance(answer, dict) else answer)


def _alias(answer: WireModel | dict[str, Any], name: str) -> str:
    return name if isinstance(answer, dict) else type(answer).model_fields[name].alias or name


def _json(value: object, exclude: set[str] | None = None) -> bytes:
    if isinstance(value, WireModel):
        return value.model_dump_json(by_alias=True, exclude_none=True, exclude=exclude).encode()
    if exclude and isinstance(value, dict):
        value = {name: part for name, part in value.items() if name not in exclude}
    return to_json(value)


def documented(model: type[WireModel]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a streamed answer."""
    return {
        200: {
            "description": f"One {model.__name__} a line.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        }
    }


async def ndjson(pages: AsyncIterator[Sequence[WireModel]]) -> StreamingResponse:
    """Stream the messages of pages, reading each page while the previous one is sent."""
    # The first page is read before streaming, to answer a faulty request with an error.
    first = await anext(pages, ())

    async def lines() -> AsyncIterator[bytes]:
        yield await _encoded(first)
        async for page in pages:
            yield await _encoded(page)

    return StreamingResponse(lines(), media_type=MEDIA_TYPE)


async def _encoded(page: Sequence[WireModel]) -> bytes:
    return b"".join(await each(page, _line))


def _line(message: WireModel) -> bytes:
    return to_json(message.wire()) + b"\n"
