"""The file of cases: conversations, and what a model makes of them.

All of one file are read before the first runs; what is misspelt is refused by the case's name.
"""

import json
import re
import unicodedata
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

VERSION = 1
_TALKS = Path(__file__).parents[1] / "talks" / "talks.json"
_SAID = Path(__file__).with_name("first_sessions.json")
_ISO_DATE = re.compile(r"\(\d{4}(?:-\d\d){0,2}(?:/\d{4}-\d\d-\d\d)?\)")
_NO_WORD = re.compile(r"[\W_]+")


class UnreadableCasesError(Exception):
    """A file of cases that cannot be run; the message names the case."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True)


class Event(_Record):
    """One message of a conversation."""

    role: Literal["user", "model"]
    text: str
    event_time: str | None = None


class Fact(_Record):
    """A fact that the model extracts, and whether it should be kept."""

    fact: str
    quote: str = ""
    supported: bool = True
    expect: Literal["keep", "drop"] | None = None
    why: str = ""


class Decision(_Record):
    """What the model decides about a fact and the memory of the text `memory`."""

    fact: str
    action: Literal["same", "merge", "replace", "delete", "add"]
    memory: str = ""
    text: str = ""


class Forget(_Record):
    """A request to forget, and the texts of the memories that it means."""

    thing: str
    quote: str
    memories: list[str] = []


class Step(_Record):
    """One generation."""

    events: list[Event] = []
    direct_memories: list[str] = []
    facts: list[Fact] = []
    decisions: list[Decision] = []
    forgets: list[Forget] = []

    @model_validator(mode="after")
    def _quotes_are_said(self) -> "Step":
        said = [one.text for one in self.events if one.role == "user"]
        quotes = [one.quote for one in self.facts] + [one.quote for one in self.forgets]
        for quote in quotes:
            if self.events and not any(quote in text for text in said):
                raise ValueError(f"the quote {quote!r} is in no user's line")
        return self


class Matcher(_Record):
    """A memory that is one of the texts `any`, or that has all of the `words`."""

    any: list[str] = []
    words: list[str] = []

    def matches(self, memory: str) -> bool:
        """Return True if a memory is what is looked for."""
        text = normalized(memory)
        if self.any:
            return text in map(normalized, self.any)
        return set(map(normalized, self.words)) <= set(text.split())


class Case(_Record):
    """What is stored, what is said, and what should be there afterwards."""

    name: str
    kind: Literal["fact", "session", "decision", "forget"]
    third_person: bool = False
    stored: list[str] = []
    steps: list[Step]
    live: list[Matcher] = []
    gone: list[Matcher] = []
    count: tuple[int, int] | None = None

    def holds(self, memories: list[str]) -> bool:
        """Return True if the memories at the end are as they should be."""
        least, most = self.count or (0, len(memories))
        return (
            all(any(one.matches(memory) for memory in memories) for one in self.live)
            and not any(one.matches(memory) for one in self.gone for memory in memories)
            and least <= len(memories) <= most
        )

    @property
    def expects(self) -> set[str]:
        """What should become of the facts of a case of the kind `fact`."""
        return {fact.expect for step in self.steps for fact in step.facts if fact.expect}


class _File(_Record):
    version: int
    cases: list[dict[str, object]] = Field(min_length=1)


def normalized(text: str) -> str:
    """Return a text without case, resolved dates and punctuation."""
    plain = _ISO_DATE.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(_NO_WORD.sub(" ", plain).split())


def load(path: Path) -> list[Case]:
    """Read a file of cases.

    Raises:
        UnreadableCasesError: it is of another version, or a case is not as it has to be.
    """
    try:
        found = _File.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UnreadableCasesError(f"{path}: {error}") from error
    if found.version != VERSION:
        raise UnreadableCasesError(f"{path}: version {found.version}, this reads {VERSION}")
    cases = [_case(one) for one in found.cases]
    names = [one.name for one in cases]
    if len(set(names)) < len(names):
        raise UnreadableCasesError(f"{path}: two cases have the same name")
    return cases


def first_sessions() -> list[Case]:
    """Return each session of `benchmarks.talks` as the first of its user.

    A case of the kind `session` has the facts that a careful model finds, one of the kind `fact`
    one that a careless model makes up. Requests to forget are left out.
    """
    sessions = {
        (talk["name"], number): [
            {"role": turn["role"], "text": turn["text"], "eventTime": session["date"]}
            for turn in session["turns"]
        ]
        for talk in json.loads(_TALKS.read_text(encoding="utf-8"))
        for number, session in enumerate(talk["sessions"])
    }
    cases = []
    for talk in json.loads(_SAID.read_text(encoding="utf-8")):
        for number, facts in enumerate(talk["sessions"]):
            name = f"{talk['talk']}/{number}"
            right = [fact for fact in facts if fact.get("supported", True)]
            wrong = [fact | {"expect": "drop"} for fact in facts if fact not in right]
            parts = [("session", right), *(("fact", [fact]) for fact in wrong)]
            cases += [
                {
                    "name": f"{name}/{at}",
                    "kind": kind,
                    "thirdPerson": talk["thirdPerson"],
                    "steps": [{"events": sessions[talk["talk"], number], "facts": told}],
                }
                for at, (kind, told) in enumerate(parts)
            ]
    return [_case(one) for one in cases]


def _case(given: dict[str, object]) -> Case:
    try:
        return Case.model_validate(given)
    except ValidationError as error:
        told = "; ".join(one["msg"] for one in error.errors())
        raise UnreadableCasesError(f"case {given.get('name')}: {told}") from error
