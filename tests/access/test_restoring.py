"""An engine that is being restored: nothing but get, delete and restore is served."""

import asyncio

from sqlalchemy import update

from app.platform.engines.store.tables import EngineRow
from tests.access.names import ENGINE, Names
from tests.access.routes import ROUTES, Route
from tests.access.service import Asked, Service, bearer
from tests.support.errors import refusal

_PLACE = Names(engine="1", scope={"user_id": "anna"}, user="anna")
_SERVED = {"GET " + ENGINE, "DELETE " + ENGINE, "POST " + ENGINE + ":restore"}
_STATE = {"archiveId": "a", "nextLine": 7}
_RECENT_SECONDS = 0.8
"""After so long, a process notices the restore of another."""
RESTORING = (400, "FAILED_PRECONDITION", "ENGINE_RESTORING")


async def _set_restore(service: Service, state: dict[str, object] | None) -> None:
    """Begin or end a restore as another process would."""
    async with service.database.transaction() as session:
        await session.execute(update(EngineRow).values(restore=state))


def _refused() -> list[Route]:
    return [route for route in ROUTES if "{engine}" in route.template and route.id not in _SERVED]


async def test_every_other_method_is_refused(service: Service) -> None:
    asked = [(route, route.asked(await route.make(service, _PLACE))) for route in _refused()]
    assert len(asked) > 50
    await _set_restore(service, _STATE)
    await asyncio.sleep(_RECENT_SECONDS)
    answers = {
        route.id: refusal(await service.send(one, bearer(service.admin))) for route, one in asked
    }
    assert {name: answer for name, answer in answers.items() if answer != RESTORING} == {}
    await service.done(Asked("GET", _PLACE.path(ENGINE)))
    await _set_restore(service, None)
    # At once: before a refusal, a process reads again.
    await service.done(Asked("GET", _PLACE.path(ENGINE + "/memories")))


async def test_no_fast_write_slips_past_a_restore_of_another_process(service: Service) -> None:
    """The process knows the engine, and has just read that it is not being restored."""
    create = Asked(
        "POST", _PLACE.path(ENGINE + "/memories"), {}, {"fact": "Tea.", "scope": {"user_id": "a"}}
    )
    for _ in range(2):
        await service.done(create)
    await _set_restore(service, _STATE)
    assert refusal(await service.send(create, bearer(service.admin))) == RESTORING
    await _set_restore(service, None)
    listed = await service.done(Asked("GET", _PLACE.path(ENGINE + "/memories")))
    assert len(listed["memories"]) == 2


async def test_an_engine_under_restore_can_be_deleted(service: Service) -> None:
    await _set_restore(service, _STATE)
    await service.done(Asked("DELETE", _PLACE.path(ENGINE)))
