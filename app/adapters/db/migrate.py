"""Schema migrations, and checks that the database matches this release."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, OperationalError

from app.adapters.db import distribution, schema
from app.adapters.db.distribution import DistributionError, list_left_out
from app.adapters.db.engine import AddressError, open_blocking_engine, plain_url
from app.adapters.db.errors import first_line, state_of
from app.adapters.db.fence import (
    LOCK,
    OldProcessPolicy,
    live_processes,
    other_processes_stopped,
    other_revision,
)
from app.adapters.db.schema import (
    RevisionError,
    known_revisions,
    revisions_of,
    wanted_revision,
)

LOCK_WAIT = "15min"
"""Longest wait for the lock of another run, which may have to rewrite large tables."""
_CONNECT_SECONDS = 5
_OLDEST_RELEASE = 17
"""The oldest Postgres that can be used."""
STATEMENT_SECONDS = 600
"""Time limit for each statement of a migration."""
_HEAD = "head"
_NO_PRIVILEGE = "42501"


class SchemaError(RuntimeError):
    """The database is not usable in its present state; the message gives the remedy."""


class OldProcessesError(SchemaError):
    """The database is in use by processes that need another schema; the message names them."""


def upgrade(
    url: str,
    connect_seconds: int = _CONNECT_SECONDS,
    *,
    revision: str = _HEAD,
    recreates_vectors: bool = False,
    old_processes: OldProcessPolicy | None = None,
    statement_seconds: int = STATEMENT_SECONDS,
) -> list[str]:
    """Migrate the database; return the recreated tables. Blocking; concurrent calls wait in turn.

    Args:
        url: the database's address.
        connect_seconds: the time limit for opening a connection.
        revision: the target revision.
        recreates_vectors: True to recreate missing or incomplete vector tables, and to queue their
            former content for embedding by the worker.
        old_processes: the policy for processes of another schema; None: none can exist.
        statement_seconds: the time limit for each statement; 0: none.

    Raises:
        OldProcessesError: processes of another schema are live, and `old_processes` is not forced.
        SchemaError: the migration is impossible; the transaction was rolled back.
    """
    with ExitStack() as stack, _migrating(url, connect_seconds) as connection:
        _check_release(connection)
        heads = _known_heads(connection)
        if old_processes is not None and heads != {wanted_revision()}:
            _stop_others(connection, url, old_processes, stack)
        _create_extension(connection)
        shards = distribution.count_shards(connection)
        if shards is not None:
            distribution.begin(connection)
        if recreates_vectors or revision != _HEAD or heads != {wanted_revision()}:
            from app.adapters.db import alembic_runs  # noqa: PLC0415 - costly import

            alembic_runs.upgrade(connection, revision, statement_seconds)
        if revision != _HEAD:
            return []
        made = _recreate(connection) if recreates_vectors else []
        if shards is not None:
            distribution.distribute(connection, shards)
        _check_whole(connection)
        return made


def _stop_others(
    connection: Connection, url: str, old_processes: OldProcessPolicy, stack: ExitStack
) -> None:
    """Stop live processes of another schema, and keep them from starting until `stack` exits."""
    target = wanted_revision()
    names = live_processes(connection, target, old_processes.seen_seconds)
    if not names:
        return
    if not old_processes.is_forced:
        raise OldProcessesError(_IN_USE.format(", ".join(names)))
    engine = open_blocking_engine(url)
    stack.enter_context(other_processes_stopped(engine, target, names, old_processes.stop_seconds))


_IN_USE = (
    "The database is in use by processes that need another schema: {}. Stop them, then run"
    " `memory-bank migrate` again; with Compose: `docker compose stop api worker`, then `docker"
    " compose run --rm migrate`. `memory-bank migrate --force` makes them stop writing and end."
)


def _recreate(connection: Connection) -> list[str]:
    # Imported late: the module imports this package.
    from migrations.recreated import recreate  # noqa: PLC0415 - a cycle

    lacking = {item.table for item in schema.missing(connection.execute(schema.look()))}
    made = [table for table in schema.vector_tables() if table in lacking]
    recreate(connection, made)
    return made


def downgrade(url: str, revision: str) -> None:
    """Revert migrations back to `revision`. Blocking."""
    from app.adapters.db import alembic_runs  # noqa: PLC0415 - costly import

    with _migrating(url, _CONNECT_SECONDS) as connection:
        alembic_runs.downgrade(connection, revision)


@contextmanager
def _migrating(url: str, connect_seconds: int) -> Iterator[Connection]:
    """Open the single transaction of a run, once no other run is active."""
    with (
        _connected(url, connect_timeout=connect_seconds) as connection,
        _readable_errors(),
        connection.begin(),
    ):
        _take_lock(connection)
        yield connection


@contextmanager
def locked(url: str) -> Iterator[Connection]:
    """Open a transaction that holds the migration lock, which excludes migrations."""
    with _migrating(url, _CONNECT_SECONDS) as connection:
        yield connection


def is_current(connection: Connection) -> bool:
    """Return True if the database has the schema of this release."""
    return _known_heads(connection) == {wanted_revision()}


def _take_lock(connection: Connection) -> None:
    wait = text("select set_config(:name, :limit, true)")
    connection.execute(wait, {"name": "statement_timeout", "limit": "0"})
    connection.execute(wait, {"name": "lock_timeout", "limit": LOCK_WAIT})
    connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": LOCK})


@contextmanager
def _readable_errors() -> Iterator[None]:
    try:
        yield
    except RevisionError as error:
        raise SchemaError(f"The database cannot be migrated: {error}") from error
    except DistributionError as error:
        raise SchemaError(str(error)) from error
    except DBAPIError as error:
        sentence = _SENTENCES.get(state_of(error.orig) or "")
        if sentence is None and not isinstance(error, OperationalError):
            raise
        detail = _driver_message(error)
        raise SchemaError((sentence or _FAILED).format(detail)) from error


def _driver_message(error: DBAPIError) -> str:
    return first_line(error.orig).removeprefix("connection failed: ")


_FAILED = "The database failed ({}); run the command again."
_POOLER = (
    "The database is behind a pooler in transaction mode; set MEMORY_BANK_DATABASE_BEHIND_POOLER to"
    " true, and MEMORY_BANK_LISTEN_URL to an address of Postgres itself."
)
_LACKS_WHAT_IS_OLD = (
    "The database lacks what its schema should have ({}); restore its backup again, into a database"
    " that has the extension vector."
)
_SENTENCES = {
    "08P01": _POOLER,
    "26000": _POOLER,
    "42501": "The database user lacks a privilege; migrate as the owner of the database.",
    "42704": _LACKS_WHAT_IS_OLD,
    "42P01": _LACKS_WHAT_IS_OLD,
    "42P05": _POOLER,
    "53100": "The database has no space left ({}); free some, then run the command again.",
    "55P03": "The database is in use, maybe by another migration; run the command again.",
    "57014": "The migration took too long; run the command again.",
}
"""Messages by SQLSTATE."""


def make_revision(url: str, message: str) -> None:
    """Write a migration script from the difference between the mapped tables and the database."""
    from app.adapters.db import alembic_runs  # noqa: PLC0415 - costly import

    with _connected(url, connect_timeout=_CONNECT_SECONDS) as connection:
        alembic_runs.write(connection, message)


def pending(url: str) -> str | None:
    """Return the revision that an upgrade would migrate; None: the database is new or current.

    Raises:
        SchemaError: the database has a schema that this release does not know.
    """
    with _connected(url, connect_timeout=_CONNECT_SECONDS) as connection, _readable_errors():
        heads = _known_heads(connection)
    return None if heads <= {wanted_revision()} else ", ".join(sorted(heads))


def check(url: str, connect_seconds: int = _CONNECT_SECONDS) -> None:
    """Check that the database is ready for this release. Blocking."""
    with _connected(url, connect_timeout=connect_seconds) as connection, _readable_errors():
        _check_release(connection)
        if not _has_extension(connection):
            raise SchemaError(
                "The database lacks the `vector` extension (pgvector); install it and run"
                " `memory-bank migrate`."
            )
        if not is_current(connection):
            raise SchemaError(
                "The database schema is not that of this release; run `memory-bank migrate`."
            )
        if (coming := other_revision(connection, wanted_revision())) is not None:
            raise SchemaError(
                f"The database is being migrated to the schema {coming} of another release; start"
                " that release."
            )
        _check_whole(connection)


def _check_release(connection: Connection) -> None:
    """Check the version of Postgres; the service needs, for example, `transaction_timeout`."""
    number = connection.execute(text("select current_setting('server_version_num')::int"))
    if (release := number.scalar_one() // 10_000) < _OLDEST_RELEASE:
        raise SchemaError(f"Postgres must be {_OLDEST_RELEASE} or later; got {release}.")


def check_direct(url: str, arguments: Mapping[str, Any]) -> None:
    """Check that connections with these arguments keep their settings, as poolers do not."""
    with (
        _connected(url, **arguments) as first,
        _connected(url, **arguments) as second,
        _readable_errors(),
    ):
        if _process(first) == _process(second):
            raise SchemaError(_POOLER)


def _process(connection: Connection) -> tuple[Any, ...]:
    query = text("select pg_backend_pid(), inet_server_addr(), inet_server_port()")
    with connection.begin():
        return tuple(connection.execute(query).one())


def check_address(url: str, setting: str) -> str:
    """Return the address of a setting in libpq's form."""
    try:
        return plain_url(url)
    except AddressError as error:
        raise SchemaError(f"{setting} is not a Postgres address: {error}.") from None


def _known_heads(connection: Connection) -> set[str]:
    heads = revisions_of(connection)
    if heads - known_revisions():
        raise SchemaError(
            f"The database has the schema {', '.join(sorted(heads))}, likely of a later release;"
            f" this one knows schemas up to {wanted_revision()}. Run that release, or restore a"
            " backup from before it migrated."
        )
    return heads


def _connected(url: str, **arguments: Any) -> Connection:  # noqa: ANN401 - the driver's
    plain = check_address(url, "MEMORY_BANK_DATABASE_URL")
    try:
        return open_blocking_engine(plain, **arguments).connect()
    except OperationalError as error:
        sentence = _UNREACHED.get(state_of(error.orig) or "", _AWAY)
        raise SchemaError(sentence.format(_driver_message(error))) from error


_AWAY = (
    "The database cannot be reached ({}); check MEMORY_BANK_DATABASE_URL and that the server runs."
)
_NOT_LET_IN = (
    "The database refuses the user ({}); check the user and the password in"
    " MEMORY_BANK_DATABASE_URL."
)
_UNREACHED = {
    "08P01": _POOLER,
    "28000": _NOT_LET_IN,
    "28P01": _NOT_LET_IN,
    "3D000": "The database does not exist ({}); create it, or name another in"
    " MEMORY_BANK_DATABASE_URL.",
    "53300": "The database accepts no more connections ({}); raise its max_connections, or lower"
    " MEMORY_BANK_DATABASE_POOL_SIZE.",
    "57P03": "The database is starting or stopping ({}); try again in a moment.",
}
"""Messages for failed connections, by SQLSTATE."""


def _check_whole(connection: Connection) -> None:
    """Check that the schema is complete, and distributed as a whole or not at all."""
    if (fault := schema.fault(connection)) is not None:
        raise SchemaError(fault)
    if left_out := list_left_out(connection):
        raise SchemaError(
            f"The database is distributed, but not its tables {', '.join(left_out)}; run"
            " `memory-bank migrate`."
        )


def _has_extension(connection: Connection) -> bool:
    rows = connection.execute(text("select 1 from pg_extension where extname = 'vector'"))
    return rows.first() is not None


def _create_extension(connection: Connection) -> None:
    if _has_extension(connection):
        return
    offered = connection.execute(
        text("select 1 from pg_available_extensions where name = 'vector'")
    ).first()
    if offered is None:
        raise SchemaError("This Postgres has no `vector` extension; install pgvector >= 0.7 there.")
    try:
        connection.execute(text("create extension vector"))
    except DBAPIError as error:
        if state_of(error.orig) != _NO_PRIVILEGE:
            raise
        raise SchemaError(
            "A superuser has to run `create extension vector` in this database first; this user may"
            " not. Then run `memory-bank migrate` again."
        ) from error
