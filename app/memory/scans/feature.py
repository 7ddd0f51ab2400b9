"""Registers scans."""

from app.memory.scans import jobs
from app.memory.scans.routes import router
from app.memory.scans.schemas import ScanPrivacyResponse
from app.platform.operations.logic.states import SCAN_PRIVACY
from app.web.feature import Feature

FEATURE = Feature(
    "scans",
    routers=(router,),
    answers={"ScanPrivacyResponse": ScanPrivacyResponse},
    jobs={SCAN_PRIVACY: jobs.scan},
)
