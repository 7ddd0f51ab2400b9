"""The nodes of a Citus cluster: their requirements, and the way they join."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, OperationalError
from typing_extensions import override

from app.adapters.db.distribution import DISTRIBUTED
from app.adapters.db.engine import open_blocking_engine
from app.adapters.db.errors import first_line

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
        postgres: the major version of Postgres.
        citus: the installed version of Citus, or else the available one; None: unavailable.
        vector: the same for pgvector.
        server: the unique system identifier of the server.
        is_superuser: whether the user may create extensions and nodes.
        has_tables: whether the database has tables of the service.
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
    """A present or future node of the cluster.

    Attributes:
        name: its role and address, for messages.
        is_new: True if it has not joined yet.
    """

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

    `coordinator` is the address at which workers reach it; None: it is already set.

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
