"""Distribution: where each table lies once a database is spread over nodes, by engine."""

from collections.abc import Sequence

from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

COLUMN = "engine_id"
ROOT = "engines"
"""The table beside whose rows those of all others lie."""
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
