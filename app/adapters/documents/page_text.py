"""The text of HTML, without scripts and styles (pure).

No tree is built: the parser's events are handled one by one, at any depth of nesting.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from lxml import etree

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
    reader = _PageReader(target)
    waited = 0
    try:
        for piece in _steps(parts):
            reader.feed(piece)
            waited = 0 if target.has_moved() else waited + len(piece)
            yield target.take()
            if waited > _MAX_WAIT:
                reader.skip()
                waited = 0
        reader.close()
    except etree.LxmlError:
        # An empty page, or a parser that gives up: the text so far is the result.
        pass
    yield target.take()


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
            self._found.append(f"{self._gap}{words}" if self._has_text else words)
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
