"""Registers summaries."""

from app.conversation.summaries import jobs
from app.conversation.summaries.routes import router
from app.conversation.summaries.services.queue import REGENERATE, watch_events
from app.conversation.summaries.store.erasure import ERASURES
from app.platform.operations.logic.states import SUMMARIZE
from app.web.feature import Feature

FEATURE = Feature(
    "summaries",
    routers=(router,),
    jobs={SUMMARIZE: jobs.summarize, REGENERATE: jobs.regenerate},
    erasures=ERASURES,
    install=watch_events,
)
