"""Runs last: no statement of the whole suite reaches across engines, but for those listed here.

Source: decisions, section 3.
"""

import re
from importlib import import_module

import httpx

from tests.architecture.statements_plugin import recorded
from tests.architecture.tenancy import TENANT_TABLES, unconfined
from tests.architecture.trees import is_judged
from tests.support.operations import create_memory

ALLOWED = {
    "app.adapters.db.migrate.downgrade": "migrations, of what the release before has no place for",
    "app.adapters.db.migrate.upgrade": "migrations, of what was there before",
    "app.platform.audit.store.repository.list_page_of_all": "the log of the whole service",
    "app.platform.audit.store.repository.remove_old": "a sweep",
    "app.platform.engines.store.repository.list_deleted": "a sweep",
    "app.platform.engines.store.repository.list_with_stale_vectors": "a sweep",
    "app.platform.engines.store.repository.list_page": "the administrator's listing of engines",
    "app.memory.ingestion.store.repository.list_stranded": "a sweep",
    "app.memory.ingestion.store.repository.oldest_pending": "the metrics of the streams",
    "app.memory.ingestion.store.erasure.remove_old_events": "a sweep",
    "app.memory.ingestion.store.erasure.remove_old_streams": "a sweep",
    "app.platform.limits.store.repository.add_up": "a sweep",
    "app.memory.memories.store.repository.list_without_cues": "a sweep",
    "app.platform.operations.store.leases.claim": "a worker takes work of any engine",
    "app.platform.operations.store.leases.queue_at": "the metrics of the queue",
    "app.platform.operations.store.leases.release_all": "the start of the only worker",
    "app.platform.operations.store.erasure.remove_old": "a sweep",
    "app.memory.reembedding.store.repository.claim": "a worker takes what waits, of any engine",
    "app.memory.reembedding.store.repository.count_waiting": "the metrics of what waits",
    "app.memory.retention.store.repository.list_gone": "a sweep",
    "app.memory.retention.store.repository.remove_expired_revisions": "a sweep",
    "app.platform.upkeep.store.repository.remove_gone_totals": "a sweep",
    "app.memory.retrieval.store.indexes.list_known": "a sweep",
    "app.memory.retrieval.store.indexes.list_likely": "a sweep",
    "app.memory.retrieval.store.indexes.list_ready": "digests of the few large scopes",
    "app.platform.sessions.store.erasure.remove_expired": "a sweep",
    "app.artifacts.tasks.store.erasure.list_expired": "a sweep",
    "app.artifacts.tasks.store.erasure.remove_expired_namespaces": "a sweep",
}
"""Who may cross engines, and why: workers and sweeps, and who may see every engine."""


async def test_no_statement_crosses_engines(client: httpx.AsyncClient) -> None:
    await create_memory(client, "I like tea.")
    senders = {sender for found in recorded.values() for sender in found}
    is_recording = any(
        sender.startswith("app.memory.memories.store.repository.") for sender in senders
    )
    assert is_recording, "the recorder is not at work"
    crossing = [
        f"{sender} reaches {', '.join(tables)}: {' '.join(statement.split())}"
        for statement, found in recorded.items()
        if is_judged(statement) and (tables := unconfined(statement))
        for sender in found - ALLOWED.keys()
    ]
    assert not crossing, "\n".join(crossing)


def test_nothing_else_than_migrations_handles_whole_tables() -> None:
    """What is not judged above (definitions, locks, copies) names no table of tenants.

    But for the indexes of large scopes, which are defined for one engine each.
    """
    senders = {
        sender
        for statement, found in recorded.items()
        if not is_judged(statement) and TENANT_TABLES & set(re.findall(r"\w+", statement))
        for sender in found
    }
    others = {one for one in senders if not one.startswith("app.adapters.db.migrate.")}
    assert others <= {"app.adapters.db.definitions.define"}


def test_the_list_names_what_exists() -> None:
    assert [name for name in ALLOWED if not _is_function(name)] == []


def _is_function(name: str) -> bool:
    module, _, function = name.rpartition(".")
    return callable(getattr(import_module(module), function, None))
