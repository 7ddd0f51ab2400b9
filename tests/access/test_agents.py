"""An agent's key, without `artifacts.content`, gets stored bytes by no route: source, issue 7.

It has everything else that agents have, knows every name, and asks for all there is. What a reader
answers may quote what it has read, where the namespace is not sensitive: that is what the
permission to derive is for. See `test_agents_readers` for those that are.
"""

from collections.abc import Sequence

import pytest

from tests.access.agents import AGENT, READERS, Agent, every_request, keep, made, marks, traces
from tests.access.routes import ROUTES, Route
from tests.access.service import Headers, Service

_WAYS: Sequence[Headers] = ([], [(b"range", b"bytes=0-7")], [(b"accept", b"text/html")])


@pytest.mark.parametrize("roles", [(), ("editor",)])
async def test_no_route_gives_an_agent_what_is_stored(
    service: Service, roles: tuple[str, ...]
) -> None:
    canary = made()
    names = await keep(service, canary)
    secret = await service.key(*roles, permissions=list(AGENT))
    anybody = Agent(service, secret, marks(canary))
    reader = Agent(service, secret, traces(canary))
    asked = list(every_request(names))
    assert len(asked) > len(ROUTES)
    for one in asked:
        agent = reader if one.path.endswith(READERS) else anybody
        for headers in _WAYS:
            await agent.send(one, *headers)
    await service.settled()


@pytest.mark.parametrize("roles", [(), ("editor",)])
async def test_no_route_gives_an_agent_anything_of_a_sensitive_namespace(
    service: Service, roles: tuple[str, ...]
) -> None:
    canary = made()
    names = await keep(service, canary, sensitive=True)
    agent = Agent(service, await service.key(*roles, permissions=list(AGENT)), marks(canary))
    for one in every_request(names):
        for headers in _WAYS:
            await agent.send(one, *headers)
    await service.settled()


async def test_the_same_requests_give_it_to_who_may_have_it(service: Service) -> None:
    canary = made()
    names = await keep(service, canary)
    secret = await service.key(permissions=["artifacts.content"])
    found = []
    for one in every_request(names):
        answer = await service.ask(one, secret)
        if canary in answer.text:
            found.append(one.path)
    assert len(found) == 7


def test_routes_with_content_are_known_by_their_permission() -> None:
    """So that a new one is not forgotten here: only these routes take the permission."""
    taking: list[Route] = [one for one in ROUTES if "artifacts.content" in one.permissions]
    assert [one.template.rpartition("/")[2] for one in taking] == ["content", "{artifact}:text"]
