"""The plain values that extraction, consolidation and planning exchange."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

Action = Literal["CREATE", "UPDATE", "DELETE"]


ENGINE = "builtin-rules/2"
"""The name of the built-in rules, for what they have written."""
MAX_FACT = 2_000
"""Characters of one fact; a longer sentence without an end is pasted text, not a statement."""


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
    """One message of the input; `time` is when it was said, aware, if known."""

    role: str
    text: str
    time: datetime | None = None


@dataclass(frozen=True)
class Candidate:
    """A fact that may become a memory, or (with `forget`) what a person asked to forget.

    Attributes:
        fact: the text to store; for a forget request the words that name what to forget.
        topics: the configured topics it falls under; empty for a direct memory without any.
        source: the words of the input it rests on, verbatim; empty for a direct memory.
        turn: the position of its turn in the input.
        forget: True if matching memories are to be deleted rather than the fact stored.
        dated_by_now: True if a date in it was resolved against the clock, as the turn had no time.
        doubtful: True if a model has to confirm it before it counts.
        context: the sentences around `source`; "" if they are not known.
        question: the end of what the assistant said, if the fact may answer it.
        said_on: the day on which it was said, if known.
        said_at: the time at which it was said; None where times do not count.
        is_repeat: True if its line was perhaps read before, so that it only confirms.
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


@dataclass(frozen=True)
class Neighbour:
    """A memory of the same scope that was found near a candidate.

    Attributes:
        distance: Euclidean between unit vectors, so cosine = 1 - distance ** 2 / 2.
        rests_on: the time at which its fact was said or set by hand; None where times do not count.
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
    """The decision about one memory that some candidates cause.

    Attributes:
        action: CREATE has no `memory_id`; UPDATE and DELETE name a memory that was shown.
        candidates: positions of the candidates it rests on, oldest first.
        fact: the new text of the memory; empty on DELETE.
        reason: why, in a word or two.
    """

    action: Action
    candidates: tuple[int, ...]
    reason: str
    memory_id: str | None = None
    fact: str = ""


def shown(neighbours: Sequence[Sequence[Neighbour]]) -> dict[str, Neighbour]:
    """Return every memory that was shown for any candidate, by its id."""
    return {near.memory_id: near for row in neighbours for near in row}
