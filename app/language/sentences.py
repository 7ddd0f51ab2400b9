"""Division of a person's text into sentences, without other people's text, and its truncation."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from app.language.phrases import any_case

CONTEXT_BEGIN = "<memory_bank_context>"
CONTEXT_END = "</memory_bank_context>"
"""Marks around memories in a prompt: the text between them is never a person's statement."""

CLAUSE = any_case(r"[,;:.!?]\s|\s(?:and|but|und|aber|sondern|y|pero|sino|et|mais)\s")
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
_SYSTEM = any_case(
    r"(?:\[? ?(?:system|developer)(?:\s(?:prompt|message|note|override))?\s*\]?\s*[:\]>]"
    r"|#{1,6}\s*(?:system|instructions?)\b|<\|?(?:im_start\|>)?\s*system"
    r"|you are (?:a|an|the)\b[^.\n]{0,80}\b(?:assistant|agent|ai|bot|chatbot|model|expert)\b"
    r"|du bist (?:ein|eine)\b[^.\n]{0,60}\b(?:assistent|assistentin|ki|agent)\b"
    r"|eres (?:un|una)\b[^.\n]{0,60}\b(?:asistente|agente|ia)\b"
    r"|tu es (?:un|une)\b[^.\n]{0,60}\b(?:assistant|assistante|agent|ia)\b)"
)
_BEGINNING = 200
"""Number of leading characters that identify a system prompt."""
_ABBREVIATIONS = any_case(
    r"(?:mrs?|ms|dr|prof|st|[js]r|vs|etc|eg|ie|approx|no|dept|est|inc|ltd|co|corp|mt|ft|gen|capt"
    r"|sgt|rev|jan|feb|mar|apr|ju[nl]|aug|sept?|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|bzw|ca|usw"
    r"|evtl|ggf|nr|str|tel|hr|frl?|zb|dh|ua|sr(?:t?a)?|uds?|avd?a?|dra|mme|mlle|env|[a-hj-z])"
)
# The last marks are Chinese, Japanese, Arabic, Hindi and Urdu, by code point.
_END = re.compile(
    # Possessive: a long run of marks is matched once, from its first mark, without backtracking.
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019\u00bb)\]]*+(?=\s|\Z)|\n+|;(?=\s)"
    r"|[\u3002\uff01\uff1f\uff61\u061f\u0964\u06d4]+[\u300d\u300f\u201d\uff09]*"
)
_CASUAL = re.compile(r"(?<![\w.'\u2019])i(?:['\u2019](?:m|ve|ll|d)|m|ve)?(?![\w.'\u2019-])")
"""The English "I" in lower case: its writer begins sentences in lower case, too."""
_WORD_BEFORE = re.compile(r"([^\W\d_]+)\.\Z")
_MONTH_DE = any_case(
    r"(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Geburtstag|Stock|Klasse)"
)
_LONG_CHARS = 400
_PIECE = re.compile(r"\S(?:.{0,298}\S)?(?=\s|\Z)|\S{300}", re.DOTALL)
_QUOTES = re.compile(r"[\"“”„«»]")
_OPENING, _CLOSING = frozenset("„«"), frozenset("”»")
_T = TypeVar("_T")

_CUT = "\u2026"

_LOG = re.compile(
    r"^[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|[A-Z][a-z]{2} +\d{1,2}"
    r" \d\d:\d\d:\d\d |\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[\]:\s]"
    r"|\[?(?:trace|debug|info|warn|warning|error|fatal|critical)[\]:]"
    r"|I/O (?:error|timeout|exception|failure)\b"
    r"|at [\w.$<>]+\(|File \"[^\"\n]*\", line \d|Caused by: |[\w.]+(?:Error|Exception|Warning):"
    r"|Traceback \(most recent call last\)|\$ \S|#!|[\[{]\s*[\"{])[^\n]*$",
    re.MULTILINE,
)
_CODE = re.compile(
    r"^[ \t]*(?:SELECT\s|INSERT INTO\s|UPDATE \w+ SET\s|DELETE FROM\s"
    r"|(?:CREATE|ALTER|DROP) [A-Z]+\s"
    r"|(?:select|insert into|update|delete from) [^\n]*;"
    r"|def \w+\(|class \w+[^\n]*[:{][ \t]*$|import [\w.]+;?[ \t]*$|from [\w.]+ import "
    r"|(?:const|let|var) \w+\s*=|function\s*\w*\(|#include\b|print(?:f|ln)?\(|console\.\w+\("
    r"|[\w.]+\s*=\s*[\"'\[{(]|return\b[^\n]*;|\"[^\"\n]{1,60}\"[ \t]*:|[\]}]+[,;]?[ \t]*$)[^\n]*$",
    re.MULTILINE,
)
_MARKUP = re.compile(
    r"<([a-z][a-z0-9-]{0,20})\b[^<>\n]{0,200}>[^\n]{0,200}?</\1\s*>"
    r"|^[ \t]*</?[a-z][a-z0-9-]{0,20}\b[^<>\n]{0,200}>[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_INDENTED = re.compile(
    r"(?:\A|(?<=\n\n))(?:(?: {4}|\t)[ \t]*(?![-*+\u2022\d\s])[^\n]*(?:\n|\Z))+", re.MULTILINE
)
_TRACE = re.compile(
    r"^[ \t]*Traceback \(most recent call last\):(?:\n[ \t]+[^\n]*)*(?:\n[^\n]+)?", re.MULTILINE
)
# A mail is the text between these two matches. A single pattern for both would scan to the end of
# the text after each greeting.
_MAIL_BEGIN = re.compile(
    r"(?:^|(?<=[:\n]))[ \t]*(?:hi|hello|hey|dear|good (?:morning|afternoon)|hallo|liebe[rs]?"
    r"|guten tag|sehr geehrte[rs]?|hola|estimad[oa]s?|querid[oa]s?|buenos días|bonjour|salut"
    r"|chers?|chères?)\b[^\n,:!.]{0,40}[,:!]\s",
    re.IGNORECASE | re.MULTILINE,
)
_MAIL_END = re.compile(
    r"(?:^|(?<=[.!?]\s))[ \t]*(?:(?:best|kind|warm"
    r"|many)(?: regards| wishes)?|regards|sincerely|yours(?: \w+)?|(?:viele|liebe|beste"
    r"|herzliche) grüße|mit freundlichen grüßen|(?:un )?(?:cordial )?saludos?|atentamente"
    r"|cordialement|bien à (?:vous|toi)|amicalement)[,.]?[ \t]*(?:\n?[ \t]*[^\n]{0,60})$",
    re.IGNORECASE | re.MULTILINE,
)
_HEADERS = re.compile(
    r"^(?:(?:from|to|subject|date|cc|von|an|betreff|datum|de|para|asunto|fecha|à|objet): [^\n]*\n"
    r"){2,}.*",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_TASK = any_case(
    r"\b(?:summari[sz]e|translate|proofread|paraphrase|rewrite|rephrase|reply to|respond to|answer"
    r" (?:this|the following)|correct (?:this|the|my)|fix (?:this|the)|explain (?:this|the|what)"
    r"|improve (?:this|the|my)|check (?:this|the|my) (?:text|grammar|mail|email|letter|sentence)"
    r"|shorten|what does|solve|classify|the question is|here is (?:the|an?) (?:text|mail|email"
    r"|letter|log)|(?:fass|fasse)\b.{0,40}\bzusammen|zusammenfass\w+|übersetz\w*|korrigier\w*"
    r"|formulier\w*|antworte auf|was (?:heißt|bedeutet)|verbesser\w*|lies das|resum[ei]\w*"
    r"|traduc\w+|traduzc\w+|corrig\w+|reescrib\w+|responde a|qué significa|mejora"
    r"|résum\w+|tradui\w+|réécri\w+|reformul\w+|réponds à|que (?:veut dire|signifie)"
    r"|améliore)\b"
)
_AFTER_COLON = re.compile(r":[ \t]*\n?.+", re.DOTALL)
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u2039][^\"\u201c\u201d\u201e\u00ab\u00bb]*(?:[\"\u201d\u00bb]|\Z)"
)
_OPENING_MARK = re.compile(r"[\"\u201c\u201e\u00ab\u2039]|(?<!\w)['\u2018\u201a]")
_SINGLE_CLOSING = re.compile(r"['\u2019](?!\w)")
_WINDOW = 64 * 1024
"""Maximum characters searched at once for a task: a match blocks the whole process."""
_LONGEST_TASK = 100


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
    begin, is_casual = 0, _CASUAL.search(text) is not None
    for mark in _END.finditer(text):
        if _is_end(text, begin, mark, is_casual=is_casual):
            yield mark.end()
            begin = mark.end()
    yield len(text)


def _is_end(text: str, begin: int, mark: re.Match[str], *, is_casual: bool) -> bool:
    if not mark.group().startswith("."):
        return True
    follows = text[mark.end() : mark.end() + 16].lstrip()
    is_lower = follows[:1].islower()
    if mark.group().startswith(".."):
        return not is_lower
    if is_lower and not mark.group().endswith("\n"):
        is_casual = is_casual or text[begin : mark.start()].lstrip()[:1].islower()
        if not is_casual or text[mark.start() - 1 : mark.start()].isdigit():
            return False
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


def longest_fitting(most: int, fits: Callable[[int], bool], least: int = 0) -> int:
    """Return the greatest length up to `most` that fits, found by bisection from `least` on."""
    while least < most:
        middle = (least + most + 1) // 2
        if fits(middle):
            least = middle
        else:
            most = middle - 1
    return least


def cut_off(text: str, chars: int) -> str:
    """Truncate a text to `chars` characters, after a whole sentence or line, or a whole word."""
    if len(text) <= chars:
        return text
    end = 0
    for sentence in sentences(text[: chars + 1]):
        reached = sentence.start + len(sentence.text)
        if reached <= chars and (_is_whole(sentence.text) or text[reached] == "\n"):
            end = reached
    if end:
        return text[:end]
    begun = text[: max(chars - len(_CUT), 0)]
    words, space, _ = begun.rpartition(" ")
    return ((words if space else begun).rstrip() + _CUT)[:chars]


def _is_whole(sentence: str) -> bool:
    return not sentence[-1].isalnum() and sentence[-1] not in ",:-\u2013("


def without_indented(text: str) -> str:
    """Blank out, in place, blocks with the indent of code. Call it on the original text."""
    return _INDENTED.sub(_blank, text)


def without_pasted(text: str) -> str:
    """Blank out, in place, mails, logs, code, markup and the object of a task."""
    for pattern in (_TRACE, _LOG, _CODE, _MARKUP, _HEADERS):
        text = pattern.sub(_blank, text)
    text = _without(text, _mails(text))
    begin = _end_of_task(text)
    if begin is None:
        return text
    end = text.find("\n\n", begin)
    rest = text[begin:] if end < 0 or ":" in text[begin:end] else text[begin:end]
    left = _AFTER_COLON.sub(_blank, rest, count=1) if ":" in rest else rest
    whole = text[:begin] + left + text[begin + len(rest) :]
    return _without(whole, _quotations(whole))


def _end_of_task(text: str) -> int | None:
    """Return the end of the first request for a task, or None."""
    for at in range(0, len(text), _WINDOW):
        task = _TASK.search(text, at, at + _WINDOW + _LONGEST_TASK)
        # A word may be cut at the end of a window.
        while task is not None and (whole := _TASK.match(text, task.start())) is None:
            task = _TASK.search(text, task.start() + 1, at + _WINDOW + _LONGEST_TASK)
        if task is not None and whole is not None:
            return whole.end()
    return None


def _mails(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while (begin := _MAIL_BEGIN.search(text, at)) and (end := _MAIL_END.search(text, begin.end())):
        at = end.end()
        yield begin.start(), at


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield the quotations; one in single marks ends with the last closing mark of its line."""
    at = line_end = last = 0
    while (opening := _OPENING_MARK.search(text, at)) is not None:
        at = opening.start() + 1
        if opening.group() in "'\u2018\u201a":
            if opening.start() >= line_end:
                break_at = text.find("\n", at)
                line_end = len(text) if break_at < 0 else break_at
                closing = [mark.end() for mark in _SINGLE_CLOSING.finditer(text, at, line_end)]
                last = closing[-1] if closing else 0
            end = last
        else:
            quoted = _QUOTED.match(text, opening.start())
            end = quoted.end() if quoted is not None else 0
        if end > at:
            yield opening.start(), end
            at = end


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces, at = [], 0
    for begin, end in spans:
        pieces += [text[at:begin], _blanks(text[begin:end])]
        at = end
    return "".join(pieces) + text[at:]


def _blank(match: re.Match[str]) -> str:
    return _blanks(match.group())


def _blanks(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
