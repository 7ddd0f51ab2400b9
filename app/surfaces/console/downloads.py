"""Files that the browser keeps: answers of the API, passed on as they come."""

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from typing_extensions import override

from app.surfaces.console.api import Query
from app.surfaces.console.visits import Visit


class Download(Response):
    """An answer of the API as a file, however long it is."""

    def __init__(self, visit: Visit, path: str, query: Query, name: str) -> None:
        super().__init__()
        self._calls = visit.api.calls
        self._asked = (path, query)
        self._disposition = f'attachment; filename="{name}"'.encode()

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                named = (b"content-disposition", self._disposition)
                message = {**message, "headers": [*message["headers"], named]}
            await send(message)

        await self._calls.pass_on(*self._asked, receive, send_named)
