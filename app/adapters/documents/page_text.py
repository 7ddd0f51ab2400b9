"""The text of HTML, without scripts and styles (pure).

A tree is never built: what comes is read and forgotten, however deep it is nested.
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
"""Where a word may be broken, and the like: it would not be found with them."""
_SPACE = re.compile(r"\s+")
_STEP = 4 * 1024
_MAX_OPEN = 512
"""Elements within each other. An end without a beginning is looked for in all that are open: were
there any number of them, time would go with the square of the length."""
_MAX_HELD = 2 * 1024 * 1024
"""Characters after which a parser, which holds all that it has read, gives way to another."""
_BLOCK_END = re.compile(r"</(?:p|div|li|tr|dd|h[1-6])>", re.IGNORECASE)
_MAX_WAIT = 16 * 1024 * 1024
"""Characters in which nothing is: one comment or tag this long, and what follows is not read."""


def text_of_html(parts: Iterable[str]) -> Iterator[str]:
    """Yield the text of a page, in paragraphs and lines. Linear in its length.

    Whatever it is, it has some text, or none: nothing is refused.
    """
    target = _Target()
    reader = _Reader(target)
    waited = 0
    try:
        for piece in _steps(parts):
            reader.feed(piece)
            waited = 0 if target.has_moved() else waited + len(piece)
            yield target.take()
            if waited > _MAX_WAIT:
                return
        reader.close()
    except etree.LxmlError:
        # Nothing at all, or what the parser gives up on: what was read before stands.
        pass
    yield target.take()


class _Reader:
    """Parses a page; one that is long, or nests too deeply, it reads as one page after another."""

    def __init__(self, target: "_Target") -> None:
        self._target = target
        self._begin()

    def feed(self, piece: str) -> None:
        """Read the next step of the page.

        Raises:
            LxmlError: the parser gives up.
        """
        end = self._cut(piece)
        self._feed(piece[:end])
        if end and self._may_end():
            self._parser.close()
            self._begin()
        self._feed(piece[end:])

    def close(self) -> None:
        """Read the end of the page.

        Raises:
            LxmlError: the parser gives up.
        """
        self._parser.close()

    def _begin(self) -> None:
        self._parser = etree.HTMLParser(target=self._target, no_network=True)
        self._held = 0
        self._target.open = 0

    def _feed(self, piece: str) -> None:
        self._parser.feed(piece)
        self._held += len(piece)

    def _cut(self, piece: str) -> int:
        """Return after how many characters another parser may go on; 0: it need not."""
        if self._target.open > _MAX_OPEN:
            # After a tag: what is left of one that is cut through would be read as text.
            return piece.find(">") + 1
        found = _BLOCK_END.search(piece) if self._held > _MAX_HELD else None
        return found.end() if found else 0

    def _may_end(self) -> bool:
        return self._target.open > _MAX_OPEN or self._target.is_between()


def _steps(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        for start in range(0, len(part), _STEP):
            yield part[start : start + _STEP]


class _Target:
    """Collects the text between tags."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._pending: list[str] = []
        """The text since the last tag."""
        self._silent = ""
        """The element that is passed over, and how many of its name are open in it."""
        self._depth = 0
        self._moved = False
        self._gap = ""
        """What has to stand before the next word."""
        self._has_text = False
        self._laid_out = 0
        """How many elements are open in which line breaks are as they stand."""
        self.open = 0
        """How many elements are, of whatever kind."""
        self._has_ended = False
        """Whether the last that came was the end of an element."""

    def has_moved(self) -> bool:
        """Tell whether anything was read since this was asked last."""
        moved, self._moved = self._moved, False
        return moved

    def is_between(self) -> bool:
        """Tell whether an element has just ended where texts are read as usual."""
        return self._has_ended and not self._silent and not self._laid_out

    def take(self) -> str:
        """Return what was found since this was asked last."""
        self._settle()
        found, self._found = "".join(self._found), []
        return found

    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        """Read the beginning of an element."""
        self._moved = True
        self._has_ended = False
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
        """Read the end of an element."""
        self._moved = True
        self._has_ended = True
        self.open -= 1
        if not self._silent:
            self._part(tag)
            self._laid_out -= tag == _LAID_OUT and self._laid_out > 0
        elif tag == self._silent:
            self._depth -= 1
            self._silent = self._silent if self._depth else ""

    def data(self, text: str) -> None:
        """Read text, which may come in single characters."""
        self._moved = True
        self._has_ended = False
        if not self._silent:
            self._pending.append(text)

    def close(self) -> None:
        """Read the end of the page."""

    def _settle(self) -> None:
        """Put down the text that has come since the last tag."""
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
