"""Token counts of the parts of a prompt, by the counter that a policy names."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.adapters.llm import encodings
from app.adapters.llm.models import check_counter
from app.conversation.strategies.logic.policies import Rules
from app.conversation.strategies.logic.rendering import (
    frame_piece,
    least,
    memory_block,
    memory_line,
    piece,
    piece_of,
    summary_piece,
)
from app.conversation.strategies.logic.shapes import messages_of
from app.conversation.strategies.logic.turns import Format, SourceField
from app.kernel.errors import InvalidArgument
from app.kernel.wire.memory_policy import CHARS4, COUNTERS, DECLARED
from app.language.tokens import estimate_tokens
from app.platform.sessions.logic.event_text import EventText
from app.settings.settings import Settings

_LONGEST_PIECE = 100_000
WORK_PER_TEXT = 100
"""Fixed work of counting a text, expressed in characters."""


@dataclass(frozen=True)
class Counter:
    """Counter of the tokens that a text takes; several megabytes take about a second."""

    name: str
    count: Callable[[str], int]


def counter_of(name: str, settings: Settings, field: str = "policy.counter") -> Counter:
    """Return the counter with a name. The first use of an encoding reads its file.

    Raises:
        InvalidArgument: the counter is not available; the error names `field` and the choices.
    """
    check_counter(name, settings, field)
    if name in {CHARS4, DECLARED}:
        return Counter(name, estimate_tokens)
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

    return Counter(name, count)


async def loaded(name: str, settings: Settings, field: str = "policy.counter") -> Counter:
    """Return a counter like `counter_of`, but read files in a thread."""
    if name in COUNTERS:
        return counter_of(name, settings, field)
    return await asyncio.to_thread(counter_of, name, settings, field)


def _pieces(text: str) -> Iterator[str]:
    """Split a text into pieces short enough for tiktoken: a million spaces overflow its stack."""
    for start in range(0, len(text), _LONGEST_PIECE):
        yield text[start : start + _LONGEST_PIECE]


def counted(said: EventText, shown: str, counter: Counter) -> int:
    """Return the tokens of an event shown as `shown`; `declared` uses the sender's count if any."""
    if counter.name == DECLARED and said.token_count is not None:
        return said.token_count
    return counter.count(shown)


@dataclass(frozen=True)
class Scale:
    """Rules, counter and format that determine token counts."""

    rules: Rules
    counter: Counter
    form: Format = Format.MESSAGES

    @property
    def plain(self) -> "Scale":
        """The same scale for plain messages, which decide whether summaries are due."""
        return replace(self, form=Format.MESSAGES)

    def of_event(self, said: EventText) -> int:
        """Return the tokens of an event; 0 if the format does not show it."""
        shown = piece(said, self.rules, self.form)
        if not shown:
            return 0
        messages = messages_of(said) if self.form is Format.OPENAI else 1
        return counted(said, shown, self.counter) + messages * self._overhead

    def least(self, said: EventText) -> int:
        """Return the tokens of the shortest cut of an event."""
        return least(said, self.rules, self.form, self.counter.count)

    def of_part(self, kind: SourceField, text: str) -> int:
        """Return the tokens of a part of another kind; 0 if it is empty."""
        shown = piece_of(kind, text, self.rules, self.form)
        return self.counter.count(shown) + self._overhead if shown else 0

    def of_summary(self, text: str, *, is_first: bool) -> tuple[int, int]:
        """Return the tokens of a summary's text, and what it takes beyond it within the marks.

        Both are 0 if the text is empty. `is_first`: it follows no other summary.
        """
        if not text:
            return 0, 0
        shown = self.counter.count(summary_piece(text, self.rules, self.form, is_first=is_first))
        if not self.rules.framing:
            return shown + self._overhead, 0
        bare = self.counter.count(text)
        return bare, shown - bare

    @property
    def frame(self) -> int:
        """Tokens of the marks around all summaries, in one message; 0 without marks."""
        marks = frame_piece(self.rules, self.form)
        return self.counter.count(marks) + self._overhead if marks else 0

    def of_facts(self, facts: Sequence[str]) -> int:
        """Return the tokens of the memory block with these facts; 0 without facts."""
        return self.of_part(SourceField.MEMORY, memory_block(facts))

    def of_fact(self, fact: str) -> int:
        """Return an upper bound, at most slightly too high, of the tokens that a fact adds."""
        return self.counter.count(f"{memory_line(fact)}\n")

    @property
    def has_files(self) -> bool:
        """True if the format includes files themselves instead of only mentioning them."""
        return self.form is Format.GEMINI

    @property
    def _overhead(self) -> int:
        return 0 if self.form is Format.TEXT else self.rules.overhead
