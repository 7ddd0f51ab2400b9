"""Registers sessions."""

from app.adapters.batches import spread
from app.adapters.resources import Archived
from app.platform.sessions.routes import router
from app.platform.sessions.schemas.archived import (
    ArchivedAppState,
    ArchivedEvent,
    ArchivedSession,
    ArchivedUserState,
    StoredSession,
)
from app.platform.sessions.schemas.sessions import AnsweredSession
from app.platform.sessions.services import sessions
from app.platform.sessions.services.sessions import CREATE, SessionService
from app.platform.sessions.store import erasure, repository
from app.platform.sessions.store.erasure import COUNTED, EXAMINATIONS
from app.web.feature import Feature

FEATURE = Feature(
    "sessions",
    routers=(router,),
    kinds=(CREATE, "sessions.delete"),
    answers={"Session": AnsweredSession},
    sweeps=(spread("sessions", erasure.find_expired, erasure.remove_expired),),
    children=erasure.remove_of_engine,
    erasures=erasure.ERASURES,
    examinations=EXAMINATIONS,
    counted=COUNTED,
    holds=repository.exists_any,
    restored=sessions.check,
    archived=Archived(
        {
            "userState": ArchivedUserState,
            "appState": ArchivedAppState,
            "session": ArchivedSession,
            "event": ArchivedEvent,
        },
        {CREATE: StoredSession},
        erasure.remove_of_engine,
    ),
    response_readers={CREATE: lambda resources: SessionService.of(resources).read_response},
)
