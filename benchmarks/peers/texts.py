"""What is remembered and asked, and its vectors: made up, and the same for every system.

Vectors lie near a subspace of few dimensions, as those of a model do. One is made in hundredths of
a millisecond, so that no model is measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
PER_USER = 100
"""Memories of one user, who is a scope of their own."""
TOP_K = 10
"""As many as LangGraph's store returns unless it is told otherwise."""
_BASIS = 24
_NOISE = 0.1
_PEOPLE = (
    "Ada",
    "Ben",
    "Clara",
    "Dora",
    "Emil",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "Jane",
    "Kai",
    "Lena",
)
_CITIES = ("Oslo", "Rome", "Lima", "Cairo", "Quito", "Porto", "Turin", "Genoa", "Osaka", "Kyoto")
_THINGS = ("bicycle", "lamp", "guitar", "kayak", "camera", "tent", "desk", "jacket", "piano")
_DEEDS = ("bought", "sold", "painted", "lent", "mended", "lost", "found", "borrowed")


@dataclass(frozen=True)
class Said:
    """A memory of a user, or what is asked about them."""

    user: str
    text: str


def memory_of(user: int, number: int) -> Said:
    """Return a memory that no other is like."""
    deed, thing, city, friend = (
        _picked(words, user, number, place)
        for place, words in enumerate((_DEEDS, _THINGS, _CITIES, _PEOPLE))
    )
    text = (
        f"In week {number} they {deed} a {thing} in {city}, and told {friend} about it at length."
    )
    return Said(f"user-{user}", text)


def query_of(user: int, number: int) -> Said:
    """Return a question that some memories of the user may answer."""
    thing, city = (
        _picked(words, user, number, place) for place, words in enumerate((_THINGS, _CITIES))
    )
    return Said(f"user-{user}", f"What happened to the {thing} in {city}?")


def _picked(words: Sequence[str], user: int, number: int, place: int) -> str:
    return words[_digest(f"{user} {number} {place}") % len(words)]


def vector_of(text: str) -> NDArray[np.float32]:
    """Return the vector of a text: of unit length, and the same in every process."""
    rng = np.random.default_rng(_digest(text))
    found = rng.standard_normal(_BASIS) @ _basis() + _NOISE * rng.standard_normal(DIMENSIONS)
    return (found / np.linalg.norm(found)).astype(np.float32)


@cache
def _basis() -> NDArray[np.float64]:
    made = np.random.default_rng(_BASIS).standard_normal((_BASIS, DIMENSIONS))
    return np.divide(made, np.sqrt(_BASIS))


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
