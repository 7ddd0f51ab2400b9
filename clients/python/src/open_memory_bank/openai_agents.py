"""A session of the OpenAI Agents SDK, kept in Open Memory Bank.

from agents import Agent, Runner
from open_memory_bank import AsyncClient
from open_memory_bank.openai_agents import MemoryBankSession

bank = AsyncClient()
session = MemoryBankSession(bank, "trip", "42", policy={"strategy": "window"}, token_limit=8000)
await Runner.run(agent, "Where did I want to sit?", session=session)
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, cast

from open_memory_bank import types
from open_memory_bank._async.client import AsyncClient
from open_memory_bank.errors import AlreadyExists, NotFound

Item = Any
"""An input item of the Responses API, as the SDK gives and takes it: a dictionary."""

_MOST_EVENTS = 500
_INCLUSIVE: types.MemoryPolicy = {"strategy": "inclusive"}
_OUTPUT = "_output"
_CALLS = frozenset(
    {
        "apply_patch_call",
        "computer_call",
        "custom_tool_call",
        "function_call",
        "local_shell_call",
        "shell_call",
    }
)
"""Items that the provider refuses without their output."""
_TEXTS = frozenset({"input_text", "output_text", "refusal", "text"})


class MemoryBankSession:
    """A conversation of one user: the protocol `Session` of openai-agents 0.24.

    Items stay as they were, in the events of a session of the service; the policy decides which of
    them the model sees. The session is created at first use.
    """

    def __init__(
        self,
        client: AsyncClient,
        session_id: str,
        user_id: str,
        *,
        policy: types.MemoryPolicy | None = None,
        token_limit: int | None = None,
        include_memories: types.IncludeMemories | None = None,
        waits_for_summaries: bool = False,
    ) -> None:
        """Make a session; nothing is sent yet.

        Args:
            client: sends the requests.
            session_id: its id in the service, of letters, digits, `_` and `-`, at most 63.
            user_id: the user whose conversation it is.
            policy: which items the model sees, and what is summarised; absent: that of the session
                in the service, else that of the engine, else every item.
            token_limit: most tokens of what the model sees.
            include_memories: facts of the bank that the model sees as well; `{}`: the user's, by
                what the user said last.
            waits_for_summaries: have the summaries that are due made before items are given back.
        """
        self.session_id = session_id
        self.session_settings: Any = None
        self._client = client
        self._user_id = user_id
        self._options: dict[str, Any] = {"token_limit": token_limit} if token_limit else {}
        if policy is not None:
            self._options["policy"] = policy
        if include_memories is not None:
            self._options["include_memories"] = include_memories
        if waits_for_summaries:
            self._options["consistency"] = "wait"
        self._lock = asyncio.Lock()
        self._is_there = False
        self._invocation = secrets.token_hex(8)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return the conversation under the session's policy, the oldest item first.

        Args:
            limit: return the newest so many items as they were instead, without summaries.

        Raises:
            PermissionError: the session is another user's.
            ApiError: the service refuses it, as where the items do not fit into the limit.
        """
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        if limit is None:
            context = await self._context(self._options)
            return _paired(list(items_of(context)))
        newest = [item for _, items in await self._events() for item in items]
        return _paired(newest[-limit:]) if limit > 0 else []

    async def add_items(self, items: list[Item]) -> None:
        """Append items in their order.

        Raises:
            PermissionError: the session is another user's.
        """
        await self._ensure()
        events = []
        for before, item in _grouped(items):
            if item.get("role") == "user":
                self._invocation = secrets.token_hex(8)
            events.append(event_of(item, before, self._invocation))
        for start in range(0, len(events), _MOST_EVENTS):
            part = events[start : start + _MOST_EVENTS]
            await self._client.sessions.batch(self.session_id, events=part)

    async def pop_item(self) -> Item | None:
        """Erase the newest item and return it; None if there is none.

        Reasoning that led to it is erased with it.
        """
        events = await self._events()
        if not events:
            return None
        event, items = events[-1]
        await self._client.sessions.erase_event(self.session_id, event)
        return items[-1]

    async def clear_session(self) -> None:
        """Begin anew: items are given back no more, but stay in the service with their session."""
        await self._ensure()
        await self._client.sessions.clear(self.session_id)

    async def _events(self) -> list[tuple[str, list[Item]]]:
        """Return each event's name and its items, the oldest first."""
        context = await self._context({"policy": _INCLUSIVE})
        found = []
        for message in context.get("messages") or []:
            source = message.get("source") or {}
            if source.get("kind") == "event":
                found.append((str(source["event"]), list(_whole(message))))
        return found

    async def _context(self, options: Mapping[str, Any]) -> types.ContextResponse:
        await self._ensure()
        asked: Any = {**options, "format": "messages", "include_raw_events": True}
        return await self._client.sessions.context(self.session_id, **asked)

    async def _ensure(self) -> None:
        """Create the session unless it is there.

        Raises:
            PermissionError: it is another user's.
        """
        async with self._lock:
            if self._is_there:
                return
            policy = self._options.get("policy")
            more: Any = {} if policy is None else {"memory_policy": policy}
            try:
                await self._client.sessions.create(
                    user_id=self._user_id, session_id=self.session_id, **more
                )
            except AlreadyExists:
                await self._check()
            self._is_there = True

    async def _check(self) -> None:
        try:
            owner = (await self._client.sessions.get(self.session_id))["userId"]
        except NotFound:  # the key does not reach it
            owner = None
        if owner != self._user_id:
            raise PermissionError(f"The session {self.session_id!r} is another user's.")


def event_of(item: Item, before: Sequence[Item], invocation: str) -> types.AppendEventRequest:
    """Return the event that keeps an item, and the reasoning that led to it."""
    raw = {"item": item, "before": list(before)} if before else {"item": item}
    content, author = _content(item)
    return {
        "author": author,
        "invocationId": invocation,
        "timestamp": datetime.now(timezone.utc).isoformat(),
        "content": content,
        "rawEvent": raw,
    }


def items_of(context: types.ContextResponse) -> Iterator[Item]:
    """Yield the items of a context; what is no event comes as a system message.

    An item that was cut to fit comes as a message, with the text that is left of it.
    """
    for message in context.get("messages") or []:
        source = message.get("source") or {}
        if source.get("kind") != "event":
            yield {"role": "system", "content": message.get("content")}
        else:
            yield from _whole(message)


def _whole(message: types.ContextMessage) -> Iterator[Item]:
    """Yield what an event keeps; one that was cut, or is another writer's, is what it says."""
    raw = cast("Mapping[str, Any]", message).get("rawEvent") or {}
    if "item" in raw:
        yield from raw.get("before", ())
        yield raw["item"]
    else:
        yield {"role": message["role"], "content": message.get("content")}


def _grouped(items: Sequence[Item]) -> Iterator[tuple[list[Item], Item]]:
    """Yield each item with the reasoning before it; reasoning at the end stands alone."""
    before: list[Item] = []
    for item in items:
        if item.get("type") == "reasoning":
            before.append(item)
        else:
            yield before, item
            before = []
    if before:
        yield before[:-1], before[-1]


def _paired(items: Sequence[Item]) -> list[Item]:
    """Return items without calls that lack their output, and outputs that lack their call.

    The reasoning that led to a call goes with it.
    """
    calls = {_call_id(item) for item in items if item.get("type") in _CALLS}
    outputs = {_call_id(item) for item in items if _is_output(item)}
    kept: list[Item] = []
    reasoning: list[Item] = []
    for item in items:
        if item.get("type") == "reasoning":
            reasoning.append(item)
            continue
        is_alone = (item.get("type") in _CALLS and _call_id(item) not in outputs) or (
            _is_output(item) and _call_id(item) not in calls
        )
        if not is_alone:
            kept += [*reasoning, item]
        reasoning = []
    return kept


def _is_output(item: Item) -> bool:
    kind = str(item.get("type", ""))
    return kind.endswith(_OUTPUT) and kind.removesuffix(_OUTPUT) in _CALLS


def _call_id(item: Item) -> str:
    return str(item.get("call_id") or item.get("id"))


def _content(item: Item) -> tuple[types.Content, str]:
    """Return what an item says, and who says it."""
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role", "assistant")
        author = "agent" if role == "assistant" else role
        return {"role": role, "parts": [{"text": _text(item.get("content"))}]}, author
    if str(kind).endswith(_OUTPUT):
        said = _text(item.get("output"))
        answer = {"name": _name(item), "id": _call_id(item), "response": {"output": said}}
        return {"role": "tool", "parts": [{"functionResponse": answer}]}, "tool"
    if kind == "reasoning":
        return {"role": "model", "parts": [{"text": _compact(item), "thought": True}]}, "agent"
    call = {"name": _name(item), "id": _call_id(item), "args": _arguments(item)}
    return {"role": "model", "parts": [{"functionCall": call}]}, "agent"


def _text(content: Any) -> str:  # noqa: ANN401 - a text, or parts
    """Return the text of a content; a part that is none is named."""
    if isinstance(content, str):
        return content or " "
    if not isinstance(content, list):
        return _compact(content)
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        said = part.get("text", part.get("refusal")) if kind in _TEXTS else f"[{kind}]"
        texts.append(str(said))
    return "\n".join(texts) or " "


def _name(item: Item) -> str:
    return str(item.get("name") or str(item.get("type", "tool")).removesuffix(_OUTPUT))


def _arguments(item: Item) -> dict[str, Any]:
    """Return the arguments of a call; of a call of another kind, all but its ids."""
    given = item.get("arguments")
    if given is None:
        return {key: value for key, value in item.items() if key not in ("id", "call_id", "type")}
    try:
        found = json.loads(given)
    except (TypeError, ValueError):
        found = given
    return found if isinstance(found, dict) else {"input": found}


def _compact(value: Any) -> str:  # noqa: ANN401 - any JSON
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
