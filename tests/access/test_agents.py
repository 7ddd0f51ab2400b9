"""An agent's key, without `artifacts.content`, gets stored bytes by no route: source, issue 7.

It has everything else that agents have, knows every name, and asks for all there is.
"""

import base64
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.access.names import ENGINE, Names
from tests.access.routes import ROUTES, Route
from tests.access.service import Asked, Json, Service, bearer

AGENT = ("artifacts.write", "artifacts.reference", "artifacts.derive")
_PLACE = Names(engine="1", scope={"user_id": "tenant"}, user="tenant")
_NAMESPACE = ENGINE + "/taskMemories/{task_memory}/namespaces/{namespace}"


def _marks(canary: str) -> list[str]:
    """Return what tells of a text: itself, in other writings, and its digest."""
    content = canary.encode()
    digest = hashlib.sha256(content)
    return [
        canary,
        content.hex(),
        base64.b64encode(content).decode().rstrip("="),
        base64.urlsafe_b64encode(content).decode().rstrip("="),
        digest.hexdigest(),
        base64.b64encode(digest.digest()).decode().rstrip("="),
    ]


async def _keep(service: Service, canary: str) -> Names:
    """Store a canary in every way there is."""
    memory = "M" + secrets.token_hex(6)
    names = replace(_PLACE, task_memory=memory, namespace="n", artifact="a")
    path = names.path(_NAMESPACE)
    text = {"kind": "text", "text": canary, "name": "a"}
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + canary.encode()).decode()
    blob = {"kind": "blob", "data": data, "name": "b"}
    body: Json = {"artifacts": [text, blob], "userId": "tenant"}
    await service.done(Asked("POST", f"{path}:store", body=body))
    output = {"kind": "json", "json": {"code": canary}}
    body = {"tool": "web", "activity": "fetch", "output": output, "offPrompt": True}
    processing = names.path(ENGINE + "/taskMemories/{task_memory}:processOutput")
    await service.done(Asked("POST", processing, body={**body, "namespace": "n"}))
    upload = Asked("PUT", f"{path}/artifacts/c", body={"code": canary})
    await service.done(upload)
    return names


def _asked(names: Names) -> Iterator[Asked]:
    """Yield requests for all that is in the namespace, by every route."""
    artifacts = ("a", "b", "c", "artifact-3")
    reads = [route for route in ROUTES if route.is_read]
    for route in [*reads, *(one for one in ROUTES if not one.is_read)]:
        for artifact in artifacts if "{artifact}" in route.template else artifacts[:1]:
            yield route.asked(replace(names, artifact=artifact))


@pytest.mark.parametrize("roles", [(), ("editor",)])
async def test_no_route_gives_an_agent_what_is_stored(
    service: Service, roles: tuple[str, ...]
) -> None:
    canary = f"canary-{secrets.token_hex(12)}"
    marks = _marks(canary)
    names = await _keep(service, canary)
    secret = await service.key(*roles, permissions=list(AGENT))
    asked = list(_asked(names))
    assert len(asked) > len(ROUTES)
    for one in asked:
        for headers in ([], [(b"range", b"bytes=0-7")], [(b"accept", b"text/html")]):
            sent = one.sent([*bearer(secret), *headers])
            answer = await service.clients[0].send(sent)
            shown = f"{answer.text}\n{answer.headers}"
            assert not [mark for mark in marks if mark in shown], one
    await service.settled()


async def test_the_same_requests_give_it_to_who_may_have_it(service: Service) -> None:
    canary = f"canary-{secrets.token_hex(12)}"
    names = await _keep(service, canary)
    secret = await service.key(permissions=["artifacts.content"])
    found = []
    for one in _asked(names):
        answer = await service.ask(one, secret)
        if canary in answer.text:
            found.append(one.path)
    assert len(found) == 4


def test_routes_with_content_are_known_by_their_permission() -> None:
    """So that a new one is not forgotten here: only this route takes the permission."""
    taking: list[Route] = [one for one in ROUTES if "artifacts.content" in one.permissions]
    assert [one.template.rpartition("/")[2] for one in taking] == ["content"]
