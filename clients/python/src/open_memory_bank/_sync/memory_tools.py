# Written by `make client` from the file of the same name in _async.
"""Memory as tools of any model that calls functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from open_memory_bank import _calls, types
from open_memory_bank._sync.group import MODEL_SECONDS, Group


class MemoryTools(Group):
    """Definitions of tools for a model, and one method that runs whichever it chose."""

    def specs(
        self,
        format: Literal["openai", "gemini", "anthropic"],  # noqa: A002 - as on the wire
        *,
        tools: str | None = None,
        session: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return the definitions, ready for a provider.

        Args:
            format: form of the definitions, by the provider that takes it.
            tools: names, with commas between them; absent: all that the key may use.
            session: the one that `recall_conversation` searches; absent: the model may choose.
        """
        options = {"format": format, "tools": tools, "session": session}
        specs = self._ask(_calls.GET_MEMORY_TOOL_SPECS, {}, options)
        return specs.get(format) or []

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,
        *,
        scope: Mapping[str, str] | None = None,
        session: str | None = None,
        exclude_recent: int = 0,
        idempotency_key: str | None = None,
    ) -> types.CallMemoryToolResponse:
        """Run a tool that a model called; `text` of the answer goes to the model.

        Args:
            name: its name.
            arguments: those that the model gave, an object or its JSON as a text.
            scope: scope of the memories; absent: the one that the key's conditions fix.
            session: the one that `recall_conversation` searches; absent: all of the user's.
            exclude_recent: newest events of `session` that are in the prompt already.
            idempotency_key: id of the call, of at most 128 characters; absent: a random one.
        """
        options: dict[str, Any] = {"name": name, "arguments": arguments}
        optional = {"scope": scope, "session": session, "exclude_recent": exclude_recent or None}
        options |= {key: value for key, value in optional.items() if value is not None}
        options["idempotency_key"] = idempotency_key
        return self._ask(_calls.CALL_MEMORY_TOOL, {}, options, more_seconds=MODEL_SECONDS)
