"""Route of scans; this method is an addition of this service."""

from app.kernel.permissions import Permission
from app.memory.scans import service
from app.memory.scans.schemas import ScanPrivacyRequest
from app.platform.operations.schemas import Operation
from app.web.context import Mutation
from app.web.demands import WORK, change
from app.web.names import EnginePath
from app.web.paths import ENGINE
from app.web.routing import Router

router = Router(
    "engines",
    demands={"scanPrivacy": change(Permission.MEMORIES_PURGE, WORK, is_costly=True)},
)


@router.post(
    ENGINE + ":scanPrivacy", summary="Scan for sensitive values", operation_id="scanPrivacy"
)
async def scan_privacy(context: Mutation, name: EnginePath, body: ScanPrivacyRequest) -> Operation:
    """Count, or mask, the sensitive values in stored memories, revisions and summaries.

    Values are masked in earlier revisions, too. This cannot be undone.
    """
    once = context.once(body.sent())
    return Operation.from_row(await service.start(context.resources, name, body, once))
