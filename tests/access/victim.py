"""A tenant that has one of everything, each with a canary in it."""

from dataclasses import dataclass, replace
from typing import Any

import httpx

from tests.access.canaries import Canaries
from tests.access.names import ENGINE, ENGINES, IDLE, Names, last_part
from tests.access.routes import ROUTES, ROWS
from tests.access.service import Asked, Json, Service, bearer

_OLD = "2026-01-15T12:00:00Z"


@dataclass
class Victim:
    """The tenant.

    Attributes:
        names: of what can be asked for.
        request_ids: that the tenant has used, with the requests.
        page_tokens: that the tenant was given, with the requests that they go on with.
    """

    canaries: Canaries
    names: Names
    request_ids: list[Asked]
    page_tokens: list[Asked]
    operations: list[str]
    event_ids: list[str]


class _Filling:
    """Makes the tenant's resources, with keys of its own."""

    def __init__(self, service: Service, secret: str, names: Names, canaries: Canaries) -> None:
        self.service = service
        self.secret = secret
        self.names = names
        self.canaries = canaries
        self.operations: list[str] = []
        self.request_ids: list[Asked] = []
        self.event_ids: list[str] = []

    async def do(self, method: str, path: str, body: Json | None = None, **params: str) -> Json:
        """Send a request under a request id of its own, where it changes something."""
        asked = Asked(method, self.names.path(ENGINE + path), params, body)
        if method != "GET" and not path.endswith((":retrieve", ":retrieveProfiles")):
            asked = asked.with_params(requestId=self.canaries.name("request id"))
            self.request_ids.append(asked)
        found = await self.service.done(asked, self.secret)
        if "/operations/" in found.get("name", ""):
            self.operations.append(last_part(found["name"]))
        return found

    def content(self, what: str) -> str:
        return self.canaries.content(what)

    def said(self, what: str, **fields: Any) -> Json:
        text = f"I like {self.content(what)}."
        return {"content": {"role": "user", "parts": [{"text": text}]}, **fields}

    def written(self, what: str) -> Json:
        """Return the fields of a memory."""
        return {
            "fact": f"I like {self.content(f'fact of {what}')}.",
            "displayName": self.content(f"display name of {what}"),
            "description": self.content(f"description of {what}"),
            "topics": [{"customMemoryTopicLabel": self.content(f"topic of {what}")}],
            "context": self.content(f"context of {what}"),
            "metadata": {
                self.content(f"metadata key of {what}"): {
                    "stringValue": self.content(f"metadata of {what}")
                },
                "score": {"doubleValue": 1.5},
                "when": {"timestampValue": _OLD},
            },
            "revisionLabels": {
                self.content(f"label key of {what}"): self.content(f"label of {what}")
            },
        }

    async def memories(self) -> Names:
        """Create memories: one that has a history, one that is deleted, one in parts."""
        scope = dict(self.names.scope)
        ids = {
            what: self.canaries.name(f"id of the {what}") for what in ("kept", "gone", "profile")
        }
        for what in ("kept", "gone"):
            body = {**self.written(what), "scope": scope}
            await self.do("POST", "/memories", body, memoryId=ids[what])
        path = f"/memories/{ids['kept']}"
        for what in ("second version", "third version"):
            await self.do("PATCH", path, self.written(what))
        revisions = (await self.do("GET", f"{path}/revisions"))["memoryRevisions"]
        first = last_part(revisions[-1]["name"])
        await self.do("POST", f"{path}:rollback", {"targetRevisionId": first})
        await self.do("PATCH", path, self.written("last version"))
        await self.do("DELETE", f"/memories/{ids['gone']}")
        data = {self.content("field of the profile"): self.content("value of the profile")}
        schema_id = self.content("schema of the profile")
        structured = {"schemaId": schema_id, "data": data}
        body = {"structuredContent": structured, "memoryType": "STRUCTURED_PROFILE", "scope": scope}
        await self.do("POST", "/memories", body, memoryId=ids["profile"])
        team = {**scope, "team": self.canaries.name("team")}
        await self.do("POST", "/memories", {**self.written("team"), "scope": team})
        expiring = {**self.written("expiring"), "scope": scope, "ttl": "360000s"}
        await self.do("POST", "/memories", expiring)
        return replace(self.names, memory=ids["kept"], revision=first)

    async def session(self) -> Names:
        """Make a session of each kind of event; name it, one of its events, and its summary."""
        session = self.canaries.name("id of the session")
        state = {self.content("key of the state"): self.content("value of the state")}
        shared = self.content("key of the user's state")
        state[f"user:{shared}"] = self.content("value of the user's state")
        body = {
            "userId": self.names.user,
            "displayName": self.content("display name of the session"),
            "labels": {
                self.content("label key of the session"): self.content("label of the session")
            },
            "sessionState": state,
            "memoryPolicy": {
                "strategy": "every_n",
                "every": 1,
                "summaryModel": "builtin",
                "summaryTokens": 10_000,
                "humanLabel": self.content("label of people"),
            },
        }
        await self.do("POST", "/sessions", body, sessionId=session)
        for number in range(3):
            await self.do("POST", f"/sessions/{session}:appendEvent", self.spoken(number))
        said = {
            "input": self.content("input"),
            "output": self.content("output"),
            "agent": self.content("agent"),
            "metadata": {self.content("metadata key of an exchange"): 1},
        }
        made = await self.do("POST", f"/sessions/{session}/exchanges", said)
        batch = {"events": [self.spoken(4), self.spoken(5)]}
        await self.do("POST", f"/sessions/{session}/events:batch", batch)
        await self.service.settled()
        listed = await self.do("GET", f"/sessions/{session}/summaries")
        return replace(
            self.names,
            session=session,
            event=last_part(made["events"][1]["name"]),
            summary=last_part(listed["summaries"][0]["name"]),
        )

    def spoken(self, number: int) -> Json:
        """Return an event of a session."""
        what = f"of event {number}"
        delta = {self.content(f"state key {what}"): self.content(f"state value {what}")}
        custom = {self.content(f"metadata key {what}"): self.content(f"metadata {what}")}
        return {
            **self.said(f"text {what}"),
            "author": "user",
            "invocationId": self.content(f"invocation {what}"),
            "timestamp": f"2026-01-15T12:00:0{number}Z",
            "actions": {
                "stateDelta": delta,
                "artifactDelta": {self.content(f"artifact {what}"): 1},
            },
            "errorCode": self.content(f"error code {what}"),
            "errorMessage": self.content(f"error {what}"),
            "eventMetadata": {"customMetadata": custom},
            "rawEvent": {self.content(f"raw key {what}"): self.content(f"raw {what}")},
        }

    async def artifacts(self) -> Names:
        """Store outputs of tools: texts, files, and one that is kept in the prompt."""
        memory, namespace = self.canaries.name("task memory"), self.canaries.name("namespace")
        name = self.canaries.name("artifact")
        user = {"userId": self.names.user}
        path = f"/taskMemories/{memory}/namespaces/{namespace}"
        said = {"kind": "text", "text": self.content("text of an artifact"), "name": name}
        rows = {"kind": "json", "json": {self.content("key of a row"): self.content("row")}}
        await self.do("POST", f"{path}:store", {"artifacts": [said, rows], **user})
        output = {"kind": "text", "text": self.content("output of a tool")}
        called = {"tool": self.canaries.name("tool"), "activity": self.canaries.name("activity")}
        body = {**called, "offPrompt": True, "output": output, **user}
        await self.do("POST", f"/taskMemories/{memory}:processOutput", body)
        uploaded: Json = {self.content("key of a file"): self.content("file")}
        await self.do("PUT", f"{path}/artifacts/{name}-2", uploaded, userId=self.names.user)
        question = {"query": f"What of {self.content('question')}, or a canary?"}
        wish = {"instructions": self.content("what a summary is to have")}
        columns = {"columns": {"item": next(iter(rows["json"]))}}
        extraction = {"schema": ROWS, "source": columns}
        for method, asked in (
            ("query", question),
            ("summarize", wish),
            ("extract", extraction),
        ):
            await self.do("POST", f"{path}:{method}", asked)
            await self.do("POST", f"{path}:{method}", {**asked, "offPrompt": True})
        return replace(self.names, task_memory=memory, namespace=namespace, artifact=name)

    async def streams(self) -> str:
        """Ingest what waits, what became memories, and what was cancelled."""
        scope = dict(self.names.scope)
        ids = [self.canaries.name(f"stream {n}") for n in range(3)]
        waiting = [await self.ingest(stream) for stream in ids]
        await self.do("POST", f"/operations/{last_part(waiting[2]['name'])}:cancel")
        flushed: Json = {"scope": scope, "streamId": ids[1], "forceFlush": True}
        await self.do("POST", "/memories:ingestEvents", flushed)
        return ids[0]

    async def ingest(self, stream: str) -> Json:
        events = [
            self.said(f"ingested {n}", eventId=self.canaries.name(f"ingested id {n}"))
            for n in range(2)
        ]
        body = {
            "scope": dict(self.names.scope),
            "streamId": stream,
            "directContentsSource": {"events": events},
            "generationTriggerConfig": IDLE,
            "metadata": {"source": {"stringValue": self.content("metadata of a stream")}},
        }
        self.event_ids += [event["eventId"] for event in events]
        return await self.do("POST", "/memories:ingestEvents", body)

    async def generations(self, session: str) -> None:
        """Generate, look ahead, fail, purge, undo: operations of every kind, in every state."""
        scope = dict(self.names.scope)
        source = {"directContentsSource": {"events": [self.said("generated")]}}
        await self.do("POST", "/memories:generate", {"scope": scope, **source})
        doomed = self.canaries.name("id of a session that goes")
        await self.do("POST", "/sessions", {"userId": self.names.user}, sessionId=doomed)
        spoken = self.spoken(9)
        await self.do("POST", f"/sessions/{doomed}:appendEvent", spoken)
        failing = {"vertexSessionSource": {"session": self.names.full(f"/sessions/{doomed}")}}
        await self.do("POST", "/memories:generate", failing)
        await self.do("DELETE", f"/sessions/{doomed}")
        heard = {"vertexSessionSource": {"session": self.names.full(f"/sessions/{session}")}}
        await self.do("POST", "/memories:generate", heard)
        await self.service.settled()
        source = {"directContentsSource": {"events": [self.said("looked ahead at")]}}
        await self.do(
            "POST", "/memories:generate", {"scope": scope, **source, "validateOnly": True}
        )
        fact = f"I like {self.content('a given fact')}."
        given = {"directMemoriesSource": {"directMemories": [{"fact": fact}]}}
        done = await self.do("POST", "/memories:generate", {"scope": scope, **given})
        await self.service.settled()
        await self.do("POST", f"/operations/{last_part(done['name'])}:undo", {})
        wanted = f'fact="{fact}"'
        await self.do("POST", "/memories:purge", {"filter": wanted, "force": True})
        await self.service.settled()


async def fill(service: Service, canaries: Canaries) -> Victim:
    """Make the tenant: a user of the first engine, and an engine in a project of its own."""
    user = canaries.name("user")
    place = Names(engine="1", scope={"user_id": user}, user=user)
    await _fill_engine(service, canaries, place)
    bounds = {"user_id": [user]}
    secret = await service.key("admin", scope_conditions=bounds, display_name=canaries.name("key"))
    filling = _Filling(service, secret, place, canaries)
    names = await filling.memories()
    spoken = await filling.session()
    stream = await filling.streams()
    await filling.generations(spoken.session)
    kept = await filling.artifacts()
    names = replace(
        names,
        session=spoken.session,
        event=spoken.event,
        summary=spoken.summary,
        stream=stream,
        task_memory=kept.task_memory,
        namespace=kept.namespace,
        artifact=kept.artifact,
    )
    names = replace(names, operation=filling.operations[0])
    tokens = await _page_tokens(service, secret, names)
    return Victim(
        canaries, names, filling.request_ids, tokens, filling.operations, filling.event_ids
    )


async def _fill_engine(service: Service, canaries: Canaries, place: Names) -> None:
    labels = {canaries.share("label key of the engine"): canaries.share("label of the engine")}
    body = {
        "displayName": canaries.share("display name of the engine"),
        "description": canaries.share("description of the engine"),
        "labels": labels,
    }
    await service.done(Asked("PATCH", place.path(ENGINE), body=body))
    elsewhere = replace(place, project=canaries.place("project"), location="somewhere")
    own = {"displayName": canaries.place("display name of an engine in its own project")}
    await service.done(Asked("POST", elsewhere.path(ENGINES), body=own))


async def _page_tokens(service: Service, secret: str, names: Names) -> list[Asked]:
    """Return the requests for the second page of every list."""
    found = []
    for route in ROUTES:
        if route.role != "viewer" or route.method != "GET":
            continue
        asked = route.asked(names).with_params(pageSize="1")
        answer = await service.ask(asked, secret)
        if token := _token(answer):
            found.append(asked.with_params(pageToken=token))
    body = {"scope": dict(names.scope), "simpleRetrievalParams": {"pageSize": 1, "pageToken": ""}}
    asked = Asked("POST", names.path(ENGINE + "/memories:retrieve"), body=body)
    token = _token(await service.send(asked, bearer(secret)))
    assert token
    paged = {**body, "simpleRetrievalParams": {"pageSize": 1, "pageToken": token}}
    return [*found, replace(asked, body=paged)]


def _token(answer: httpx.Response) -> str | None:
    if answer.status_code != 200 or "json" not in answer.headers["content-type"]:
        return None
    found: str | None = answer.json().get("nextPageToken")
    return found
