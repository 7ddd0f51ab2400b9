"""Recognition of recalled memories inside a user's turn.

Prompts carry recalled memories into the next conversation, often within the user's message. If an
old memory were read again, it would overwrite its replacement.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from app.language.phrases import any_case
from app.language.search_languages import is_function_word

_MAX_ENTRIES = 500
"""Maximum number of entries of one turn that are compared with memories."""
_MAX_FAULTY = 20
"""Maximum number of failed attempts to parse a line of one turn as JSON, since each costs time."""
_LEAST_LIST = 2
_MAX_HEADING_CHARS = 120
_MAX_CELLS = 8
"""Maximum number of cells of a table's row that are compared."""
_ITEM = re.compile(
    r"[ \t]*(?:(?:[-*+\u2022\u2013\u2014]|\(?\d{1,3}[.):\]]|\[\w{1,8}\]:?|m\d{1,3}:)[ \t]+(?=\S)"
    r"|\|[ \t]*)"
)
"""The start of a list item or of a table's row."""
_ASIDE = re.compile(r"\(([^()\n]{8,300})\)|\[([^\[\]\n]{8,300})\]")
"""A text in parentheses within a sentence; the group is the text."""
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]+\S.*|\S.*[:\uff1a][*_]{0,2}[ \t]*)")
_INLINE = re.compile(r"(?![ \t]*[\[{][ \t]*[\"{])([^:\uff1a\n]{3,80})[:\uff1a][ \t]+\S.*")
_WORD = re.compile(r"\w")
_CLOSING = ("", "\n", "\r", ".", ",", ";", ":", "!", "?", ")")
_SENTENCE = re.compile(r"[^\s.;!?][^.;!?]*(?:[.;!?]+|\Z)")
_MARK_CHARS = 80
"""Number of characters at the start of a line in which a mark is searched for."""
_NOTES = re.compile(
    r"^(?:\[[^\]]{0,60}\]|\(?\d{4}-\d\d-\d\d[^ ]{0,16}\)?:?)[ \t]+"
    r"|(?<![ \t])[ \t]{1,8}[\[(][^\[\]()]{0,60}[\])]$"
)
_OF_MEMORIES = any_case(
    r"\bmemor(?:y|ies)\b|\b(?:you|we|i) (?:already )?(?:know|knew|remember)\b|\babout the user\b"
    r"|\b(?:past|previous|earlier) conversations?\b|\buser(?:'s)? (?:profile|facts?|preferences)\b"
    r"|\berinnerungen?\b|\bgedächtnis\b|\büber (?:den|die) (?:be)?nutzer(?:in)?\b"
    r"|\brecuerdos?\b|\bmemorias?\b|\bsobre (?:el|la) usuari[oa]\b|\bsouvenirs?\b|\bmémoires?\b"
    r"|\bsur l['\u2019]utilisat(?:eur|rice)\b"
)
_OF_CONTEXT = any_case(
    r"\b(?:contexte?o?|kontext|background|hintergrund|retrieved|known facts?|facts?)\b"
)
_OF_EITHER = any_case(f"{_OF_MEMORIES.pattern}|{_OF_CONTEXT.pattern}")
_OWN = any_case(r"\b(?:me|my|mine|myself|mich|mir|mein\w*|mí|mis?|moi|mon|ma|mes)\b")
_SPEAKER = (
    r"(?:(?:the )?(?:user|human|customer|current|new|latest|nutzer|benutzer)(?:['\u2019]s)? ?)?"
    r"(?:message|question|query|input|request|prompt|says|user|human|nachricht|frage|eingabe"
    r"|anfrage|mensaje|pregunta|consulta|usuario|demande|utilisateur)"
)
_MARK = any_case(
    rf"[*_#]{{0,3}} ?{_SPEAKER}[*_]{{0,2}}[ \t]*[:\uff1a]|#{{1,6}}[ \t]+{_SPEAKER}[ \t]*\Z"
)
_OF_USER = any_case(
    r"\buser(?:['\u2019]s)?\b(?:[ \t]+(\w+))?"
    r"|\b(?:be)?nutzer(?:s|in)?\b|\busuari[oa]\b|\butilisat(?:eur|rice)\b"
)
"""A word for the user; the group is the next English word, which may name a thing ("interface")."""
_KNOWLEDGE = frozenset({"memory", "memories", "profile", "fact", "facts", "preferences", "details"})


class MemoryRelation(Enum):
    """The relation of a text to the memories of the scope."""

    NOTHING = auto()
    MEMORY = auto()
    """A live or deleted memory has this text."""
    EARLIER = auto()
    """A memory had this text earlier, but has another one now."""


@dataclass(frozen=True)
class RecalledEntry:
    """One entry of a block, at `begin` to `end` of the turn's text."""

    begin: int
    end: int
    texts: tuple[tuple[str, ...], ...]
    """The spellings of each text in it: as it stands, and without notes such as dates or scores.

    Only the row of a table has several texts.
    """

    @property
    def spellings(self) -> list[str]:
        """All spellings of all texts."""
        return [spelling for spellings in self.texts for spelling in spellings]


@dataclass(frozen=True)
class RecalledBlock:
    """A list, JSON, or lines under a heading, within other text.

    `end` includes a mark such as "User message:" before the user's own words. `is_context` is True
    if a heading mentions memories, and the user's own words follow.
    """

    begin: int
    end: int
    entries: tuple[RecalledEntry, ...]
    is_context: bool


@dataclass(frozen=True)
class _TextLine:
    begin: int
    end: int
    text: str

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


class _JsonValues:
    def __init__(self, text: str) -> None:
        self._text = text
        self._faulty = 0

    def at(self, line: _TextLine) -> tuple[list[RecalledEntry], int] | None:
        begin = line.begin + len(line.text) - len(line.text.lstrip())
        if self._text[begin : begin + 1] not in {"[", "{"} or self._faulty == _MAX_FAULTY:
            return None
        try:
            value, end = json.JSONDecoder().raw_decode(self._text, begin)
        except (ValueError, RecursionError):
            self._faulty += 1
            return None
        texts = list(_texts_in(value))[:_MAX_ENTRIES]
        return [RecalledEntry(begin, end, (_spellings(text),)) for text in texts], end


def blocks_of(text: str) -> list[RecalledBlock]:
    """Return the blocks of a turn, in order; if there is no other text, without the last block."""
    blocks: list[RecalledBlock] = []
    room = _MAX_ENTRIES
    for block in _blocks(_lines(text), _JsonValues(text)):
        if len(block.entries) > room:
            break
        blocks.append(block)
        room -= len(block.entries)
    rest = _without(text, [(block.begin, block.end) for block in blocks])
    # The user's own words may be under the last of several headings.
    return blocks if rest.strip() else blocks[:-1]


def without_recalled(
    text: str, blocks: Sequence[RecalledBlock], relation: Callable[[str], MemoryRelation]
) -> tuple[str, int]:
    """Remove the recalled memories from a turn's text; also return the number of their lines.

    A block is removed as a whole if it is marked as context, if half of its entries are known or if
    one is the earlier text of a memory. Otherwise only the known entries are removed, because users
    also write lists. `relation` compares a text with the scope's memories.
    """
    taken: list[tuple[int, int]] = []
    count = 0
    for block in blocks:
        fates = [_relation_of_entry(entry, relation) for entry in block.entries]
        known = [
            (entry.begin, entry.end)
            for entry, fate in zip(block.entries, fates, strict=True)
            if fate is not MemoryRelation.NOTHING
        ]
        is_recalled = block.is_context or MemoryRelation.EARLIER in fates
        if is_recalled or (known and 2 * len(known) >= len(block.entries)):
            taken.append((block.begin, block.end))
            count += len(block.entries)
        else:
            taken += known
            count += len(known)
    own = _without(text, taken)
    mark = _MARK.match(own[:_MARK_CHARS]) if taken else None
    return own[mark.end() :] if mark else own, count


def _relation_of_entry(
    entry: RecalledEntry, relation: Callable[[str], MemoryRelation]
) -> MemoryRelation:
    """Return NOTHING if memories do not say one of the texts: a row may correct a memory."""
    fates = [_relation_of_text(spellings, relation) for spellings in entry.texts]
    for fate in (MemoryRelation.NOTHING, MemoryRelation.EARLIER):
        if fate in fates:
            return fate
    return MemoryRelation.MEMORY


def _relation_of_text(
    spellings: Sequence[str], relation: Callable[[str], MemoryRelation]
) -> MemoryRelation:
    fates = {relation(spelling) for spelling in spellings}
    for fate in (MemoryRelation.MEMORY, MemoryRelation.EARLIER):
        if fate in fates:
            return fate
    return MemoryRelation.NOTHING


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text without some spans. A line begins after each, except after parentheses."""
    pieces, at = [], 0
    for begin, end in spans:
        pieces.append(text[at:begin].rstrip(" \t"))
        at = end
        while text[at : at + 1] in {" ", "\t"}:
            at += 1
        is_aside = text[begin] in "(["
        is_end = text[at : at + 1] in _CLOSING
        pieces.append(("" if is_end else " ") if is_aside else "\n")
    return "".join([*pieces, text[at:]])


def _lines(text: str) -> list[_TextLine]:
    lines, begin = [], 0
    for part in text.splitlines(keepends=True):
        lines.append(_TextLine(begin, begin + len(part.rstrip("\r\n")), part.rstrip("\r\n")))
        begin += len(part)
    return lines


def _blocks(lines: Sequence[_TextLine], values: _JsonValues) -> Iterator[RecalledBlock]:
    at = 0
    while at < len(lines):
        block, after = _block_at(lines, at, values)
        if block is None:
            yield from _asides(lines[at])
        elif block.entries:
            yield block
        at = max(after, at + 1)


def _asides(line: _TextLine) -> Iterator[RecalledBlock]:
    for aside in _ASIDE.finditer(line.text):
        texts = _SENTENCE.finditer(line.text, *aside.span(aside.lastindex or 0))
        entries = tuple(_entry(line, *text.span()) for text in texts)
        if entries:
            begin, end = line.begin + aside.start(), line.begin + aside.end()
            yield RecalledBlock(begin, end, entries, is_context=False)


def _block_at(
    lines: Sequence[_TextLine], at: int, values: _JsonValues
) -> tuple[RecalledBlock | None, int]:
    line = lines[at]
    heading = ""
    first = at
    if (inline := _INLINE.fullmatch(line.text)) is not None and _OF_MEMORIES.search(inline[1]):
        texts = _SENTENCE.finditer(line.text, inline.end(1) + 1)
        entries = [_entry(line, *text.span()) for text in texts]
        return _block(lines, at + 1, line.begin, line.end, entries, inline[1]), at + 1
    if _is_heading(line):
        heading = line.text
        first = next((n for n in range(at + 1, len(lines)) if not lines[n].is_blank), len(lines))
    if first < len(lines) and (parsed := values.at(lines[first])) is not None:
        entries, end = parsed
        after = next((n for n in range(first, len(lines)) if lines[n].begin >= end), len(lines))
        return _block(lines, after, line.begin, end, entries, heading), after
    after = _end_of_entries(lines, first, has_heading=bool(heading))
    if after - first < (1 if heading else _LEAST_LIST):
        return None, at + 1
    worded = [line for line in lines[first:after] if _WORD.search(line.text)][:_MAX_ENTRIES]
    entries = [_entry(item, _start(item), len(item.text)) for item in worded]
    return _block(lines, after, line.begin, lines[after - 1].end, entries, heading), after


def _is_heading(line: _TextLine) -> bool:
    if len(line.text) > _MAX_HEADING_CHARS or _HEADING.fullmatch(line.text) is None:
        return False
    return _ITEM.match(line.text) is None and _mark_end(line) is None


def _mark_end(line: _TextLine) -> int | None:
    indent = len(line.text) - len(line.text.lstrip())
    mark = _MARK.match(line.text[indent : indent + _MARK_CHARS])
    return None if mark is None else line.begin + indent + mark.end()


def _end_of_entries(lines: Sequence[_TextLine], first: int, *, has_heading: bool) -> int:
    are_items = first < len(lines) and _ITEM.match(lines[first].text) is not None
    if not are_items and not has_heading:
        return first
    after = first
    for n in range(first, len(lines)):
        line = lines[n]
        if _ITEM.match(line.text) if are_items else not (line.is_blank or _mark_end(line)):
            after = n + 1
        elif not (are_items and line.is_blank):
            break
    return after


def _start(line: _TextLine) -> int:
    item = _ITEM.match(line.text)
    return item.end() if item else len(line.text) - len(line.text.lstrip())


def _entry(line: _TextLine, begin: int, end: int) -> RecalledEntry:
    text = line.text[begin:end]
    cells = text.split("|", _MAX_CELLS) if line.text.lstrip().startswith("|") else [text]
    # Single words, numbers and dates beside a memory are notes on it.
    texts = [cell for cell in cells if " " in cell.strip()] if len(cells) > 1 else cells
    spellings = tuple(_spellings(cell) for cell in texts or [text])
    return RecalledEntry(line.begin + begin, line.begin + end, spellings)


def _spellings(text: str) -> tuple[str, ...]:
    plain = text.strip().strip("\"'\u201c\u201d\u201e")
    return tuple(dict.fromkeys((plain, _NOTES.sub("", _NOTES.sub("", plain)))))


def _texts_in(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text if " " in text.strip():
                yield text
            case dict() as members:
                waiting += reversed(list(members.values()))
            case list() as items:
                waiting += reversed(items)
            case _:
                pass


def _block(
    lines: Sequence[_TextLine],
    after: int,
    begin: int,
    end: int,
    entries: Sequence[RecalledEntry],
    heading: str,
) -> RecalledBlock:
    # Below a heading about memories of the user, a blank line ends the context; below other
    # headings, only a mark such as "User message:" does. "My memories:" introduces the user's
    # own list.
    has_gap = after < len(lines) and lines[after].is_blank
    follows = next((lines[n] for n in range(after, len(lines)) if not lines[n].is_blank), None)
    mark_end = None if follows is None else _mark_end(follows)
    speaks = _OF_MEMORIES if mark_end is None else _OF_EITHER
    is_context = follows is not None and speaks.search(heading) is not None
    if mark_end is None:
        is_context = is_context and has_gap and _is_of_user(heading)
    is_context = is_context and _OWN.search(heading) is None
    return RecalledBlock(begin, end if mark_end is None else mark_end, tuple(entries), is_context)


def _is_of_user(heading: str) -> bool:
    """Return True if a heading is about the user, not about a thing named after users."""
    for match in _OF_USER.finditer(heading):
        word = (match[1] or "").lower()
        if not word or word in _KNOWLEDGE or is_function_word(word):
            return True
    return False
