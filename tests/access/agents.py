"""What an agent's key tries to get at: a canary, kept in every way there is."""

import base64
import hashlib
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import httpx

from tests.access.names import ENGINE, Names
from tests.access.routes import ROUTES
from tests.access.service import Asked, Json, Service, bearer

AGENT = ("artifacts.write", "artifacts.reference", "artifacts.derive")
PLACE = Names(engine="1", scope={"user_id": "tenant"}, user="tenant")
NAMESPACE = ENGINE + "/taskMemories/{task_memory}/namespaces/{namespace}"
READERS = (":query", ":summarize", ":extract")


def made() -> str:
    return f"canary-{secrets.token_hex(12)}"


def marks(canary: str) -> list[str]:
    """Return what tells of a text: itself, and what `traces` has."""
    return [canary, *traces(canary)]


def traces(canary: str) -> list[str]:
    """Return a text in other writings, and its digest."""
    content = canary.encode()
    digest = hashlib.sha256(content)
    return [
        content.hex(),
        base64.b64encode(content).decode().rstrip("="),
        base64.urlsafe_b64encode(content).decode().rstrip("="),
        digest.hexdigest(),
        base64.b64encode(digest.digest()).decode().rstrip("="),
    ]


async def keep(service: Service, canary: str, *, sensitive: bool = False) -> Names:
    """Store a canary in every way there is."""
    memory = "M" + secrets.token_hex(6)
    names = replace(PLACE, task_memory=memory, namespace="n", artifact="a")
    path = names.path(NAMESPACE)
    text = {"kind": "text", "text": canary, "name": "a"}
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + canary.encode()).decode()
    blob = {"kind": "blob", "data": data, "name": "b"}
    body: Json = {"artifacts": [text, blob], "userId": "tenant", "sensitive": sensitive}
    await service.done(Asked("POST", f"{path}:store", body=body))
    output = {"kind": "json", "json": {"code": canary}}
    body = {"tool": "web", "activity": "fetch", "output": output, "offPrompt": True}
    processing = names.path(ENGINE + "/taskMemories/{task_memory}:processOutput")
    await service.done(Asked("POST", processing, body={**body, "namespace": "n"}))
    upload = Asked("PUT", f"{path}/artifacts/c", body={"code": canary})
    await service.done(upload)
    return names


def every_request(names: Names) -> Iterator[Asked]:
    """Yield requests for all that is in the namespace, by every route."""
    artifacts = ("a", "b", "c", "artifact-3")
    reads = [route for route in ROUTES if route.is_read]
    for route in [*reads, *(one for one in ROUTES if not one.is_read)]:
        for artifact in artifacts if "{artifact}" in route.template else artifacts[:1]:
            yield route.asked(replace(names, artifact=artifact))


@dataclass(frozen=True)
class Agent:
    """Asks by an agent's key; none of the texts may be in an answer."""

    service: Service
    secret: str
    hidden: Sequence[str]

    async def send(self, asked: Asked, *headers: tuple[bytes, bytes]) -> httpx.Response:
        sent = asked.sent([*bearer(self.secret), *headers])
        answer = await self.service.clients[0].send(sent)
        shown = f"{answer.text}\n{answer.headers}"
        assert not [one for one in self.hidden if one in shown], asked
        return answer

    async def post(self, path: str, body: Json, **params: str) -> httpx.Response:
        return await self.send(Asked("POST", path, params, body))
