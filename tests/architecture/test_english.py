"""Docstrings and descriptions say what a thing is or does, in their first line."""

import ast

from tests.architecture.code import modules

RIDDLES = set(
    "What That How Which Whether Whose Who Where When Why Of Tell Say Let".split()  # noqa: SIM905
)
DESCRIBING = {"description", "help"}
"""Arguments with descriptions of fields, parameters, settings and options."""
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


def descriptions() -> dict[str, str]:
    """Return the text of each description, of one with values its beginning, by its place."""
    found = {}
    for code in modules():
        for node in code.walk():
            if not (isinstance(node, ast.keyword) and node.arg in DESCRIBING):
                continue
            value = node.value.values[0] if isinstance(node.value, ast.JoinedStr) else node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                found[f"{code.name}:{value.lineno}:{node.arg}"] = value.value
    return found


def test_docstrings_and_descriptions_open_with_a_verb_or_a_noun() -> None:
    assert {
        place: line
        for place, line in (first_lines() | descriptions()).items()
        if line.split(maxsplit=1)[0].strip(",.:;") in RIDDLES
    } == {}


def test_first_lines_are_short() -> None:
    assert {
        place: line for place, line in first_lines().items() if len(line.split()) > MOST_WORDS
    } == {}
