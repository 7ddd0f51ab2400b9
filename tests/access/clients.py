"""Two ways to the service, both leaner than a client library: the sweep sends thousands."""

from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Protocol

import httpx
from fastapi import FastAPI
from typing_extensions import override

from tests.support.asgi import Sent, call


class Client(Protocol):
    """Sends requests to one process."""

    async def send(self, sent: Sent) -> httpx.Response: ...


class Inside(Client):
    """Hands requests to the application in this process."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    @override
    async def send(self, sent: Sent) -> httpx.Response:
        answer = await call(self._app, sent)
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body)


class Remote(Client):
    """Sends requests to a server on the loopback address, over one connection."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=30)

    @override
    async def send(self, sent: Sent) -> httpx.Response:
        connection = self._connection
        path = b"?".join(filter(None, [sent.path, sent.query])).decode()
        connection.putrequest(sent.method, path, skip_accept_encoding=True)
        for name, value in _with_length(sent):
            connection.putheader(name.decode(), value)
        connection.endheaders(sent.body or None)
        answer = connection.getresponse()
        return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())

    def close(self) -> None:
        self._connection.close()


def _with_length(sent: Sent) -> Sequence[tuple[bytes, bytes]]:
    return [*sent.headers, (b"content-length", str(len(sent.body)).encode())]
