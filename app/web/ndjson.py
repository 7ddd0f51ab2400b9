"""Answers of any length: a JSON object a line, as they are read."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.responses import StreamingResponse

from app.kernel.wire.base import WireModel

MEDIA_TYPE = "application/x-ndjson"


def documented(model: type[WireModel]) -> dict[int | str, dict[str, Any]]:
    """Return what the API's document says of such an answer."""
    return {
        200: {
            "description": f"One {model.__name__} a line.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
        }
    }


async def ndjson(pages: AsyncIterator[Sequence[WireModel]]) -> StreamingResponse:
    """Answer the messages of pages, each of which is read when the one before it is on its way.

    The first is read here: what is wrong with the request is still an error of its own.
    """
    first = await anext(pages, ())

    async def lines() -> AsyncIterator[bytes]:
        yield _encoded(first)
        async for page in pages:
            yield _encoded(page)

    return StreamingResponse(lines(), media_type=MEDIA_TYPE)


def _encoded(page: Sequence[WireModel]) -> bytes:
    return "".join(
        json.dumps(message.wire(), ensure_ascii=False, separators=(",", ":")) + "\n"
        for message in page
    ).encode()
