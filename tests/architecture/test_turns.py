"""No loop of the service can turn without leaving the event loop to others.

A task that has ended answers whoever awaits it at once. So a loop around something that was stored
turns for ever where what is stored has ended and does not meet the loop's condition.
"""

import ast
from collections.abc import Iterator

from tests.architecture.code import Module, modules

SHIELDED = {
    (
        "app.platform.access.services.jwks",
        "current",
    ): "a reading that has ended is replaced; and it does not loop",
    ("app.platform.access.services.jwks", "search"): "the same",
    (
        "app.platform.access.services.lookups",
        "_look_up",
    ): "what is in `_asked` has no answer yet; and rounds count",
    ("app.platform.access.services.access", "settle"): "it does not loop",
    ("app.adapters.concurrency", "result"): "a task that has ended is replaced",
    ("app.adapters.postgres.embedded", "embedded_postgres"): "made here, and awaited once",
    ("app.artifacts.tasks.services.uploads", "_begun"): "made here, and awaited once",
}
LOOPS = {
    (
        "app.adapters.concurrency",
        "result",
    ): "what is under way has not ended: it is removed as it ends",
    (
        "app.adapters.db.standby",
        "watch",
    ): "a connection is opened each time, which takes turns, or a pause is made",
    ("app.adapters.db.standby", "_keep_asking"): "it pauses before each question",
    (
        "app.platform.limits.services.rates",
        "take",
    ): "`asyncio.wait` takes a turn in any case, and a rate is refused"
    " where the bucket has not been looked at anew",
    (
        "app.platform.operations.services.runner",
        "run_pending",
    ): "the task is made for what was claimed just now",
}
_WAITS = {"shield", "wait", "gather"}


def test_what_is_shielded_is_known() -> None:
    found = {
        (code.name, function.name)
        for code in modules()
        for function in code.functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "shield"
    }
    assert found == SHIELDED.keys()


def test_loops_around_what_was_stored_are_known() -> None:
    found = {(code.name, name) for code in modules() for name in _looping(code)}
    assert found == LOOPS.keys()


def _looping(code: Module) -> Iterator[str]:
    waiting = _waiting(code)
    for function in code.functions():
        if any(_waits_for_stored(loop, waiting) for loop in _loops(function)):
            yield function.name


def _loops(function: ast.AST) -> Iterator[ast.While]:
    return (node for node in ast.walk(function) if isinstance(node, ast.While))


def _waiting(code: Module) -> set[str]:
    """Return the functions of a module that await something stored, or one another that does."""
    found: set[str] = set()
    while (
        grown := {
            function.name for function in code.functions() if _waits_for_stored(function, found)
        }
        - found
    ):
        found |= grown
    return found


def _waits_for_stored(node: ast.AST, waiting: set[str]) -> bool:
    return any(
        _is_stored(one.value, waiting) for one in ast.walk(node) if isinstance(one, ast.Await)
    )


def _is_stored(awaited: ast.expr, waiting: set[str]) -> bool:
    """Say whether what is awaited may have ended before: it was not made by this call."""
    if not isinstance(awaited, ast.Call):
        return True
    called = awaited.func
    if isinstance(called, ast.Attribute):
        of = called.value.id if isinstance(called.value, ast.Name) else ""
        names = {"asyncio": _WAITS, "self": waiting}.get(of, set())
        return called.attr in names | {"result"}
    return isinstance(called, ast.Name) and called.id in waiting


def test_the_rule_finds_what_it_is_for() -> None:
    tree = ast.parse(
        "class Lookups:\n"
        "    async def find(self):\n"
        "        while self.is_old:\n"
        "            await self.confirm()\n"
        "    async def confirm(self):\n"
        "        await self.confirming.result()\n"
        "    async def read(self):\n"
        "        while page := await self.page():\n"
        "            pass\n"
        "    async def page(self):\n"
        "        return await self.session.execute()\n"
    )
    [lookups] = tree.body
    assert isinstance(lookups, ast.ClassDef)
    find, _, read, _ = lookups.body
    assert _waits_for_stored(next(_loops(find)), {"confirm"})
    assert not _waits_for_stored(next(_loops(read)), {"confirm"})
