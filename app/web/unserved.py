"""Methods of the API that this version does not serve: known, so 501 and not 404."""

from typing import NoReturn

from fastapi import APIRouter

from app.core.errors import Reason, Unimplemented
from app.web.paths import ENGINE

router = APIRouter(include_in_schema=False)

_METHODS = (("POST", "/sessions/{session}:compact"),)


async def _refuse() -> NoReturn:
    raise Unimplemented("This version does not serve the method.", Reason.METHOD_NOT_SERVED)


for method, path in _METHODS:
    router.add_api_route(ENGINE + path, _refuse, methods=[method], response_model=None)
