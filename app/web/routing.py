"""The router of every feature: callers are admitted, absent fields left out, errors documented."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from typing_extensions import override

from app.web.admission import admitted
from app.web.demands import DEMANDS, Demand
from app.web.errors import ERROR_RESPONSES
from app.web.query import refuse_unknown

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class AdmittedRoute(APIRoute):
    """A route that asks of its callers what the table of demands says.

    Raises:
        KeyError: when it is made, if the table does not have the method.
    """

    @property
    def method(self) -> str:
        """The name of the API method."""
        assert self.operation_id is not None
        return self.operation_id

    @property
    def demand(self) -> Demand:
        """What it asks of its callers."""
        return DEMANDS[self.method]

    @override
    def get_route_handler(self) -> _Handler:
        handle = super().get_route_handler()
        method, demand = self.method, self.demand

        async def handle_admitted(request: Request) -> Response:
            async with admitted(request, method, demand):
                return await handle(request)

        return handle_admitted


class Router(APIRouter):
    """An `APIRouter` with what all routes of the API have in common."""

    def __init__(self, *tags: str, include_in_schema: bool = True) -> None:
        super().__init__(
            tags=list(tags),
            responses=ERROR_RESPONSES,
            dependencies=[Depends(refuse_unknown)],
            route_class=AdmittedRoute,
            include_in_schema=include_in_schema,
        )

    @override
    def add_api_route(self, path: str, endpoint: Any, **options: Any) -> None:
        demand = DEMANDS[options["operation_id"]]
        if demand.permission is not None:
            options["openapi_extra"] = {"x-permission": demand.permission.value}
        super().add_api_route(path, endpoint, **{**options, "response_model_exclude_none": True})
