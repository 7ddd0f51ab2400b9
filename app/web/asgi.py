"""The base of our ASGI middlewares."""

from abc import ABC, abstractmethod

from starlette.types import ASGIApp, Receive, Scope, Send


class HttpMiddleware(ABC):
    """ASGI middleware for requests; it passes anything else on, such as the lifespan."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await (self.serve if scope["type"] == "http" else self._app)(scope, receive, send)

    @abstractmethod
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, usually by the inner application."""
