"""Records every SQL statement that the suite sends, where it leaves: at the driver.

`pytest_plugins` in `tests/conftest.py` names this module, so it is on for every run.
`tests/architecture/test_statements.py` and `test_conditions.py` judge what was recorded, after all
other tests. No process of a parallel run sees all statements: with `--statements=FOLDER` each
leaves its own there, and a later run of the judges alone, with the same folder, reads them.
"""

import os
import pickle
import re
import sys
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Json, Jsonb

from app.kernel.auth import Conditions
from app.kernel.guard import open_transaction
from app.web.routing import AdmittedRoute
from tests.architecture.inserts import strays

_ROOT = Path(__file__).parents[2]
_APP = f"{_ROOT / 'app'}{os.sep}"
_TESTS = f"{_ROOT / 'tests'}{os.sep}"
_CURSORS: tuple[type[Any], ...] = (
    psycopg.AsyncCursor,
    psycopg.AsyncServerCursor,
    psycopg.Cursor,
    psycopg.ServerCursor,
)
_LAST = (
    Path(__file__).with_name("test_statements.py"),
    Path(__file__).with_name("test_conditions.py"),
)
_MESSENGERS = {
    "app.adapters.db.bulk",
    "app.adapters.db.server",
    "app.adapters.db.lists",
    "app.adapters.db.spread",
}
_PASSES_ON = {
    "app.adapters.db.session.Database.run",
    "app.adapters.db.session.Database.run_together",
    "app.adapters.db.standby.Standby.read",
}
_HANDLER = f"{AdmittedRoute.get_route_handler.__qualname__}.<locals>.handle_admitted"
_BEGUN = ".begun"
_NUMBER = re.compile(r"\$(\d+)")
_INSERTS = re.compile(r"\binsert\s+into\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sent:
    """A statement that was sent for a caller who is bound to conditions."""

    statement: str
    values: Mapping[str, Any]
    sender: str
    conditions: Conditions


recorded: dict[str, set[str]] = {}
"""The distinct statements, each with the functions of the service that sent it."""
for_engines: dict[str, set[str]] = {}
"""Of these, those that a request for an engine waited for, each with the methods."""
for_callers: dict[str, set[str]] = {}
"""Of these, those that were sent for callers who are bound to nothing."""
for_bound: list[Sent] = []
"""What was sent for callers who are bound to conditions."""
strayed: list[str] = []
"""What such callers have put into scopes that are not theirs: by whom, and into which tables."""
collected: set[tuple[Path, str]] = set()
"""The tests that run, each with its file."""
deselected: set[tuple[Path, str]] = set()
"""The tests that a run leaves out; another run may collect them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the folder for statements."""
    parser.addoption(
        "--statements",
        type=Path,
        metavar="FOLDER",
        help="judge what was left here",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Put a recorder before each method of the driver that takes a statement."""
    folder = config.getoption("statements")
    if folder and _is_parallel(config):
        _begun(folder).touch()
    for file in folder.iterdir() if folder and not _is_parallel(config) else ():
        assert file.suffix != _BEGUN, "a process of the run has left no statements"
        _add(pickle.loads(file.read_bytes()))  # written by this module
    for cursor in _CURSORS:
        for name in ("execute", "executemany", "stream", "copy"):
            if name in vars(cursor):
                _wrap(cursor, name)


@pytest.hookimpl(trylast=True)  # after `-m` and `-k` have left tests out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Judge when everything else has run; in a parallel run not at all."""
    collected.update((item.path, item.nodeid) for item in items)
    if _is_parallel(config):
        items[:] = [item for item in items if item.path not in _LAST]
    items.sort(key=lambda item: item.path in _LAST)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave what a process of a parallel run has recorded."""
    folder = session.config.getoption("statements")
    if folder and _is_parallel(session.config):
        own = (recorded, for_engines, for_callers, for_bound, strayed, collected, deselected)
        _begun(folder).write_bytes(pickle.dumps(own))
        _begun(folder).rename(_begun(folder).with_suffix(""))


def _begun(folder: Path) -> Path:
    """Return the file of this process, which has this name until its statements are in it."""
    return folder / f"{os.getpid()}{_BEGUN}"


def _is_parallel(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput") or bool(config.getoption("numprocesses", 0))


def _add(records: tuple[Any, ...]) -> None:
    """Add what another process has recorded."""
    by_statement, others = records[:3], records[3:]
    for known, more in zip((recorded, for_engines, for_callers), by_statement, strict=True):
        for statement, names in more.items():
            known.setdefault(statement, set()).update(names)
    for_bound.extend(others[0])
    strayed.extend(others[1])
    collected.update(others[2])
    deselected.update(others[3])


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Note which tests this run leaves out."""
    deselected.update((item.path, item.nodeid) for item in items)


def whole_files() -> set[Path]:
    """Return the files of which each test runs, in this run or another with the same folder."""
    return {path for path, _ in collected} - {path for path, _ in deselected - collected}


def _wrap(cursor: type[Any], name: str) -> None:
    original = getattr(cursor, name)

    # Not a coroutine function, so that the stack still holds who called.
    def recording(self: Any, query: object, *arguments: Any, **options: Any) -> object:
        text = _text(query)
        given = arguments[0] if arguments else None
        if isinstance(self, psycopg.AsyncRawCursor):
            text, given = _named(text, given or [])
        sender = _sender(sys._getframe(1))
        found = original(self, query, *arguments, **options)
        if sender is None:
            return found
        recorded.setdefault(text, set()).add(sender)
        if (method := _method(sys._getframe(1))) is not None:
            for_engines.setdefault(text, set()).add(method)
        sent = _note(text, sender, given if isinstance(given, list) else [given])
        return _inserting(found, self, sent) if sent and _INSERTS.search(text) else found

    setattr(cursor, name, recording)


def _named(text: str, values: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """Return a statement that numbers its values as one that names them, and the values by name."""
    named = _NUMBER.sub(r"%(p\1)s", text.replace("%", "%%"))
    return named, {f"p{number}": value for number, value in enumerate(values, 1)}


def _note(text: str, sender: str, given: list[Any]) -> list[Sent]:
    """Note for whom a statement was sent; return it, once for each set of its parameters."""
    transaction = open_transaction()
    if transaction is None or transaction.caller is None:
        return []
    if not transaction.conditions:
        for_callers.setdefault(text, set()).add(sender)
        return []
    found = [Sent(text, _plain(one or {}), sender, transaction.conditions) for one in given]
    for_bound.extend(found)
    return found


def _plain(values: Any) -> dict[str, Any]:
    assert isinstance(values, Mapping), "parameters have names"
    return {name: _unwrapped(value) for name, value in values.items()}


def _unwrapped(value: Any) -> Any:
    """Return the value that the driver is told how to send."""
    if isinstance(value, list):
        return [_unwrapped(one) for one in value]
    return value.obj if isinstance(value, Json | Jsonb) else value


async def _inserting(
    running: Awaitable[object], cursor: psycopg.AsyncCursor[Any], sent: list[Sent]
) -> object:
    """Insert, and look at once whose the new rows are."""

    async def find(statement: str, values: Mapping[str, Any]) -> Any:
        async with cursor.connection.cursor() as looking:
            await looking.execute(statement.encode(), values, prepare=False)
            return await looking.fetchone()

    done = await running
    for one in sent:
        tables = await strays(one.statement, one.values, one.conditions, find)
        strayed.extend(f"{one.sender} inserts into {table}" for table in tables)
    return done


def _text(query: object) -> str:
    if isinstance(query, sql.Composable):
        return query.as_string(None)
    return query.decode() if isinstance(query, bytes) else str(query)


def _sender(frame: FrameType | None) -> str | None:
    """Return `module.function` of the innermost function of ours, unless it is a test's.

    Where that sends what it is given, the function that gave it.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_TESTS):
            return None
        if file.startswith(_APP) and frame.f_globals["__name__"] not in _MESSENGERS:
            function = frame.f_code.co_qualname.partition(".<locals>")[0]
            found = f"{frame.f_globals['__name__']}.{function}"
            if found not in _PASSES_ON:
                return found
        frame = frame.f_back
    return None


def _method(frame: FrameType | None) -> str | None:
    """Return the method of the request for an engine that waits for what runs here, if one does."""
    while frame is not None:
        if frame.f_code.co_qualname == _HANDLER:
            request = frame.f_locals["request"]
            return str(frame.f_locals["method"]) if "engine" in request.path_params else None
        frame = frame.f_back
    return None
