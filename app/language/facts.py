"""Plain values exchanged by extraction, consolidation and planning."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

Action = Literal["CREATE", "UPDATE", "DELETE"]


ENGINE = "builtin-rules/3"
"""The name of the built-in rules, recorded with the memories that they write."""
MAX_FACT = 2_000
"""Maximum characters of one fact; a longer sentence is pasted text, not a statement."""


@dataclass(frozen=True)
class Topic:
    """A memory topic: one of the managed ones, or a custom one with its description."""

    label: str
    managed: bool = True
    description: str = field(default="", compare=False)


PERSONAL = Topic("USER_PERSONAL_INFO")
PREFERENCES = Topic("USER_PREFERENCES")
DETAILS = Topic("KEY_CONVERSATION_DETAILS")
INSTRUCTIONS = Topic("EXPLICIT_INSTRUCTIONS")
MANAGED_TOPICS = (PERSONAL, PREFERENCES, DETAILS, INSTRUCTIONS)


@dataclass(frozen=True)
class Turn:
    """One message of the input, with its aware time, if known."""

    role: str
    text: str
    time: datetime | None = None


@dataclass(frozen=True)
class Candidate:
    """A fact that may become a memory, or (with `forget`) the words of a request to forget.

    Attributes:
        topics: the configured topics of the fact; may be empty for a direct memory.
        source: the words of the input that support it, verbatim; empty for a direct memory.
        dated_by_now: True if a date in it was resolved against the clock, as the turn had no time.
        doubtful: True if a model has to confirm it before it counts.
        context: the sentences around `source`; "" if they are not known. Without a model, the
            sentence before a request to forget that points back to it, and the request.
        question: the end of the assistant's message, if the fact may answer it.
        said_at: the time of the statement; None if times do not count.
        is_repeat: True if its line may have been read before: it then only confirms a memory.
        is_secret: True if its own words must not be stored, nor told if the request is not met.
    """

    fact: str
    topics: tuple[Topic, ...] = ()
    source: str = ""
    turn: int = 0
    forget: bool = False
    dated_by_now: bool = False
    doubtful: bool = False
    context: str = ""
    question: str = ""
    said_on: date | None = None
    said_at: datetime | None = None
    is_repeat: bool = False
    is_secret: bool = False

    @property
    def names_by_rule(self) -> bool:
        """True if a rule has found the words of a request that name the thing to forget."""
        return self.fact.strip(_ENDS) != self.source.strip(_ENDS)


_ENDS = " .,;:!?"


@dataclass(frozen=True)
class Neighbour:
    """A memory of the same scope that was found near a candidate.

    Attributes:
        distance: Euclidean between unit vectors: cosine = 1 - distance ** 2 / 2.
        rests_on: the time when its fact was stated or set by hand; None if times do not count.
        is_held: True if a person set its fact by hand.
    """

    memory_id: str
    version: int
    fact: str
    distance: float
    topics: tuple[Topic, ...] = ()
    rests_on: datetime | None = None
    is_held: bool = False

    @property
    def cosine(self) -> float:
        """The similarity, from -1 to 1."""
        return 1.0 - self.distance * self.distance / 2.0


@dataclass(frozen=True)
class Verdict:
    """The decision about one memory, based on some candidates.

    Attributes:
        action: CREATE has no `memory_id`; UPDATE and DELETE name a memory that was shown.
        candidates: positions of the candidates behind the decision, oldest first.
        fact: the new text of the memory; empty on DELETE.
    """

    action: Action
    candidates: tuple[int, ...]
    reason: str
    memory_id: str | None = None
    fact: str = ""


def shown(neighbours: Sequence[Sequence[Neighbour]]) -> dict[str, Neighbour]:
    """Return every memory that was shown for any candidate, by its id."""
    return {near.memory_id: near for row in neighbours for near in row}
