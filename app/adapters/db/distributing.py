"""The distribution of tables over the nodes of a cluster, with their rows, in one transaction."""

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
# A look over all shards takes milliseconds on one connection to each node. Otherwise Citus opens up
# to sixteen, each of which costs more than the look.
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
    """A table could not be distributed; the message says why, and the caller rolls back."""


@dataclass(frozen=True)
class Placed:
    """A table that lies by engine, with the number of its rows."""

    table: str
    rows: int


@dataclass(frozen=True)
class _Contents:
    """The contents of tables: rows by table and engine, and all rows of totals."""

    rows: dict[str, dict[int, int]]
    totals: frozenset[tuple[int, ...]]


def count_shards(connection: Connection) -> int | None:
    """Return over how many shards the tables are spread; None: they are not."""
    if not list_distributed(connection):
        return None
    return int(connection.execute(_SHARDS, {"root": ROOT}).scalar_one())


def begin(connection: Connection) -> None:
    """Have the transaction work on shards one after the other."""
    connection.execute(_SEQUENTIAL)


def distribute(connection: Connection, shards: int) -> Sequence[Placed]:
    """Distribute, with their rows, all tables that are not yet; return those.

    Args:
        connection: a transaction that the caller rolls back on an error.
        shards: over how many shards, unless others are distributed already.

    Raises:
        DistributionError: a table is in use or refused, or holds something else afterwards.
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
    """Distribute tables while none of their triggers acts."""
    # Rows that arrive at their shard would be counted, and looked up among erasures, once more.
    watched = connection.execute(_HAVE_TRIGGERS, {"names": list(tables)}).scalars().all()
    for name in watched:
        connection.execute(text(f"alter table {name} disable trigger user"))
    for name in tables:
        values = {"name": name, "column": COLUMN}
        if name == ROOT:
            connection.execute(_PLACE_ROOT, {**values, "shards": shards})
        else:
            connection.execute(_PLACE, {**values, "root": ROOT})
    # Not before all are distributed: what refers to a table lies elsewhere until then.
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
    """Check that tables hold what they held.

    Raises:
        DistributionError: one holds other rows, or the totals differ.
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
