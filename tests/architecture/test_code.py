"""Rules of the source that no linter knows. Source: architecture, sections 1 to 4 and 12."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.code import Module, module, modules

COMMITS = {
    "app.adapters.db.session": "the one place",
    "app.adapters.db.server": "each call of a hot statement, or of several, is a transaction",
    "app.adapters.db.migrate": "migrations run on a connection of their own",
}
ENVIRONMENT = {
    "app.settings.settings": "the one reader of values",
    "app.settings.environment": "the names of variables, to find misspelt ones",
}
DERIVED = {"MemoryRow", "MemoryVectorRow", "RevisionRow", "RevisionLabelRow"}
REPOSITORIES = (
    "app.memory.memories.store.repository",
    "app.memory.memories.store.erasure",
)
WRITING = {
    "insert",
    "insert_rows",
    "insert_free",
    "insert_made",
    "upsert",
    "update",
    "delete",
    "remove_found",
}
WRITERS = {
    **dict.fromkeys(REPOSITORIES, "called by the ledger alone"),
    "app.memory.retention.store": "the sweep that removes revisions past their time",
}


def test_transactions_end_in_one_place() -> None:
    """A function that takes a session takes part in its caller's transaction."""
    ending = {code.name for code in modules() if methods_called(code) & {"commit", "rollback"}}
    assert ending <= COMMITS.keys()


def methods_called(code: Module, on: str | None = None) -> set[str]:
    """Return the methods that a module calls, on anything or on one name."""
    return {
        node.func.attr
        for node in code.walk()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (on is None or (isinstance(node.func.value, ast.Name) and node.func.value.id == on))
    }


def test_the_environment_is_read_in_one_place() -> None:
    names = {"environ", "environb", "getenv", "getenvb"}
    reading = {
        code.name
        for code in modules()
        for node in code.walk()
        if (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and names & {found.name for found in node.names})
        or (isinstance(node, ast.Name) and node.id == "BaseSettings")
    }
    assert reading == ENVIRONMENT.keys()


def test_no_row_is_written_by_changing_an_object() -> None:
    """Every write is a statement in a repository, so that all of them can be found."""
    ways = {"add", "add_all", "merge", "delete", "bulk_save_objects", "bulk_insert_mappings"}
    assert {code.name for code in modules() if methods_called(code, on="session") & ways} == set()


def statements_that_write(code: Module) -> Iterator[tuple[str, str]]:
    """Yield the function and the table of each insert, update and delete of a module."""
    for function in code.functions():
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in WRITING
                and node.args
                and isinstance(node.args[0], ast.Name)
            ):
                yield function.name, node.args[0].id


def test_memories_are_written_where_the_ledger_looks() -> None:
    writing = {
        code.name
        for code in modules()
        if {table for _, table in statements_that_write(code)} & DERIVED
    }
    assert writing == WRITERS.keys()


def writing_functions(repository: str) -> set[str]:
    """Return the functions of a repository that write, or that use one that does."""
    code = module(repository)
    writing = {function for function, _ in statements_that_write(code)}
    calls = {
        function.name: {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        for function in code.functions()
    }
    while grown := {name for name, used in calls.items() if used & writing} - writing:
        writing |= grown
    return writing


def test_the_writing_functions_are_found() -> None:
    assert writing_functions("app.memory.memories.store.erasure") >= {"erase", "blank_quotes"}
    found = writing_functions("app.memory.memories.store.repository")
    assert {"update_memories", "mark_deleted", "put_vectors", "append_revisions"} <= found
    assert not {"get", "find", "exists_any", "find_revision"} & found


@pytest.mark.parametrize("repository", REPOSITORIES)
def test_only_the_ledger_writes_memories(repository: str) -> None:
    writing = writing_functions(repository)
    using = {code.name: code.uses_of(repository) & writing for code in modules()}
    # What comes after the memories writes nothing but their vectors.
    later = using.pop("app.memory.memories.store.vectors")
    assert later <= {"put_vectors", "remove_vectors", "put_off", "end_wait"}
    # What the ledger calls to insert what an archive has.
    restored = using.pop("app.memory.memories.store.restoring")
    assert restored <= {"insert_memories", "append_revisions", "put_off"}
    assert {name for name, used in using.items() if used} == {"app.memory.memories.store.ledger"}


def test_only_a_restore_brings_revisions_from_elsewhere() -> None:
    """Everyone else has the ledger make the revision of a change that it makes."""
    inserting = {
        code.name for code in modules() if code.uses_of("app.memory.memories.store.restoring")
    }
    assert inserting == {"app.memory.memories.store.ledger"}
    restoring = {
        code.name
        for code in modules()
        if {"restore", "restore_more"} & code.uses_of("app.memory.memories.store.ledger")
    }
    assert restoring
    assert {name for name in restoring if not name.startswith("app.memory.transfer.")} == set()
