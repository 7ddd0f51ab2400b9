"""Docstrings say what a thing is or does, in their first line."""

import ast

from tests.architecture.code import modules

RIDDLES = {"What", "That", "How", "Which", "Whether", "Whose", "Who", "Tell", "Say", "Let"}
MOST_WORDS = 25


def first_lines() -> dict[str, str]:
    """Return the first line of each docstring, attributes' included, by its place."""
    found = {}
    for code in modules():
        for node in code.walk():
            text: str | None = None
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                text = node.value.value if isinstance(node.value.value, str) else None
            if text:
                found[f"{code.name}:{getattr(node, 'lineno', 1)}"] = text.strip().splitlines()[0]
    return found


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    assert {
        place: line
        for place, line in first_lines().items()
        if line.split(maxsplit=1)[0].strip(",.:;") in RIDDLES
    } == {}


def test_first_lines_are_short() -> None:
    assert {
        place: line for place, line in first_lines().items() if len(line.split()) > MOST_WORDS
    } == {}
