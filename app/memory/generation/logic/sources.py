"""Lookup of quotes in a chunk of a conversation (pure)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from app.kernel.text import fold
from app.language.answers import answered
from app.language.dates import day_in
from app.language.sentences import sentences
from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.specifics import Origin

_MIN_QUOTE_CHARS = 2
_WHOLE_WORDS_BELOW = 4
"""Quotes below this length must match whole words: "no" is in "now"."""
SHORT_ANSWER_WORDS = 6
"""Most words of an answer that is read together with the question before it."""
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


@dataclass(frozen=True)
class Sources:
    """The lines of a chunk; quotes are looked up without case, accents and punctuation."""

    lines: tuple[TranscriptLine, ...]
    guide: Guide
    files: frozenset[int] = frozenset()
    """Turns with a file that the model was shown; the contents of a file cannot be quoted."""

    @cached_property
    def context(self) -> frozenset[int]:
        """Turns of users that were read before."""
        return frozenset(line.turn for line in self.lines if line.is_users and line.is_context)

    @cached_property
    def said(self) -> dict[int, str]:
        """Words of users, by turn."""
        texts: dict[int, str] = {}
        for line in self.lines:
            if line.is_users:
                texts[line.turn] = f"{texts.get(line.turn, '')} {line.text}".strip()
        return texts

    @cached_property
    def _folded(self) -> dict[int, str]:
        return {turn: f" {fold(text)} " for turn, text in self.said.items()}

    @cached_property
    def times(self) -> dict[int, datetime | None]:
        """Time of each turn, if known."""
        return {line.turn: line.time for line in self.lines}

    def turn_of(self, quote: str, claimed: int) -> int | None:
        """Return the turn in which a user said the words, preferably the claimed one, or None."""
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
        """Return the day of a turn; today if the turn has no time."""
        return day_in(self.guide.time_zone, self.times.get(turn) or self.guide.now)

    def sentence(self, quote: str, turn: int) -> str:
        """Return the sentences of a turn that contain the quote."""
        wanted, text = fold(quote), self.said.get(turn, "")
        spoken = [sentence.text for sentence in sentences(text)]
        near = [
            sentence for sentence in spoken if wanted in fold(sentence) or fold(sentence) in wanted
        ]
        return " ".join(near) or text

    def is_short_answer(self, turn: int) -> bool:
        """Return True if a turn must be read together with the question before it."""
        is_short = len(self.said.get(turn, "").split()) <= SHORT_ANSWER_WORDS
        return is_short and bool(self.question(turn))

    def affirms(self, turn: int) -> bool:
        """Return True if a turn by itself agrees with the words before it ("yes")."""
        return answered(self.said.get(turn, "")) is True and bool(self._before(turn))

    def question(self, turn: int) -> str:
        """Return the assistant's last words before a turn if they ask something, else ""."""
        before = self._before(turn)
        return before if any(mark in before for mark in _QUESTION_MARKS) else ""

    def _before(self, turn: int) -> str:
        earlier = [line for line in self.lines if line.turn < turn and not line.is_users]
        return " ".join(line.text for line in earlier if line.turn == earlier[-1].turn)

    @cached_property
    def _origins(self) -> dict[int, Origin]:
        return {}

    def origin(self, turn: int) -> Origin:
        """Return everything that a fact of a turn may be made from; it is put together once."""
        if turn not in self._origins:
            self._origins[turn] = Origin(tuple(self._texts(turn)), self.day(turn))
        return self._origins[turn]

    def _texts(self, turn: int) -> Iterator[tuple[str, date]]:
        for other, text in self.said.items():
            yield text, self.day(other)
        context = self._before(turn) if self.affirms(turn) else self.question(turn)
        if context:
            yield context, self.day(turn)
