"""Registers erasures."""

from app.memory.erasures import jobs
from app.memory.erasures.routes import router
from app.memory.erasures.schemas import EraseScopeResponse
from app.memory.erasures.store import repository
from app.platform.operations.logic.states import ERASE_SCOPE
from app.web.feature import Feature

FEATURE = Feature(
    "erasures",
    routers=(router,),
    answers={"EraseScopeResponse": EraseScopeResponse},
    jobs={ERASE_SCOPE: jobs.erase_scope},
    children=repository.forget_of_engine,
)
