"""Statistics of the tables that this process has just filled.

Autovacuum comes a minute or more after a table was filled. Until then, the planner assumes the
former number of rows, lists of a new bank read whole tables, and no index can answer alone, since
the visibility of each row is read from the table.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf
from time import monotonic

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.kernel.errors import describe

log = structlog.get_logger()

COUNTED_ROWS = 100
"""Rows from which an insertion counts; smaller ones are left to autovacuum."""
_MANY_ROWS = 1_000
"""Inserted rows from which a table is analysed."""
_PART = 0.05
"""The part of a table that must be new, half of what autovacuum waits for."""
_TABLE = """
select reltuples, pg_has_role(relowner, 'usage') as is_owned
from pg_class where oid = to_regclass(%s)
"""
_QUIET_SECONDS = 1.0
"""Time without a further insertion after which an import is assumed to have ended."""
_PATIENCE_SECONDS = 10.0
"""Time after which tables are updated although an import still fills them."""
_INTERVAL_SECONDS = 60.0
"""Time between two updates during an import."""
_CLOSE_SECONDS = 2.0
_UPDATES = ("analyze (skip_locked)", "vacuum (skip_locked, index_cleanup off, truncate off)")
"""The statements for a table. The vacuum reads new pages alone, and leaves indexes and dead rows to
autovacuum. It comes second, since it may reach the time limit of a statement.
"""


class TableStatistics:
    """Updates statistics and visibility of tables: when an import ends, and while a long one runs.

    During an import, the first update comes after 10 s, and further ones once a minute. A table
    must have grown by a twentieth, so its updates become rarer as it grows.

    Attributes:
        after: follows updates, with the names of their tables, once in an interval; must not fail.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        interval_seconds: float = _INTERVAL_SECONDS,
        quiet_seconds: float = _QUIET_SECONDS,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        self.after: Callable[[Sequence[str]], Awaitable[None]] | None = None
        self._engine = engine
        self._interval = interval_seconds
        self._quiet = quiet_seconds
        self._patience = patience_seconds
        self._rows: Counter[str] = Counter()
        self._insertions = 0
        self._noted = -inf
        self._updated = -inf
        self._is_refused = False
        self._task: asyncio.Task[None] | None = None
        self._updated_tables: set[str] = set()
        self._followed = -inf
        self._following: asyncio.Task[None] | None = None

    def note(self, table: str, rows: int) -> None:
        """Count rows that a committed transaction has inserted into a table."""
        is_idle = self._task is None or self._task.done()
        if is_idle and monotonic() - self._noted > self._interval:
            self._rows.clear()
        self._noted = monotonic()
        self._rows[table] += rows
        self._insertions += 1
        if is_idle and self._due():
            self._task = asyncio.create_task(self._keep_current())

    async def close(self) -> None:
        """Stop; autovacuum then analyses the remaining tables."""
        tasks = {task for task in (self._task, self._following) if task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            # A server that hangs does not take the cancellation.
            await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)

    def _due(self) -> list[str]:
        return sorted(table for table, rows in self._rows.items() if rows >= _MANY_ROWS)

    async def _keep_current(self) -> None:
        while self._due():
            await self._await_quiet()
            rows = {table: self._rows.pop(table) for table in self._due()}
            self._updated = monotonic()
            try:
                await self._analyze(rows)
            except SQLAlchemyError as error:
                log.warning("statistics.failed", error=describe(error))
            self._updated_tables.update(rows)
            if self._following is None or self._following.done():
                self._following = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        """Call `after` for the tables updated since its last call, and those that follow."""
        while self.after is not None and self._updated_tables:
            # Not in the task of the updates, which would wait as long.
            await asyncio.sleep(self._followed + self._interval - monotonic())
            self._followed = monotonic()
            tables = sorted(self._updated_tables)
            self._updated_tables.clear()
            await self.after(tables)

    async def _await_quiet(self) -> None:
        """Wait until an import that fills tables at the moment has ended, or for a while."""
        ends = max(monotonic() + self._patience, self._updated + self._interval)
        insertions = None
        while self._insertions != insertions and monotonic() < ends:
            insertions = self._insertions
            await asyncio.sleep(self._quiet)

    async def _analyze(self, rows: Mapping[str, int]) -> None:
        """Analyse the tables to which these rows were added, if they are a large part of them.

        Where the role may not, that is logged once. A table that another process analyses, or that
        gets an index, is locked and left to autovacuum.
        """
        if self._is_refused:
            return
        engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        async with engine.connect() as connection:
            for table, added in rows.items():
                state = (await connection.exec_driver_sql(_TABLE, (table,))).one()
                if not state.is_owned:
                    self._is_refused = True
                    log.warning("statistics.refused", table=table)
                    return
                if added >= _PART * state.reltuples:
                    for update in _UPDATES:
                        await connection.exec_driver_sql(f"{update} {table}")
