"""Streamed answers of any length: one JSON object per line."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.responses import StreamingResponse

from app.adapters.cooperative import each
from app.kernel.wire.base import WireModel

MEDIA_TYPE = "application/x-ndjson"


def documented(model: type[WireModel]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses of a streamed answer."""
    return {
        200: {
            "description": f"One {model.__name__} a line.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        }
    }


async def ndjson(pages: AsyncIterator[Sequence[WireModel]]) -> StreamingResponse:
    """Stream the messages of pages, reading each page while the previous one is sent.

    The first page is read before streaming, to answer a faulty request with an error.
    """
    first = await anext(pages, ())

    async def lines() -> AsyncIterator[bytes]:
        yield await _encoded(first)
        async for page in pages:
            yield await _encoded(page)

    return StreamingResponse(lines(), media_type=MEDIA_TYPE)


async def _encoded(page: Sequence[WireModel]) -> bytes:
    return "".join(await each(page, _line)).encode()


def _line(message: WireModel) -> str:
    return json.dumps(message.wire(), ensure_ascii=False, separators=(",", ":")) + "\n"
