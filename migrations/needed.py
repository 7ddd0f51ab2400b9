"""The things that the migrations leave in a database, for whoever looks whether all are there."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import PrimaryKeyConstraint, Table, UniqueConstraint
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.compiler import IdentifierPreparer
from typing_extensions import override

from app.adapters.db.columns import EMBEDDING
from app.process.metadata import metadata

_TOTALS = ("total_delete", "total_insert", "total_update")
TRIGGERS = {
    "api_key_secrets": ("api_key_secrets_begins", "api_key_secrets_ends"),
    "api_keys": ("api_keys_ends",),
    "app_states": _TOTALS,
    "audit_events": ("audit_events_are_final", "audit_events_keep_their_content"),
    "memories": (*_TOTALS, "memories_not_erased"),
    "memory_revisions": _TOTALS,
    "operations": ("operations_not_erased",),
    "session_events": _TOTALS,
    "session_summaries": _TOTALS,
    "sessions": (*_TOTALS, "sessions_not_erased"),
    "stream_events": _TOTALS,
    "streams": ("streams_not_erased",),
    "task_artifacts": _TOTALS,
    "task_namespaces": ("task_namespaces_not_erased",),
    "user_states": (*_TOTALS, "user_states_not_erased"),
}
"""By table. The tables themselves do not know them: a migration that makes one adds it here."""
VECTOR_TABLES = tuple(
    table.name
    for table in metadata.sorted_tables
    if any(isinstance(column.type, type(EMBEDDING)) for column in table.columns)
)
_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # of the library


class Needed(NamedTuple):
    """One thing: its kind, its table (empty where it has none), and its name."""

    kind: str
    table: str
    name: str

    @override
    def __str__(self) -> str:
        if self.kind in {"extension", "table"}:
            return f"{self.kind} {self.name}"
        return f"{self.kind} {self.name} of {self.table}"


@functools.cache
def needed() -> tuple[Needed, ...]:
    """Return all that there must be, what holds others before these."""
    found = [Needed("extension", "", "vector")]
    tables = metadata.sorted_tables
    found += [Needed("table", table.name, table.name) for table in tables]
    for table in tables:
        found += _parts(table)
    return tuple(found)


def _parts(table: Table) -> Iterator[Needed]:
    for column in table.columns:
        kind, _, _ = column.type.compile(_DIALECT).lower().partition(" collate ")
        yield Needed("column", table.name, f"{column.name} {kind}")
    names = IdentifierPreparer(_DIALECT)
    for constraint in table.constraints:
        if isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint):
            yield Needed("index", table.name, str(names.format_constraint(constraint)))
    for key in table.foreign_key_constraints:
        yield Needed("foreign key", table.name, str(names.format_constraint(key)))
    for index in table.indexes:
        yield Needed("index", table.name, str(index.name))
    for trigger in TRIGGERS.get(table.name, ()):
        yield Needed("trigger", table.name, trigger)
