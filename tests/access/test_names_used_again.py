"""An id that somebody else takes once it is free gives nothing away of them."""

from datetime import timedelta

import pytest

from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.access.names import ENGINE, Names, event, last_part
from tests.access.service import Asked, Json, Service
from tests.support.errors import refusal

_OTHER = Names(engine="1", scope={"user_id": "other"}, user="other", session="shared")
_TENANT = Names(engine="1", scope={"user_id": "tenant"}, user="tenant", session="shared")
_SECRET = "I like the secret garden."


async def _begin(service: Service, names: Names, text: str) -> None:
    """Start a session under the id that both like, in which something is said."""
    path = names.path(ENGINE + "/sessions")
    await service.done(Asked("POST", path, {"sessionId": names.session}, {"userId": names.user}))
    spoken = {"author": "user", "invocationId": "i", "timestamp": "2026-01-15T12:00:00Z"}
    path = names.path(ENGINE + "/sessions/{session}:appendEvent")
    await service.done(Asked("POST", path, body={**spoken, **event(text)}))


async def _generate(service: Service, secret: str) -> Json:
    source = {"session": _OTHER.full("/sessions/{session}")}
    body = {"vertexSessionSource": source, "scope": dict(_OTHER.scope)}
    path = _OTHER.path(ENGINE + "/memories:generate")
    return await service.done(Asked("POST", path, body=body), secret)


async def _operation(service: Service, secret: str, operation: Json) -> Json:
    path = _OTHER.path(ENGINE + f"/operations/{last_part(operation['name'])}")
    return await service.done(Asked("GET", path), secret)


async def test_work_that_waits_does_not_read_the_session_of_another_user(
    service: Service, clock: FixedClock
) -> None:
    secret = await service.key("user", scope_conditions={"user_id": ["other"]})
    await _begin(service, _OTHER, "I like tea.")
    operation = await _generate(service, secret)
    await service.done(Asked("DELETE", _OTHER.path(ENGINE + "/sessions/{session}")))
    clock.advance(timedelta(microseconds=1))
    await _begin(service, _TENANT, _SECRET)
    await service.settled()
    ended = await _operation(service, secret, operation)
    assert ended["error"]["code"] == 5
    assert "secret" not in str(ended)
    listed = await service.done(Asked("GET", _OTHER.path(ENGINE + "/memories")), secret)
    assert listed["memories"] == []


async def test_work_that_waits_reads_the_session_that_it_was_asked_for(service: Service) -> None:
    secret = await service.key("user", scope_conditions={"user_id": ["other"]})
    await _begin(service, _OTHER, "I like tea.")
    operation = await _generate(service, secret)
    await service.settled()
    assert "response" in await _operation(service, secret, operation)
    listed = await service.done(Asked("GET", _OTHER.path(ENGINE + "/memories")), secret)
    assert [memory["fact"] for memory in listed["memories"]] == ["I like tea."]


async def test_the_operation_of_a_memory_does_not_tell_of_another_ones(service: Service) -> None:
    """It reads what the memory says when it is read."""
    secret = await service.key("admin", scope_conditions={"user_id": ["other"]})
    path = _OTHER.path(ENGINE + "/memories")
    body = {"fact": "I like tea.", "scope": dict(_OTHER.scope)}
    created = await service.done(Asked("POST", path, {"memoryId": "shared"}, body), secret)
    erase = Asked("DELETE", f"{path}/shared", {"permanent": "true"})
    await service.done(erase, secret)
    body = {"fact": _SECRET, "scope": dict(_TENANT.scope)}
    await service.done(Asked("POST", path, {"memoryId": "shared"}, body))
    told = await _operation(service, secret, created)
    assert told["response"]["name"].endswith("/memories/shared")
    assert "secret" not in str(told)


@pytest.mark.parametrize(
    ("path", "parameter"), [("/memories", "memoryId"), ("/sessions", "sessionId")]
)
async def test_an_id_that_is_taken_tells_no_more_than_that(
    service: Service, path: str, parameter: str
) -> None:
    """Ids are unique over an engine: one is refused that another user has."""
    secret = await service.key("admin", scope_conditions={"user_id": ["other"]})

    def create(names: Names) -> Asked:
        body = {"fact": _SECRET, "scope": dict(names.scope)}
        if path == "/sessions":
            body = {"userId": names.user, "displayName": _SECRET}
        return Asked("POST", names.path(ENGINE + path), {parameter: "shared"}, body)

    await service.done(create(_TENANT))
    answer = await service.ask(create(_OTHER), secret)
    assert refusal(answer) == (409, "ALREADY_EXISTS", Reason.ID_TAKEN)
    assert "/shared exists" in answer.json()["error"]["message"]
    assert "secret" not in answer.text
    assert "tenant" not in answer.text
