"""Registers erasures."""

from collections.abc import Mapping

from app.adapters.batches import swept
from app.memory.erasures import store
from app.memory.erasures.routes import router
from app.memory.erasures.schemas import EraseScopeResponse
from app.memory.erasures.services.erasures import take_up_failed
from app.platform.operations.logic.states import ERASE_SCOPE
from app.web.feature import Feature, JobFunction


def _jobs() -> Mapping[str, JobFunction]:
    from app.memory.erasures import jobs  # noqa: PLC0415 - for workers

    return {ERASE_SCOPE: jobs.erase_scope}


FEATURE = Feature(
    "erasures",
    routers=(router,),
    answers={"EraseScopeResponse": EraseScopeResponse},
    kinds=(ERASE_SCOPE,),
    jobs=_jobs,
    sweeps=(swept("failed erasures", take_up_failed),),
    children=store.forget_of_engine,
)
