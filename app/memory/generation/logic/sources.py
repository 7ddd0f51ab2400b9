"""What was said in a piece of a conversation, to look quotes up in (pure)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from app.kernel.text import fold
from app.language.answers import answered
from app.language.dates import day_in
from app.language.sentences import sentences
from app.memory.generation.logic.chunks import Line
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.specifics import Origin

_MIN_QUOTE_CHARS = 2
_WHOLE_WORDS_BELOW = 4
"""Characters of a quote that must not be part of a word: "no" is in "now"."""
SHORT_ANSWER_WORDS = 6
"""An answer of so few words is read together with the question before it."""
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


@dataclass(frozen=True)
class Sources:
    """The lines of a piece; a quote is looked up without case, accents and punctuation."""

    lines: tuple[Line, ...]
    guide: Guide
    files: frozenset[int] = frozenset()
    """Turns with a file that the model was shown; what it says cannot be quoted."""

    @cached_property
    def said(self) -> dict[int, str]:
        """The words of users, by turn."""
        found: dict[int, str] = {}
        for line in self.lines:
            if line.is_users:
                found[line.turn] = f"{found.get(line.turn, '')} {line.text}".strip()
        return found

    @cached_property
    def _folded(self) -> dict[int, str]:
        return {turn: f" {fold(text)} " for turn, text in self.said.items()}

    @cached_property
    def times(self) -> dict[int, datetime | None]:
        """When each turn was said, where that is known."""
        return {line.turn: line.time for line in self.lines}

    def turn_of(self, quote: str, claimed: int) -> int | None:
        """Return the turn in which a user said the words; the claimed one before others."""
        wanted = fold(quote)
        if not wanted and claimed in self.files:
            return claimed
        if len(wanted) < _MIN_QUOTE_CHARS:
            return next((turn for turn, text in self.said.items() if fold(text) == wanted), None)
        if len(wanted) < _WHOLE_WORDS_BELOW and wanted.isascii():
            wanted = f" {wanted} "
        turns = sorted(self._folded, key=lambda turn: turn != claimed)
        return next((turn for turn in turns if wanted in self._folded[turn]), None)

    def day(self, turn: int) -> date:
        """Return the day on which a turn was said; where that is not known, today."""
        return day_in(self.guide.time_zone, self.times.get(turn) or self.guide.now)

    def sentence(self, quote: str, turn: int) -> str:
        """Return the sentences of a turn that the quote is in."""
        wanted, text = fold(quote), self.said.get(turn, "")
        found = [one.text for one in sentences(text)]
        near = [one for one in found if wanted in fold(one) or fold(one) in wanted]
        return " ".join(near) or text

    def is_short_answer(self, turn: int) -> bool:
        """Return True if a turn is to be read together with the question before it."""
        is_short = len(self.said.get(turn, "").split()) <= SHORT_ANSWER_WORDS
        return is_short and bool(self.question(turn))

    def affirms(self, turn: int) -> bool:
        """Return True if a turn agrees by itself with what was said before it ("yes")."""
        return answered(self.said.get(turn, "")) is True and bool(self._before(turn))

    def question(self, turn: int) -> str:
        """Return what the assistant said last before a turn if it asks something, else ""."""
        before = self._before(turn)
        return before if any(mark in before for mark in _QUESTION_MARKS) else ""

    def _before(self, turn: int) -> str:
        earlier = [line for line in self.lines if line.turn < turn and not line.is_users]
        return " ".join(line.text for line in earlier if line.turn == earlier[-1].turn)

    def origin(self, turn: int) -> Origin:
        """Return everything that a fact of a turn may be made from."""
        return Origin(tuple(self._told(turn)), self.day(turn))

    def _told(self, turn: int) -> Iterator[tuple[str, date]]:
        for one, text in self.said.items():
            yield text, self.day(one)
        context = self._before(turn) if self.affirms(turn) else self.question(turn)
        if context:
            yield context, self.day(turn)
