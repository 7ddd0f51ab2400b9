"""Registers operations."""

from collections.abc import Mapping
from functools import partial

from app.adapters.batches import batched, swept
from app.adapters.resources import Archived
from app.platform.operations.logic.states import BATCH_RETRY
from app.platform.operations.routes import router
from app.platform.operations.schemas import (
    AnsweredEmpty,
    ArchivedOperation,
    BatchRetryOperationsResponse,
)
from app.platform.operations.services.operations import forget_old_requests, show_queue
from app.platform.operations.store import erasure
from app.platform.operations.store.erasure import EXAMINATIONS
from app.platform.operations.store.tables import OperationRow, RequestIdRow, ServiceRequestIdRow
from app.web.feature import Feature, JobFunction


def _jobs() -> Mapping[str, JobFunction]:
    from app.platform.operations import jobs  # noqa: PLC0415 - for workers

    return {BATCH_RETRY: jobs.batch_retry}


FEATURE = Feature(
    "operations",
    routers=(router,),
    answers={
        "BatchRetryOperationsResponse": BatchRetryOperationsResponse,
        "Empty": AnsweredEmpty,
    },
    kinds=(BATCH_RETRY,),
    jobs=_jobs,
    sweeps=(
        *(
            batched(name, partial(erasure.select_old, table), partial(erasure.remove_old, table))
            for name, table in (
                ("operations", OperationRow),
                ("request ids", RequestIdRow),
                ("request ids of the service", ServiceRequestIdRow),
            )
        ),
        swept("requests of failed operations", forget_old_requests),
    ),
    erasures=erasure.ERASURES,
    examinations=EXAMINATIONS,
    archived=Archived({"operation": ArchivedOperation}),
    gauges={"operations": show_queue},
)
