"""Snapshot of an engine's rows by server-side cursors; for use in a thread, since calls block."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import sql

from app.adapters.db.alone import Connection, open_snapshot
from app.memory.transfer.logic.fields import Kind
from app.memory.transfer.logic.kinds import KINDS
from app.memory.transfer.logic.pace import Pace
from app.memory.transfer.store.selecting import LEFT, LENGTH, MODEL, UNWANTED, selected
from app.settings.settings import Settings

Row = Sequence[Any]
_SELECTED = {kind.name: selected(kind) for kind in KINDS}


class ServingModel(NamedTuple):
    """The model that serves an engine, and its vector length; None if there are no vectors."""

    model_id: str | None
    dimensions: int | None


class EngineSnapshot:
    """Consistent view of one engine.

    Args:
        connection: a connection with an open snapshot transaction.
        engine_id: the id of the engine.
        now: rows that have expired at this time are left out.
        reads_sensitive: True reads the bytes of sensitive artifacts.
    """

    def __init__(
        self, connection: Connection, engine_id: int, now: datetime, *, reads_sensitive: bool
    ) -> None:
        self._connection = connection
        self._values = {"engine": engine_id, "now": now, "reads_sensitive": reads_sensitive}

    def model(self) -> ServingModel | None:
        """Return the model that serves the engine; None: the engine does not exist."""
        row = self._connection.execute(MODEL, self._values).fetchone()
        if row is None:
            return None
        (model_id,) = row
        length = self._connection.execute(LENGTH, {"model": model_id}).fetchone()
        return ServingModel(model_id, None if length is None else length[0])

    def rows(self, kind: Kind, pace: Pace) -> Iterator[Row]:
        """Yield the rows of a kind in archive order.

        `pace` determines the number of rows of each fetch.
        """
        with self._connection.cursor(name=kind.name) as cursor:
            cursor.execute(_SELECTED[kind.name], self._values)
            while fetched := cursor.fetchmany(pace.rows):
                yield from fetched

    def left_out(self, options: Mapping[str, bool]) -> dict[str, dict[str, Any]]:
        """Return reason and count of the rows that an export leaves out, by name.

        Args:
            options: the options of the export.
        """
        counted = dict(LEFT)
        for option, further in UNWANTED.items():
            counted |= {} if options[option] else further
        counts = {name: self._count(statement) for name, (_, statement) in counted.items()}
        return {
            name: {"count": count, "reason": counted[name][0]}
            for name, count in counts.items()
            if count
        }

    def _count(self, statement: sql.Composed) -> int:
        row = self._connection.execute(statement, self._values).fetchone()
        return 0 if row is None else int(row[0])


@contextmanager
def opened(
    url: str, settings: Settings, engine_id: int, now: datetime, *, reads_sensitive: bool
) -> Iterator[EngineSnapshot]:
    """Open a snapshot of an engine on a separate connection.

    Raises:
        psycopg.Error: the database is unreachable.
    """
    with open_snapshot(url, settings, settings.export_max_seconds) as connection:
        yield EngineSnapshot(connection, engine_id, now, reads_sensitive=reads_sensitive)
