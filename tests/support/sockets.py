"""Clients that speak HTTP by hand, as no library would."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

SOON_SECONDS = 30
"""Longer than anything here can take: to fail by, not to measure with."""


@dataclass(frozen=True)
class Answer:
    """An answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def reason(self) -> str:
        """The reason of an error's ErrorInfo."""
        reason: str = self.json["error"]["details"][0]["reason"]
        return reason

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Peer:
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), SOON_SECONDS)

    async def answer(self) -> Answer:
        """Read one answer, which must have a length."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), SOON_SECONDS)
        status, *lines = head.decode().split("\r\n")[:-2]
        headers = dict(line.lower().split(": ", 1) for line in lines)
        length = int(headers["content-length"])
        body = await asyncio.wait_for(self.reader.readexactly(length), SOON_SECONDS)
        return Answer(int(status.split()[1]), headers, body)

    async def rest(self) -> bytes:
        """Read until the other end closes the connection, which it must."""
        found = b""
        try:
            while piece := await asyncio.wait_for(self.reader.read(2**20), SOON_SECONDS):
                found += piece
        except ConnectionError:
            pass
        return found

    async def is_closed(self) -> bool:
        """Wait until the other end closes the connection; say whether that was all it did."""
        return await self.rest() == b""

    async def drip(self, data: bytes, pause_seconds: float = 0.05) -> None:
        """Send the same again and again, slowly, until the connection is closed."""
        try:
            async with asyncio.timeout(SOON_SECONDS):
                while not (self.reader.at_eof() or self.writer.is_closing()):
                    self.writer.write(data)
                    await self.writer.drain()
                    await asyncio.sleep(pause_seconds)
        except ConnectionError:
            pass


@asynccontextmanager
async def connected(port: int, receive_buffer_bytes: int | None = None) -> AsyncIterator[Peer]:
    """Connect to a server of this machine."""
    plain = socket.socket()
    plain.setblocking(False)
    if receive_buffer_bytes is not None:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=plain)
    try:
        yield Peer(reader, writer)
    finally:
        writer.transport.abort()


def request(path: str, *headers: str, method: str = "GET", body: bytes | None = None) -> bytes:
    """Write a request; with a body, its length is declared."""
    lines = [f"{method} {path} HTTP/1.1", "Host: test", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")
