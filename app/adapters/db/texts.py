"""SQLAlchemy statements as texts for the driver, compiled once.

A hot statement that is long, or varies between requests, is written with SQLAlchemy as usual, with
a `bindparam` for each value, and sent as text (`app/adapters/db/direct.py`).
"""

import re
from collections.abc import Mapping
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
    """Return the cached text of a statement, and its values in the driver's order.

    Values are numbered: with names, the driver would parse a long text at every use.
    """
    text, names, literals = _compiled(statement)
    return text, [_to_parameter(values.get(name, literals[name])) for name in names]


@cache
def _compiled(statement: Select[*tuple[Any, ...]]) -> tuple[bytes, list[str], dict[str, Any]]:
    compiled = statement.compile(dialect=_DIALECT)
    names = list(dict.fromkeys(_NAME.findall(str(compiled))))
    numbers = {name: number for number, name in enumerate(names, 1)}
    text = _NAME.sub(lambda match: f"${numbers[match[1]]}", str(compiled))
    return text.replace("%%", "%").encode(), names, dict(compiled.params)


def _to_parameter(value: object) -> object:
    return HalfVector(value) if isinstance(value, np.ndarray) else value
