"""A test that fails if it takes too long runs while nothing else does: other work fails it too."""

import ast
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MARK = "pytest.mark.alone"
_CLOCKS = {"monotonic", "perf_counter"}
_APART = {"browser", "citus", "recipes", "soak", "support"}
"""Folders with runs of their own, and the helpers."""


def _is_span(node: ast.AST, spans: set[str]) -> bool:
    """Tell whether a node is the time since a reading of a clock, or a name of such a time."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        clock = node.left.func if isinstance(node.left, ast.Call) else node.left
        return ast.unparse(clock).rpartition(".")[2] in _CLOCKS
    return isinstance(node, ast.Name) and node.id in spans


def _bounds(function: ast.AST) -> bool:
    """Tell whether a function asserts that a time is below a bound."""
    nodes = list(ast.walk(function))
    spans = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_span(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    asserts = (node.test for node in nodes if isinstance(node, ast.Assert))
    compared = (
        node for test in asserts for node in ast.walk(test) if isinstance(node, ast.Compare)
    )
    for node in compared:
        sides = [node.left, *node.comparators]
        for (less, more), operator in zip(pairwise(sides), node.ops, strict=True):
            is_below = isinstance(operator, ast.Lt | ast.LtE) and _is_span(less, spans)
            if is_below or (isinstance(operator, ast.Gt | ast.GtE) and _is_span(more, spans)):
                return True
    return False


def _is_marked(marks: Iterable[ast.expr]) -> bool:
    return any(_MARK in ast.unparse(mark) for mark in marks)


def _faults(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    if _is_marked(node.value for node in tree.body if isinstance(node, ast.Assign)):
        return
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    unmarked = [node.body for node in classes if not _is_marked(node.decorator_list)]
    for node in chain(tree.body, *unmarked):
        if not isinstance(node, _FUNCTIONS) or not node.name.startswith("test_"):
            continue
        if not _is_marked(node.decorator_list) and _bounds(node):
            yield node.name


def test_tests_with_a_bound_on_time_run_alone() -> None:
    files = [
        path
        for path in _TESTS.rglob("test_*.py")
        if path.relative_to(_TESTS).parts[0] not in _APART
    ]
    assert {str(path): list(_faults(path.read_text())) for path in files} == {
        str(path): [] for path in files
    }


@pytest.mark.parametrize(
    ("line", "is_fault"),
    [
        ("assert time.monotonic() - began < 1", True),
        ("assert 0.3 <= monotonic() - began < 1.2", True),
        ("took = perf_counter() - began\n    assert took <= 1", True),
        ("assert done and 1 > monotonic() - began", True),
        ("assert monotonic() - began >= 1", False),
        ("assert time.monotonic() < deadline", False),
    ],
)
def test_a_bound_on_time_is_recognised(line: str, *, is_fault: bool) -> None:
    source = f"def test_it():\n    {line}\n"
    assert list(_faults(source)) == ["test_it"] * is_fault
    assert list(_faults(f"@pytest.mark.alone\n{source}")) == []
    assert list(_faults(f"pytestmark = [pytest.mark.alone]\n{source}")) == []
    inner = source.replace("\n    ", "\n        ").replace("def", "    def")
    assert list(_faults(f"class TestIt:\n{inner}")) == ["test_it"] * is_fault
    assert list(_faults(f"@pytest.mark.alone\nclass TestIt:\n{inner}")) == []
