"""The things that the migrations leave in a database, for whoever looks whether all are there.

`schema.json` lists it: `make schema` writes that file from a migrated database.
"""

import functools
import json
from importlib.resources import files
from typing import Any, NamedTuple

from typing_extensions import override

FILE = "schema.json"
_VECTOR = "halfvec"
_OF_A_TABLE = frozenset({"column", "index", "foreign key", "check", "trigger"})


class Needed(NamedTuple):
    """One thing: its kind, its table (empty where it has none), its name.

    `digest` is the SHA-256 of a function's text, and empty for everything else.
    """

    kind: str
    table: str
    name: str
    digest: str = ""

    @override
    def __str__(self) -> str:
        if self.kind in _OF_A_TABLE:
            return f"{self.kind} {self.name} of {self.table}"
        return f"{self.kind} {self.name}"


@functools.cache
def needed() -> tuple[Needed, ...]:
    """Return all that there must be, what holds others before these."""
    document = _document()
    tables, functions = document["tables"], document["functions"]
    found = [Needed("extension", "", "vector")]
    found += [Needed("table", table, table) for table in tables]
    for table, parts in tables.items():
        found += [Needed(kind, table, name) for kind, names in parts.items() for name in names]
    found += [Needed("function", "", name) for name in functions]
    found += [Needed("text of function", "", name, text) for name, text in functions.items()]
    return tuple(found)


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(files(__package__).joinpath(FILE).read_text("utf-8"))
    return document


VECTOR_TABLES = tuple(
    table
    for table, parts in _document()["tables"].items()
    if any(column.endswith(f" {_VECTOR}") for column in parts["column"])
)
