"""A memory for a client of Anthropic.

from anthropic import Anthropic
from open_memory_bank.anthropic import remember

client = remember(Anthropic(), scope={"user_id": "42"})
client.messages.create(model=..., max_tokens=..., messages=[{"role": "user", "content": "..."}])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from open_memory_bank._lines import Api, Body, extended, field, text_of
from open_memory_bank._link import flush, link_of
from open_memory_bank._remember import Memory, remembering
from open_memory_bank._sync.client import Client

__all__ = ["flush", "remember"]

Wrapped = TypeVar("Wrapped")
"""`Anthropic`, `AsyncAnthropic`, or one of those for other clouds, which share no public class."""


def remember(
    client: Wrapped,
    *,
    scope: Mapping[str, str],
    bank: Client | None = None,
    top_k: int = 5,
    search_seconds: float = 0.4,
) -> Wrapped:
    """Return a client like the given one that remembers its user; that one stays as it is.

    It covers `messages` and `beta.messages` with all their ways to call a model. Memories that
    match the user's last words stand at the end of the system prompt, between `<memories>` marks.
    The user's new words and the model's answer are ingested in the background when the answer ends;
    earlier messages of a request, system prompts, tools' results and files are not. Of
    `with_streaming_response` the answer is not recorded.

    Args:
        client: an `Anthropic` or an `AsyncAnthropic`, also those for other clouds.
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


def _in_system(body: Body, text: str) -> dict[str, Any]:
    system = body.get("system")
    if not isinstance(system, str) and isinstance(system, Iterable):
        system = list(system)
    return {**body, "system": extended(system, text)}


def _answered(message: Any) -> str:  # noqa: ANN401 - a message
    return text_of(field(message, "content"))


def _delta(event: Any) -> str:  # noqa: ANN401 - an event of a stream
    delta = field(event, "delta")
    is_text = field(event, "type") == "content_block_delta" and field(delta, "type") == "text_delta"
    return str(field(delta, "text")) if is_text else ""


_APIS = (Api("/v1/messages", "messages", _in_system, _answered, _delta),)
