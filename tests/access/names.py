"""Where a tenant's resources are, and the making of some for a request to name."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from sqlalchemy import update

from app.platform.operations.store.tables import OperationRow
from tests.access.service import Asked, Json, Service

ENGINES = "/v1beta1/projects/{project}/locations/{location}/reasoningEngines"
ENGINE = ENGINES + "/{engine}"
IDLE: Json = {"generationRule": {"idleDuration": "36000s"}}


def _absent(first: str) -> str:
    return first + "9" * 17


@dataclass(frozen=True)
class Names:
    """What a request can name. Unless told otherwise, nothing of it is there."""

    project: str = "default"
    location: str = "local"
    engine: str = _absent("3")
    scope: Mapping[str, str] = field(default_factory=lambda: {"user_id": "nobody"})
    user: str = "nobody"
    memory: str = "absent-memory"
    revision: str = _absent("4")
    session: str = "absent-session"
    event: str = _absent("7")
    summary: str = _absent("8")
    stream: str = "absent-stream"
    task_memory: str = "absent-task-memory"
    tool: str = "absent-tool"
    namespace: str = "absent-namespace"
    artifact: str = "absent-artifact"
    operation: str = _absent("5")
    key: str = _absent("6")

    def path(self, template: str) -> str:
        return template.format(**asdict(self))

    def full(self, template: str) -> str:
        """Return a resource's full name, by the path below its engine."""
        return self.path(ENGINE + template).removeprefix("/v1beta1/")

    def neutral(self, text: str) -> str:
        """Return a text with a word for each of the names."""
        ids = {name: value for name, value in asdict(self).items() if isinstance(value, str)}
        for name, value in ids.items():
            text = re.sub(rf"(?<=/){re.escape(value)}(?![\w-])", f"<{name}>", text)
        return text


ABSENT = Names()


def event(text: str) -> Json:
    return {"content": {"role": "user", "parts": [{"text": text}]}}


def last_part(name: str) -> str:
    return name.rpartition("/")[2]


async def with_memory(service: Service, place: Names) -> Names:
    """Create a memory; the operation that did is one that has ended, and can be undone."""
    memory = "m" + secrets.token_hex(8)
    body = {"fact": f"I like {memory}.", "scope": dict(place.scope), "displayName": memory}
    create = Asked("POST", place.path(ENGINE + "/memories"), {"memoryId": memory}, body)
    operation = await service.done(create)
    return replace(place, memory=memory, operation=last_part(operation["name"]))


async def with_revision(service: Service, place: Names) -> Names:
    """Create a memory, and name its revision."""
    found = await with_memory(service, place)
    listed = await service.done(Asked("GET", found.path(ENGINE + "/memories/{memory}/revisions")))
    return replace(found, revision=last_part(listed["memoryRevisions"][0]["name"]))


async def with_deleted_memory(service: Service, place: Names) -> Names:
    """Create a memory, and delete it for a while."""
    found = await with_memory(service, place)
    await service.done(Asked("DELETE", found.path(ENGINE + "/memories/{memory}")))
    return found


async def with_session(service: Service, place: Names) -> Names:
    session = "S" + secrets.token_hex(8)
    body = {"userId": place.user}
    path = place.path(ENGINE + "/sessions")
    await service.done(Asked("POST", path, {"sessionId": session}, body))
    return replace(place, session=session)


async def with_event(service: Service, place: Names) -> Names:
    """Create a session of one exchange, and name the first event."""
    found = await with_session(service, place)
    path = found.path(ENGINE + "/sessions/{session}/exchanges")
    said = await service.done(Asked("POST", path, body={"input": "Tea?", "output": "Yes."}))
    return replace(found, event=last_part(said["events"][0]["name"]))


async def with_summary(service: Service, place: Names) -> Names:
    """Create a session of one exchange, and have it summarised by the built-in rules."""
    session = "S" + secrets.token_hex(8)
    policy = {"strategy": "every_n", "every": 1, "summaryModel": "builtin"}
    body = {"userId": place.user, "memoryPolicy": policy}
    path = place.path(ENGINE + "/sessions")
    await service.done(Asked("POST", path, {"sessionId": session}, body))
    said = {"input": "I like green tea.", "output": "Noted."}
    await service.done(Asked("POST", f"{path}/{session}/exchanges", body=said))
    await service.settled()
    listed = await service.done(Asked("GET", f"{path}/{session}/summaries"))
    return replace(place, session=session, summary=last_part(listed["summaries"][0]["name"]))


async def with_artifact(service: Service, place: Names) -> Names:
    """Store an artifact in a namespace of its own, which is the user's."""
    found = replace(
        place,
        task_memory="M" + secrets.token_hex(8),
        namespace="n" + secrets.token_hex(8),
        artifact="a" + secrets.token_hex(8),
    )
    output = {"kind": "text", "text": f"I like {found.artifact}.", "name": found.artifact}
    path = found.path(ENGINE + "/taskMemories/{task_memory}/namespaces/{namespace}:store")
    await service.done(Asked("POST", path, body={"artifacts": [output], "userId": place.user}))
    return found


async def with_tool_policy(service: Service, place: Names) -> Names:
    """Set the policy of a tool for a memory in which the user has a namespace."""
    found = replace(await with_artifact(service, place), tool="web")
    path = found.path(ENGINE + "/taskMemories/{task_memory}/toolPolicies/{tool}")
    await service.done(Asked("PUT", path, body={"offPrompt": "auto"}))
    return found


async def with_waiting_operation(service: Service, place: Names) -> Names:
    """Ingest an event whose time has not come."""
    stream = "s" + secrets.token_hex(8)
    body = {
        "scope": dict(place.scope),
        "streamId": stream,
        "directContentsSource": {"events": [event("I like tea.")]},
        "generationTriggerConfig": IDLE,
    }
    path = place.path(ENGINE + "/memories:ingestEvents")
    operation = await service.done(Asked("POST", path, body=body))
    return replace(place, stream=stream, operation=last_part(operation["name"]))


async def with_failed_operation(service: Service, place: Names) -> Names:
    """Generate from a fact, and have it failed: the built-in rules do not."""
    source = {"directMemories": [{"fact": "I like tea."}]}
    body = {"scope": dict(place.scope), "directMemoriesSource": source}
    path = place.path(ENGINE + "/memories:generate")
    operation = last_part((await service.done(Asked("POST", path, body=body)))["name"])
    await service.settled()
    async with service.database.transaction() as session:
        await session.execute(
            update(OperationRow)
            .where(OperationRow.operation_id == operation)
            .values(state="FAILED", request=body, response=None)
        )
    return replace(place, operation=operation)


async def with_engine(service: Service, place: Names) -> Names:
    operation = await service.done(Asked("POST", place.path(ENGINES), body={"displayName": "e"}))
    return replace(place, engine=last_part(operation["response"]["name"]))


async def with_key(service: Service, place: Names) -> Names:
    body = {"displayName": "k", "roles": ["viewer"]}
    made = await service.done(Asked("POST", "/v1/keys", body=body))
    return replace(place, key=last_part(made["name"]))
