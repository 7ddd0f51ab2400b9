"""A memory for a client of OpenAI, or of any server that speaks its protocol.

from openai import OpenAI
from open_memory_bank.openai import remember

client = remember(OpenAI(), scope={"user_id": "42"})
client.chat.completions.create(model=..., messages=[{"role": "user", "content": "Where do I sit?"}])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from open_memory_bank._lines import PROMPTS, Api, Body, extended, field, text_of
from open_memory_bank._link import flush, link_of
from open_memory_bank._remember import Memory, remembering
from open_memory_bank._sync.client import Client

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

__all__ = ["flush", "remember"]

Wrapped = TypeVar("Wrapped", bound="OpenAI | AsyncOpenAI")


def remember(
    client: Wrapped,
    *,
    scope: Mapping[str, str],
    bank: Client | None = None,
    top_k: int = 5,
    search_seconds: float = 0.4,
) -> Wrapped:
    """Return a client like the given one that remembers its user; that one stays as it is.

    It covers `chat.completions` and `responses` with all their ways to call a model. Memories that
    match the user's last words stand at the end of the system prompt, between `<memories>` marks.
    The user's new words and the model's answer are ingested in the background when the answer ends;
    earlier messages of a request, system prompts, tools' results and files are not. Of
    `with_streaming_response` the answer is not recorded.

    Args:
        client: an `OpenAI`, an `AsyncOpenAI`, or a client that is derived from them.
        scope: whose memories.
        bank: sends the requests, in threads; absent: `Client()`.
        top_k: most memories in a prompt, 1 to 100.
        search_seconds: the longest time that a call waits for memories.

    Raises:
        TypeError: it is no client of a model.
        ValueError: the scope is empty.
    """
    memory = Memory(link_of(bank), dict(scope), top_k, search_seconds)
    return remembering(client, _APIS, memory)


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


def _chunk(chunk: Any) -> str:  # noqa: ANN401 - an event of a stream
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


def _delta(event: Any) -> str:  # noqa: ANN401 - an event of a stream
    is_text = field(event, "type") == "response.output_text.delta"
    return str(field(event, "delta")) if is_text else ""


def _continued(body: Body) -> str:
    found = body.get("previous_response_id") or body.get("conversation")
    return str(found) if isinstance(found, (str, dict)) else ""


_APIS = (
    Api("/chat/completions", "messages", _in_messages, _completed, _chunk),
    Api("/responses", "input", _in_instructions, _responded, _delta, _continued),
)
