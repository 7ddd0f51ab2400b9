"""Import of Letta agents from an AgentFile (`.af`) in its current or former format.

Source: docs.letta.com, "AgentFile"; `AgentFileSchema` of letta. It has no archival memory.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from app.kernel.wire.scalars import format_timestamp
from app.process.imports.items import (
    Conversation,
    Draft,
    Json,
    Options,
    fields_of,
    made_id,
    moment_of,
)
from app.process.imports.records import Record

_PARAGRAPHS = re.compile(r"\n\s*\n")
_USER = "user"


def convert(
    record: Record, options: Options, losses: Counter[str]
) -> Iterator[Draft | Conversation]:
    """Yield a draft for each paragraph of a core block, and the messages of each agent."""
    document = fields_of(record.value)
    if "core_memory" in document:
        agents, blocks = [document], {}
    else:
        fields_of(document, "agents", "blocks")
        agents, blocks = _objects(document["agents"]), _by_id(document["blocks"])
    for agent in agents:
        yield from _agent(agent, blocks, options, losses)


def _agent(
    agent: Json, blocks: Mapping[str, Json], options: Options, losses: Counter[str]
) -> Iterator[Draft | Conversation]:
    name = fields_of(agent, "name")["name"]
    ids = agent.get("block_ids")
    keys = map(str, ids) if isinstance(ids, list) else ()
    shared = [blocks[key] for key in keys if key in blocks]
    for block in [*shared, *_objects(agent.get("core_memory") or agent.get("memory_blocks"))]:
        yield from _block(block, name)
    messages = _objects(agent.get("messages"))
    if not options.sessions:
        if messages:
            losses["messages, without --sessions"] += len(messages)
        return
    made = (_event(message, str(name), options, losses) for message in messages)
    events = tuple(event for event in made if event is not None)
    user = options.pairs.get("user_id") or str(name)
    if events:
        # Agent ids are unique only within a file: most files begin with agent-0.
        session_id = made_id(options.source, json.dumps([agent.get("id"), name, user]))
        yield Conversation(session_id, user, events, {"displayName": str(name)})


def _block(block: Json, name: Any) -> Iterator[Draft]:  # noqa: ANN401 - any JSON value
    label, value = block.get("label"), block.get("value")
    for paragraph in _PARAGRAPHS.split(value if isinstance(value, str) else ""):
        text = paragraph.strip()
        if text:
            yield Draft(
                fact=text,
                scope={"agent": name},
                metadata={"block": label},
                item={"agent": name, "block": label, "text": text},
            )


def _event(message: Json, agent: str, options: Options, losses: Counter[str]) -> Json | None:
    """Return the event of a message; None for system messages and empty ones, which are losses."""
    role, text = message.get("role"), _text(message.get("content", message.get("text")))
    is_user = role in (_USER, "tool")
    if role == _USER:
        text = _unpacked(text)
    if role == "tool":
        parts = [_response(message, text)]
    else:
        parts = [{"text": text}] if text else []
        parts += [_call(call) for call in _objects(message.get("tool_calls"))]
    if role == "system" or (role == _USER and text is None):
        losses["system messages"] += 1
        return None
    if role not in (_USER, "assistant", "tool") or not parts:
        losses["messages without content"] += 1
        return None
    moment = moment_of(message.get("created_at")) or options.now
    return {
        "author": _USER if role == _USER else agent,
        "invocationId": str(message.get("id") or agent),
        "timestamp": format_timestamp(moment),
        "content": {"role": _USER if is_user else "model", "parts": parts},
    }


def _text(content: Any) -> str | None:  # noqa: ANN401 - any JSON value
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in _objects(content) if part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _unpacked(text: str | None) -> str | None:
    """Return the text of a user message, from its JSON; None for an internal event."""
    try:
        packed = json.loads(text or "")
    except (ValueError, RecursionError):
        return text
    if not isinstance(packed, dict) or "type" not in packed:
        return text
    said = packed.get("message") if packed["type"] == "user_message" else None
    return said if isinstance(said, str) else None


def _call(call: Json) -> Json:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, TypeError, RecursionError):
        arguments = function.get("arguments")
    args = arguments if isinstance(arguments, dict) else {"arguments": arguments}
    return {"functionCall": {"name": str(function.get("name")), "args": args, "id": call.get("id")}}


def _response(message: Json, text: str | None) -> Json:
    response = {"result": text or ""}
    name, call_id = message.get("name"), message.get("tool_call_id")
    return {"functionResponse": {"name": str(name), "response": response, "id": call_id}}


def _objects(value: Any) -> list[Json]:  # noqa: ANN401 - any JSON value
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _by_id(value: Any) -> dict[str, Json]:  # noqa: ANN401 - any JSON value
    return {str(block.get("id")): block for block in _objects(value)}
