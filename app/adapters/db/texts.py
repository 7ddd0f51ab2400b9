"""Hot statements as texts for the driver, with numbers in place of named values.

With names, the driver would parse a long text at every use: `app/adapters/db/direct.py` sends
numbers only. A hot statement that varies between requests is written with SQLAlchemy as usual, with
a `bindparam` for each value, and compiled once.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from sqlalchemy import Select
from sqlalchemy.dialects.postgresql.psycopg import dialect

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
    """Return a text with numbers in place of its names, and the names in the numbers' order.

    Only for a few different texts, because the cache keeps all of them.
    """
    names = list(dict.fromkeys(_NAME.findall(text)))
    numbers = {name: number for number, name in enumerate(names, 1)}
    result = _NAME.sub(lambda match: f"${numbers[match[1]]}", text)
    return result.replace("%%", "%").encode(), names


def filled(text: str, values: Mapping[str, Any]) -> tuple[bytes, list[Any]]:
    """Return a text with numbers in place of its names, and the values in the numbers' order."""
    statement, names = numbered(text)
    return statement, [values[name] for name in names]


def _to_parameter(value: object) -> object:
    return HalfVector(value) if isinstance(value, np.ndarray) else value
