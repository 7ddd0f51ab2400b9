"""Tests replace public names only: what is private may change without them."""

import ast
from collections.abc import Iterator

from tests.architecture.code import ROOT


def _patched(tree: ast.AST) -> Iterator[str]:
    """Yield the names that calls of `monkeypatch.setattr` and `delattr` replace."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func) in {"monkeypatch.setattr", "monkeypatch.delattr"}
        ):
            named = node.args[:1] if isinstance(node.args[0], ast.Constant) else node.args[:2]
            yield ".".join(ast.unparse(part).strip("\"'") for part in named)


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))


def test_what_is_private_is_found() -> None:
    for call in (
        'setattr("app.web.body._X", 1)',
        'setattr(jobs, "_X", 1)',
        'delattr(a._b, "c")',
    ):
        assert any(map(_is_private, _patched(ast.parse(f"monkeypatch.{call}")))), call
    assert not any(map(_is_private, _patched(ast.parse('monkeypatch.setattr(jobs, "X", _x)'))))


def test_no_test_patches_a_private_name() -> None:
    patching = {
        (path.name, name)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for name in _patched(ast.parse(path.read_text(encoding="utf-8")))
        if _is_private(name)
    }
    assert patching == set()
