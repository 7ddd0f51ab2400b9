"""Registers ingestion."""

from collections.abc import Mapping

from app.adapters.batches import swept
from app.adapters.resources import Archived
from app.kernel.checks import CountedRows
from app.kernel.limits import Counted
from app.memory.ingestion import service
from app.memory.ingestion.routes import router
from app.memory.ingestion.schemas import ArchivedStream, ArchivedStreamEvent, IngestEventsResponse
from app.memory.ingestion.store import erasure, repository
from app.platform.operations.logic.states import INGEST
from app.web.feature import Feature, JobFunction


def _jobs() -> Mapping[str, JobFunction]:
    from app.memory.ingestion import jobs  # noqa: PLC0415 - for workers

    return {INGEST: jobs.ingest}


FEATURE = Feature(
    "ingestion",
    routers=(router,),
    answers={"IngestEventsResponse": IngestEventsResponse},
    kinds=(INGEST,),
    jobs=_jobs,
    sweeps=(
        swept("stranded streams", service.reopen, order=-1),
        swept("event ids", service.forget_old_ids),
        swept("streams", service.forget_old_streams),
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
    restored=service.recount,
    archived=Archived(
        {"stream": ArchivedStream, "streamEvent": ArchivedStreamEvent},
        remove=erasure.remove_of_engine,
    ),
    waiting_kinds=(INGEST,),
    gauges={"ingestion": service.refresh_metrics},
)
