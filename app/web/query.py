"""Query parameters: either spelling is read, and one that the route does not know is refused."""

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
"""What generated clients of the API may add to any request; without effect here."""
_SNAKE_NAME = re.compile(rb"(?:^|&)[a-z]+_")


class QueryNames:
    """ASGI middleware: writes snake_case names of parameters in camelCase, as the routes do.

    What is not ASCII is read as UTF-8, percent-encoded or not; the framework would take bytes that
    are not for Latin-1.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with the names that the routes know."""
        if scope["type"] == "http" and not _is_canonical(scope["query_string"]):
            # In place, since the middleware around this one reads the route from the same scope.
            scope["query_string"] = _canonical(scope["query_string"])
        await self._app(scope, receive, send)


def _is_canonical(query: bytes) -> bool:
    return query.isascii() and _SNAKE_NAME.search(query) is None


def _canonical(query: bytes) -> bytes:
    pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True)
    renamed = [(to_camel(name) if "_" in name else name, value) for name, value in pairs]
    return urlencode(renamed).encode()


async def refuse_unknown(request: Request) -> None:
    """Refuse parameters that the route does not have: a misspelt one would be without effect.

    Raises:
        InvalidArgument: naming them, and what is accepted.
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
            f"{_shown(unknown[0])} {description}",
            Reason.FIELD_INVALID,
            violations=[
                FieldViolation(_shown(name), description) for name in unknown[:MAX_VIOLATIONS]
            ],
        )


def _shown(name: str) -> str:
    return name[:80].encode("ascii", "backslashreplace").decode()


def _accepted(route: APIRoute) -> frozenset[str]:
    fields = get_flat_params(route.dependant)
    return frozenset(field.alias for field in fields if isinstance(field.field_info, params.Query))
