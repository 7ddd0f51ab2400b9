"""A generation reads another engine's session only where its caller may read it.

For all others the session is as one that is not there, whatever of its name they know.
"""

from dataclasses import replace
from typing import Any

import pytest

from tests.access.names import ENGINE, ENGINES, Names, event, last_part
from tests.access.service import Asked, Json, Service
from tests.support.errors import refusal

_SECRET = "I like the secret garden."
_MINE = Names(engine="1", scope={"user_id": "mine"}, user="mine")
_GONE = (404, "NOT_FOUND", "RESOURCE_NOT_FOUND")


async def _beside(service: Service, place: Names = _MINE, user: str = "mine") -> Names:
    """Create an engine with a session in which something is said."""
    made = await service.done(Asked("POST", place.path(ENGINES), body={}))
    engine = last_part(made["response"]["name"])
    found = replace(place, engine=engine, user=user, session="theirs")
    path = found.path(ENGINE + "/sessions")
    await service.done(Asked("POST", path, {"sessionId": "theirs"}, {"userId": user}))
    spoken = {"author": "user", "invocationId": "i", "timestamp": "2026-01-15T12:00:00Z"}
    body = {**spoken, **event(_SECRET)}
    await service.done(Asked("POST", f"{path}/theirs:appendEvent", body=body))
    return found


def _asked(session: str, **fields: Any) -> Asked:
    body = {"vertexSessionSource": {"session": session}, **fields}
    return Asked("POST", _MINE.path(ENGINE + "/memories:generate"), body=body)


def _spellings(place: Names) -> list[str]:
    """Return the names of the session of a place, in every spelling."""
    full = place.full("/sessions/{session}")
    short = place.path("reasoningEngines/{engine}/sessions/{session}")
    anywhere = f"projects/-/locations/-/{short}"
    beside = replace(place, project=_MINE.project, location=_MINE.location)
    return [full, short, anywhere, beside.full("/sessions/{session}"), f"memoryBanks/{short[17:]}"]


async def _is_hidden(service: Service, place: Names, secret: str) -> None:
    """See that a session is answered as one that is not there, and that nothing comes of it."""
    absent = replace(place, session="absent")
    names = zip(_spellings(place), _spellings(absent), strict=True)
    scope = {"scope": dict(_MINE.scope)}
    for known, unknown in names:
        for fields in ({}, scope, {**scope, "validateOnly": True}):
            answer = await service.ask(_asked(known, **fields), secret)
            twin = await service.ask(_asked(unknown, **fields), secret)
            assert refusal(twin) == _GONE, twin.text
            assert answer.text.replace("/theirs ", "/absent ") == twin.text
    await service.settled()
    assert await _facts(service) == []


async def _facts(service: Service) -> list[str]:
    listed = await service.done(Asked("GET", _MINE.path(ENGINE + "/memories")))
    return [memory["fact"] for memory in listed["memories"]]


_BOUND: dict[str, Json] = {
    "the engine of the memories": {"engines": ["1"]},
    "another user": {"scope_conditions": {"user_id": ["mine"]}},
    "another user and the engine": {"engines": ["1"], "scope_conditions": {"user_id": ["mine"]}},
    "a scope that no session has": {"scope_conditions": {"team": ["a"]}},
    "its user in a team": {"scope_conditions": {"user_id": ["theirs"], "team": ["a"]}},
}


@pytest.mark.parametrize("bounds", _BOUND)
async def test_a_session_out_of_reach_is_not_there(service: Service, bounds: str) -> None:
    place = await _beside(service, user="theirs")
    await _is_hidden(service, place, await service.key("admin", **_BOUND[bounds]))


async def test_a_session_of_another_place_is_not_there_for_whoever_reaches_it(
    service: Service,
) -> None:
    """Not even for the administrator: memories come from their own project and location."""
    for elsewhere in ({"project": "other"}, {"location": "other"}):
        place = await _beside(service, replace(_MINE, **elsewhere))  # type: ignore[arg-type]  # names of places
        await _is_hidden(service, place, service.admin)
        secret = await service.key("admin", projects=["default"])
        await _is_hidden(service, place, secret)


async def test_a_scope_of_somebody_else_is_no_way_in_or_out(service: Service) -> None:
    """Neither may a bound key write its own session's facts into the scope of another user."""
    place = await _beside(service)
    secret = await service.key("user", scope_conditions={"user_id": ["mine"]})
    session = place.full("/sessions/{session}")
    answer = await service.ask(_asked(session, scope={"user_id": "theirs"}), secret)
    assert refusal(answer) == _GONE
    await service.settled()
    assert await _facts(service) == []


@pytest.mark.parametrize(
    "bounds", [{}, {"projects": ["default"]}, {"scope_conditions": {"user_id": ["mine"]}}]
)
async def test_a_session_within_reach_is_read(service: Service, bounds: Json) -> None:
    """What is hidden above would be found, were it within reach."""
    place = await _beside(service)
    secret = await service.key("user", **bounds)
    for name in _spellings(place):
        await service.done(_asked(name), secret)
    await service.settled()
    assert await _facts(service) == [_SECRET]


async def test_a_key_of_both_engines_reads_the_session_and_one_of_neither_does_not(
    service: Service,
) -> None:
    place = await _beside(service)
    both = await service.key("user", engines=["1", place.engine])
    await service.done(_asked(place.full("/sessions/{session}")), both)
    for engines in ([], [place.engine]):
        secret = await service.key("user", engines=engines)
        answer = await service.ask(_asked(place.full("/sessions/{session}")), secret)
        # The engine of the path is not there for it.
        assert refusal(answer) == _GONE
        assert "sessions" not in answer.text
