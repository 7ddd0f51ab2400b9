"""Orders the candidates of a search by weighted signals. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The memory before or after a candidate in their source.

    Attributes:
        distance: Euclidean, of unit vectors; None: it has no vector.
        matched: bit n is set where it has term n of the query.
        length: how many different terms it has.
    """

    distance: float | None
    matched: int
    length: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may answer a query; the attributes as of `Neighbour`."""

    memory_id: str
    distance: float | None
    matched: int
    length: int
    cues: Sequence[str] = ()
    source: str | None = None
    position: float | None = None
    before: Neighbour | None = None
    after: Neighbour | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a scope says of the terms of a query.

    Attributes:
        memories: how many memories the scope has.
        holding: for each term, how many of them have it.
        average_length: of the memories of the scope, in different terms.
    """

    memories: int
    holding: Sequence[int]
    average_length: float
