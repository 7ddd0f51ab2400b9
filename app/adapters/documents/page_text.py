"""The text of HTML, without scripts and styles (pure).

No tree is built: the parser's events are handled one by one, at any depth of nesting.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lxml import etree
from typing_extensions import override

_SILENT = frozenset(
    {"script", "style", "noscript", "template", "svg", "math", "object", "iframe", "canvas"}
)
_PARAGRAPHS = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "blockquote", "pre"}
    | {"article", "section", "header", "footer", "main", "nav", "aside", "figure", "form", "hr"}
    | {"title", "body"}
)
_LINES = frozenset(
    {"div", "br", "li", "tr", "dt", "dd", "option", "figcaption", "caption", "address"}
    | {"details", "summary", "fieldset", "legend", "label", "button", "select", "textarea"}
)
_CELLS = frozenset({"td", "th"})
_LAID_OUT = "pre"
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\ufeff"))
"""Soft hyphens and other invisible characters, which would prevent the match of a word."""
_START, _END = "start", "end"
_SPACE = re.compile(r"\s+")
_STEP = 4 * 1024
_MAX_OPEN = 512
"""Most open elements. The parser looks up an end tag without a start tag in all open elements:
without this limit, time would grow with the square of the length."""
MAX_HELD = 2 * 1024 * 1024
"""Characters after which a parser, which keeps all its input, is replaced at the end of a block."""
_MOST_HELD = 4 * MAX_HELD
"""Characters after which it is replaced at any tag, if no block ends, as in a row of links."""
_BLOCK_END = re.compile(r"</(?:p|div|li|tr|dd|h[1-6])>", re.IGNORECASE)
_MAX_WAIT = 4 * 1024 * 1024
"""Most characters without an event, as in an unended comment or tag. The parser reads a whole tag
at once and blocks all threads meanwhile. So this tag is dropped, up to the next `>`."""


def text_of_html(parts: Iterable[str]) -> Iterator[str]:
    """Yield the text of a page, in paragraphs and lines. Linear in its length. Refuses no input."""
    target = _Target()
    for _ in _steps_of(parts, target):
        yield target.take()


def _steps_of(parts: Iterable[str], target: "_Target") -> Iterator[None]:
    """Feed a page to a target; yield after each step, and at the end."""
    reader = _PageReader(target)
    waited = 0
    try:
        for piece in _steps(parts):
            reader.feed(piece)
            waited = 0 if target.has_moved() else waited + len(piece)
            yield
            if waited > _MAX_WAIT:
                reader.skip()
                waited = 0
        reader.close()
    except etree.LxmlError:
        # An empty page, or a parser that gives up: the text so far is the result.
        pass
    yield


class _PageReader:
    """A parser of one page; it reads a long or deeply nested page as several pages."""

    def __init__(self, target: "_Target") -> None:
        self._target = target
        self._is_skipping = False
        self._begin()

    def feed(self, piece: str) -> None:
        if self._is_skipping:
            _, mark, piece = piece.partition(">")
            self._is_skipping = not mark
        if end := self._cut(piece):
            self._feed(piece[: end - 1])
            # The last character may be part of a comment, which causes no event.
            self._target.tag = ""
            self._feed(piece[end - 1 : end])
            if self._may_end():
                self._parser.close()
                self._begin()
        self._feed(piece[end:])

    def skip(self) -> None:
        self._is_skipping = True
        self._begin()

    def close(self) -> None:
        self._parser.close()

    def _begin(self) -> None:
        # Without `huge_tree`, an unended comment of 10 MB makes the parser loop for ever and blocks
        # the whole process.
        self._parser = etree.HTMLParser(target=self._target, no_network=True, huge_tree=True)
        self._held = 0
        self._target.open = 0

    def _feed(self, piece: str) -> None:
        self._parser.feed(piece)
        self._held += len(piece)

    def _cut(self, piece: str) -> int:
        """Return the position in `piece` where a new parser may continue; 0: none is needed."""
        if self._target.open > _MAX_OPEN or self._held > _MOST_HELD:
            # After a tag: the new parser would read the rest of a cut tag as text.
            return piece.find(">") + 1
        match = _BLOCK_END.search(piece) if self._held > MAX_HELD else None
        return match.end() if match else 0

    def _may_end(self) -> bool:
        if self._target.open > _MAX_OPEN:
            return True
        fitting = (_START, _END) if self._held > _MOST_HELD else (_END,)
        return self._target.tag in fitting and self._target.is_visible()


def _steps(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        for start in range(0, len(part), _STEP):
            yield part[start : start + _STEP]


class _Target:
    """A collector of the text between tags."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._pending: list[str] = []
        """The text since the last tag."""
        self._silent = ""
        """The skipped element, and the number of open elements of its name inside it."""
        self._depth = 0
        self._moved = False
        self._gap = ""
        """The separator before the next word."""
        self._has_text = False
        self._laid_out = 0
        """The number of open elements that preserve line breaks."""
        self.open = 0
        """The number of open elements of any kind."""
        self.tag = ""
        """`_START` or `_END` if the last event was a tag."""
        self.length = 0
        """The number of characters of the text so far."""

    def has_moved(self) -> bool:
        """Return True if anything was read since the last call."""
        moved, self._moved = self._moved, False
        return moved

    def is_visible(self) -> bool:
        """Return True outside skipped and preformatted text."""
        return not self._silent and not self._laid_out

    def take(self) -> str:
        self._settle()
        text, self._found = "".join(self._found), []
        return text

    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        self._moved = True
        self.tag = _START
        self.open += 1
        if self._silent:
            self._depth += tag == self._silent
        elif tag in _SILENT:
            self._settle()
            self._silent, self._depth = tag, 1
        else:
            self._part(tag)
            self._laid_out += tag == _LAID_OUT

    def end(self, tag: str) -> None:
        self._moved = True
        self.tag = _END
        self.open -= 1
        if not self._silent:
            self._part(tag)
            self._laid_out -= tag == _LAID_OUT and self._laid_out > 0
        elif tag == self._silent:
            self._depth -= 1
            self._silent = self._silent if self._depth else ""

    def data(self, text: str) -> None:
        self._moved = True
        self.tag = ""
        if not self._silent:
            self._pending.append(text)

    def close(self) -> None:
        """Read the end of the page."""

    def _settle(self) -> None:
        text, self._pending = "".join(self._pending).translate(_UNSEEN), []
        if not text:
            return
        plain = text if self._laid_out else _SPACE.sub(" ", text)
        words = plain.strip("\n" if self._laid_out else " ")
        if not plain.startswith(words[:1] or "\0"):
            self._widen(plain[0])
        if words:
            found = f"{self._gap}{words}" if self._has_text else words
            self._found.append(found)
            self.length += len(found)
            self._has_text = True
            self._gap = "" if plain.endswith(words[-1]) else plain[-1]

    def _part(self, tag: str) -> None:
        self._settle()
        if tag in _PARAGRAPHS:
            self._widen("\n\n")
        elif tag in _LINES:
            self._widen("\n")
        elif tag in _CELLS:
            self._widen(" | ")

    def _widen(self, gap: str) -> None:
        if _RANK.index(gap) > _RANK.index(self._gap):
            self._gap = gap


_RANK = ("", " ", " | ", "\n", "\n\n")

_ROW = "tr"
_TABLE = "table"
_MAX_TABLES = 16
"""Most tables that are open at once; the outermost one of more is dropped."""
_MAX_COLUMNS = 256
_MAX_CELL = 16 * 1024
"""Most characters of a cell; the rest is dropped."""
_SPAN = re.compile(r"[0-9]{1,4}")
_SPANS = ("colspan", "rowspan")


class TableRow(NamedTuple):
    """The cells of a row, by column, and its place in the text; tables are numbered from 0."""

    table: int
    cells: Sequence[str]
    start: int
    end: int


def rows_of_html(parts: Iterable[str]) -> Iterator[TableRow]:
    """Yield the rows of all tables of a page; a cell that spans rows is in each of them."""
    target = _Tables()
    for _ in _steps_of(parts, target):
        yield from target.take_rows()


@dataclass
class _OpenTable:
    number: int
    start: int
    cells: list[tuple[str, int]] = field(default_factory=list)
    """Texts of the open row's cells, and the number of rows that each spans."""
    above: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Cells that span the coming row, by column."""
    width: int = 0
    """Number of columns that the open cell spans; its text belongs to the first."""

    def begin_cell(self, columns: int, rows: int) -> None:
        self.end_cell()
        if len(self.cells) < _MAX_COLUMNS:
            self.cells.append(("", rows))
            self.width = columns

    def add(self, text: str) -> None:
        if self.width and len(self.cells[-1][0]) < _MAX_CELL:
            held, rows = self.cells[-1]
            self.cells[-1] = held + text[:_MAX_CELL], rows

    def end_cell(self) -> None:
        rows = self.cells[-1][1] if self.cells else 0
        self.cells += [("", rows)] * min(self.width - 1, _MAX_COLUMNS - len(self.cells))
        self.width = 0

    def end_row(self) -> list[str]:
        self.end_cell()
        given, above = deque(self.cells), self.above
        self.cells, self.above = [], {}
        line: list[str] = []
        while (given or above) and len(line) < _MAX_COLUMNS:
            column = len(line)
            spanning = above.pop(column, None)
            text, rows = spanning or (given.popleft() if given else ("", 1))
            if spanning is None:
                # Once only: the rows that it spans share the text.
                text = " ".join(text.split())
            line.append(text)
            if rows > 1:
                self.above[column] = text, rows - 1
        return line


class _Tables(_Target):
    """A collector of the rows of tables, with their places in the text."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: list[_OpenTable] = []
        self._rows: list[TableRow] = []
        self._count = 0

    def take_rows(self) -> list[TableRow]:
        self.take()
        rows, self._rows = self._rows, []
        return rows

    @override
    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        super().start(tag, _attributes)
        if self._silent:
            return
        place = self.length + len(self._gap) if self._has_text else 0
        if tag == _TABLE:
            self._tables = [*self._tables[1 - _MAX_TABLES :], _OpenTable(self._count, place)]
            self._count += 1
        elif self._tables and tag == _ROW:
            self._end_row()
            self._tables[-1].start = place
        elif self._tables and tag in _CELLS:
            spans = (_SPAN.fullmatch(_attributes.get(name) or "") for name in _SPANS)
            columns, rows = (max(int(span[0]), 1) if span else 1 for span in spans)
            self._tables[-1].begin_cell(columns, rows)
        elif self._tables and tag in _PARAGRAPHS | _LINES:
            self._tables[-1].add(" ")

    @override
    def end(self, tag: str) -> None:
        super().end(tag)
        if self._tables and tag in {_ROW, _TABLE}:
            self._end_row()
            if tag == _TABLE:
                self._tables.pop()

    @override
    def data(self, text: str) -> None:
        super().data(text)
        if self._tables and not self._silent:
            self._tables[-1].add(text)

    def _end_row(self) -> None:
        table = self._tables[-1]
        cells = table.end_row() if table.cells else []
        if any(cells):
            self._rows.append(TableRow(table.number, cells, table.start, self.length))
