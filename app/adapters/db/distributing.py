"""The distribution of tables and their rows over the nodes of a cluster, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from app.adapters.db.distribution import COLUMN, DISTRIBUTED, ROOT, list_distributed
from app.adapters.db.errors import first_line, state_of

_TOTALS = "engine_totals"
_IN_USE = "55P03"
# Foreign keys over many shards are made one shard after the other.
_SEQUENTIAL = text("set local citus.multi_shard_modify_mode = 'sequential'")
# A query over all shards takes milliseconds on one connection to each node. By default Citus opens
# up to sixteen, and each costs more than the query.
_IN_TURN = text(
    "do $$ begin execute format('alter database %I set citus.max_adaptive_executor_pool_size = 1',"
    " current_database()); end $$"
)
_LOCK_WAIT = text("set local lock_timeout = '5s'")
_PLACE_ROOT = text(
    "select create_distributed_table(:name, :column, shard_count => :shards,"
    " colocate_with => 'none')"
)
_PLACE = text("select create_distributed_table(:name, :column, colocate_with => :root)")
_EMPTY = text("select truncate_local_data_after_distributing_table(cast(:name as regclass))")
_SHARDS = text(
    "select shardcount from pg_dist_colocation join pg_dist_partition using (colocationid)"
    " where logicalrelid = to_regclass(:root)"
)
_HAVE_TRIGGERS = text(
    "select c.relname from pg_class as c where c.relname = any(:names)"
    " and pg_table_is_visible(c.oid) and exists (select from pg_trigger as t"
    " where t.tgrelid = c.oid and not t.tgisinternal)"
)
_COUNT = f"select {COLUMN}, count(*) from {{}} group by {COLUMN}"  # noqa: S608 - of constants
_ALL_TOTALS = text(f"select * from {_TOTALS}")  # noqa: S608 - of a constant


class DistributionError(RuntimeError):
    """A table could not be distributed; the message gives the reason; the caller must roll back."""


@dataclass(frozen=True)
class Placed:
    """A distributed table and the number of its rows."""

    table: str
    rows: int


@dataclass(frozen=True)
class _Contents:
    """The contents of tables: row counts by table and engine, and all rows of the totals."""

    rows: dict[str, dict[int, int]]
    totals: frozenset[tuple[int, ...]]


def count_shards(connection: Connection) -> int | None:
    """Return the number of shards of the tables; None: they are not distributed."""
    if not list_distributed(connection):
        return None
    return int(connection.execute(_SHARDS, {"root": ROOT}).scalar_one())


def begin(connection: Connection) -> None:
    """Make the transaction work on shards one after the other."""
    connection.execute(_SEQUENTIAL)


def distribute(connection: Connection, shards: int) -> Sequence[Placed]:
    """Distribute all tables that are not distributed yet, with their rows; return these tables.

    Args:
        connection: a transaction that the caller rolls back on an error.
        shards: the number of shards, which counts only if no table is distributed yet.

    Raises:
        DistributionError: a table is in use or refused, or its contents have changed.
    """
    present = list_distributed(connection)
    new = [name for name in DISTRIBUTED if name not in present]
    if not new:
        return []
    try:
        begin(connection)
        connection.execute(_LOCK_WAIT)
        connection.execute(text(f"lock table {', '.join(new)} in access exclusive mode"))
        before = _contents(connection, new)
        _move(connection, new, shards)
        after = _contents(connection, new)
        connection.execute(_IN_TURN)
    except DBAPIError as error:
        raise _failure(error) from error
    _compare(before, after)
    return [Placed(name, sum(after.rows[name].values())) for name in new]


def _move(connection: Connection, tables: Sequence[str], shards: int) -> None:
    """Distribute tables with their triggers disabled."""
    # Otherwise triggers would count rows again, and look them up among erasures, at their shard.
    watched = connection.execute(_HAVE_TRIGGERS, {"names": list(tables)}).scalars().all()
    for name in watched:
        connection.execute(text(f"alter table {name} disable trigger user"))
    for name in tables:
        values = {"name": name, "column": COLUMN}
        if name == ROOT:
            connection.execute(_PLACE_ROOT, {**values, "shards": shards})
        else:
            connection.execute(_PLACE, {**values, "root": ROOT})
    # Only once all are distributed: until then, referring tables still need the local rows.
    for name in tables:
        connection.execute(_EMPTY, {"name": name})
    for name in watched:
        connection.execute(text(f"alter table {name} enable trigger user"))


def _contents(connection: Connection, tables: Sequence[str]) -> _Contents:
    rows = {name: connection.execute(text(_COUNT.format(name))).mappings() for name in tables}
    totals = connection.execute(_ALL_TOTALS)
    return _Contents(
        {name: {row[COLUMN]: row["count"] for row in found} for name, found in rows.items()},
        frozenset(tuple(row) for row in totals),
    )


def _compare(before: _Contents, after: _Contents) -> None:
    """Check that the contents of the tables are unchanged.

    Raises:
        DistributionError: a table's row counts or the totals differ.
    """
    for name, rows in before.rows.items():
        if after.rows[name] != rows:
            raise DistributionError(
                f"The table {name} has {sum(after.rows[name].values()):,} rows after it was"
                f" distributed, and had {sum(rows.values()):,} before; nothing was changed."
            )
    if after.totals != before.totals:
        raise DistributionError(
            "The totals of engines differ after the tables were distributed; nothing was changed."
            " Look whether `memory-bank check` finds the database whole."
        )


def _failure(error: DBAPIError) -> DistributionError:
    if state_of(error.orig) == _IN_USE:
        return DistributionError(
            "The tables are in use, and none was distributed; end the transactions that"
            " pg_stat_activity shows, then run the command again."
        )
    return DistributionError(
        f"The tables could not be distributed ({first_line(error.orig)}); nothing was changed."
    )
