"""The tree of a filter. Its text form parses to an equal tree; columns are not compared."""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from typing_extensions import override

from app.kernel.errors import FieldViolation, InvalidArgument, Reason

FIELD = "filter"
KEYWORDS = frozenset({"AND", "OR", "NOT"})

# The characters of a path segment or a value without quotes.
BARE_SEGMENT = re.compile(r"""(?!-)[^\s.()"'=<>!:~]+""")
BARE_VALUE = re.compile(r"""[^\s()"'=<>!~]+""")
_CONTROL = re.compile(r"[\x00-\x1f]")


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
