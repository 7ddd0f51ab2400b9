"""Requests of any bytes, as a server hands them to the application."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

ADMIN = (b"authorization", b"Bearer tests-own-admin-key")
JSON = (b"content-type", b"application/json")
Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Sent:
    """A request."""

    method: str
    path: bytes
    """As in the request line, percent signs included."""
    query: bytes = b""
    headers: Headers = (ADMIN, JSON)
    body: bytes = b""


@dataclass
class Answer:
    """What the application answered."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def reason(self) -> str:
        """The reason of an error's ErrorInfo."""
        reason: str = self.json["error"]["details"][0]["reason"]
        return reason


async def call(app: ASGIApp, sent: Sent, gone: asyncio.Event | None = None) -> Answer:
    """Send a request to the application, without a client in between; once `gone`, it has left."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "http",
        "path": unquote(sent.path.decode("latin-1")),
        "raw_path": sent.path,
        "query_string": sent.query,
        "root_path": "",
        "headers": list(sent.headers),
        "client": ("127.0.0.1", 1),
        "server": ("test", 80),
    }
    answer = Answer()
    messages: list[Message] = [{"type": "http.request", "body": sent.body, "more_body": False}]

    is_answered = gone or asyncio.Event()

    async def receive() -> Message:
        if messages:
            return messages.pop()
        # As a client does that waits for the end of its answer.
        await is_answered.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message["headers"]
            }
        else:
            answer.body += message.get("body", b"")
            if not message.get("more_body"):
                is_answered.set()

    await app(scope, receive, send)
    return answer
