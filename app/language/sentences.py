"""Division of a person's text into sentences, without other people's text."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from app.language.pasted import without_indented, without_pasted

CONTEXT_BEGIN = "<memory_bank_context>"
CONTEXT_END = "</memory_bank_context>"
"""Marks around memories in a prompt: the text between them is never a person's statement."""

CLAUSE = re.compile(
    r"[,;:.!?]\s|\s(?:and|but|und|aber|sondern|y|pero|sino|et|mais)\s", re.IGNORECASE
)
"""The separator between two clauses of a sentence."""
# A block without an end extends to the end of the text: a truncated prompt must not leak.
_BLOCKS = re.compile(
    r"<(memory_bank_context|PAST_CONVERSATIONS|system|system_prompt|context"
    r"|memories|\w{1,30}_memor(?:y|ies)|memor(?:y|ies)_\w{1,30})\b[^<>]{0,200}>"
    r".*?(?:</\1\s*>|\Z)|^[ \t]*>[^\n]*$"
    # A fence is at the beginning or end of a line; three backticks within a line are the writer's.
    r"|(?:^[ \t]*```|```(?=[\w+#.-]*[ \t]*\n)).*?(?:```|\Z)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_SYSTEM = re.compile(
    r"(?:\[? ?(?:system|developer)(?:\s(?:prompt|message|note|override))?\s*\]?\s*[:\]>]"
    r"|#{1,6}\s*(?:system|instructions?)\b|<\|?(?:im_start\|>)?\s*system"
    r"|you are (?:a|an|the)\b[^.\n]{0,80}\b(?:assistant|agent|ai|bot|chatbot|model|expert)\b"
    r"|du bist (?:ein|eine)\b[^.\n]{0,60}\b(?:assistent|assistentin|ki|agent)\b"
    r"|eres (?:un|una)\b[^.\n]{0,60}\b(?:asistente|agente|ia)\b"
    r"|tu es (?:un|une)\b[^.\n]{0,60}\b(?:assistant|assistante|agent|ia)\b)",
    re.IGNORECASE,
)
_BEGINNING = 200
"""Number of leading characters that identify a system prompt."""
_ABBREVIATIONS = re.compile(
    r"(?:mrs?|ms|dr|prof|st|[js]r|vs|etc|eg|ie|approx|no|dept|est|inc|ltd|co|corp|mt|ft|gen|capt"
    r"|sgt|rev|jan|feb|mar|apr|ju[nl]|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|bzw|ca|usw"
    r"|evtl|ggf|nr|str|tel|hr|frl?|zb|dh|ua|sr(?:t?a)?|uds?|avd?a?|dra|mme|mlle|env|[a-hj-z])",
    re.IGNORECASE,
)
# The last marks are Chinese, Japanese, Arabic, Hindi and Urdu, by code point.
_END = re.compile(
    # Possessive: a long run of marks is matched once, from its first mark, without backtracking.
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019\u00bb)\]]*+(?=\s|\Z)|\n+|;(?=\s)"
    r"|[\u3002\uff01\uff1f\uff61\u061f\u0964\u06d4]+[\u300d\u300f\u201d\uff09]*"
)
_WORD_BEFORE = re.compile(r"([^\W\d_]+)\.\Z")
_MONTH_DE = re.compile(
    r"(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Geburtstag|Stock|Klasse)", re.IGNORECASE
)
_LONG_CHARS = 400
_PIECE = re.compile(r"\S(?:.{0,298}\S)?(?=\s|\Z)|\S{300}", re.DOTALL)
_QUOTES = re.compile(r"[\"“”„«»]")
_OPENING, _CLOSING = frozenset("„«"), frozenset("”»")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Sentence:
    """A sentence and its start in the text; `quoted` if it begins inside quotation marks."""

    text: str
    start: int
    quoted: bool = False

    @property
    def end(self) -> int:
        """The position after its last character."""
        return self.start + len(self.text)


def own_words(text: str) -> str:
    """Blank out, in place, context blocks, code and quoted lines, which others wrote."""
    if _SYSTEM.match(text.lstrip()[:_BEGINNING]):
        return " " * len(text)
    own = without_indented(text)
    own = _BLOCKS.sub(lambda block: re.sub(r"[^\n]", " ", block.group()), own)
    return without_pasted(own)


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of the text in order; each is found verbatim at its `start`."""
    begin, quoted = 0, False
    for end in _ends(text):
        piece = text[begin:end]
        stripped = piece.strip()
        if stripped:
            yield Sentence(stripped, begin + piece.index(stripped[0]), quoted)
        quoted = _still_quoted(piece, quoted=quoted)
        begin = end


def short_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and text of each sentence; split very long ones."""
    for sentence in sentences(text):
        if len(sentence.text) <= _LONG_CHARS:
            yield sentence.start, sentence.text
            continue
        for piece in _PIECE.finditer(sentence.text):
            yield sentence.start + piece.start(), piece.group()


def first_fitting(ranked: Iterable[_T], chars: int, text_of: Callable[[_T], str]) -> list[_T]:
    """Return the first items with different texts that fit in `chars`, with a separator each.

    An item that does not fit is skipped: one long sentence does not exclude all later ones.
    """
    chosen: dict[str, _T] = {}
    left = chars + 1
    for item in ranked:
        text = text_of(item)
        if len(text) < left and text not in chosen:
            chosen[text] = item
            left -= len(text) + 1
    return list(chosen.values())


def _ends(text: str) -> Iterator[int]:
    begin = 0
    for mark in _END.finditer(text):
        if _is_end(text, begin, mark):
            yield mark.end()
            begin = mark.end()
    yield len(text)


def _is_end(text: str, begin: int, mark: re.Match[str]) -> bool:
    if not mark.group().startswith("."):
        return True
    follows = text[mark.end() : mark.end() + 16].lstrip()
    if mark.group().startswith("..") or (follows[:1].islower() and not mark.group().endswith("\n")):
        return not follows[:1].islower()
    return not _abbreviates(text[max(begin, mark.start() - 12) : mark.start() + 1], follows)


def _abbreviates(before: str, follows: str) -> bool:
    """Return True if the dot belongs to "Dr.", an initial, or an ordinal ("am 3. Mai")."""
    if re.search(r"(?:\A|\s)\d{1,2}\.\Z", before):
        return bool(_MONTH_DE.match(follows)) or before.strip()[:-1].isdigit()
    word = _WORD_BEFORE.search(before)
    if word is None or not follows:
        return False
    return _ABBREVIATIONS.fullmatch(word.group(1)) is not None


def _still_quoted(piece: str, *, quoted: bool) -> bool:
    if "\n" in piece:
        quoted, piece = False, piece.rsplit("\n", 1)[1]
    for mark in _QUOTES.findall(piece):
        quoted = mark in _OPENING or (mark not in _CLOSING and not quoted)
    return quoted
