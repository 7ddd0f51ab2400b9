"""Registers operations."""

from app.adapters.batches import batched
from app.adapters.resources import Archived, Sweep
from app.platform.operations.routes import router
from app.platform.operations.schemas import AnsweredEmpty, ArchivedOperation
from app.platform.operations.services import metrics
from app.platform.operations.services.retries import forget_old_requests
from app.platform.operations.store import erasure
from app.platform.operations.store.examinations import EXAMINATIONS
from app.web.feature import Feature

FEATURE = Feature(
    "operations",
    routers=(router,),
    answers={"Empty": AnsweredEmpty},
    sweeps=(
        Sweep("operations", batched(erasure.remove_old)),
        Sweep("requests of failed operations", forget_old_requests),
    ),
    erasures=erasure.ERASURES,
    examinations=EXAMINATIONS,
    archived=Archived({"operation": ArchivedOperation}),
    gauges={"operations": metrics.refresh},
)
