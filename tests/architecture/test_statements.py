"""Runs last: no statement of the whole suite reaches across engines, but for those listed here.

Source: decisions, section 3.
"""

import re
from importlib import import_module

import httpx
import pytest

from tests.architecture.statements_plugin import recorded
from tests.architecture.tenancy import TENANT_TABLES, unconfined
from tests.architecture.trees import is_judged
from tests.support.operations import create_memory

ALLOWED = {
    "app.db.migrate.downgrade": "migrations, of what the release before has no place for",
    "app.db.migrate.upgrade": "migrations, of what was there before",
    "app.audit.repository.list_page_of_all": "the log of the whole service",
    "app.audit.repository.remove_old": "a sweep",
    "app.engines.repository.list_deleted": "a sweep",
    "app.engines.repository.list_with_stale_vectors": "a sweep",
    "app.engines.repository.list_page": "the administrator's listing of engines",
    "app.ingestion.repository.list_stranded": "a sweep",
    "app.ingestion.repository.oldest_pending": "the metrics of the streams",
    "app.ingestion.erasure.remove_old_events": "a sweep",
    "app.ingestion.erasure.remove_old_streams": "a sweep",
    "app.limits.repository.add_up": "a sweep",
    "app.memories.repository.list_without_cues": "a sweep",
    "app.operations.claims.claim": "a worker takes work of any engine",
    "app.operations.claims.queue_at": "the metrics of the queue",
    "app.operations.claims.release_all": "the start of the only worker",
    "app.operations.erasure.remove_old": "a sweep",
    "app.reembedding.repository.claim": "a worker takes what waits, of any engine",
    "app.reembedding.repository.count_waiting": "the metrics of what waits",
    "app.retention.repository.list_gone": "a sweep",
    "app.retention.repository.remove_expired_revisions": "a sweep",
    "app.retention.repository.remove_gone_totals": "a sweep",
    "app.retrieval.indexes.list_known": "a sweep",
    "app.retrieval.indexes.list_likely": "a sweep",
    "app.retrieval.indexes.list_ready": "what each process knows: digests of the few large scopes",
    "app.sessions.erasure.remove_expired": "a sweep",
    "app.tasks.erasure.list_expired": "a sweep",
    "app.tasks.erasure.remove_expired_namespaces": "a sweep",
}
"""Who may cross engines, and why: workers and sweeps, and who may see every engine."""


async def test_no_statement_crosses_engines(client: httpx.AsyncClient) -> None:
    await create_memory(client, "I like tea.")
    senders = {sender for found in recorded.values() for sender in found}
    is_recording = any(sender.startswith("app.memories.repository.") for sender in senders)
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
    others = {one for one in senders if not one.startswith("app.db.migrate.")}
    assert others <= {"app.db.definitions.define"}


@pytest.mark.parametrize("name", ALLOWED)
def test_the_list_names_what_exists(name: str) -> None:
    module, _, function = name.rpartition(".")
    assert callable(getattr(import_module(module), function))
