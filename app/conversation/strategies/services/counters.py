"""Counts the tokens of what a prompt shows, each time by the counter that a policy names."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from app.adapters.llm import encodings
from app.adapters.llm.named import check_counter
from app.conversation.strategies.logic.budgets import by_length
from app.conversation.strategies.logic.policies import CHARS4, DECLARED
from app.kernel.errors import InvalidArgument
from app.kernel.wire.memory_policy import COUNTERS
from app.platform.sessions.logic.spoken import Said
from app.settings.settings import Settings

_LONGEST_PIECE = 100_000


class Counter(Protocol):
    """Says how many tokens of a model's window a text takes."""

    @property
    def name(self) -> str:
        """What policies call it; every answer names it."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of a text; 0 for none. Takes about a second for some megabytes."""
        ...


@dataclass(frozen=True)
class _Counter:
    name: str
    count: Callable[[str], int]


def counter_of(name: str, settings: Settings, field: str = "policy.counter") -> Counter:
    """Return a counter by its name. Reads the file of an encoding the first time it is named.

    Raises:
        InvalidArgument: there is no such counter here; it names `field`, and those there are.
    """
    check_counter(name, settings, field)
    if name in {CHARS4, DECLARED}:
        return _Counter(name, by_length)
    folder = settings.tiktoken_dir
    if folder is None:
        raise AssertionError  # `check_counter` refuses an encoding without a folder
    try:
        encoding = encodings.load(folder, name)
    except (OSError, ValueError):
        raise InvalidArgument.of_field(field, "the file of this encoding cannot be read.") from None

    def count(text: str) -> int:
        # Special tokens have no meaning in what users say: they are text like any other.
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))

    return _Counter(name, count)


async def loaded(name: str, settings: Settings, field: str = "policy.counter") -> Counter:
    """Return a counter as `counter_of` does, which reads a file aside."""
    if name in COUNTERS:
        return counter_of(name, settings, field)
    return await asyncio.to_thread(counter_of, name, settings, field)


def _pieces(text: str) -> Iterator[str]:
    """Cut a text into what the package takes: of a million spaces, its search runs out of room.

    Each cut may add a token.
    """
    for start in range(0, len(text), _LONGEST_PIECE):
        yield text[start : start + _LONGEST_PIECE]


def counted(said: Said, shown: str, counter: Counter) -> int:
    """Return the tokens of an event of which `shown` is shown, without what a message adds.

    With the counter `declared`, what its sender has declared, if that is known.
    """
    if counter.name == DECLARED and said.token_count is not None:
        return said.token_count
    return counter.count(shown)
