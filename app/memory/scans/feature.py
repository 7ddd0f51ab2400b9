"""Registers scans."""

from collections.abc import Mapping

from app.memory.scans.routes import router
from app.memory.scans.schemas import ScanPrivacyResponse
from app.platform.operations.logic.states import SCAN_PRIVACY
from app.web.feature import Feature, JobFunction


def _jobs() -> Mapping[str, JobFunction]:
    from app.memory.scans import jobs  # noqa: PLC0415 - for workers

    return {SCAN_PRIVACY: jobs.scan}


FEATURE = Feature(
    "scans",
    routers=(router,),
    answers={"ScanPrivacyResponse": ScanPrivacyResponse},
    kinds=(SCAN_PRIVACY,),
    jobs=_jobs,
)
