"""Hot statements as texts for the driver, with numbers in place of named values.

With names, the driver would parse a long text at every use. A hot statement that varies between
requests is written with SQLAlchemy, with a `bindparam` for each value, and compiled once.
Insertions get their columns and types from the tables, so the text cannot deviate from them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from pgvector.sqlalchemy import HALFVEC
from psycopg.types.json import Json, Jsonb
from sqlalchemy import JSON, ColumnElement, Select, Update, inspect
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql.psycopg import dialect

from app.adapters.db.base import Base
from app.adapters.db.conditions import table_of
from app.adapters.db.vectors import HalfVector

_NAME = re.compile(r"%\((\w+)\)s")
_DIALECT = dialect()  # type: ignore[no-untyped-call]  # its authors give it no types


def prepared(
    statement: Select[*tuple[Any, ...]], values: Mapping[str, Any]
) -> tuple[bytes, list[Any]]:
    """Return the cached text of a statement, and its values in the driver's order."""
    text, names, literals = _compiled(statement)
    return text, [_to_parameter(values.get(name, literals[name])) for name in names]


@cache
def _compiled(
    statement: Select[*tuple[Any, ...]],
) -> tuple[bytes, Sequence[str], dict[str, Any]]:
    compiled = statement.compile(dialect=_DIALECT)
    return *numbered(str(compiled)), dict(compiled.params)


@cache
def numbered(text: str) -> tuple[bytes, Sequence[str]]:
    """Return a text with numbers in place of its names, and the names; all texts stay cached."""
    names = list(dict.fromkeys(_NAME.findall(text)))
    numbers = {name: number for number, name in enumerate(names, 1)}
    result = _NAME.sub(lambda match: f"${numbers[match[1]]}", text)
    return result.replace("%%", "%").encode(), names


def text_of(statement: Select[*tuple[Any, ...]] | Update) -> tuple[str, dict[str, Any]]:
    """Return the text of a statement, for `filled` or as a part of another, and its values."""
    compiled = statement.compile(dialect=_DIALECT)
    return str(compiled), dict(compiled.params)


def at_once(parts: Mapping[str, str], result: str) -> str:
    """Return one statement of parts in order, each with its name, and of its result."""
    named = ", ".join(f"{name} as ({part})" for name, part in parts.items())
    return f"with {named} {result}"


def filled(text: str, values: Mapping[str, Any]) -> tuple[bytes, list[Any]]:
    """Return a text with numbers in place of its names, and the values in the numbers' order."""
    statement, names = numbered(text)
    return statement, [values[name] for name in names]


def _to_parameter(value: object) -> object:
    return HalfVector(value) if isinstance(value, np.ndarray) else value


@dataclass(frozen=True)
class Insertion:
    """The insertion of one row, as a separate statement or as a part of one.

    Attributes:
        name: the name of the common table expression, and the prefix of its values.
        attributes: the attributes with values, separated by blanks; the others have defaults.
        source: the expression or table that decides whether the part inserts a row.
        ends: the conflict clause and the returning clause of the part.
        computed: expressions over `source`, for attributes whose values the caller does not know.
    """

    name: str
    row: type[Base]
    attributes: str
    source: str = ""
    ends: str = ""
    computed: Mapping[str, str] = field(default_factory=dict)

    def after(self, source: str) -> "Insertion":
        """Return a copy with another source."""
        return replace(self, source=source)

    @cached_property
    def expression(self) -> str:
        """The common table expression that inserts one row per row of `source`."""
        return f"{self._into} select {self._given} from {self.source} {self.ends}"  # noqa: S608 - of constants

    @cached_property
    def statement(self) -> str:
        """The statement that inserts one row, or none if a key is taken; for `run_together`."""
        return f"{self._into} values ({self._given}) on conflict do nothing"

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a row, for `expression` and `statement`."""
        return {name: send(given[attribute]) for attribute, name, send in self._senders}

    @cached_property
    def _into(self) -> str:
        targets = ", ".join(str(column.key) for column in self._columns.values())
        return f"insert into {table_of(self.row).name} ({targets})"

    @cached_property
    def _given(self) -> str:
        given = {
            attribute: f"%({self.name}_{attribute})s::{column.type.compile(_DIALECT)}"
            for attribute, column in self._columns.items()
        }
        return ", ".join({**given, **self.computed}.values())

    @cached_property
    def _columns(self) -> dict[str, ColumnElement[Any]]:
        attributes = inspect(self.row).column_attrs
        return {name: attributes[name].columns[0] for name in self.attributes.split()}

    @cached_property
    def _senders(self) -> list[tuple[str, str, Callable[[Any], Any]]]:
        return [
            (attribute, f"{self.name}_{attribute}", _sender(column))
            for attribute, column in self._columns.items()
            if f"%({self.name}_{attribute})s" in self._given
        ]


def _sender(column: ColumnElement[Any]) -> Callable[[Any], Any]:
    if isinstance(column.type, JSONB):
        return lambda value: None if value is None else Jsonb(value)
    if isinstance(column.type, JSON):
        return lambda value: None if value is None else Json(value)
    return HalfVector if isinstance(column.type, HALFVEC) else lambda value: value
