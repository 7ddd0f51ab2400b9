"""Requests of the official clients as they were recorded on the wire, and their replay.

The ids in a recorded request are those of the scripted server that recorded it. A replay first
makes the resources that the request names, and puts their ids in place of the recorded ones.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

PARENT = "projects/my-project/locations/us-central1"
_ROOT = f"http://test/v1beta1/{PARENT}"
_FILE = Path(__file__).parents[1] / "data" / "wire" / "recorded.jsonl"
_SESSION = "another"
"""The session that is there where a path names none."""
_SCOPE = {"user_id": "123", "app_name": "x y"}
_LETTERS = {"engine": "E", "memory": "M", "revision": "R", "session": "S", "operation": "O"}
_NAMED = re.compile(
    r"/reasoningEngines(?:/(?P<engine>\d+))?"
    r"(?:/memories/(?P<memory>[a-z0-9-]+))?"
    r"(?:/revisions/(?P<revision>\d+))?"
    r"(?:/sessions/(?P<session>[a-z0-9-]+))?"
    r"(?:/operations/(?P<operation>\d+))?"
)


@dataclass(frozen=True)
class Recorded:
    """A request that a client sent."""

    number: int
    call: str
    method: str
    path: str
    query: dict[str, str]
    body: dict[str, Any] | None

    @property
    def label(self) -> str:
        """Return what to call the replay."""
        return f"{self.number}-{self.call}-{self.method}"

    @property
    def names(self) -> dict[str, str]:
        """Return the recorded ids by the kind of resource."""
        found = _NAMED.search(self.path)
        assert found is not None
        return {kind: text for kind, text in found.groupdict().items() if text}

    @property
    def route(self) -> str:
        """Return the method and the path with letters in place of ids."""
        tail = self.path.partition(PARENT)[2]
        for kind, text in self.names.items():
            tail = re.sub(f"/{text}(?=[/:]|$)", f"/{_LETTERS[kind]}", tail, count=1)
        return f"{self.method} {tail.removeprefix('/reasoningEngines/')}"


def recorded() -> list[Recorded]:
    """Return every recorded request, in their order."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [Recorded(number, **json.loads(line)) for number, line in enumerate(lines, 1)]


@dataclass(frozen=True)
class Replay:
    """Makes what a request names, and sends the request."""

    client: httpx.AsyncClient
    request: Recorded

    async def send(self) -> httpx.Response:
        """Send the request with the ids of live resources."""
        ids = await self._seed()
        path = self.request.path.partition(PARENT)[2]
        for kind, text in ids.items():
            path = re.sub(f"/{self.request.names[kind]}(?=[/:]|$)", f"/{text}", path, count=1)
        query = await self._query(f"{_ROOT}{path}")
        body = await self._body(f"{_ROOT}{path}")
        return await self.client.request(
            self.request.method, f"{_ROOT}{path}", params=query, json=body
        )

    async def _seed(self) -> dict[str, str]:
        """Make the resources that the path names; return their ids by kind."""
        route = self.request.route
        # A list of engines may be asked for page by page.
        count = 5 if route == "GET /reasoningEngines" else 1
        made = [await self._engine(f"{_ROOT}/reasoningEngines") for _ in range(count)]
        ids = {"engine": made[-1]}
        engine = f"{_ROOT}/reasoningEngines/{made[-1]}"
        # A chosen id has to be free.
        if route not in {"POST E/memories", "POST E/sessions"}:
            if "/memories" in route or "/operations" in route:
                ids |= await self._children(engine)
            if "/sessions" in route or "vertexSessionSource" in (self.request.body or {}):
                await self._sessions(engine)
        return {kind: text for kind, text in ids.items() if kind in self.request.names}

    async def _children(self, engine: str) -> dict[str, str]:
        """Make memories; return the ids of the last one, its operation and its revision."""
        for _ in range(2):
            await self._memory(engine, None)
        operation = await self._memory(engine, self.request.names.get("memory"))
        memory = operation["response"]["name"].rpartition("/")[2]
        ids = {
            "memory": memory,
            "operation": operation["name"].rpartition("/")[2],
            "revision": await self._revision(f"{engine}/memories/{memory}"),
        }
        if "(404)" in self.request.call:
            await self._post("DELETE", f"{engine}/memories/{memory}", None)
        return ids

    async def _sessions(self, engine: str) -> None:
        """Make the session that the path names, with an event, and those that a filter names."""
        if "(missing)" in self.request.call:
            return
        chosen = self.request.names.get("session", _SESSION)
        body = {"userId": "123", "displayName": "s", "sessionState": {"k": 1}}
        await self._post("POST", f"{engine}/sessions", body, sessionId=chosen)
        await self._post("POST", f"{engine}/sessions", {**body, "userId": 'u"1'})
        event = {"author": "user", "invocationId": "i", "timestamp": "2030-01-02T03:04:05+00:00"}
        await self._post("POST", f"{engine}/sessions/{chosen}:appendEvent", event)

    async def _engine(self, url: str) -> str:
        made = await self._post("POST", url, {"displayName": "Bank"})
        return str(made["response"]["name"].rpartition("/")[2])

    async def _memory(self, engine: str, recorded_id: str | None) -> dict[str, Any]:
        """Create a memory; under its recorded id where a caller chose it."""
        chosen = {} if recorded_id is None or recorded_id.isdecimal() else {"memoryId": recorded_id}
        body = {
            "fact": "I like pizza",
            "scope": _SCOPE,
            "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
            "metadata": {"src": {"stringValue": "a"}},
            "revisionLabels": {"data_source": "321"},
        }
        return await self._post("POST", f"{engine}/memories", body, **chosen)

    async def _revision(self, memory: str) -> str:
        answer = await self.client.get(f"{memory}/revisions")
        return str(answer.json()["memoryRevisions"][-1]["name"].rpartition("/")[2])

    async def _query(self, url: str) -> dict[str, str]:
        """Return the parameters, with a token that belongs to them."""
        query = dict(self.request.query)
        if "scope=" in query.get("filter", ""):
            body = {"fact": "f", "scope": {"user_id": "123"}}
            for _ in range(2):
                await self._post("POST", url, body)
        if query.pop("pageToken", None) is None:
            return query
        first = (await self.client.get(url, params=query)).json()
        return {**query, "pageToken": first["nextPageToken"]}

    async def _body(self, url: str) -> dict[str, Any] | None:
        """Return the body, with the revision or the session that it names, as they are here."""
        body = self.request.body
        if body is not None and "vertexSessionSource" in body:
            engine = url.removeprefix("http://test/v1beta1/").removesuffix("/memories:generate")
            source = {**body["vertexSessionSource"], "session": f"{engine}/sessions/{_SESSION}"}
            return {**body, "vertexSessionSource": source}
        if body is None or "targetRevisionId" not in body:
            return body
        memory = url.removesuffix(":rollback")
        return {**body, "targetRevisionId": await self._revision(memory)}

    async def _post(
        self, method: str, url: str, body: dict[str, Any] | None, **query: str
    ) -> dict[str, Any]:
        answer = await self.client.request(method, url, params=query, json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found
