"""Methods of the API that this version does not serve: they answer 501, not 404."""

from typing import NoReturn

from app.kernel.errors import Reason, Unimplemented
from app.kernel.permissions import Permission
from app.web.demands import WORK, change
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    include_in_schema=False,
    demands={
        "compactSession": change(Permission.SESSIONS_UPDATE, WORK, is_costly=True),
    },
)


@router.post(
    ENGINE + "/sessions/{session}:compact", response_model=None, operation_id="compactSession"
)
async def compact_session() -> NoReturn:
    """Refuse a method of the API's definition."""
    raise Unimplemented("This version does not serve this method.", Reason.METHOD_NOT_SERVED)
