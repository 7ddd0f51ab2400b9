"""The distribution of tables and their rows over the nodes of a cluster, by engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.adapters.db.errors import first_line, state_of

COLUMN = "engine_id"
ROOT = "engines"
"""The table whose rows determine the node of the rows of all other tables."""
# A table comes after those that it refers to.
DISTRIBUTED = (
    ROOT,
    "engine_totals",
    "audit_events",
    "model_usage",
    "erasures",
    "memories",
    "memory_revisions",
    "revision_labels",
    "memory_vectors",
    "unembedded_memories",
    "read_lines",
    "scope_indexes",
    "sessions",
    "session_events",
    "session_summaries",
    "user_states",
    "app_states",
    "streams",
    "stream_events",
    "task_namespaces",
    "task_artifacts",
    "task_pages",
    "task_chunks",
    "task_vectors",
    "tool_policies",
    "operations",
    "request_ids",
)
"""Tables whose rows lie on the node of their engine."""
LOCAL = (
    "alembic_version",
    "api_key_changes",
    "api_key_secrets",
    "api_keys",
    "console_sessions",
    "due_engines",
    "embedding_models",
    "ids_carry_buckets_from",
    "processes",
    "pseudonym_keys",
    "rate_buckets",
    "service_audit_events",
    "service_request_ids",
    "ticks",
)
"""Tables that lie on the coordinator alone, to which all processes are connected."""
_HAS_CATALOG = text("select to_regclass('pg_catalog.pg_dist_partition') is not null")
_HAS_ENGINES = text(
    "select exists (select from pg_dist_partition where logicalrelid = to_regclass('engines'))"
)
# What lies elsewhere than the engines is as good as not distributed: no statement can join it.
_LIST = text(
    "select c.relname from pg_dist_partition as p join pg_class as c on c.oid = p.logicalrelid"
    " where c.relname = any(:names) and pg_table_is_visible(c.oid) and p.colocationid ="
    " (select colocationid from pg_dist_partition where logicalrelid = to_regclass('engines'))"
)
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


async def is_distributed(engine: AsyncEngine) -> bool:
    """Return True if the table of engines is distributed over the nodes of a Citus cluster."""
    async with engine.connect() as connection:
        has_catalog = (await connection.execute(_HAS_CATALOG)).scalar_one()
        return bool(has_catalog and (await connection.execute(_HAS_ENGINES)).scalar_one())


def list_distributed(connection: Connection) -> Sequence[str]:
    """Return the tables that lie by engine, parents first; none on plain Postgres."""
    if not connection.execute(_HAS_CATALOG).scalar_one():
        return []
    names = set(connection.execute(_LIST, {"names": list(DISTRIBUTED)}).scalars())
    return [name for name in DISTRIBUTED if name in names]


def list_left_out(connection: Connection) -> Sequence[str]:
    """Return the tables that a distributed database has not distributed; none on plain Postgres."""
    distributed = list_distributed(connection)
    return [name for name in DISTRIBUTED if name not in distributed] if distributed else []


class DistributionError(RuntimeError):
    """A table could not be distributed; the message gives the reason; the caller must roll back."""


@dataclass(frozen=True)
class Placed:
    """A distributed table and the number of its rows."""

    table: str
    rows: int


class _Contents(NamedTuple):
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
    """Check that the contents of the tables are unchanged."""
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
