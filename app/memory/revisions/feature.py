"""Registers revisions."""

from app.memory.revisions.routes import router
from app.web.feature import Feature

FEATURE = Feature(
    "revisions",
    routers=(router,),
    kinds=("memories.rollback",),
)
