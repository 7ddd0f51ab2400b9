"""Clients that send a body piece by piece, straight to the application."""

import asyncio
from typing import Any

from starlette.types import Message, Scope

from tests.support.asgi import ADMIN

GONE: Message = {"type": "http.disconnect"}


def piece(body: bytes, *, is_last: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": not is_last}


class Sender:
    """Sends messages, and then nothing more; keeps what is answered."""

    def __init__(self, *messages: Message, pause_seconds: float = 0) -> None:
        self._messages = list(messages)
        self._pause_seconds = pause_seconds
        self._due: float | None = None
        self.has_sent_all = asyncio.Event()
        self.answers: list[Message] = []

    async def receive(self) -> Message:
        if not self._messages:
            self.has_sent_all.set()
            await asyncio.Event().wait()
        # What is waited for goes on while nobody receives, as on a network.
        now = asyncio.get_running_loop().time()
        if self._due is None:
            self._due = now + self._pause_seconds
        await asyncio.sleep(max(0, self._due - now))
        self._due += self._pause_seconds
        return self._messages.pop(0)

    async def send(self, message: Message) -> None:
        self.answers.append(message)

    @property
    def status(self) -> int:
        found: int = self.answers[0]["status"]
        return found

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.answers[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(answer.get("body", b"") for answer in self.answers)


def scope_of(path: str = "/", length: int | None = 8, **fields: Any) -> Scope:
    """Return what a server knows of a POST; without a length, its body comes in chunks."""
    framing = (
        (b"transfer-encoding", b"chunked")
        if length is None
        else (b"content-length", str(length).encode())
    )
    return {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [ADMIN, (b"host", b"test"), framing],
        "client": ("127.0.0.1", 1),
        **fields,
    }
