"""Registers undo."""

from app.memory.undo import jobs
from app.memory.undo.routes import router
from app.memory.undo.services.undo import UNDO
from app.web.feature import Feature

FEATURE = Feature(
    "undo",
    routers=(router,),
    jobs={UNDO: jobs.undo},
)
