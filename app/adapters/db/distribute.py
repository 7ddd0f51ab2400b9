"""`memory-bank distribute`: a database becomes a distributed one, or gets more nodes or tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from app.adapters.db import distribution, migrate
from app.adapters.db.distribution import (
    DISTRIBUTED,
    Address,
    Members,
    Node,
    NodeError,
    Placed,
    facts_of,
    list_distributed,
    read_members,
)
from app.adapters.db.migrate import SchemaError

# The totals are read from all shards first; then the coordinator knows where each engine lies.
_HELD = text("""
with counted as materialized (
    select engine_id, sum(memories) as memories
    from (
        select engine_id, 0 as memories from engines where delete_time is null
        union all
        select engine_id, memories from engine_totals
    ) as either
    group by engine_id
), placed as materialized (
    select get_shard_id_for_distribution_column('engines', engine_id) as shardid, memories
    from counted
), sizes as materialized (
    select nodename, nodeport, sum(shard_size) as bytes from citus_shards group by 1, 2
)
select node.nodename, node.nodeport, count(placed.shardid),
    coalesce(sum(placed.memories), 0)::bigint, coalesce(min(sizes.bytes), 0)::bigint
from pg_dist_node as node
left join pg_dist_placement as placement using (groupid)
left join placed using (shardid)
left join sizes on (sizes.nodename, sizes.nodeport) = (node.nodename, node.nodeport)
where node.noderole = 'primary' and node.groupid <> 0
group by node.nodename, node.nodeport
order by node.nodename, node.nodeport
""")
SHARDS = 128
"""Shards of a new distribution: enough for 64 nodes. Another number later rewrites all rows."""
_MAX_SHARDS = 1024
_SESSIONS = text(
    "select count(*) from pg_stat_activity where datname = current_database()"
    " and application_name like 'open-memory-bank%'"
)
# Within a transaction, the server shows the sessions of the first look.
_LOOK_ANEW = text("select pg_stat_clear_snapshot()")
_COUNT = "select count(*) from {}"
# Without it, the server notices only at the end of a statement that the command is gone.
_NOTICE_LOSS = text("set local client_connection_check_interval = '1s'")


@dataclass(frozen=True)
class Held:
    """The contents of a worker; the bytes are of all tables that lie by engine."""

    node: Address
    engines: int
    memories: int
    bytes: int


def read_held(connection: Connection) -> Sequence[Held]:
    """Return the contents of each worker; all nodes are asked."""
    return [
        Held(Address(host, port), engines, memories, size)
        for host, port, engines, memories, size in connection.execute(_HELD)
    ]


class ChecksFailedError(SchemaError):
    """The database cannot be distributed yet, and was not changed."""

    def __init__(self, failures: Sequence[str]) -> None:
        super().__init__("\n".join(failures))
        self.failures = failures


@dataclass(frozen=True)
class AskedDistribution:
    """A distribution that is asked for; with `is_dry`, it changes nothing.

    Attributes:
        coordinator: the address under which workers reach the database's server.
        workers: those that belong to the cluster need not be named.
        shards: None: as many as there are, else `SHARDS`.
    """

    coordinator: Address
    workers: Sequence[Address]
    shards: int | None = None
    is_dry: bool = False


@dataclass(frozen=True)
class Distributed:
    """The work that was done, or would be in a dry run.

    Attributes:
        late_sessions: sessions of the service that began while tables moved. They take the database
            for one that is not distributed.
    """

    workers: int
    shards: int
    added: Sequence[Address]
    tables: Sequence[Placed]
    was_distributed: bool
    is_changed: bool
    late_sessions: int = 0
    held: Sequence[Held] = ()


@dataclass(frozen=True)
class _Work:
    """The work that is left: nodes to join, and tables to distribute."""

    has_citus: bool
    coordinator: Address | None
    workers: Sequence[Address]
    known: Sequence[Address]
    tables: Sequence[str]

    @property
    def is_of_nodes(self) -> bool:
        return not self.has_citus or self.coordinator is not None or bool(self.workers)


def distribute(url: str, asked: AskedDistribution) -> Distributed:
    """Distribute the database at an address over the nodes of a cluster. Blocking.

    Nodes join one by one, for good; the tables are distributed in one transaction.

    Raises:
        ChecksFailedError: nothing has changed.
        SchemaError: a node does not join, or a table cannot be distributed.
    """
    plain = migrate.check_address(url, "MEMORY_BANK_DATABASE_URL")
    with migrate.locked(plain) as connection:
        connection.execute(_NOTICE_LOSS)
        members = read_members(connection)
        shards = distribution.count_shards(connection)
        work = _work(connection, members, asked)
        if failures := list(_failures(connection, plain, asked, work, shards)):
            raise ChecksFailedError(failures)
        late = 0
        if asked.is_dry:
            tables: Sequence[Placed] = [
                Placed(name, _rows(connection, name)) for name in work.tables
            ]
        else:
            tables = _do(connection, plain, work, shards or asked.shards or SHARDS)
            if tables:
                connection.execute(_LOOK_ANEW)
                late = connection.execute(_SESSIONS).scalar_one()
        is_placed = bool(list_distributed(connection))
        held = read_held(connection) if is_placed else ()
    return Distributed(
        len(work.known) + len(work.workers),
        shards or asked.shards or SHARDS,
        work.workers,
        tables,
        was_distributed=shards is not None,
        is_changed=work.is_of_nodes or bool(work.tables),
        late_sessions=late,
        held=held,
    )


def _work(connection: Connection, members: Members, asked: AskedDistribution) -> _Work:
    present = list_distributed(connection)
    return _Work(
        has_citus=members.has_citus,
        coordinator=None if members.coordinator == asked.coordinator else asked.coordinator,
        workers=[each for each in dict.fromkeys(asked.workers) if each not in members.workers],
        known=members.workers,
        tables=[name for name in DISTRIBUTED if name not in present],
    )


def _do(connection: Connection, url: str, work: _Work, shards: int) -> Sequence[Placed]:
    if work.is_of_nodes:
        try:
            distribution.join(url, work.coordinator, work.workers)
        except NodeError as error:
            raise SchemaError(str(error)) from error
    return distribution.distribute(connection, shards)


def _rows(connection: Connection, table: str) -> int:
    return int(connection.execute(text(_COUNT.format(table))).scalar_one())


def _failures(
    connection: Connection, url: str, asked: AskedDistribution, work: _Work, shards: int | None
) -> Iterator[str]:
    """Yield what keeps the database from being distributed, a sentence each."""
    if not migrate.is_current(connection):
        yield "The schema must be that of this release; run `memory-bank migrate`."
    yield from _of_shards(asked.shards, shards)
    if not (work.known or work.workers):
        yield "There must be a worker; name one with --worker HOST:PORT."
    if work.tables and (sessions := connection.execute(_SESSIONS).scalar_one()):
        yield (
            f"No process of the service may use the database; {sessions} sessions do. Stop them:"
            " tables are locked while their rows move."
        )
    yield from _of_nodes(connection, url, asked, work)


def _of_shards(asked: int | None, present: int | None) -> Iterator[str]:
    if asked is not None and not 1 <= asked <= _MAX_SHARDS:
        yield f"--shards must be from 1 to {_MAX_SHARDS:,}; got {asked}."
    elif asked is not None and present not in {None, asked}:
        yield (
            f"--shards must be {present}, over which the tables are distributed; got {asked}."
            " Another number takes a new database and a restored dump."
        )


def _of_nodes(
    connection: Connection, url: str, asked: AskedDistribution, work: _Work
) -> Iterator[str]:
    """Yield what keeps the nodes from being one database; ask each for it."""
    facts = facts_of(connection)
    coordinator = Node(f"coordinator {asked.coordinator}", facts, work.is_of_nodes)
    try:
        reached = distribution.read_facts(
            url, asked.coordinator, f"--coordinator {asked.coordinator}"
        )
        if reached.server != facts.server:
            yield (
                f"--coordinator must be the server of MEMORY_BANK_DATABASE_URL; {asked.coordinator}"
                " is another."
            )
    except NodeError as error:
        yield str(error)
    workers = []
    for address in (*work.known, *work.workers):
        name = f"worker {address}"
        try:
            read = distribution.read_facts(url, address, name)
        except NodeError as error:
            yield str(error)
        else:
            workers.append(Node(name, read, address in work.workers))
    yield from distribution.complaints(coordinator, workers)
