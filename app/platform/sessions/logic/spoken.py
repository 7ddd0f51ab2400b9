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

from app.platform.sessions.logic.mentions import mention_of

_USERS = frozenset({"user", "human"})
_AGENTS = frozenset({"model", "assistant", "agent", "ai"})
_SYSTEMS = frozenset({"system", "developer"})
_TOOLS = frozenset({"tool", "function"})
_SILENT = frozenset({"text", "thought", "thoughtSignature"})
"""What alone makes no part of anything said."""


class Speaker(StrEnum):
    """Whose an event is."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    SYSTEM = "system"


_SPEAKERS = {
    name: speaker
    for names, speaker in (
        (_USERS, Speaker.USER),
        (_AGENTS, Speaker.AGENT),
        (_SYSTEMS, Speaker.SYSTEM),
        (_TOOLS, Speaker.TOOL),
    )
    for name in names
}
"""By what roles and authors are called."""


def speaker_of(author: str, content: Mapping[str, Any] | None) -> Speaker:
    """Say whose an event is: by what its parts are, its content's role, and then its author.

    What a tool returns is the tool's, whoever sends it: Gemini has it under the role `user`. The
    role comes before the author, which is a name that people and agents are given: one called
    `system` is none. An author of any other name, without a role that is known, is an agent.
    """
    who, role = _plain(author), _plain(str((content or {}).get("role") or ""))
    results = ["functionResponse" in part for part in parts_of(content)]
    if any(results) and (all(results) or who not in _USERS):
        return Speaker.TOOL
    return _SPEAKERS.get(role) or _SPEAKERS.get(who) or Speaker.AGENT


def _plain(name: str) -> str:
    return name.strip().lower()


def parts_of(content: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """Return the parts of a stored content that a prompt shows: no thoughts."""
    return [part for part in (content or {}).get("parts", ()) if not part.get("thought")]


def text_of(content: Mapping[str, Any] | None) -> str:
    """Return what a prompt shows of an event as one text; empty: nothing.

    Texts stand as they are, calls of tools and what these return as compact JSON, files by their
    type alone, what task memory holds by names and figures, and parts of kinds that are not known
    here by their kind.
    """
    return "\n".join(text for part in parts_of(content) if (text := _shown(part)))


def _shown(part: Mapping[str, Any]) -> str:
    if part.get("text"):
        return str(part["text"])
    for kind, name in (("functionCall", "args"), ("functionResponse", "response")):
        if kind in part:
            called = part[kind]
            told = json.dumps(called.get(name) or {}, ensure_ascii=False, separators=(",", ":"))
            what = "call" if kind == "functionCall" else "result"
            return f"[{what} {called.get('name') or 'unknown'} {told}]"
    for kind in ("inlineData", "fileData"):
        if kind in part:
            return f"[file {part[kind].get('mimeType') or 'of unknown type'}]"
    if "artifactRef" in part:
        return mention_of(part["artifactRef"])
    strange = sorted(part.keys() - _SILENT)
    return f"[{strange[0]}]" if strange else ""


@dataclass(frozen=True)
class Said:
    """An event, as prompts show it.

    Attributes:
        text: what is shown of it; empty: nothing.
        token_count: what its sender says that it takes of a prompt.
        is_answer: whether it completes its exchange.
        size_bytes: the length of the whole event, as JSON; or where files of it were not read, of
            what was.
        stored_bytes: the length of the whole event, as JSON.
    """

    seq: int
    event_id: str
    exchange: int
    speaker: Speaker
    content: Mapping[str, Any] | None
    text: str
    token_count: int | None
    is_answer: bool = False
    size_bytes: int = 0
    stored_bytes: int = 0


class Step(StrEnum):
    """What an event does for the exchange that it comes in."""

    ASKS = "asks"
    """The user speaks: a new exchange begins, unless the one before has no answer yet."""
    ANSWERS = "answers"
    """The exchange is complete, if there is one."""
    GOES_ON = "goes_on"


def step_of(
    author: str, content: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None
) -> Step:
    """Say what an event does, by what is stored of it.

    What shows nothing (changes of the state, errors, thoughts alone) is part of its exchange. So
    is a call of a tool, whatever is said beside it, and what is still under way.
    """
    parts = [part for part in parts_of(content) if _says(part)]
    if not parts or (metadata or {}).get("partial"):
        return Step.GOES_ON
    match speaker_of(author, content):
        case Speaker.USER:
            return Step.ASKS
        case Speaker.AGENT:
            return Step.GOES_ON if any(map(_is_call, parts)) else Step.ANSWERS
        case _:
            return Step.GOES_ON


def is_answer(
    author: str, content: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None
) -> bool:
    """Say whether an event answers its user."""
    return step_of(author, content, metadata) is Step.ANSWERS


def _says(part: Mapping[str, Any]) -> bool:
    return bool(part.get("text")) or not part.keys() <= _SILENT


def _is_call(part: Mapping[str, Any]) -> bool:
    return "functionCall" in part


@dataclass(frozen=True)
class Place:
    """Where in a session an exchange stands: its number, and whether it is complete."""

    exchange: int = 0
    is_answered: bool = False

    @property
    def complete(self) -> int:
        """The number of the last complete exchange."""
        return self.exchange if self.is_answered else max(0, self.exchange - 1)

    def after(self, step: Step) -> "Place":
        """Return the place once an event has come."""
        if step is Step.ASKS and (self.is_answered or self.exchange == 0):
            return Place(self.exchange + 1)
        if step is Step.ANSWERS and self.exchange > 0:
            return Place(self.exchange, is_answered=True)
        return self
