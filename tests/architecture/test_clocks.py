"""What deletes for good, or reads an end, takes its time from the database, never the process."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.code import Module, module, modules

_Function = ast.FunctionDef | ast.AsyncFunctionDef

ASKING = {"database_time", "database_now", "clock_timestamp", "statement_timestamp"}
"""What gives the time of the database."""
FOLLOWING = {
    "app.platform.access.services.access._expiry": "keys that are made to expire must do so later",
    "app.conversation.contexts.services.contexts.begins_by": "whether a context waits",
    "app.memory.ingestion.store.repository.list_due": "events whose turn has come again",
    "app.memory.ingestion.service._is_settled": "whether an operation is put off",
    "app.process.commands.keys._state": "the table of keys that a person reads",
    "app.memory.memories.logic.policy.end": "memories that are written must end later",
    "app.platform.operations.store.queue.queue_at": "the metrics of the queue",
    "app.platform.sessions.services.sessions._expiry": "sessions that are made must end later",
    "app.artifacts.tasks.services.namespace_writes.uncount": "two ends with each other",
    "app.memory.undo.logic.restored": "what an undo would bring back",
}
"""Where an end is compared with the process's clock, which only follows the database, and why."""
TOLD = {
    "app.platform.operations.store.idempotency.begin": "until when what it inserts is kept",
}
"""What deletes and is told a moment all the same, and for what else."""
SWEEPING = (
    "app.artifacts.tasks.services.removals",
    "app.memory.retention.store",
)
"""What removes and has no use for another clock than the database's."""


def _functions() -> Iterator[tuple[str, _Function]]:
    for code in modules():
        for function in code.functions():
            yield f"{code.name}.{function.name}", function


def _compares_an_end(function: _Function) -> bool:
    """Say whether a function asks if an end lies before a moment."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            match node.ops[0]:
                case ast.Lt() | ast.LtE() if _is_end(node.left):
                    return True
                case ast.Gt() | ast.GtE() if _is_end(node.comparators[0]):
                    return True
    return False


def _is_end(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr.endswith(("_time", "_until"))


def _called(function: _Function) -> set[str]:
    called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    methods = {one.attr for one in called if isinstance(one, ast.Attribute)}
    return methods | {one.id for one in called if isinstance(one, ast.Name)}


def _given(function: _Function) -> list[str]:
    """Return the types of a function's parameters."""
    return [ast.unparse(one.annotation) for one in function.args.args if one.annotation]


def _asks_the_database(function: _Function) -> bool:
    return bool(_called(function) & ASKING) or "DatabaseTime" in _given(function)


def test_an_end_is_read_by_the_clock_of_the_database() -> None:
    found = {
        name
        for name, function in _functions()
        if _compares_an_end(function) and not _asks_the_database(function)
    }
    assert found == FOLLOWING.keys()


def test_no_statement_that_deletes_is_told_a_moment() -> None:
    """It asks in its own transaction, so that nobody can tell it that of another clock."""
    found = {
        name
        for name, function in _functions()
        if "delete" in {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        and any("datetime" in given for given in _given(function))
    }
    assert found == TOLD.keys()


@pytest.mark.parametrize("name", SWEEPING)
def test_what_sweeps_knows_no_other_clock(name: str) -> None:
    assert not _attributes(module(name)) & {"clock"}


def _attributes(code: Module) -> set[str]:
    return {node.attr for node in code.walk() if isinstance(node, ast.Attribute)}
