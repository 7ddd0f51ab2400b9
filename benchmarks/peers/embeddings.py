"""A server of the vectors of `texts`, as OpenAI's: `python -m benchmarks.peers.embeddings`.

It does as little as it can for each request, in a process of its own, whose CPU time no system is
charged with. Its address is in the variable that OpenAI's client reads, too.
"""

import asyncio
import json
import os
import sys
from base64 import b64encode
from functools import partial
from typing import Any

from benchmarks.peers.connection import Connection
from benchmarks.peers.texts import vector_of

VARIABLE = "OPENAI_BASE_URL"
MODEL = "peers"


def address() -> str | None:
    """Return the address of the server; None: a table has the vectors."""
    return os.environ.get(VARIABLE) or None  # noqa: TID251 - of this benchmark


async def connected() -> Connection | None:
    """Return a connection to the server; None: a table has the vectors."""
    url = address()
    return None if url is None else await Connection.opened(url.split("/")[2])


async def ask(connection: Connection, text: str) -> None:
    """Ask for the vector of a text, with as little work of the client as there can be."""
    body = {"model": MODEL, "input": [text], "encoding_format": "base64"}
    await connection.post("/v1/embeddings", body)


def _answer(body: dict[str, Any]) -> bytes:
    given = body["input"]
    texts = [given] if isinstance(given, str) else given
    vectors = [vector_of(text) for text in texts]
    is_packed = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": b64encode(vector.tobytes()).decode() if is_packed else vector.tolist(),
        }
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    answer = {"object": "list", "model": MODEL, "data": data, "usage": usage}
    return json.dumps(answer).encode()


async def _serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            _, _, length = head.partition("content-length:")
            content = _answer(json.loads(await reader.readexactly(int(length.split()[0]))))
            told = f"Content-Type: application/json\r\nContent-Length: {len(content)}"
            writer.write(f"HTTP/1.1 200 OK\r\n{told}\r\n\r\n".encode() + content)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _serve() -> None:
    start = partial(asyncio.start_server, limit=1 << 24)
    async with await start(_serve_one, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        sys.stdout.write(json.dumps({"port": port}) + "\n")
        sys.stdout.flush()
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
