"""What an event says: whose it is, what of it a prompt shows, and where exchanges begin (pure).

An exchange is what a user says, and all that follows until the user speaks again after an answer.
It is complete once the agent has answered: has said something that is no thought, no call of a
tool and no part of an answer still under way.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_USERS = frozenset({"user", "human"})
_SYSTEMS = frozenset({"system", "developer"})
_TOOLS = frozenset({"tool", "function"})


class Speaker(StrEnum):
    """Whose an event is."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    SYSTEM = "system"


def speaker_of(author: str, content: Mapping[str, Any] | None) -> Speaker:
    """Say whose an event is: by what its parts are, its author, and its content's role.

    What a tool returns is the tool's, whoever sends it: Gemini has it under the role `user`.
    """
    parts = parts_of(content)
    if parts and all("functionResponse" in part for part in parts):
        return Speaker.TOOL
    role = str((content or {}).get("role") or "").strip().lower()
    for name in (author.strip().lower(), role):
        if name in _SYSTEMS:
            return Speaker.SYSTEM
        if name in _TOOLS:
            return Speaker.TOOL
    if author.strip().lower() in _USERS or (role in _USERS and not author.strip()):
        return Speaker.USER
    return Speaker.USER if role in _USERS else Speaker.AGENT


def parts_of(content: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """Return the parts of a stored content that a prompt shows: no thoughts."""
    return [part for part in (content or {}).get("parts", ()) if not part.get("thought")]


def text_of(content: Mapping[str, Any] | None) -> str:
    """Return what a prompt shows of an event as one text; empty: nothing.

    Texts stand as they are, calls of tools and what these return as compact JSON, files by their
    type alone.
    """
    return "\n".join(text for part in parts_of(content) if (text := _shown(part)))


def _shown(part: Mapping[str, Any]) -> str:
    if part.get("text"):
        return str(part["text"])
    for kind, name in (("functionCall", "args"), ("functionResponse", "response")):
        if kind in part:
            called = part[kind]
            told = json.dumps(called.get(name) or {}, ensure_ascii=False, separators=(",", ":"))
            return f"[{'call' if kind == 'functionCall' else 'result'} {called.get('name')} {told}]"
    for kind in ("inlineData", "fileData"):
        if kind in part:
            return f"[file {part[kind].get('mimeType') or 'of unknown type'}]"
    return ""


@dataclass(frozen=True)
class Said:
    """An event, as prompts show it.

    Attributes:
        text: what is shown of it; empty: nothing.
        token_count: what its sender says that it takes of a prompt.
    """

    seq: int
    event_id: str
    exchange: int
    speaker: Speaker
    content: Mapping[str, Any] | None
    text: str
    token_count: int | None


@dataclass(frozen=True)
class Place:
    """Where in a session an exchange stands: its number, and whether it is complete."""

    exchange: int = 0
    is_answered: bool = False

    @property
    def complete(self) -> int:
        """The number of the last complete exchange."""
        return self.exchange if self.is_answered else max(0, self.exchange - 1)

    def after(self, speaker: Speaker, *, is_answer: bool) -> "Place":
        """Return the place once an event has come."""
        if speaker is Speaker.USER and (self.is_answered or self.exchange == 0):
            return Place(self.exchange + 1)
        is_answered = self.is_answered or (is_answer and self.exchange > 0)
        return Place(self.exchange, is_answered)


def is_answer(
    author: str, content: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None
) -> bool:
    """Say whether an event answers its user."""
    if speaker_of(author, content) is not Speaker.AGENT or (metadata or {}).get("partial"):
        return False
    parts = parts_of(content)
    return any(part.get("text") for part in parts) and not any(
        "functionCall" in part for part in parts
    )
