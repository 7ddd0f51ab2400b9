"""Lookup of quotes in a chunk of a conversation, also of quotes with a slip or an omission.

A near quote is no proof, so its fact has to be confirmed, and the record keeps the user's words.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

from app.kernel.text import fold
from app.language.answers import answered, stands_for_another
from app.language.dates import day_in
from app.language.phrases import any_case
from app.language.sentences import sentences
from app.memory.generation.logic.additions import TextWords, touched
from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.logic.prompts import Guide, latest
from app.memory.generation.logic.specifics import Origin

_MIN_QUOTE_CHARS = 2
_WHOLE_WORDS_BELOW = 4
"""Quotes below this length must match whole words, because "now" contains "no"."""
_SHORT_QUOTE_WORDS = 6
_SHORT_QUOTE_CHARS = 40
"""Maximum words and characters of a quote that is read together with the words before it."""
_MAX_ANSWERED_CHARS = 200
"""Maximum characters of the text that a quote answers, counted from its end with the question."""
_EFFORT = "effort"
_MAX_EFFORT = 3_000_000
"""Maximum pairs of letters to compare for the near quotes of one reply: seconds at most."""
_MAX_LINE_CHARS = 9
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")

_LABEL = any_case(
    r"^\W*(?:(?:line\s+)?\d+\s+)?(?:U|R|user)(?:\s+\d{4}-\d\d-\d\d(?:\s+\w{3})?)?\s*:\s*"
)
"""The beginning of a line in a prompt."""
_NUMBER = re.compile(r"\d+")
_LEAST_CHARS = 8
_LEAST_SIGNS = 4
"""Minimum length of a quote to search for: in ASCII letters, and in scripts with more signs."""
_MAX_QUOTE, _MAX_LINE = 400, 4_000
"""Maximum characters of a quote and of a line that are compared."""
_MAX_QUOTE_EFFORT = 150_000
"""Maximum effort: about the effort of searching 400 letters of English in 4,000."""
_LEAST_RUN = 3
"""Minimum run of equal characters that counts as repeated."""
_LEAST_SHARE = 0.8
_LEAST_PAIRS = 0.64
_CHARS_PER_RUN = 6


@dataclass(frozen=True)
class RepeatedWords:
    """The user's words that a quote repeats; `is_near` is True if the quote is not exact.

    `is_sure` is False if it is also uncertain that the quote refers to these words.
    """

    turn: int
    words: str
    is_near: bool = False
    is_sure: bool = True


@dataclass(frozen=True)
class NearWords:
    """A text in which quotes are searched for by the order of their letters and digits."""

    text: str

    @cached_property
    def _letters(self) -> tuple[str, Sequence[int]]:
        return _letters(self.text)

    @cached_property
    def _pairs(self) -> frozenset[str]:
        return frozenset(_pairs(self._letters[0]))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(_NUMBER.findall(self.text))

    def find(self, quote: str) -> str | None:
        """Return the words that a quote nearly repeats, or None."""
        wanted, _ = _letters(quote[:_MAX_QUOTE])
        letters, places = self._letters
        least = _LEAST_CHARS if wanted.isascii() else _LEAST_SIGNS
        if not least <= len(wanted) or len(quote) > _MAX_QUOTE or len(letters) > _MAX_LINE:
            return None
        if not self._numbers.issuperset(_NUMBER.findall(quote)) or not self._may_have(wanted):
            return None
        if self.effort(quote) > _MAX_QUOTE_EFFORT:
            return None
        matcher = SequenceMatcher(None, letters, wanted, autojunk=False)
        runs = [run for run in matcher.get_matching_blocks() if run.size >= _LEAST_RUN]
        share = sum(run.size for run in runs) / len(wanted)
        if share < _LEAST_SHARE or len(runs) > 1 + len(wanted) // _CHARS_PER_RUN:
            return None
        first, last = places[runs[0].a], places[runs[-1].a + runs[-1].size - 1]
        return _whole_words(self.text, first, last + 1)

    def effort(self, quote: str) -> int:
        """Return the number of pairs of equal letters, as a measure of the time of a search."""
        wanted = Counter(_letters(quote[:_MAX_QUOTE])[0])
        pairs = sum(count * self._counts[letter] for letter, count in wanted.items())
        return pairs + _MAX_QUOTE

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(self._letters[0])

    def _may_have(self, wanted: str) -> bool:
        """Return True if most pairs of letters are in the text; avoids a long comparison."""
        pairs = _pairs(wanted)
        return sum(pair in self._pairs for pair in pairs) >= _LEAST_PAIRS * len(pairs)


@dataclass(frozen=True)
class Sources:
    """The lines of a chunk; quotes are looked up without case, accents and punctuation."""

    lines: tuple[TranscriptLine, ...]
    guide: Guide
    files: frozenset[int] = frozenset()
    """Turns with a file that was sent to the model; the contents of a file cannot be quoted."""

    @cached_property
    def context(self) -> frozenset[int]:
        """Turns of users that an earlier generation has read."""
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

    def find(self, quote: str, claimed: int) -> RepeatedWords | None:
        """Return the words of a user that a quote repeats, preferably in the claimed turn."""
        turn = self._turn_of(quote, claimed)
        if turn is not None:
            return RepeatedWords(turn, quote)
        unmarked = plain(quote)
        if unmarked != quote and (turn := self._turn_of(unmarked, claimed)) is not None:
            return RepeatedWords(turn, unmarked, is_near=True)
        return self._near(unmarked, claimed)

    def _near(self, quote: str, claimed: int) -> RepeatedWords | None:
        for turn in self._in_order(self.said, claimed):
            line = self._near_words[turn]
            self._spent[_EFFORT] += line.effort(quote)
            if self._spent[_EFFORT] > _MAX_EFFORT:
                return None
            words = line.find(quote)
            if words is not None:
                return RepeatedWords(turn, words, is_near=True, is_sure=False)
        return None

    @cached_property
    def _near_words(self) -> dict[int, NearWords]:
        return {turn: NearWords(text) for turn, text in self.said.items()}

    @cached_property
    def _spent(self) -> Counter[str]:
        return Counter()

    def _turn_of(self, quote: str, claimed: int) -> int | None:
        wanted = fold(quote)
        if not wanted and claimed in self.files:
            return claimed
        if len(wanted) < _MIN_QUOTE_CHARS:
            return next((turn for turn, text in self.said.items() if fold(text) == wanted), None)
        if len(wanted) < _WHOLE_WORDS_BELOW and wanted.isascii():
            wanted = f" {wanted} "
        turns = self._in_order(self._folded, claimed)
        return next((turn for turn in turns if wanted in self._folded[turn]), None)

    def _in_order(self, turns: Iterable[int], claimed: int) -> list[int]:
        """Return turns in the order of trust: the claimed one, new ones, then ones read before."""
        return sorted(turns, key=lambda turn: (turn != claimed, turn in self.context))

    def day(self, turn: int) -> date:
        """Return the day of a turn; today if the turn has no time."""
        time = self.times.get(turn) or latest(self.lines, self.guide)
        return day_in(self.guide.time_zone, time)

    def sentence(self, quote: str, turn: int) -> str:
        """Return the sentences of a turn that the quote touches, first to last."""
        spoken = self._sentences(turn)
        return " ".join(spoken[at] for at in touched(spoken, quote)) or self.said.get(turn, "")

    def around(self, fact: str, quote: str, turn: int) -> str:
        """Return the sentences of a quote; if it needs context, with the user's sentence before."""
        spoken = self._sentences(turn)
        at = touched(spoken, quote)
        if fold(fact) == fold(quote) or not self._leans(quote) or not at:
            return self.sentence(quote, turn)
        if at.start:
            before = spoken[at.start - 1 : at.start]
        else:
            before = self._sentences(self._line_before(turn))[-1:]
        return " ".join([*before, self.sentence(quote, turn)])

    def answers(self, quote: str, turn: int) -> str:
        """Return the assistant's last sentences before a turn if a quote may answer them."""
        chosen: list[str] = []
        left = _MAX_ANSWERED_CHARS if self._leans(quote) else 0
        for sentence in reversed(list(sentences(self._before(turn)))):
            if left <= 0 or (chosen and len(sentence.text) > left):
                break
            chosen.insert(0, sentence.text[-left:])
            left -= len(sentence.text) + 1
        return " ".join(chosen)

    def _leans(self, quote: str) -> bool:
        """Return True if a quote may need other words to be understood."""
        has_few_words = len(quote.split()) <= _SHORT_QUOTE_WORDS
        is_short = has_few_words and len(quote) <= _SHORT_QUOTE_CHARS
        return is_short or answered(quote) is not None or stands_for_another(quote)

    def _line_before(self, turn: int) -> int:
        """Return the turn of the user's directly preceding line, or -1 if an answer intervenes."""
        earlier = [line for line in self.lines if line.turn < turn]
        return earlier[-1].turn if earlier and earlier[-1].is_users else -1

    def _sentences(self, turn: int) -> list[str]:
        return [sentence.text for sentence in sentences(self.said.get(turn, ""))]

    def _affirms(self, turn: int) -> bool:
        return answered(self.said.get(turn, "")) is True

    def question(self, turn: int) -> str:
        """Return the assistant's last words before a turn if they have a question, or else ""."""
        before = self._before(turn)
        return before if any(mark in before for mark in _QUESTION_MARKS) else ""

    def _before(self, turn: int) -> str:
        earlier = [line for line in self.lines if line.turn < turn and not line.is_users]
        return " ".join(line.text for line in earlier if line.turn == earlier[-1].turn)

    @cached_property
    def words(self) -> TextWords:
        """The words of all the user's lines."""
        return TextWords(" . ".join(self.said.values()))

    @cached_property
    def _own(self) -> dict[date, Origin]:
        return {}

    @cached_property
    def _origins(self) -> dict[int, Origin]:
        return {}

    def origin(self, turn: int) -> Origin:
        """Return all text that a fact of a turn may be made from; the result is cached."""
        if turn not in self._origins:
            own = self.own(turn)
            context = self._before(turn) if self._affirms(turn) else self.question(turn)
            both = Origin((*own.said, (context, own.said_on)), own.said_on)
            self._origins[turn] = both if context else own
        return self._origins[turn]

    def own(self, turn: int) -> Origin:
        """Return the user's lines only, as the origin for facts of a turn's day."""
        day = self.day(turn)
        if day not in self._own:
            said = tuple((text, self.day(other)) for other, text in self.said.items())
            self._own[day] = Origin(said, day)
        return self._own[day]


def turns_of_lost(
    lost: Sequence[Mapping[str, Any]], sources: Sources, understood: Collection[int]
) -> set[int]:
    """Return the turns of entries that could not be parsed."""
    # An entry without a line may belong to any turn outside `understood`.
    turns = {_turn_of_lost(entry, sources) for entry in lost}
    unknown = set(sources.said).difference(understood) if None in turns else set()
    return {turn for turn in turns if turn is not None} | (unknown - sources.context)


def _turn_of_lost(entry: Mapping[str, Any], sources: Sources) -> int | None:
    line, quote = entry.get("line"), entry.get("quote")
    if isinstance(line, str) and line.strip().isdecimal() and len(line) < _MAX_LINE_CHARS:
        line = int(line)
    claimed = line if isinstance(line, int) and line in sources.said else None
    if claimed is not None or not isinstance(quote, str):
        return claimed
    repeated = sources.find(quote, -1)
    return None if repeated is None else repeated.turn


def plain(quote: str) -> str:
    """Return a quote without the label of its line, and with its HTML entities decoded."""
    return _LABEL.sub("", html.unescape(quote))


def _pairs(letters: str) -> list[str]:
    return [letters[at : at + 2] for at in range(len(letters) - 1)]


def _letters(text: str) -> tuple[str, Sequence[int]]:
    """Return the letters and digits of a text without case and accents, and their positions."""
    letters = [
        (sign, place)
        for place, character in enumerate(text)
        for sign in unicodedata.normalize("NFKD", character).casefold()
        if sign.isalnum()
    ]
    return "".join(sign for sign, _ in letters), [place for _, place in letters]


def _whole_words(text: str, start: int, end: int) -> str:
    while start and text[start - 1].isalnum() and text[start - 1].isascii():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end].isascii():
        end += 1
    return text[start:end]
