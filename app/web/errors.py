"""Conversion of failures into answers: the only place that sets an error status.

The answer to an unknown path explains its unknown part, with the alternatives. It covers only the
API's paths, which are the same for every key, and does not check that the named resources exist.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from app.kernel.errors import InvalidArgument, NotFound, Reason, ServiceError
from app.kernel.wire.violations import invalid_fields
from app.web.headers import protect

_STATUSES = {
    400: "The request is invalid, or the state does not allow it.",
    401: "No valid API key.",
    403: "The key lacks a permission.",
    404: "No such resource.",
    405: "The path does not take this method.",
    408: "The body did not arrive in time.",
    409: "The id is taken, or another change won.",
    413: "The body is too long.",
    415: "The body is not declared as JSON, or is compressed.",
    429: "A rate, a quota or a budget is used up.",
    500: "A fault of the service.",
    501: "A known method that this version does not serve.",
    502: "A model's answer is unusable.",
    503: "A dependency is unavailable; retry after `Retry-After` seconds.",
    504: "A dependency was too slow.",
}
_REALM = "Open Memory Bank"
_SHOWN_CHARS = 80
_IN_EVERY_VERSION = ("auditEvents", "keys", "memoryBanks", "projects", "reasoningEngines", "server")
REWRITTEN = tuple(
    f"{version}/{name}" for version in ("/v1", "/v1beta1") for name in _IN_EVERY_VERSION
)
"""Prefixes of paths that are rewritten before routing."""


class ErrorStatus(BaseModel):
    """A google.rpc.Status in HTTP responses."""

    model_config = ConfigDict(title="Status")

    code: int = Field(description="The HTTP status.")
    message: str = Field(
        description="Explanation for people, which names the field that is at fault."
    )
    status: str = Field(description="The name of the canonical code.", examples=["NOT_FOUND"])
    details: list[dict[str, Any]] = Field(description="ErrorInfo first, then field violations.")


class ErrorBody(BaseModel):
    """The body of every error response."""

    error: ErrorStatus = Field(description="The error.")


# By reference: the framework would build a model again for each status of each route.
_BODY = {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorBody.__name__}"}}}
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": _BODY} for status, text in _STATUSES.items()
}
"""Error responses in the OpenAPI document; `app/web/docs.py` adds their type."""


def render(error: ServiceError) -> JSONResponse:
    """Render an error as an HTTP answer."""
    headers = {}
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(max(1, ceil(error.retry_after_seconds)))
    if error.ends_connection:
        headers["Connection"] = "close"
    answer = JSONResponse(error.as_http_body(), error.http_status, headers)
    if error.http_status == 401:
        for challenge in _challenges(error.reason):
            answer.headers.append("WWW-Authenticate", challenge)
    return answer


def render_last(error: ServiceError) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return status, headers and body of an answer that the server itself sends."""
    answer = render(error)
    answer.headers["Connection"] = "close"
    protect(answer.headers)
    return answer.status_code, answer.raw_headers, bytes(answer.body)


def _challenges(reason: Reason) -> tuple[str, str]:
    """Return the challenges of a 401. Sources: RFC 6750, section 3, and RFC 7617, section 2.1."""
    fault = "" if reason is Reason.CREDENTIAL_MISSING else ', error="invalid_token"'
    return f'Bearer realm="{_REALM}"{fault}', f'Basic realm="{_REALM}", charset="UTF-8"'


def install(app: FastAPI) -> None:
    """Register the exception handlers."""
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_exception)


async def _service_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ServiceError)
    return render(error)


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    body = request.scope["route"].body_field
    message = None if body is None else body.field_info.annotation
    # The first element of the location names the part of the request.
    return render(invalid_fields(error.errors(), message, skipped=1))


async def _http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return _method_not_allowed(request)
    if error.status_code == 404:
        return _path_not_found(request)
    return render(InvalidArgument("The body cannot be read.", Reason.BODY_NOT_JSON))


def _path_not_found(request: Request) -> JSONResponse:
    paths: Paths = request.app.state.paths
    explanation = paths.explain(request.scope["path"])
    return render(NotFound(explanation, Reason.PATH_NOT_FOUND))


def _method_not_allowed(request: Request) -> JSONResponse:
    # The framework lists only the methods of the path's first route.
    routes: Sequence[APIRoute] = request.app.state.routes
    path = request.scope["path"]
    fitting = [route for route in routes if route.path_regex.fullmatch(path)]
    if ":" in path and not any(":" in route.path for route in fitting):
        # The verb was taken for a part of an id.
        return _path_not_found(request)
    methods = (route.methods or () for route in fitting)
    # Files and the OpenAPI document have no route of ours.
    allowed = ", ".join(sorted(set().union(*methods))) or "GET, HEAD"
    message = f"{request.method} is not served on this path; use {allowed}."
    answer = render(InvalidArgument(message, Reason.METHOD_NOT_ALLOWED, http=405))
    answer.headers["Allow"] = allowed
    return answer


@dataclass
class _Place:
    """A node in the tree of paths; a name in braces in `below` stands for any id."""

    below: "dict[str, _Place]" = field(default_factory=dict)
    verbs: set[str] = field(default_factory=set)

    def next(self, name: str) -> "tuple[str, _Place] | None":
        if name in self.below:
            return name, self.below[name]
        any_id = next((known for known in self.below if known.startswith("{")), None)
        return (any_id, self.below[any_id]) if any_id is not None and name else None


class Paths:
    """All served paths."""

    def __init__(self, templates: Iterable[str]) -> None:
        self._root = _Place()
        for template in templates:
            self._add(template)

    def _add(self, template: str) -> None:
        place = self._root
        for part in filter(None, template.split("/")):
            name, _, verb = part.partition(":")
            place = place.below.setdefault(name, _Place())
            if verb:
                place.verbs.add(f":{verb}")

    def explain(self, path: str) -> str:
        """Return a sentence that explains why a path is not served."""
        place, passed = self._root, list[str]()
        *parts, last = path.removeprefix("/").split("/")
        name, colon, verb = last.partition(":")
        for part in (*parts, name):
            step = place.next(part)
            if step is None:
                return _sentence(f"{_quoted(part)} is unknown", passed, place.below)
            passed.append(step[0])
            place = step[1]
        if colon:
            return _sentence(f"{_quoted(colon + verb)} is unknown", passed, place.verbs)
        return _sentence("something is missing", passed, {*place.below, *place.verbs})


def _quoted(part: str) -> str:
    return json.dumps(part[:_SHOWN_CHARS])


def _sentence(fault: str, passed: list[str], known: Iterable[str]) -> str:
    # The last two segments show the position: the collection and the id.
    where = f"after {'/'.join(passed[-2:])}" if passed else "at the beginning"
    listed = ", ".join(sorted(known)) or "nothing"
    return f"No such path: {fault} {where}, where the API has {listed}."
