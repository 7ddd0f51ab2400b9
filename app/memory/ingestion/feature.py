"""Registers ingestion."""

from app.adapters.db.examinations import CountedRows
from app.adapters.resources import Sweep
from app.kernel.limits import Counted
from app.memory.ingestion import jobs
from app.memory.ingestion.routes import router
from app.memory.ingestion.schemas import IngestEventsResponse
from app.memory.ingestion.services import metrics
from app.memory.ingestion.store import erasure, repository
from app.platform.operations.logic.states import INGEST
from app.web.feature import Feature

FEATURE = Feature(
    "ingestion",
    routers=(router,),
    answers={"IngestEventsResponse": IngestEventsResponse},
    jobs={INGEST: jobs.ingest},
    sweeps=(
        Sweep("stranded streams", jobs.reopen, order=-1),
        Sweep("event ids", jobs.forget_old_ids),
        Sweep("streams", jobs.forget_old_streams),
    ),
    children=erasure.remove_of_engine,
    erasures=erasure.ERASURES,
    counted=(
        CountedRows(
            "stream_events",
            {
                Counted.EVENTS: "(content is not null)::int",
                Counted.BYTES: "case when content is null then 0 else content_bytes end",
            },
        ),
    ),
    holds=lambda session, engine_id, _: repository.exists_pending(session, engine_id),
    waiting_kinds=(INGEST,),
    gauges={"ingestion": metrics.refresh},
)
