"""Registration of summaries."""

from collections.abc import Mapping

from app.adapters.resources import Archived, Retry
from app.conversation.summaries.routes import router
from app.conversation.summaries.schemas import (
    ArchivedSummary,
    RegenerateSummaryResponse,
    SummarizeSessionResponse,
)
from app.conversation.summaries.services.queue import REGENERATE, watch_events
from app.conversation.summaries.services.summaries import retry
from app.conversation.summaries.store.repository import ERASURES, TEXTS
from app.kernel.checks import CountedRows
from app.kernel.limits import Counted
from app.kernel.permissions import Permission
from app.platform.operations.logic.states import SUMMARIZE
from app.web.feature import Feature, JobFunction


def _jobs() -> Mapping[str, JobFunction]:
    from app.conversation.summaries import jobs  # noqa: PLC0415 - for workers

    return {SUMMARIZE: jobs.summarize, REGENERATE: jobs.regenerate}


FEATURE = Feature(
    "summaries",
    routers=(router,),
    answers={
        "SummarizeSessionResponse": SummarizeSessionResponse,
        "RegenerateSummaryResponse": RegenerateSummaryResponse,
    },
    kinds=(SUMMARIZE, REGENERATE),
    jobs=_jobs,
    erasures=ERASURES,
    texts=TEXTS,
    counted=(
        CountedRows(
            "session_summaries", {Counted.BYTES: "octet_length(concat(text, policy, template))"}
        ),
    ),
    archived=Archived({"summary": ArchivedSummary}),
    retries={REGENERATE: Retry(Permission.SESSIONS_UPDATE, retry)},
    install=watch_events,
)
