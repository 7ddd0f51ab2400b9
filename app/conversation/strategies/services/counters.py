"""Token counters for prompt content; each policy names the counter to use."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from app.adapters.llm import encodings
from app.adapters.llm.named import check_counter
from app.conversation.strategies.logic.policies import CHARS4, DECLARED
from app.kernel.errors import InvalidArgument
from app.kernel.wire.memory_policy import COUNTERS
from app.language.tokens import estimate_tokens
from app.platform.sessions.logic.event_text import EventText
from app.settings.settings import Settings

_LONGEST_PIECE = 100_000


class Counter(Protocol):
    """Counter of the tokens that a text takes in a model's window."""

    @property
    def name(self) -> str:
        """Name in policies and responses."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of a text. Several megabytes take about a second."""
        ...


@dataclass(frozen=True)
class _Counter:
    name: str
    count: Callable[[str], int]


def counter_of(name: str, settings: Settings, field: str = "policy.counter") -> Counter:
    """Return the counter with a name. The first use of an encoding reads its file.

    Raises:
        InvalidArgument: the counter is not available; the error names `field` and the choices.
    """
    check_counter(name, settings, field)
    if name in {CHARS4, DECLARED}:
        return _Counter(name, estimate_tokens)
    folder = settings.tiktoken_dir
    if folder is None:
        raise AssertionError  # `check_counter` rejects an encoding without a folder
    try:
        encoding = encodings.load(folder, name)
    except (OSError, ValueError):
        raise InvalidArgument.of_field(field, "the file of this encoding cannot be read.") from None

    def count(text: str) -> int:
        # Special tokens in user content count as ordinary text.
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))

    return _Counter(name, count)


async def loaded(name: str, settings: Settings, field: str = "policy.counter") -> Counter:
    """Return a counter like `counter_of`, but read files in a thread."""
    if name in COUNTERS:
        return counter_of(name, settings, field)
    return await asyncio.to_thread(counter_of, name, settings, field)


def _pieces(text: str) -> Iterator[str]:
    """Split a text into pieces short enough for tiktoken: a million spaces overflow its stack.

    Each split may add a token.
    """
    for start in range(0, len(text), _LONGEST_PIECE):
        yield text[start : start + _LONGEST_PIECE]


def counted(said: EventText, shown: str, counter: Counter) -> int:
    """Return the tokens of an event that is shown as `shown`, without the message overhead.

    The counter `declared` uses the count that the sender supplied, if there is one.
    """
    if counter.name == DECLARED and said.token_count is not None:
        return said.token_count
    return counter.count(shown)
