"""A connection over HTTP that is kept, with as little work of the client as there can be."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Connection:
    """A connection that is kept."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def opened(cls, address: str) -> "Connection":
        """Connect to an address such as `127.0.0.1:8000`."""
        host, _, port = address.partition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def post(
        self, path: str, body: dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Send a body; return what is answered.

        Raises:
            RuntimeError: the service refuses.
        """
        sent = json.dumps(body).encode()
        lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        head = (
            f"POST {path} HTTP/1.1\r\nHost: bank\r\n{lines}"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        self.writer.write(head.encode() + sent)
        told = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        _, _, length = told.partition("content-length:")
        answer = await self.reader.readexactly(int(length.split()[0]))
        if told.split()[1] != "200":
            raise RuntimeError(answer.decode())
        found: dict[str, Any] = json.loads(answer)
        return found
