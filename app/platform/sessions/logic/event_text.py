"""Event contents: the speaker, the text for prompts, and the bounds of exchanges (pure).

An exchange is a user's events and all that follow until the user speaks again after an answer. It
is complete once the agent has answered, with content that is no thought, no tool call and no part
of an unfinished answer.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

MAX_CHARS = 400
_CUT = "\u2026"


def mention_of(reference: Mapping[str, Any]) -> str:
    """Return the single line for a stored `artifactRef`, at most 400 characters long.

    Example: `[kept off prompt: memory=m namespace=n artifact=a, 1 artifact (text/html), 9 bytes,
    readers: query]`. Memory, namespace and figures are always complete, as readers need them. The
    artifact is named if it is the only one and its name fits; media types are listed as far as they
    fit.
    """
    artifacts: Sequence[Mapping[str, Any]] = reference.get("artifacts") or ()
    name = f" artifact={artifacts[0]['name']}" if len(artifacts) == 1 else ""
    types = dict.fromkeys(
        artifact["mediaType"].partition(";")[0] for artifact in artifacts if "mediaType" in artifact
    )
    room = MAX_CHARS - len(_render(reference, "", ""))
    name = name if len(name) <= room else ""
    return _render(reference, name, _render_types([*types], room - len(name)))


def _render(reference: Mapping[str, Any], name: str, types: str) -> str:
    listed = len(reference.get("artifacts") or ())
    count = reference.get("count", listed or None)
    # One sentence without semicolons: extractive selection must not cut it.
    fields = [f"memory={reference['memory']} namespace={reference['namespace']}{name}"]
    if count is not None:
        fields.append(f"{count} {'artifact' if count == 1 else 'artifacts'}{types}")
    if "totalBytes" in reference:
        fields.append(f"{reference['totalBytes']} bytes")
    if "readableWith" in reference:
        fields.append(f"readers: {', '.join(dict.fromkeys(reference['readableWith'])) or 'none'}")
    return f"[kept off prompt: {', '.join(fields)}]"


def _render_types(types: Sequence[str], room: int) -> str:
    whole = ", ".join(types)
    if not whole or len(f" ({whole})") <= room:
        return whole and f" ({whole})"
    most = max(room - len(f" (, {_CUT})"), 0)
    kept = whole[: most + len(", ")].rpartition(", ")[0]
    return kept and f" ({kept}, {_CUT})"


_USERS = frozenset({"user", "human"})
_AGENTS = frozenset({"model", "assistant", "agent", "ai"})
_SYSTEMS = frozenset({"system", "developer"})
_TOOLS = frozenset({"tool", "function"})
_NO_TIME = datetime.min.replace(tzinfo=UTC)
_SILENT = frozenset({"text", "thought", "thoughtSignature"})
"""Keys that alone do not make a part visible content."""


class Speaker(StrEnum):
    """The speaker of an event."""

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
"""Speakers by the names of roles and authors."""


def speaker_of(author: str, content: Mapping[str, Any] | None) -> Speaker:
    """Return the speaker of an event, by its parts, then its content's role, then its author.

    Tool results are always the tool's: Gemini sends them under the role `user`. The author is a
    free name: with a known role, an author named `system` is not a system. An author of any other
    name, without a known role, is an agent.
    """
    who, role = _plain(author), _plain(str((content or {}).get("role") or ""))
    results = ["functionResponse" in part for part in parts_of(content)]
    if any(results) and (all(results) or who not in _USERS):
        return Speaker.TOOL
    return _SPEAKERS.get(role) or _SPEAKERS.get(who) or Speaker.AGENT


def _plain(name: str) -> str:
    return name.strip().lower()


def parts_of(content: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """Return the parts of a stored content that a prompt shows: all but thoughts."""
    return [part for part in (content or {}).get("parts", ()) if not part.get("thought")]


def text_of(content: Mapping[str, Any] | None) -> str:
    """Return the text of an event in a prompt; empty: no visible content.

    Texts are verbatim, tool calls and results compact JSON, files their type alone, references to
    task memory names and figures, and parts of unknown kinds the name of their kind.
    """
    return "\n".join(text for part in parts_of(content) if (text := _render_part(part)))


def _render_part(part: Mapping[str, Any]) -> str:
    if part.get("text"):
        return str(part["text"])
    for kind, name in (("functionCall", "args"), ("functionResponse", "response")):
        if kind in part:
            called = part[kind]
            payload = json.dumps(called.get(name) or {}, ensure_ascii=False, separators=(",", ":"))
            what = "call" if kind == "functionCall" else "result"
            return f"[{what} {called.get('name') or 'unknown'} {payload}]"
    for kind in ("inlineData", "fileData"):
        if kind in part:
            return f"[file {part[kind].get('mimeType') or 'of unknown type'}]"
    if "artifactRef" in part:
        return mention_of(part["artifactRef"])
    strange = sorted(part.keys() - _SILENT)
    return f"[{strange[0]}]" if strange else ""


class EventNumbers(NamedTuple):
    """A range of events of a session, by their numbers; both ends are included."""

    first: int
    last: int


@dataclass(frozen=True)
class EventRange:
    """Events of a session, by their numbers; both ends are included."""

    session_id: str
    first_seq: int
    last_seq: int

    @property
    def width(self) -> int:
        """Number of events, erased ones included."""
        return self.last_seq - self.first_seq + 1


@dataclass(frozen=True)
class EventText:
    """An event in the form that prompts show.

    Attributes:
        text: the visible text; empty: none.
        token_count: the tokens of a prompt it takes, as declared by its sender.
        is_answer: True if it completes its exchange.
        size_bytes: the length as JSON of the whole event, or of the part loaded without files.
        stored_bytes: the length of the whole event, as JSON.
        timestamp: as reported by its sender.
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
    timestamp: datetime = _NO_TIME
    session_id: str = ""


class Step(StrEnum):
    """The effect of an event on its exchange."""

    ASKS = "asks"
    """The user speaks: a new exchange begins unless the previous one has no answer yet."""
    ANSWERS = "answers"
    """The exchange, if any, is complete."""
    GOES_ON = "goes_on"


def step_of(
    author: str, content: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None
) -> Step:
    """Return the effect of a stored event on its exchange.

    Events without visible content, tool calls and partial answers continue the exchange.
    """
    parts = [part for part in parts_of(content) if _has_content(part)]
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
    """Return True if an event answers its user."""
    return step_of(author, content, metadata) is Step.ANSWERS


def _has_content(part: Mapping[str, Any]) -> bool:
    return bool(part.get("text")) or not part.keys() <= _SILENT


def _is_call(part: Mapping[str, Any]) -> bool:
    return "functionCall" in part


@dataclass(frozen=True)
class ExchangePlace:
    """The place of an exchange in its session: its number and completeness."""

    exchange: int = 0
    is_answered: bool = False

    @property
    def complete(self) -> int:
        """The number of the last complete exchange."""
        return self.exchange if self.is_answered else max(0, self.exchange - 1)

    def after(self, step: Step) -> "ExchangePlace":
        """Return the place after one more event."""
        if step is Step.ASKS and (self.is_answered or self.exchange == 0):
            return ExchangePlace(self.exchange + 1)
        if step is Step.ANSWERS and self.exchange > 0:
            return ExchangePlace(self.exchange, is_answered=True)
        return self
