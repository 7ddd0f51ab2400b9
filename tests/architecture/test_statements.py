"""Runs last: no statement of the whole suite reaches across engines, but for those listed here.

Source: decision 83.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from pkgutil import resolve_name

import httpx
import psycopg

from tests.architecture.distributed import VOLATILITIES, broken_rules
from tests.architecture.statements_plugin import for_engines, recorded, whole_files
from tests.architecture.tenancy import TENANT_TABLES, unconfined
from tests.architecture.trees import is_judged
from tests.support.operations import create_memory

ALLOWED = {
    "app.adapters.batches.SweepBatches._remove_batch": "a sweep",
    "app.adapters.db.alembic_runs.downgrade": "migrations, of what they leave no place for",
    "app.adapters.db.alembic_runs.upgrade": "migrations, of what was there before",
    "app.platform.checking.store._rows": "a check of the whole database",
    "app.platform.audit.store.read_all_events": "the log of the whole service",
    "app.platform.audit.store.remove_old": "a sweep",
    "app.platform.engines.store.repository._find": "a sweep",
    "app.platform.engines.store.repository.list_with_encryption": "the log of a start",
    "app.platform.engines.store.repository.list_models": "the log of a start",
    "app.platform.engines.services.engines.EngineService.list_engines": "an administrator's list",
    "app.memory.erasures.store.find_failed": "a sweep",
    "app.memory.erasures.store.list_all": "the list of all erasures, for restores",
    "app.memory.generation.store.repository.find_expired": "a sweep",
    "app.memory.ingestion.store.repository.find_stranded": "a sweep",
    "app.memory.ingestion.store.repository.oldest_pending": "the metrics of the streams",
    "app.memory.ingestion.store.erasure.find_old_events": "a sweep",
    "app.memory.ingestion.store.erasure.find_old_streams": "a sweep",
    "app.platform.limits.store.find_addable": "a sweep",
    "app.memory.memories.store.repository.find_without_hints": "a sweep",
    "app.platform.operations.store.queue.find": "a worker takes work of any engine",
    "app.platform.operations.store.queue.find_engines": "work of which no hint tells",
    "app.platform.operations.store.queue.queue_at": "the metrics of the queue",
    "app.platform.operations.store.queue.running_by_kind": "the metrics of the queue",
    "app.platform.operations.store.leases.release_all": "the start of the only worker",
    "app.platform.operations.store.queue.count_failed": "what runs in the service",
    "app.platform.operations.store.queue.next_due": "a worker waits for work of any engine",
    "app.platform.operations.store.erasure.remove_old": "a sweep",
    "app.platform.operations.store.kept_requests.clear_old": "a sweep",
    "app.memory.reembedding.store.find_due": "a worker takes what waits, of any engine",
    "app.memory.reembedding.store.count_waiting": "the metrics of what waits",
    "app.memory.retention.store.find_gone": "a sweep",
    "app.memory.retention.store.find_expired_revisions": "a sweep",
    "app.platform.upkeep.store.find_gone_totals": "a sweep",
    "app.platform.usage.store.list_usage_of_all": "the usage of the whole service",
    "app.platform.usage.store.usage_since": "the metrics of models",
    "app.memory.retrieval.store.indexes.list_known": "a sweep",
    "app.memory.retrieval.store.indexes.list_likely": "a sweep",
    "app.memory.retrieval.store.indexes.list_ready": "digests of the few large scopes",
    "app.platform.sessions.store.erasure.find_expired": "a sweep",
    "app.artifacts.tasks.store.contents.find_without_grams": "a sweep",
    "app.artifacts.tasks.store.erasure.find_expired": "a sweep",
    "app.artifacts.tasks.store.erasure.find_expired_namespaces": "a sweep",
}
"""Who may cross engines, and why: workers and sweeps, and who may see every engine."""


LISTS: Sequence[tuple[set[int], Collection[str]]] = [
    ({2, 3}, ALLOWED),
    ({1, 4, 5, 6, 7, 8}, ()),
]
"""Who may break a rule of `distributed.py`. Rules 9 and 10 are those of the schema."""
_MIGRATIONS = ("app.adapters.db.alembic_runs.", "app.adapters.db.migrate.")
_TESTS = Path(__file__).parents[1]


def _files() -> set[Path]:
    """Return the files of the whole suite; the tests in a browser have a run of their own."""
    return {*_TESTS.rglob("test_*.py")} - {*(_TESTS / "browser").rglob("test_*.py")}


async def test_those_who_break_a_rule_are_those_listed(
    client: httpx.AsyncClient, database_url: str
) -> None:
    """A name that breaks no rule in the whole suite leaves its list, if it sent anything."""
    await create_memory(client, "I like tea.")
    broken = _broken(database_url)
    is_recording = any(name.startswith("app.memory.memories.store.repository.") for name in broken)
    assert is_recording, "the recorder is not at work"
    for rules, listed in LISTS:
        breaking = {
            f"{name} breaks rule {rule}: {statement}"
            for name, found in broken.items()
            for rule, statement in found.items()
            if rule in rules and name not in listed
        }
        assert not breaking, "\n".join(breaking)
        if not whole_files().issuperset(_files()):
            continue
        kept = [name for name in listed if name in broken and not rules & broken[name].keys()]
        # Migrations send what the database that they find needs.
        assert not [name for name in kept if not name.startswith(_MIGRATIONS)]


async def test_no_request_for_an_engine_waits_for_all_engines(client: httpx.AsyncClient) -> None:
    """On a distributed database it would fail with the node of any other engine."""
    await create_memory(client, "I like tea.")
    assert "createMemory" in {method for methods in for_engines.values() for method in methods}
    waiting = {
        f"{method} waits for {statement}"
        for statement, methods in for_engines.items()
        if is_judged(statement) and unconfined(statement)
        for method in methods
    }
    assert not waiting, "\n".join(waiting)


def _broken(url: str) -> dict[str, dict[int, str]]:
    """Return the rules that each function breaks, each with a statement that does."""
    with psycopg.connect(url) as connection:
        known = {(name, count): kind for name, count, kind in connection.execute(VOLATILITIES)}
    broken: dict[str, dict[int, str]] = {}
    for statement, senders in recorded.items():
        rules = dict.fromkeys(broken_rules(statement, known), " ".join(statement.split()))
        for sender in senders:
            is_migration = sender.startswith(_MIGRATIONS)
            judged = {rule: text for rule, text in rules.items() if rule < 4 or not is_migration}
            broken.setdefault(sender, {}).update(judged)
    return broken


def test_nothing_else_than_migrations_handles_whole_tables() -> None:
    """What is not judged above (definitions, locks, copies) names no table of tenants.

    But for the indexes of large scopes, which are defined for one engine each, and for the
    statistics of tables that were filled at once.
    """
    senders = {
        sender
        for statement, found in recorded.items()
        if not is_judged(statement) and TENANT_TABLES & set(re.findall(r"\w+", statement))
        for sender in found
    }
    others = {one for one in senders if not one.startswith(_MIGRATIONS)}
    assert others <= {
        "app.adapters.db.own_connections.define",
        "app.adapters.db.statistics.TableStatistics._analyze",
    }


def test_the_lists_name_what_exists() -> None:
    listed = {name for _, names in LISTS for name in names}
    assert [name for name in listed if not _is_function(name)] == []


def _is_function(name: str) -> bool:
    try:
        return callable(resolve_name(name))
    except AttributeError:
        return False
