"""The routes of OpenAI and Anthropic by which models are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from open_memory_bank._lines import PROMPTS, Api, Body, extended, field, text_of


def _in_messages(body: Body, text: str) -> dict[str, Any]:
    """Return a request with a text in its one system prompt: some servers refuse a second one."""
    messages = list(body["messages"])
    last = -1
    while last + 1 < len(messages) and field(messages[last + 1], "role") in PROMPTS:
        last += 1
    if last < 0:
        return {**body, "messages": [{"role": "system", "content": text}, *messages]}
    prompt = messages[last]
    messages[last] = {**prompt, "content": extended(prompt.get("content"), text)}
    return {**body, "messages": messages}


def _in_instructions(body: Body, text: str) -> dict[str, Any]:
    return {**body, "instructions": extended(body.get("instructions"), text)}


def _completed(completion: Any) -> str:  # noqa: ANN401 - a completion
    choices = field(completion, "choices") or [None]
    return text_of(field(field(choices[0], "message"), "content"))


def _completion_piece(chunk: Any) -> str:  # noqa: ANN401 - an event of a stream
    deltas: Iterator[Any] = (
        field(field(choice, "delta"), "content")
        for choice in field(chunk, "choices") or ()
        if field(choice, "index") == 0
    )
    return "".join(delta for delta in deltas if delta)


def _responded(response: Any) -> str:  # noqa: ANN401 - a response
    items = field(response, "output") or ()
    texts = (text_of(field(item, "content")) for item in items if field(item, "type") == "message")
    return "\n".join(text for text in texts if text)


def _response_piece(event: Any) -> str:  # noqa: ANN401 - an event of a stream
    is_text = field(event, "type") == "response.output_text.delta"
    return str(field(event, "delta")) if is_text else ""


def _continued(body: Body) -> str:
    found = body.get("previous_response_id") or body.get("conversation")
    return str(found) if isinstance(found, (str, dict)) else ""


def _in_system(body: Body, text: str) -> dict[str, Any]:
    system = body.get("system")
    if not isinstance(system, str) and isinstance(system, Iterable):
        system = list(system)
    return {**body, "system": extended(system, text)}


def _messaged(message: Any) -> str:  # noqa: ANN401 - a message
    return text_of(field(message, "content"))


def _message_piece(event: Any) -> str:  # noqa: ANN401 - an event of a stream
    delta = field(event, "delta")
    is_text = field(event, "type") == "content_block_delta" and field(delta, "type") == "text_delta"
    return str(field(delta, "text")) if is_text else ""


_APIS = (
    Api("/chat/completions", "messages", _in_messages, _completed, _completion_piece),
    Api("/responses", "input", _in_instructions, _responded, _response_piece, _continued),
    Api("/v1/messages", "messages", _in_system, _messaged, _message_piece),
)
BY_PATH = {api.path: api for api in _APIS}
