r"""Filters of lists: AIP-160 text and its tree; and filters over metadata, from `filterGroups`.

    filter     = [sequence of factors, joined by AND or by white space]
    factor     = term {"OR" term}                 so OR binds tighter than AND
    term       = ["NOT" | "-"] ( "(" filter ")" | comparison )
    comparison = path operator value
    path       = segment {"." segment}            a segment is bare, "quoted" or 'quoted'
    operator   = "=" "!=" "<" "<=" ">" ">=" ":" "=~" "!~"
    value      = bare | "quoted" | 'quoted'

Escapes inside quotes: `\" \' \\ \/ \n \r \t \uXXXX`, which reads every JSON string
without control characters unchanged. Before any other character the backslash is kept, to allow
regular expressions without double escapes: `fact =~ ".*\d+.*"`.

Not supported: searches without a field, functions, and parentheses as a value.

Source: AIP-160 and its grammar; `=~` as in the product's documentation.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from typing_extensions import override

from app.kernel.errors import FieldViolation, InvalidArgument, Reason
from app.kernel.text import UNSTORABLE

MAX_CHARS = 4096
# Deeper than any realistic filter; far from the interpreter's own limit.
MAX_DEPTH = 32
# A statement with more conditions costs the planner more than the search costs the executor.
MAX_COMPARISONS = 100
_OPERATOR = re.compile(r"=~|!~|!=|<=|>=|=|<|>|:")
_AND = re.compile(r"AND(?=[\s(]|$)")
_OR = re.compile(r"OR(?=[\s(]|$)")
_NEGATION = re.compile(r"NOT(?=[\s(])|-")
_UNICODE_ESCAPE = re.compile(r"u([0-9a-fA-F]{4})")
_SIMPLE_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t"}
FIELD = "filter"
KEYWORDS = frozenset({"AND", "OR", "NOT"})
# The characters of a path segment or a value without quotes.
BARE_SEGMENT = re.compile(r"""(?!-)[^\s.()"'=<>!:~]+""")
BARE_VALUE = re.compile(r"""[^\s()"'=<>!~]+""")
_CONTROL = re.compile(r"[\x00-\x1f]")
MetadataValue = bool | float | str | datetime
"""A value of metadata; its type decides which stored values it is compared with."""


class Operator(StrEnum):
    """A comparison operator in its text form."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    HAS = ":"
    MATCHES = "=~"
    MATCHES_NOT = "!~"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field, an operator and a value."""

    path: tuple[str, ...]
    """The segments of the field's name, as the caller spelt them, quotes removed."""
    operator: Operator
    value: str
    """The value's text, quotes and escapes removed."""
    is_quoted: bool
    """True if the value was in quotes: a bare `*` asks for presence, a quoted one is a star."""
    column: int = field(default=1, compare=False)
    """The column at which the field's name starts in the text, from 1."""
    value_column: int = field(default=1, compare=False)

    @property
    def asks_for_presence(self) -> bool:
        """True if the value is the bare `*` of `field:*`."""
        return self.operator is Operator.HAS and self.value == "*" and not self.is_quoted

    @override
    def __str__(self) -> str:
        path = ".".join(_segment_text(segment) for segment in self.path)
        value = quote(self.value) if self.is_quoted else self.value
        return f"{path}{self.operator.value}{value}"


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a term."""

    term: "Node"

    @override
    def __str__(self) -> str:
        return f"NOT {_nested_text(self.term)}"


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of two or more terms."""

    terms: tuple["Node", ...]

    @override
    def __str__(self) -> str:
        return " AND ".join(_nested_text(term) for term in self.terms)


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of two or more terms."""

    terms: tuple["Node", ...]

    @override
    def __str__(self) -> str:
        return " OR ".join(_nested_text(term) for term in self.terms)


Node = And | Or | Not | Comparison


def quote(text: str) -> str:
    """Return a string literal of a filter."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", escaped) + '"'


def invalid_filter(column: int, description: str) -> InvalidArgument:
    """Return the error at a column, from 1; `description` must not repeat values."""
    described = f"column {column}: {description}"
    return InvalidArgument(
        f"{FIELD}: {described}",
        Reason.FILTER_INVALID,
        violations=[FieldViolation(FIELD, described)],
        metadata={"column": str(column)},
    )


def _segment_text(segment: str) -> str:
    is_bare = BARE_SEGMENT.fullmatch(segment) and segment not in KEYWORDS
    return segment if is_bare else quote(segment)


def _nested_text(term: Node) -> str:
    # OR binds tighter than AND, which few readers expect. Parentheses around both make it clear.
    return str(term) if isinstance(term, Comparison) else f"({term})"


def parse_filter(text: str | None) -> Node | None:
    """Parse a filter; None: it is absent or blank.

    Raises:
        InvalidArgument: the text is not a filter; the error gives the column.
    """
    if text is None or not text.strip():
        return None
    if len(text) > MAX_CHARS:
        raise invalid_filter(MAX_CHARS + 1, f"must have at most {MAX_CHARS} characters.")
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._comparisons = 0

    def parse(self) -> Node:
        tree = self._filter()
        if self._at < len(self._text):
            raise self._error('has a ")" without its "(".')
        return tree

    def _filter(self) -> Node:
        terms = [self._factor()]
        while not self._is_at_end():
            self._take(_AND)
            terms.append(self._factor())
        return terms[0] if len(terms) == 1 else And(tuple(terms))

    def _factor(self) -> Node:
        terms = [self._term()]
        while self._take(_OR):
            terms.append(self._term())
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def _term(self) -> Node:
        self._skip_space()
        negation = _NEGATION.match(self._text, self._at)
        if negation is None:
            return self._simple()
        self._at = negation.end()
        return Not(self._simple())

    def _simple(self) -> Node:
        self._skip_space()
        if self._peek() != "(":
            return self._comparison()
        opened = self._at
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"must not be nested more than {MAX_DEPTH} deep.")
        self._at += 1
        tree = self._filter()
        if self._peek() != ")":
            raise invalid_filter(opened + 1, 'has a "(" without its ")".')
        self._at += 1
        self._depth -= 1
        return tree

    def _comparison(self) -> Comparison:
        self._comparisons += 1
        if self._comparisons > MAX_COMPARISONS:
            raise self._error(f"must have at most {MAX_COMPARISONS} comparisons.")
        column = self._at + 1
        path = self._path()
        operator = self._operator()
        self._skip_space()
        value_column = self._at + 1
        is_quoted = self._peek() in {'"', "'"}
        value = self._quoted() if is_quoted else self._bare_value()
        if self._peek() not in {"", ")"} and not self._peek().isspace():
            raise self._error("must have white space after a value; put quotes around the value.")
        return Comparison(path, operator, value, is_quoted, column, value_column)

    def _path(self) -> tuple[str, ...]:
        segments = [self._segment()]
        while self._peek() == ".":
            self._at += 1
            segments.append(self._segment())
        return tuple(segments)

    def _segment(self) -> str:
        if self._peek() in {'"', "'"}:
            return self._quoted()
        match = BARE_SEGMENT.match(self._text, self._at)
        if match is None or match.group() in KEYWORDS:
            raise self._error("must have the name of a field here.")
        self._at = match.end()
        return self._storable(match.group(), match.start())

    def _operator(self) -> Operator:
        self._skip_space()
        match = _OPERATOR.match(self._text, self._at)
        if match is None:
            accepted = " ".join(Operator)
            raise self._error(f"must have an operator after the field: {accepted}")
        self._at = match.end()
        return Operator(match.group())

    def _bare_value(self) -> str:
        match = BARE_VALUE.match(self._text, self._at)
        if match is None or match.group() in KEYWORDS:
            raise self._error("must have a value here; put quotes around text.")
        self._at = match.end()
        return self._storable(match.group(), match.start())

    def _quoted(self) -> str:
        opened = self._at
        mark = self._text[opened]
        self._at += 1
        pieces: list[str] = []
        while self._peek() != mark:
            if self._is_exhausted():
                raise invalid_filter(opened + 1, "has a quote that is not closed.")
            pieces.append(self._character())
        self._at += 1
        # JSON writes characters beyond the basic plane as two escapes, which are joined here.
        data = "".join(pieces).encode("utf-16", "surrogatepass")
        return self._storable(data.decode("utf-16", "surrogatepass"), opened)

    def _character(self) -> str:
        character = self._text[self._at]
        self._at += 1
        if character != "\\" or self._is_exhausted():
            return character
        unicode_escape = _UNICODE_ESCAPE.match(self._text, self._at)
        if unicode_escape is not None:
            self._at = unicode_escape.end()
            return chr(int(unicode_escape.group(1), 16))
        simple = _SIMPLE_ESCAPES.get(self._text[self._at])
        if simple is None:
            return character
        self._at += 1
        return simple

    def _storable(self, text: str, start: int) -> str:
        if UNSTORABLE.search(text):
            raise invalid_filter(start + 1, "must hold neither U+0000 nor half a surrogate pair.")
        return text

    def _take(self, keyword: re.Pattern[str]) -> bool:
        self._skip_space()
        match = keyword.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match is not None

    def _is_at_end(self) -> bool:
        self._skip_space()
        return self._peek() in {"", ")"}

    def _is_exhausted(self) -> bool:
        return self._at >= len(self._text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_space(self) -> None:
        while self._peek().isspace():
            self._at += 1

    def _error(self, description: str) -> InvalidArgument:
        return invalid_filter(self._at + 1, description)


class MetadataOperator(StrEnum):
    """The comparison of a filter's value with the stored one."""

    OPERATOR_UNSPECIFIED = "OPERATOR_UNSPECIFIED"
    """The same as `EQUAL`."""
    EQUAL = "EQUAL"
    GREATER_THAN = "GREATER_THAN"
    LESS_THAN = "LESS_THAN"


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """One condition on one key of the metadata."""

    key: str
    operator: MetadataOperator
    value: MetadataValue
    negate: bool = False
    """True inverts the condition; a memory without the key then matches."""
