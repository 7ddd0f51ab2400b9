"""Requests over one connection that is kept, with as little work of the client as there can be."""

import asyncio
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Connection:
    """A connection to a server on this machine."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, port: int) -> Self:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def get(self, path: str, secret: str) -> int:
        """Ask for a path; return the status once the whole answer is there."""
        request = f"GET {path} HTTP/1.1\r\nHost: bank\r\nAuthorization: Bearer {secret}\r\n\r\n"
        self.writer.write(request.encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        _, _, length = head.partition("content-length:")
        await self.reader.readexactly(int(length.split()[0]))
        return int(head.split()[1])

    def close(self) -> None:
        """Hang up."""
        self.writer.close()
