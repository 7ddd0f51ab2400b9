"""The nodes of a Citus cluster, and the distribution of tables and rows over them, by engine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine
from typing_extensions import override

from app.adapters.db.engine import open_blocking_engine
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

    Roll the transaction back on an error. `shards` counts only if no table is distributed yet.
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


OLDEST = 14
"""The first major version of Citus that supports this service's version of Postgres."""
_MAX_PORT = 65_535
_CONNECT_SECONDS = 5
_VERSION = "citus.version"
"""A setting that exists only on servers that preload Citus."""
WANTED = {
    # Allows a shard's trigger to use other shards; ours use only shards of the same engine.
    "citus.enable_unsafe_triggers": "on",
    # Makes `set local` apply on the nodes, too.
    "citus.propagate_set_commands": "local",
    "wal_level": "logical",
}
"""Settings that every node must have."""
_PREPARED = "max_prepared_transactions"
_CONNECTIONS = "max_connections"
_FACTS = text("""
select current_setting('server_version_num')::int / 10000 as postgres,
    (select coalesce(installed_version, default_version)
        from pg_available_extensions where name = 'citus') as citus,
    (select coalesce(installed_version, default_version)
        from pg_available_extensions where name = 'vector') as vector,
    (select system_identifier::text from pg_control_system()) as server,
    (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
    exists (select from pg_class where relname = any(:tables) and pg_table_is_visible(oid))
        as has_tables,
    (select json_object_agg(name, current_setting(name, true))
        from unnest(cast(:settings as text[])) as name) as settings
""")
_KNOWN = text("select nodename, nodeport, groupid from pg_dist_node where noderole = 'primary'")
_HAS_CITUS = text("select exists (select from pg_extension where extname = 'citus')")
_CREATE = text("create extension if not exists citus")
_SET_COORDINATOR = text("select citus_set_coordinator_host(:host, :port)")
_ADD = text("select citus_add_node(:host, :port)")


class NodeError(RuntimeError):
    """A node cannot be reached or does not join; the message gives the reason."""


@dataclass(frozen=True)
class Address:
    """The address at which the other nodes reach a node."""

    host: str
    port: int

    @classmethod
    def parse(cls, given: str) -> "Address":
        """Read HOST:PORT."""
        host, _, port = given.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise ValueError(given)
        if not host or not (port.isdecimal() and 0 < int(port) <= _MAX_PORT):
            raise ValueError(given)
        return cls(host, int(port))

    def within(self, url: str) -> str:
        """Return a database URL with its host and port replaced by this address."""
        parts = {**conninfo_to_dict(url), "host": self.host, "port": self.port}
        parts.pop("hostaddr", None)
        return make_conninfo("", **parts)

    @override
    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class NodeFacts:
    """The facts about a server that decide whether it can be a node.

    Attributes:
        citus: the installed version of Citus, or else the available one; None: unavailable.
        vector: the same for pgvector.
        server: the unique system identifier of the server.
        settings: the relevant settings, by name; None where the server does not know the setting.
    """

    postgres: int
    citus: str | None
    vector: str | None
    server: str
    is_superuser: bool
    has_tables: bool
    settings: Mapping[str, str | None]


@dataclass(frozen=True)
class Node:
    """A present or future node of the cluster; `name` is its role and address, for messages."""

    name: str
    facts: NodeFacts
    is_new: bool = False


@dataclass(frozen=True)
class Members:
    """The nodes that a database has registered."""

    has_citus: bool = False
    coordinator: Address | None = None
    workers: Sequence[Address] = ()


def read_members(connection: Connection) -> Members:
    """Read the nodes from the coordinator."""
    if not connection.execute(_HAS_CITUS).scalar_one():
        return Members()
    rows = connection.execute(_KNOWN).all()
    own = [Address(row.nodename, row.nodeport) for row in rows if row.groupid == 0]
    workers = [Address(row.nodename, row.nodeport) for row in rows if row.groupid != 0]
    return Members(True, next(iter(own), None), workers)


def facts_of(connection: Connection) -> NodeFacts:
    """Read the facts from a connected server."""
    settings = [_VERSION, *WANTED, _PREPARED, _CONNECTIONS]
    values = {"tables": list(DISTRIBUTED), "settings": settings}
    return NodeFacts(**connection.execute(_FACTS, values).mappings().one())


def read_facts(url: str, address: Address, name: str) -> NodeFacts:
    """Read the facts of the server at an address, in its database of the name in `url`."""
    try:
        engine = open_blocking_engine(address.within(url), connect_timeout=_CONNECT_SECONDS)
        with engine.connect() as connection:
            return facts_of(connection)
    except OperationalError as error:
        raise NodeError(
            f"{name} cannot be reached ({_reason(error)}): it needs the database and the user of"
            " MEMORY_BANK_DATABASE_URL."
        ) from error


def complaints(coordinator: Node, workers: Sequence[Node]) -> Iterator[str]:
    """Yield each fault that keeps the nodes from forming one cluster, as a sentence."""
    nodes = [coordinator, *workers]
    for node in nodes:
        yield from _of_versions(node, coordinator.facts)
        yield from _of_settings(node)
        if node.is_new and not node.facts.is_superuser:
            yield f"{node.name}: the user must be a superuser, to create the extension and nodes."
    for worker in workers:
        if worker.is_new and worker.facts.has_tables:
            yield f"{worker.name}: the database must be empty; it has tables of the service."
    by_server: dict[str, str] = {}
    for node in nodes:
        other = by_server.setdefault(node.facts.server, node.name)
        if other != node.name:
            yield f"{node.name} must be a server of its own; it is {other}."


def _of_versions(node: Node, coordinator: NodeFacts) -> Iterator[str]:
    facts = node.facts
    if facts.citus is None:
        yield f"{node.name}: Citus must be available; install Citus {OLDEST} or later there."
    elif int(facts.citus.partition(".")[0]) < OLDEST:
        yield f"{node.name}: Citus must be {OLDEST} or later; got {facts.citus}."
    wanted = [
        ("Postgres", facts.postgres, coordinator.postgres),
        ("Citus", facts.citus, coordinator.citus),
        ("pgvector", facts.vector, coordinator.vector),
    ]
    for what, own, other in wanted:
        # A missing Citus is reported above.
        if own != other and not (what == "Citus" and None in {own, other}):
            yield (
                f"{node.name}: {what} must be {other}, as on the coordinator; got {own or 'none'}."
            )


def _of_settings(node: Node) -> Iterator[str]:
    settings = node.facts.settings
    mend = "set it in postgresql.conf there, and restart that server."
    if settings[_VERSION] is None:
        yield f"{node.name}: shared_preload_libraries must contain citus; {mend}"
    for name, wanted in WANTED.items():
        if (got := settings[name]) != wanted:
            yield f"{node.name}: {name} must be {wanted}; got {got or 'nothing'}; {mend}"
    prepared, connections = int(settings[_PREPARED] or 0), int(settings[_CONNECTIONS] or 0)
    if prepared < connections:
        yield (
            f"{node.name}: {_PREPARED} must be at least {_CONNECTIONS}, which is {connections};"
            f" got {prepared}; {mend}"
        )


def join(url: str, coordinator: Address | None, workers: Sequence[Address]) -> None:
    """Make the database of `url` a coordinator and add workers; each step commits separately.

    Raises:
        NodeError: a node does not join; the nodes before it have joined.
    """
    _run(url, "the coordinator", _CREATE)
    if coordinator is not None:
        _run(url, f"the coordinator {coordinator}", _SET_COORDINATOR, _values(coordinator))
    for worker in workers:
        _run(worker.within(url), f"worker {worker}", _CREATE)
        _run(url, f"worker {worker}", _ADD, _values(worker))


def _values(address: Address) -> dict[str, Any]:
    return {"host": address.host, "port": address.port}


def _run(url: str, name: str, statement: Any, values: Mapping[str, Any] | None = None) -> None:  # noqa: ANN401 - SQL
    try:
        with open_blocking_engine(url).begin() as connection:
            connection.execute(statement, values or {})
    except DBAPIError as error:
        raise NodeError(
            f"{name} does not join ({_reason(error)}). The nodes must be able to log in to one"
            " another: see pg_hba.conf, .pgpass and citus.node_conninfo of each."
        ) from error


def _reason(error: DBAPIError) -> str:
    return first_line(error.orig).removeprefix("connection failed: ")
