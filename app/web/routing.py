"""The router of all features: it admits callers, omits absent fields and documents errors."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import cached_property, wraps
from typing import Any, ClassVar

import structlog
from fastapi import APIRouter, Request, Response
from fastapi._compat import ModelField
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from app.kernel.errors import describe
from app.web.admission import admitted
from app.web.answers import encoded, in_pieces
from app.web.body import LONG_BYTES, let_go
from app.web.demands import Demand
from app.web.errors import ERROR_RESPONSES
from app.web.names import path_parameters
from app.web.query import check_names, names_of

log = structlog.get_logger()

REPLAYED = "Idempotent-Replayed"
"""The header of answers to repeated requests with the same request id."""
_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class AdmittedRoute(APIRoute):
    """A route that admits callers according to the demand of its method."""

    demands: ClassVar[Mapping[str, Demand]] = {}
    """Demands of the router's routes, by operation id."""

    @property
    def method(self) -> str:
        """The name of the API method."""
        assert self.operation_id is not None
        return self.operation_id

    @property
    def demand(self) -> Demand:
        """The demand of its method."""
        return self.demands[self.method]

    @cached_property
    def _query_names(self) -> frozenset[str]:
        return names_of(self.dependant)

    @override
    def get_route_handler(self) -> _Handler:
        handle = super().get_route_handler()
        method, demand, body = self.method, self.demand, self.body_field

        async def handle_admitted(request: Request) -> Response:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(admitted(request, method, demand))
                check_names(request, self._query_names)
                await _pass_body(request, body)
                answer = await handle(request)
                if getattr(request.state, "is_replayed", False):
                    answer.headers[REPLAYED] = "true"
                if isinstance(answer, StreamingResponse):
                    return _Streamed(answer, stack.pop_all())
                return in_pieces(answer)

        return handle_admitted


async def _pass_body(request: Request, body: ModelField | None) -> None:
    read = getattr(request.state, "json", None)
    if read is None:
        return
    if body is not None and len(await request.body()) > LONG_BYTES:
        # In a thread, to keep the event loop free.
        read, errors = await asyncio.to_thread(body.validate, read, loc=("body",))
        if errors:
            raise RequestValidationError(errors)
        let_go(request)
    # The framework's cache of the parsed body.
    request._json = read  # noqa: SLF001 - as above


class _Streamed(Response):
    """An answer generated during sending; its admission lasts until its end."""

    def __init__(self, answer: StreamingResponse, admission: AsyncExitStack) -> None:
        super().__init__()
        self._answer = answer
        self._admission = admission

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._admission:
                await self._answer(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - the answer has begun, so no error can be sent
            # The server closes the connection, which shows the client that the answer is
            # incomplete. Not `exception`: see `describe`.
            log.error("request.broken_off", error=describe(error))  # noqa: TRY400 - as above


class Router(APIRouter):
    """An `APIRouter` for routes of the API; `demands` has the demand of each by operation id."""

    def __init__(
        self, *tags: str, demands: Mapping[str, Demand], include_in_schema: bool = True
    ) -> None:
        # The framework creates routes again on including a router, and keeps only their class.
        route_class = type(AdmittedRoute.__name__, (AdmittedRoute,), {"demands": demands})
        super().__init__(
            tags=list(tags),
            responses=ERROR_RESPONSES,
            route_class=route_class,
            include_in_schema=include_in_schema,
        )
        self.demands = demands

    @property
    def admitted(self) -> list[AdmittedRoute]:
        """The routes of this router."""
        return [route for route in self.routes if isinstance(route, AdmittedRoute)]

    @override
    def add_api_route(self, path: str, endpoint: Any, **options: Any) -> None:
        demand = self.demands[options["operation_id"]]
        extra: dict[str, Any] = {**(options.get("openapi_extra") or {})}
        if parameters := path_parameters(path):
            extra["parameters"] = parameters
        if demand.permission is not None:
            extra["x-permission"] = demand.permission.value
        options["openapi_extra"] = extra
        options["response_model_exclude_none"] = True
        super().add_api_route(path, _in_turns(endpoint), **options)


def _in_turns(endpoint: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    # The framework would encode long answers at once.
    @wraps(endpoint)
    async def answering(*arguments: object, **values: object) -> object:
        return await encoded(await endpoint(*arguments, **values))

    return answering
