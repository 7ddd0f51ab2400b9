r"""Translation of RE2 patterns to Postgres patterns that match the same texts, whole.

Both engines match without backtracking, but they read many constructs differently (`.` and
newlines, `\d` and other scripts, `\b`, escapes). So RE2 itself checks the pattern; this module
parses it and builds an equivalent from constructs with a known meaning in Postgres. Constructs
without an equivalent are refused by name. Laziness and captures do not change whether a text
matches, and are dropped.

Source: RE2's syntax page; PostgreSQL documentation, "Regular Expression Details".
"""

import re
from dataclasses import dataclass

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.kernel.text import UNSTORABLE

# Postgres refuses larger counts.
_MAX_COUNT = 255
# Limit for the states after unrolling counted repetitions. The worst pattern of this size takes
# Postgres 18 half a second to compile; the time grows with the square of the size.
_MAX_SIZE = 512
# The size of a word boundary: Postgres cannot compile 60 of them.
_BOUNDARY_SIZE = 20
# Bytes that RE2 may use to check a pattern; only nested repetitions reach it.
_RE2_MEMORY_BYTES = 1 << 20

_FLAGS = re.compile(r"\(\?([is]+)\)")
_COUNT = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_HEX = re.compile(r"x(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))")
_POSIX = re.compile(r"\[:([a-z]+):\]")

_WORD = "0-9A-Za-z_"
_CLASSES = {"d": "0-9", "w": _WORD, "s": r"\t\n\f\r "}
_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\u0001-\u007f",
    "blank": r"\t ",
    "cntrl": r"\u0001-\u001f\u007f",
    "digit": "0-9",
    "graph": r"\u0021-\u007e",
    "lower": "a-z",
    "print": r"\u0020-\u007e",
    "punct": r"\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e",
    "space": r"\t\n\u000b\f\r ",
    "upper": "A-Z",
    "word": _WORD,
    "xdigit": "0-9A-Fa-f",
}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_AFTER, _BEFORE = f"(?<=[{_WORD}])", f"(?=[{_WORD}])"
_NOT_AFTER, _NOT_BEFORE = f"(?<![{_WORD}])", f"(?![{_WORD}])"
_ANCHORS = {
    "A": "^",
    "z": "$",
    "b": f"(?:{_AFTER}{_NOT_BEFORE}|{_NOT_AFTER}{_BEFORE})",
    "B": f"(?:{_AFTER}{_BEFORE}|{_NOT_AFTER}{_NOT_BEFORE})",
}


class PatternRefusedError(Exception):
    """The pattern is not supported; the text gives the reason and quotes at most one construct."""


def to_postgres(pattern: str, max_chars: int) -> str:
    """Return a Postgres pattern that matches exactly the texts that `pattern` matches whole.

    Raises:
        PatternRefusedError: the pattern is invalid in RE2, too large or has an unsupported part.
    """
    if len(pattern) > max_chars:
        raise PatternRefusedError(f"a regular expression must have at most {max_chars} characters")
    _check_by_re2(pattern)
    return _Translator(pattern).translate()


def _check_by_re2(pattern: str) -> None:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _RE2_MEMORY_BYTES
    try:
        re2.compile(pattern, options)
    except re2.error:
        # RE2's own message quotes parts of the pattern.
        raise PatternRefusedError("a regular expression must have RE2 syntax") from None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the Postgres pattern."""

    text: str
    size: int
    """The approximate number of states after unrolling."""
    is_anchored: bool = False
    """True if it contains an anchor at any depth."""


class _Translator:
    """A recursive-descent translator of one pattern that RE2 accepts."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._flags = ""

    def translate(self) -> str:
        while (flags := _FLAGS.match(self._text, self._at)) is not None:
            self._flags += flags.group(1)
            self._at = flags.end()
        # Postgres accepts embedded options at the very start only.
        options = "(?i)" if "i" in self._flags else ""
        return f"{options}^(?:{self._alternatives().text})$"

    def _alternatives(self) -> _Piece:
        pieces: list[_Piece] = []
        while self._peek() not in {"", ")"}:
            pieces.append(_Piece("|", 0) if self._take("|") else self._repeated())
        size = sum(piece.size for piece in pieces)
        if size > _MAX_SIZE:
            raise PatternRefusedError("a regular expression must not repeat or hold so much")
        is_anchored = any(piece.is_anchored for piece in pieces)
        return _Piece("".join(piece.text for piece in pieces), size, is_anchored)

    def _repeated(self) -> _Piece:
        piece = self._anchor() or self._atom()
        quantifier, times = self._quantifier()
        # Postgres needs exponential time to compile repeated anchors.
        if quantifier and piece.is_anchored:
            raise PatternRefusedError("a regular expression must not repeat ^, $, \\b or the like")
        return _Piece(piece.text + quantifier, piece.size * times, piece.is_anchored)

    def _anchor(self) -> _Piece | None:
        character = self._peek()
        if character in {"^", "$"}:
            self._at += 1
            return _Piece(character, 1, is_anchored=True)
        escaped = self._text[self._at + 1 : self._at + 2]
        if character != "\\" or escaped not in _ANCHORS:
            return None
        self._at += 2
        size = _BOUNDARY_SIZE if escaped in "bB" else 1
        return _Piece(_ANCHORS[escaped], size, is_anchored=True)

    def _quantifier(self) -> tuple[str, int]:
        written, times = "", 1
        count = _COUNT.match(self._text, self._at)
        if self._peek() in {"*", "+", "?"}:
            written = self._next()
        elif count is not None:
            written, times = count.group(), max(map(int, re.findall("[0-9]+", count.group())))
            self._at = count.end()
        if times > _MAX_COUNT:
            raise PatternRefusedError(f"a regular expression must not count beyond {_MAX_COUNT}")
        if written:
            self._take("?")
        return written, max(times, 1)

    def _atom(self) -> _Piece:
        character = self._next()
        match character:
            case "(":
                return self._group()
            case "[":
                return _Piece(self._bracket(), 1)
            case ".":
                return _Piece("." if "s" in self._flags else r"[^\n]", 1)
            case "\\":
                return _Piece(self._escape(), 1)
            case _:
                return _Piece(_literal(character), 1)

    def _group(self) -> _Piece:
        if self._take("?") and not self._take(":"):
            raise PatternRefusedError(
                "a regular expression must not have named groups, nor flags except (?i) and (?s) "
                "at its start"
            )
        body = self._alternatives()
        self._take(")")
        return _Piece(f"(?:{body.text})", max(body.size, 1), body.is_anchored)

    def _escape(self) -> str:
        character = self._peek()
        if character.lower() in _CLASSES:
            self._at += 1
            negation = "^" if character.isupper() else ""
            return f"[{negation}{_CLASSES[character.lower()]}]"
        return _literal(self._escaped_character())

    def _escaped_character(self) -> str:
        hexadecimal = _HEX.match(self._text, self._at)
        if hexadecimal is not None:
            self._at = hexadecimal.end()
            return chr(int(hexadecimal.group(1) or hexadecimal.group(2), 16))
        character = self._next()
        if character.isalnum() and character not in _CONTROLS:
            raise PatternRefusedError(rf"a regular expression must not have \{character} here")
        return _CONTROLS.get(character, character)

    def _bracket(self) -> str:
        negation = "^" if self._take("^") else ""
        items = [self._bracket_item()]
        while not self._take("]"):
            items.append(self._bracket_item())
        return f"[{negation}{''.join(items)}]"

    def _bracket_item(self) -> str:
        posix = _POSIX.match(self._text, self._at)
        if posix is not None:
            self._at = posix.end()
            return _POSIX_CLASSES[posix.group(1)]
        if self._text.startswith("[:", self._at):
            raise PatternRefusedError("a regular expression must not have [: inside [ ] for itself")
        escaped = self._text[self._at : self._at + 2]
        if escaped[0] == "\\" and escaped[1] in _CLASSES:
            self._at += 2
            return _CLASSES[escaped[1]]
        return self._bracket_range()

    def _bracket_range(self) -> str:
        first = self._bracket_character()
        after = self._text[self._at + 1 : self._at + 2]
        if self._peek() != "-" or after == "]":
            return _literal(first)
        self._at += 1
        return f"{_literal(first)}-{_literal(self._bracket_character())}"

    def _bracket_character(self) -> str:
        character = self._next()
        return self._escaped_character() if character == "\\" else character

    def _next(self) -> str:
        character = self._text[self._at]
        self._at += 1
        return character

    def _take(self, expected: str) -> bool:
        is_there = self._peek() == expected
        self._at += is_there
        return is_there

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]


def _literal(character: str) -> str:
    """Return one character as a literal that is valid inside and outside brackets."""
    if UNSTORABLE.match(character):
        raise PatternRefusedError("a regular expression must not have U+0000 or surrogates")
    if character.isascii() and not character.isalnum():
        return f"\\u{ord(character):04x}"
    return character
