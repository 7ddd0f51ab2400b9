"""Access of a tool to the memories of one scope, through the routes of the API."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from app.adapters.inprocess import InProcess
from app.adapters.logs import request_id as id_of_request
from app.adapters.resources import Resources
from app.kernel.auth import EngineDirectory
from app.kernel.changes import digest_of
from app.kernel.errors import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unauthenticated,
    Unavailable,
)
from app.kernel.names import EngineName, parse_text_id
from app.surfaces.api import Api, ApiRefusal, Json
from app.surfaces.filters import quoted
from app.surfaces.tools.texts import fact_of
from app.web.headers import address_of

_MANAGED_TOPICS = frozenset(
    {
        "USER_PERSONAL_INFO",
        "USER_PREFERENCES",
        "KEY_CONVERSATION_DETAILS",
        "EXPLICIT_INSTRUCTIONS",
    }
)
_GONE = frozenset({404, 405})
_ERRORS: Mapping[int, type[ServiceError]] = {
    400: InvalidArgument,
    401: Unauthenticated,
    403: PermissionDenied,
    404: NotFound,
    409: Aborted,
    412: FailedPrecondition,
    429: ResourceExhausted,
    503: Unavailable,
    504: DeadlineExceeded,
}


def engine_path(engine: str) -> str:
    """Return the path of an engine in the API."""
    return f"/v1beta1/reasoningEngines/{quote(engine, safe='')}"


@dataclass(frozen=True)
class Bank:
    """The memories of one scope, with the API client of a tool; other scopes are out of reach.

    Attributes:
        wait_seconds: the longest wait for an operation.
        request_id: the caller's request id, which makes a repeated call idempotent.
        session: the current conversation, if the application named it.
        exclude_recent: the number of its newest events that are already in the prompt.
    """

    api: Api
    engine: str
    scope: Mapping[str, str]
    wait_seconds: float
    request_id: str | None = None
    session: str | None = None
    exclude_recent: int = 0

    def path_of(self, memory: str) -> str:
        """Return the path of a memory.

        Raises:
            NotFound: the id is not valid.
        """
        return f"{self.engine}/memories/{parse_text_id('memories', memory)}"

    def request_id_for(self, *parts: str) -> str | None:
        """Derive a request id from the caller's, if any, and from parts, such as a memory."""
        if self.request_id is None:
            return None
        # The parts may have any length; a digest has a fixed one.
        return digest_of([self.request_id, *parts]).hex()

    async def memory(self, memory: str, *, with_deleted: bool = False) -> Json:
        """Return a memory of the scope.

        Raises:
            ApiRefusal: the API refuses for any reason except a missing memory.
            NotFound: the memory does not exist, or it belongs to another scope.
        """
        query = [("showDeleted", "true")] if with_deleted else []
        try:
            memory_read = await self.api.get(self.path_of(memory), query)
        except ApiRefusal as refused:
            if refused.status not in _GONE:
                raise
            raise NotFound.of(f"memories/{memory}") from None
        if memory_read["scope"] != self.scope:
            raise NotFound.of(f"memories/{memory}")
        return memory_read

    async def known_memory(self, memory: str) -> Json:
        """Return a memory of the scope; a deleted one too if the key may see deleted ones."""
        try:
            return await self.memory(memory, with_deleted=True)
        except ApiRefusal as refused:
            if not refused.is_forbidden:
                raise
            return await self.memory(memory)

    async def retrieve(self, **body: Any) -> Json:  # noqa: ANN401 - fields of the request
        """Call `:retrieve` for the scope."""
        return await self.api.ask(f"{self.engine}/memories:retrieve", {"scope": self.scope, **body})

    def filter_of_scope(self) -> str:
        """Return the list filter that matches exactly this scope."""
        return f"scope={quoted(json.dumps(self.scope, ensure_ascii=False))}"

    async def settled(self, operation: Json) -> Json:
        """Wait for an operation; return its state when it ends or the wait is over."""
        if operation["done"] or not self.wait_seconds:
            return operation
        path = f"{self.engine}/operations/{last_part(operation['name'])}:wait"
        # `ask`, because this POST request changes no data.
        timeout = ("timeout", f"{self.wait_seconds:g}s")
        return await self.api.ask(path, {}, [timeout])

    async def changes(self, operation: Json) -> list[dict[str, Any]]:
        """Return the changes that a generation made in the scope, with the facts.

        Raises:
            ApiRefusal: the API refuses for any reason except missing data or permission.
        """
        generated = (operation["response"] or Json())["generatedMemories"] or []
        changes = await asyncio.gather(*map(self._change, generated))
        return [change for change in changes if change is not None]

    async def _change(self, generated: Json) -> dict[str, Any] | None:
        memory, action = last_part(generated["memory"]["name"]), generated["action"]
        reads: list[Awaitable[str | None]] = [self._before(memory, generated["previousRevision"])]
        if action != "DELETED":
            reads.append(_if_there(self.memory(memory), fact_of))
        before, *after = await asyncio.gather(*reads)
        fact = after[0] if after else before
        if fact is None:
            # The memory was erased in the meantime, or it belongs to another scope.
            return None
        if action != "UPDATED":
            return {"id": memory, "action": action, "fact": fact}
        if before == fact:
            return {"id": memory, "action": "ALREADY_KNOWN", "fact": fact}
        was = {} if before is None else {"was": before}
        return {"id": memory, "action": action, "fact": fact, **was}

    async def _before(self, memory: str, revision: str | None) -> str | None:
        if revision is None:
            return None
        path = f"{self.path_of(memory)}/revisions/{last_part(revision)}"
        revision_read = await _if_there(self.api.get(path), lambda revision_read: revision_read)
        return (
            fact_of(revision_read)
            if revision_read is not None and revision_read["scope"] == self.scope
            else None
        )


async def _if_there(read: Awaitable[Json], shown: Callable[[Json], Any]) -> Any:  # noqa: ANN401 - as `shown` has it
    """Return `shown` of a resource; None if it no longer exists or the key may not read it."""
    try:
        return shown(await read)
    except NotFound:
        return None
    except ApiRefusal as refused:
        if refused.status in {403, *_GONE}:
            return None
        raise


def last_part(name: str) -> str:
    """Return the id at the end of a resource's name."""
    return name.rpartition("/")[2]


def entry(memory: Json) -> dict[str, Any]:
    """Return a memory in the format of tool results."""
    return {
        "id": last_part(memory["name"]),
        "fact": fact_of(memory),
        "changed": memory["updateTime"],
        "topics": [next(iter(topic.values())) for topic in memory["topics"] or []],
    }


def topics_of(labels: Sequence[str]) -> list[dict[str, str]]:
    """Convert labels to the API's topics: managed topics by name, others as custom labels."""
    return [
        {"managedMemoryTopic" if label in _MANAGED_TOPICS else "customMemoryTopicLabel": label}
        for label in labels
    ]


def filter_of_topics(labels: Sequence[str]) -> str:
    """Return a filter that matches memories about any of these topics."""
    fields = {
        label: "managed_memory_topic" if label in _MANAGED_TOPICS else "custom_memory_topic_label"
        for label in labels
    }
    return " OR ".join(f"topics.{field}={quoted(label)}" for label, field in fields.items())


def refusal_of(operation: Json) -> InvalidArgument:
    """Return the error of a failed operation, with the API's message."""
    error = operation["error"] or Json()
    return InvalidArgument(error["message"] or "The operation failed.", Reason.FIELD_INVALID)


async def check_engine(request: Request, engine: EngineName) -> None:
    """Check that the caller of a request may access the named engine.

    Raises:
        NotFound: it does not exist in this project and location, or the caller has no access.
    """
    directory: EngineDirectory = request.app.state.gate.directory
    location = await directory.location_of(engine.engine, request.state.caller.reach)
    if location is None or not engine.is_named(f"{location}/reasoningEngines/{engine.engine}"):
        raise NotFound.of(f"reasoningEngines/{engine.engine}")


def open_bank(
    request: Request,
    engine: str,
    scope: Mapping[str, str],
    surface: str,
    *,
    request_id: str | None = None,
    session: str | None = None,
    exclude_recent: int = 0,
) -> Bank:
    """Return the bank that a tool uses on behalf of a request's caller; see `Bank`.

    `surface` names the interface and the tool in the audit log.
    """
    resources: Resources = request.app.state.resources
    calls = InProcess(
        application=request.app,
        caller=request.state.caller,
        surface=surface,
        host=request.headers.get("host", ""),
        address=address_of(request.scope),
        request_id=id_of_request() or "",
        is_given_up=request.is_disconnected,
    )
    wait = resources.settings.tuning.mcp_wait_seconds
    return Bank(Api(calls, calls.host), engine, scope, wait, request_id, session, exclude_recent)


def as_service_error(refused: ApiRefusal) -> ServiceError:
    """Convert a refusal of the API to an error of the request that called it."""
    metadata: dict[str, str] = {}
    delay = None
    for detail in refused.details:
        metadata.update(detail["metadata"] or {})
        if detail["retryDelay"] is not None:
            delay = float(str(detail["retryDelay"]).removesuffix("s"))
    error = _ERRORS.get(refused.status, Internal)
    return error(
        refused.message,
        Reason(refused.reason or Reason.INTERNAL),
        metadata=metadata,
        retry_after_seconds=delay,
    )
