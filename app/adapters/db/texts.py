"""Statements of SQLAlchemy as texts for the driver, made once.

A hot statement that is long, or has another form for other requests, is written with SQLAlchemy
like all others, with a `bindparam` for each value, and sent as text (`app/adapters/db/direct.py`).
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
    """Return the text of a statement that is kept, and its values as the driver takes them.

    By their numbers: where values have names, the driver reads a long text anew at every use.
    """
    text, names, literals = _compiled(statement)
    return text, [_sent(values.get(name, literals[name])) for name in names]


@cache
def _compiled(statement: Select[*tuple[Any, ...]]) -> tuple[bytes, list[str], dict[str, Any]]:
    compiled = statement.compile(dialect=_DIALECT)
    names = list(dict.fromkeys(_NAME.findall(str(compiled))))
    numbers = {name: number for number, name in enumerate(names, 1)}
    text = _NAME.sub(lambda found: f"${numbers[found[1]]}", str(compiled))
    return text.replace("%%", "%").encode(), names, dict(compiled.params)


def _sent(value: object) -> object:
    return HalfVector(value) if isinstance(value, np.ndarray) else value
