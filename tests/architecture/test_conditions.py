"""Runs last: the second wall between users.

No statement of the whole suite, sent for a caller who is bound to scopes, reaches a table of scopes
without the caller's conditions. And every function that reaches one for any caller was tried for
such callers, too: so a new one fails here until it is.

Source: decision 26.
"""

from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.architecture.conditions import BINDINGS, conditioned_in, unconfined
from tests.architecture.distributed import OF_CONNECTIONS
from tests.architecture.statements_plugin import (
    Sent,
    for_bound,
    for_callers,
    strayed,
    whole_files,
)
from tests.architecture.tenancy import TENANT_TABLES
from tests.architecture.trees import is_judged

_RESTORES = "restores an engine: for callers who see all"
_TAKES_BACK = "takes back a refused restore: for callers who see all"
UNREACHED = {
    "app.memory.ingestion.store.repository.exists_pending": "deletes an engine",
    "app.memory.memories.store.listing.find_scopes": "lists scopes for callers who see all",
    "app.memory.memories.store.listing.some_scopes": "finds keys for callers without conditions",
    "app.memory.memories.store.repository.exists_any": "deletes an engine",
    "app.memory.reembedding.store.count_waiting_of": "sums up what a whole engine uses",
    "app.memory.memories.store.repository.append_revisions": _RESTORES,
    "app.memory.memories.store.repository.end_wait": _RESTORES,
    "app.memory.transfer.store.writing.is_empty": _RESTORES,
    "app.memory.transfer.store.writing.remove_replaced": _RESTORES,
    "app.memory.transfer.store.writing._placed_pages": _RESTORES,
    "app.memory.transfer.store.writing._write_kind": _RESTORES,
    "app.memory.transfer.store.writing._write_vectors": _RESTORES,
    "app.platform.operations.store.repository.fail_waiting": "deletes an engine",
    "app.platform.operations.store.queue.count_failed": "counts what the whole service has",
    "app.platform.operations.store.queue.queue_at": "counts what the whole service has",
    "app.platform.operations.store.queue.running_by_kind": "counts what the whole service has",
    "app.platform.sessions.store.repository.exists_any": "deletes an engine",
    "app.artifacts.tasks.store.repository.exists_any": "deletes an engine",
    "app.artifacts.tasks.store.indexing.index_restored": _RESTORES,
    "app.artifacts.tasks.store.repository.count_again": _RESTORES,
    "app.artifacts.tasks.store.repository.list_begun": _RESTORES,
    "app.artifacts.tasks.store.repository.make_ready": _RESTORES,
    "app.artifacts.tasks.store.repository.find_incomplete": _RESTORES,
    "app.memory.ingestion.store.repository.count_again": _RESTORES,
    "app.platform.sessions.store.repository.find_miscounted": _RESTORES,
    "app.artifacts.tasks.store.erasure.remove_of_engine": _TAKES_BACK,
    "app.memory.generation.store.repository.remove_of_engine": _TAKES_BACK,
    "app.memory.ingestion.store.erasure.remove_of_engine": _TAKES_BACK,
    "app.memory.retention.store.list_ids": _TAKES_BACK,
    "app.platform.sessions.store.erasure._remove_user_states": _TAKES_BACK,
    "app.platform.sessions.store.erasure.remove_of_engine": _TAKES_BACK,
}
"""What no caller can reach who is bound to scopes, and why."""
WHOLE_ENGINE = {
    "app.platform.operations.store.leases.check_queue": "says only that too much waits",
    "app.platform.operations.store.erasure.forget_sessions": "removes names of removed sessions",
}
"""What looks at the whole engine for any caller, and why: it answers nothing of what it sees."""
OF_ONE_SCOPE = {
    "app.memory.generation.store.repository.queue": "`Database.audit_within`, and `check_queue`",
    "app.memory.memories.store.fast_sql.insert": "`Database.audit_within`",
    "app.memory.retrieval.store.fast_sql.find_candidates": "`services.retrieval._query`",
    "app.memory.retrieval.store.fast_sql.find_if_small": "`services.retrieval._query`",
    "app.memory.retrieval.store.fast_sql.find_near_by_ids": "`Neighbourhood._query`",
    "app.memory.retrieval.store.fast_sql.find_nearest": "`services.retrieval._query`",
    "app.memory.retrieval.store.fast_sql.read_nearest": "`services.retrieval._query`",
    "app.memory.retrieval.store.fast_sql._Stored._run": "`services.retrieval._query`",
    "app.platform.sessions.store.fast_sql.append": "`Database.reach`, of the event's session",
    "app.platform.operations.store.repository.complete": "`check_scopes`, of its own new row",
}
"""What names one whole scope, and what has compared it with the caller's conditions before."""
BY_DIGEST = {
    "app.memory.retrieval.store.candidates.find_candidates",
    "app.memory.retrieval.store.nearest.find_nearest",
    "app.memory.retrieval.store.nearest.find_nearest_to_each",
}
"""What finds vectors by the digest of one scope, and keeps those of the memories that it finds.

The memories are confined; between them and the vectors is a full join of two queries, the one plan
that cannot compare each with each, which the judge does not see through.
"""

UNSCOPED = {
    "app_states": "of an engine: what all its sessions share, which bound keys read only",
    "audit_events": "of an engine, shown to who reaches all of it",
    "engine_totals": "of an engine",
    "engines": "not below itself",
    "erasures": "of an engine: pseudonyms, and scopes that only the worker reads",
    "model_usage": "of an engine, shown to who reaches all of it",
    "request_ids": "of a key, and found by nobody else",
    "tool_policies": "of an engine: what holds for its tools, whoever uses them",
    "scope_indexes": "of the service, which alone reads it: digests of large scopes",
}
"""The tables of engines whose rows belong to no scope, and what they belong to."""

_BOUND_TESTS = Path(__file__).parents[1] / "api" / "access"


def test_every_table_says_how_its_rows_belong_to_scopes() -> None:
    assert TENANT_TABLES - BINDINGS.keys() == UNSCOPED.keys()


def test_no_statement_for_bound_callers_escapes_their_conditions() -> None:
    escaping = {
        f"{sent.sender} reaches {', '.join(tables)}: {' '.join(sent.statement.split())}"
        for sent in for_bound
        if is_judged(sent.statement)
        and sent.sender not in WHOLE_ENGINE.keys() | OF_ONE_SCOPE.keys()
        and (tables := _escaping(sent))
    }
    assert not escaping, "\n".join(sorted(escaping))


def _escaping(sent: Sent) -> list[str]:
    found = unconfined(sent.statement, sent.values, sent.conditions)
    return [one for one in found if one != "memory_vectors" or sent.sender not in BY_DIGEST]


def test_nothing_is_inserted_into_scopes_of_others() -> None:
    assert not strayed, "\n".join(strayed)


def test_every_function_that_callers_reach_was_tried_for_bound_ones() -> None:
    if not whole_files().issuperset(_BOUND_TESTS.glob("test_conditions*.py")):
        pytest.skip("the tests of callers that are bound to scopes do not all run")
    reached = {
        sender for text, found in for_callers.items() if _is_of_scopes(text) for sender in found
    }
    tried = set(_tried())
    assert tried, "the recorder is not at work"
    untried = sorted(reached - tried - UNREACHED.keys())
    assert not untried, "\n".join(untried)
    assert not tried & UNREACHED.keys()


def _tried() -> Iterator[str]:
    """Yield the functions that sent a statement on a table of scopes for bound callers."""
    of_scopes = {text for text in {sent.statement for sent in for_bound} if _is_of_scopes(text)}
    yield from (sent.sender for sent in for_bound if sent.statement in of_scopes)


def _is_of_scopes(statement: str) -> bool:
    return is_judged(statement) and bool(conditioned_in(statement))


def test_nothing_else_is_sent_for_bound_callers_than_what_is_judged() -> None:
    """But for settings and limits of transactions, and the ping of a connection."""
    others = {sent.statement for sent in for_bound if not is_judged(sent.statement)}
    settings = {one for one in others if one.startswith("set local ")} | OF_CONNECTIONS
    assert others <= settings | {";", "begin", "commit", "rollback"}


@pytest.mark.parametrize("name", [*UNREACHED, *WHOLE_ENGINE, *OF_ONE_SCOPE, *sorted(BY_DIGEST)])
def test_the_list_names_what_exists(name: str) -> None:
    assert callable(resolve_name(name))
