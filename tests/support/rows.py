"""A search of all tables for what may be in none, or only in some."""

import json

from sqlalchemy import text

from app.adapters.db.session import Database


async def dump(database: Database) -> dict[str, list[str]]:
    """Return every row of every table as text, in one order."""
    async with database.snapshot() as session:
        tables = await session.execute(
            text("select table_name from information_schema.tables where table_schema = 'public'")
        )
        return {
            table: sorted(
                (await session.execute(text(f'select t::text from "{table}" t'))).scalars()
            )
            for table in sorted(tables.scalars())
        }


async def rows_of(database: Database, *words: str) -> dict[str, list[str]]:
    """Return the rows of every table that hold a word: as text in any case, or as bytes."""
    forms = {form for word in words for form in _forms(word.lower())}
    found: dict[str, list[str]] = {}
    for table, rows in (await dump(database)).items():
        if some := [row for row in rows if any(form in row.lower() for form in forms)]:
            found[table] = some
    return found


async def rows_with(database: Database, word: str) -> dict[str, int]:
    """Return how many rows of each table hold a word, whatever the column."""
    return {table: len(rows) for table, rows in (await rows_of(database, word)).items()}


async def in_clear(database: Database, *values: str) -> list[str]:
    """Return the values that a row of any table holds."""
    stored = "\n".join(row.lower() for rows in (await dump(database)).values() for row in rows)
    return [value for value in values if any(form in stored for form in _forms(value.lower()))]


def _forms(word: str) -> set[str]:
    """Return how a row as text writes a word, by the type of its column.

    JSON escapes quotes, backslashes and line breaks. The row doubles the quotes and backslashes of
    every column.
    """
    as_text, as_json = (
        written.replace("\\", "\\\\").replace('"', '""')
        for written in (word, json.dumps(word, ensure_ascii=False)[1:-1])
    )
    return {as_text, as_json, word.encode().hex()}
