"""The scripted conversations, in `cases.json`, and what is right after each.

conversations   lists of [role, text]; each list is one generation, in one scope of its own
live            patterns: after the last conversation exactly one memory matches each
gone            patterns that no memory may match any more
kept            patterns that match a memory from when one first does until the end
facts           what the scripted model replies to a user's line, where that is not the line
itself; null: nothing
merges          [new fact, memory, action, text]: what the scripted model decides
forgets         [thing, memory]: what a request to forget means
lies            facts that the scripted model extracts, and sees to be wrong when it is asked again
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "cases.json"


@dataclass(frozen=True)
class Case:
    """One person's conversations."""

    name: str
    conversations: list[list[tuple[str, str]]]
    live: list[str]
    gone: list[str]
    kept: list[str]
    facts: dict[str, list[dict[str, Any]] | None]
    merges: list[tuple[str, str, str, str]]
    forgets: list[tuple[str, str]] = field(default_factory=list)
    lies: list[str] = field(default_factory=list)

    def said(self) -> str:
        """Return all that users said."""
        turns = (turn for conversation in self.conversations for turn in conversation)
        return " ".join(text for role, text in turns if role == "user")


def load() -> Iterator[Case]:
    """Yield the cases of the file."""
    for case in json.loads(_FILE.read_text(encoding="utf-8")):
        turns = [[(role, text) for role, text in one] for one in case.pop("conversations")]
        yield Case(conversations=turns, **case)
