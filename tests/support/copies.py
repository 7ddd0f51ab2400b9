"""Rows that one test has made through the API, and that later tests get by one statement."""

import json
from collections.abc import Awaitable, Callable

from sqlalchemy import Table, TextClause, text

from app.adapters.db.session import Database
from app.process.metadata import metadata

FILLED_BY_ITSELF = {"api_key_changes", "engine_totals", "pseudonym_keys"}
"""Tables that triggers or migrations fill."""
_LASTING = {"pseudonym_keys"}
"""Tables that a migration fills and nothing empties."""
# The totals last, since the removal of what they count changes them.
EMPTIED = [
    *(table for table in reversed(metadata.sorted_tables) if table.name not in _LASTING),
    metadata.tables["engine_totals"],
]
"""The tables that tests empty, in the order in which that can be done."""
_CHANGED = {"api_keys", "engines"}
"""Tables whose first rows requests change."""


class Copies:
    """What was filled once, by the name of the filling."""

    def __init__(self) -> None:
        self._kept: dict[str, TextClause] = {}

    async def fill(
        self, database: Database, name: str, fill: Callable[[], Awaitable[object]]
    ) -> bool:
        """Fill a bank as a test has done before, else anew; return whether it was done before."""
        is_known = name in self._kept
        if is_known:
            async with database.transaction() as session:
                await session.execute(self._kept[name])
        else:
            await fill()
            self._kept[name] = await _inserts(database)
        return is_known


async def _inserts(database: Database) -> TextClause:
    """Return the statement that writes all rows that there are, over those that are there."""
    inserts = []
    async with database.snapshot() as session:
        for table in metadata.sorted_tables:
            rows = await session.scalar(text(f"select json_agg(t) from {table.name} t"))
            if rows and table.name not in FILLED_BY_ITSELF:
                inserts.append(_insert(table, json.dumps(rows)))
    return text(f"do $copied$ begin {' '.join(inserts)} end $copied$")


def _insert(table: Table, rows: str) -> str:
    columns = [one.name for one in table.columns if one.computed is None]
    names = ", ".join(columns)
    literal = rows.replace("'", "''").replace(":", r"\:")
    otherwise = "nothing"
    if table.name in _CHANGED:
        otherwise = "update set " + ", ".join(f"{one} = excluded.{one}" for one in columns)
    key = ", ".join(one.name for one in table.primary_key)
    return (
        f"insert into {table.name} ({names}) select {names}"
        f" from json_populate_recordset(null\\:\\:{table.name}, '{literal}')"
        f" on conflict ({key}) do {otherwise};"
    )
