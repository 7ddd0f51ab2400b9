"""The service's own source, as trees."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Module:
    """A module of the service."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    def walk(self) -> Iterator[ast.AST]:
        return ast.walk(self.tree)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.walk():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node

    def aliases_of(self, module: str) -> set[str]:
        """Return the names by which this module knows another one."""
        package, _, last = module.rpartition(".")
        return {
            found.asname or found.name
            for node in self.walk()
            if isinstance(node, ast.ImportFrom) and node.module == package
            for found in node.names
            if found.name == last
        }

    def uses_of(self, module: str) -> set[str]:
        """Return the names of another module that this one uses."""
        aliases = self.aliases_of(module)
        return {
            node.attr
            for node in self.walk()
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in aliases
        } | {
            found.name
            for node in self.walk()
            if isinstance(node, ast.ImportFrom) and node.module == module
            for found in node.names
        }


@cache
def modules() -> tuple[Module, ...]:
    """Return every module of the service."""
    return tuple(_read(path) for path in sorted((ROOT / "app").rglob("*.py")))


def module(name: str) -> Module:
    return next(found for found in modules() if found.name == name)


def _read(path: Path) -> Module:
    parts = path.relative_to(ROOT).with_suffix("").parts
    text = path.read_text(encoding="utf-8")
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, text, ast.parse(text))
