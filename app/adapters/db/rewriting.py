"""Texts of tables that a scan for sensitive values reads, and rewrites in place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, tuple_, update

from app.adapters.db.base import Base
from app.adapters.db.bindings import table_of
from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject

Key = tuple[str, ...]
"""The primary key of a row, without the engine."""


@dataclass(frozen=True)
class TextsOf:
    """The texts in one column of a table.

    Attributes:
        row: the mapped class.
        column: the name of the column.
        name: returns the name, below its engine, of the resource that contains a row.
    """

    row: type[Base]
    column: str
    name: Callable[[Key], str]

    async def page(
        self, session: Session, subject: Subject, after: Key, limit: int, *, for_update: bool
    ) -> list[tuple[Key, str]]:
        """Return the next texts of a subject by their keys; `after` is the last key before."""
        text = getattr(self.row, self.column)
        statement = select(*self._key, text).where(subject.selects(self.row), text.is_not(None))
        if after:
            statement = statement.where(tuple_(*self._key) > after)
        # The same order everywhere: otherwise two callers that lock several rows could deadlock.
        statement = statement.order_by(*self._key).limit(limit)
        if for_update:
            statement = statement.with_for_update()
        return [(tuple(key), found) for *key, found in await session.execute(statement)]

    async def rewrite(self, session: Session, engine_id: int, texts: Mapping[Key, str]) -> None:
        """Set the texts of rows that the caller has locked."""
        names = [column.key for column in self._key]
        rows: Sequence[dict[str, Any]] = [
            {"engine_id": engine_id, **dict(zip(names, key, strict=True)), self.column: text}
            for key, text in texts.items()
        ]
        if rows:
            await session.execute(update(self.row), rows)

    @property
    def table(self) -> str:
        """The name of the table."""
        return table_of(self.row).name

    @property
    def _key(self) -> list[Any]:
        names = [column.name for column in table_of(self.row).primary_key]
        return [getattr(self.row, name) for name in names if name != "engine_id"]
