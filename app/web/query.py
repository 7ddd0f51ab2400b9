"""Query parameters: both spellings are accepted, unknown ones are refused; pages of lists."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from fastapi import Depends, Query, Request, params
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params
from pydantic.alias_generators import to_camel
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from app.adapters.resources import Resources
from app.kernel.errors import FieldViolation, InvalidArgument, Reason
from app.kernel.paging import PageRequest, clamp_page_size
from app.kernel.wire.violations import MAX_VIOLATIONS
from app.web.headers import HttpMiddleware

_STANDARD = frozenset({"alt", "$alt", "key", "prettyPrint", "$prettyPrint", "$.xgafv", "quotaUser"})
"""Parameters that generated clients may add to any request; no effect here."""
_SNAKE_NAME = re.compile(rb"(?:^|&)[a-z]+_")
Filter = Annotated[
    str | None,
    Query(description="An AIP-160 filter.", examples=['create_time>"2026-01-01T00:00:00Z"']),
]
OrderBy = Annotated[
    str | None,
    Query(
        alias="orderBy",
        description="A field, ascending unless followed by ` desc`.",
        examples=["update_time desc"],
    ),
]
UpdateMask = Annotated[
    str | None,
    Query(
        alias="updateMask",
        description="Fields to change, separated by commas; `*` means all.",
        examples=["fact,display_name"],
    ),
]


class QueryNames(HttpMiddleware):
    """ASGI middleware that rewrites snake_case parameter names to camelCase, as in the routes.

    It decodes non-ASCII text as UTF-8; the framework would decode raw bytes as Latin-1.
    """

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_canonical(scope["query_string"]):
            # In place: the outer middleware reads the route from the same scope.
            scope["query_string"] = _canonical(scope["query_string"])
        await self._app(scope, receive, send)


def _is_canonical(query: bytes) -> bool:
    return query.isascii() and _SNAKE_NAME.search(query) is None


def _canonical(query: bytes) -> bytes:
    pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True)
    renamed = [(to_camel(name) if "_" in name else name, value) for name, value in pairs]
    return urlencode(renamed).encode()


def check_names(request: Request, accepted: frozenset[str]) -> None:
    """Refuse parameters that are not `accepted`, or given twice: one would have no effect.

    Raises:
        InvalidArgument: the message names the parameters, and the accepted ones if one is unknown.
    """
    if not request.scope["query_string"]:
        # To parse it would create several objects in each request.
        return
    given = Counter(name for name, _ in request.query_params.multi_items())
    unknown = sorted(given.keys() - _STANDARD - accepted)
    if unknown:
        listed = ", ".join(sorted(accepted)) or "none"
        raise _refused(unknown, f"is not a parameter of this method, which accepts: {listed}.")
    repeated = sorted(name for name in accepted if given[name] > 1)
    if repeated:
        raise _refused(repeated, "is given more than once, perhaps in both spellings.")


def _refused(names: Sequence[str], description: str) -> InvalidArgument:
    return InvalidArgument(
        f"{_printable(names[0])} {description}",
        Reason.FIELD_INVALID,
        violations=[
            FieldViolation(_printable(name), description) for name in names[:MAX_VIOLATIONS]
        ],
    )


def _printable(name: str) -> str:
    return name[:80].encode("ascii", "backslashreplace").decode()


def names_of(dependant: Dependant) -> frozenset[str]:
    """Return the names of the query parameters of a route."""
    fields = get_flat_params(dependant)
    return frozenset(field.alias for field in fields if isinstance(field.field_info, params.Query))


async def _page(
    request: Request,
    page_size: Annotated[
        int | None,
        Query(
            alias="pageSize",
            description="Rows of a page; 0 means the default, and too large a value the maximum.",
            json_schema_extra={"minimum": 0},
        ),
    ] = None,
    page_token: Annotated[
        str | None, Query(alias="pageToken", description="`nextPageToken` of the previous page.")
    ] = None,
) -> PageRequest:
    # Not a dependency on the resources: the framework resolves each on every request.
    resources: Resources = request.app.state.resources
    tuning = resources.settings.tuning
    size = clamp_page_size(page_size, maximum=tuning.max_page_size)
    return PageRequest(size, page_token, tuning.max_page_bytes)


Page = Annotated[PageRequest, Depends(_page)]
