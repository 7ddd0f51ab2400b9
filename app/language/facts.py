"""The plain values that extraction, consolidation and planning hand to each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

Action = Literal["CREATE", "UPDATE", "DELETE"]


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
    """One message of the input; `time` is when it was said, aware, where that is known."""

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
        turn: position in the input of the turn it came from.
        forget: whether matching memories are to be deleted rather than the fact stored.
        dated_by_now: whether a date in it was counted from the clock, because the turn had no time.
        doubtful: whether a model has to confirm it before it counts.
        context: the sentences around `source`; "" if they are not known.
        question: what the assistant had asked, where the fact is a short answer to it.
        said_on: the day on which it was said, where that is known.
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


@dataclass(frozen=True)
class Neighbour:
    """A memory of the same scope that was found near a candidate.

    `distance` is Euclidean between unit vectors, so cosine = 1 - distance ** 2 / 2. `changed_on` is
    the day of its last change, where that is known.
    """

    memory_id: str
    version: int
    fact: str
    distance: float
    topics: tuple[Topic, ...] = ()
    changed_on: date | None = None

    @property
    def cosine(self) -> float:
        """Similarity from -1 to 1."""
        return 1.0 - self.distance * self.distance / 2.0


@dataclass(frozen=True)
class Verdict:
    """What shall happen to one memory because of some candidates.

    Attributes:
        action: CREATE has no `memory_id`; UPDATE and DELETE name a memory that was shown.
        candidates: positions of the candidates it rests on, oldest first.
        fact: the text the memory shall have; empty on DELETE.
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
