"""Query parameters: both spellings are accepted, unknown ones are refused."""

import re
from urllib.parse import parse_qsl, urlencode

from fastapi import Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from pydantic.alias_generators import to_camel
from starlette.types import ASGIApp, Receive, Scope, Send

from app.kernel.errors import FieldViolation, InvalidArgument, Reason
from app.kernel.wire.violations import MAX_VIOLATIONS

_STANDARD = frozenset({"alt", "$alt", "key", "prettyPrint", "$prettyPrint", "$.xgafv", "quotaUser"})
"""Parameters that generated clients may add to any request; no effect here."""
_SNAKE_NAME = re.compile(rb"(?:^|&)[a-z]+_")


class QueryNames:
    """ASGI middleware that rewrites snake_case parameter names to camelCase, as in the routes.

    Non-ASCII text is decoded as UTF-8, percent-encoded or not; the framework would decode raw bytes
    as Latin-1.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with the routes' parameter names."""
        if scope["type"] == "http" and not _is_canonical(scope["query_string"]):
            # In place: the outer middleware reads the route from the same scope.
            scope["query_string"] = _canonical(scope["query_string"])
        await self._app(scope, receive, send)


def _is_canonical(query: bytes) -> bool:
    return query.isascii() and _SNAKE_NAME.search(query) is None


def _canonical(query: bytes) -> bytes:
    pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True)
    renamed = [(to_camel(name) if "_" in name else name, value) for name, value in pairs]
    return urlencode(renamed).encode()


async def refuse_unknown(request: Request) -> None:
    """Refuse parameters unknown to the route: a misspelt one would have no effect.

    Raises:
        InvalidArgument: the message names the unknown parameters and the accepted ones.
    """
    names = set(request.query_params) - _STANDARD
    if not names:
        return
    accepted = _accepted(request.scope["route"])
    unknown = sorted(names - accepted)
    if unknown:
        listed = ", ".join(sorted(accepted)) or "none"
        description = f"is not a parameter of this method, which accepts: {listed}."
        raise InvalidArgument(
            f"{_printable(unknown[0])} {description}",
            Reason.FIELD_INVALID,
            violations=[
                FieldViolation(_printable(name), description) for name in unknown[:MAX_VIOLATIONS]
            ],
        )


def _printable(name: str) -> str:
    return name[:80].encode("ascii", "backslashreplace").decode()


def _accepted(route: APIRoute) -> frozenset[str]:
    fields = get_flat_params(route.dependant)
    return frozenset(field.alias for field in fields if isinstance(field.field_info, params.Query))
