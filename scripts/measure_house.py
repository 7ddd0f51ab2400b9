"""Print how the code is built: sizes, names and imports, beside the budget.

Usage: `make measure`. The budget is `tests/architecture/budget.toml`; whoever needs more raises its
line in the same change, so that a reviewer sees it.
"""

import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import grimp

from app.settings.settings import Settings
from scripts.house_shapes import lines_by_area, shapes

_ROOT = Path(__file__).parents[1]
_APP = _ROOT / "app"
_RIDDLES = {"What", "That", "How", "Which", "Whether", "Whose", "Tell", "Say"}
_VAGUE = {"one", "found"}
_MANY_FEATURES = 8
_MANY_OPERATIONS = 10
_BUDGET = _ROOT / "tests" / "architecture" / "budget.toml"
_ROSTER = "app.process.features"
_STORE = re.compile(r"\bstore\b|/adapters/|/db/|/postgres/")


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(_APP.rglob("*.py"))}


def _nodes() -> Iterator[ast.AST]:
    for tree in _trees().values():
        yield from ast.walk(tree)


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph("app")


def _entries() -> list[str]:
    return [
        path.name
        for path in _APP.iterdir()
        if path.name not in {"__init__.py", "__pycache__", "py.typed"}
        and not path.name.startswith(".")
    ]


def _edges() -> int:
    """Count the ordered pairs of top entries of which one imports the other."""
    pairs = set()
    for module in _graph().modules:
        for other in _graph().find_modules_directly_imported_by(module):
            pair = _top(module), _top(other)
            if pair[0] != pair[1] and "" not in pair:
                pairs.add(pair)
    return len(pairs)


def _top(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _features() -> dict[str, str]:
    """Return the packages that have routes or a service, by the name of their folder."""
    return {
        ".".join(path.parent.relative_to(_ROOT).parts): path.parent.name
        for path in _trees()
        if path.name in {"routes.py", "service.py", "feature.py"} and path.parent != _APP
    }


def _hubs() -> list[str]:
    """Return the modules that import many features, or name many operations outside of one."""
    features = _features()
    found = set()
    for module in _graph().modules:
        imported = {
            package
            for other in _graph().find_modules_directly_imported_by(module)
            for package in features
            if f"{other}.".startswith(f"{package}.") and not f"{module}.".startswith(f"{package}.")
        }
        if len(imported) >= _MANY_FEATURES:
            found.add(module)
    operations = _operations()
    for path, tree in _trees().items():
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        module = ".".join(path.relative_to(_ROOT).with_suffix("").parts)
        is_in_feature = any(module.startswith(f"{package}.") for package in features)
        if not is_in_feature and len(operations & texts) >= _MANY_OPERATIONS:
            found.add(module)
    return sorted(found)


def _operations() -> set[object]:
    document = json.loads((_ROOT / "openapi" / "openapi.json").read_text())
    return {
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
        if "operationId" in operation
    }


def _contract_names() -> int:
    """Return how many names the import contracts hold."""
    text = (_ROOT / "pyproject.toml").read_text()
    part = text[text.index("[tool.importlinter]") :]
    following = re.search(r"^\[tool\.(?!importlinter)", part, re.MULTILINE)
    part = part[: following.start()] if following else part
    contracts = tomllib.loads(part)["tool"]["importlinter"]["contracts"]
    names = [
        name
        for contract in contracts
        for key, value in contract.items()
        if key not in {"id", "name", "type"} and isinstance(value, list)
        for item in value
        for name in re.split(r"[|:]", item)
    ]
    return len(names)


def _column(name: str) -> str:
    counts = [
        len(re.findall(rf"\b{name}\b", path.read_text()))
        for path in _trees()
        if {"memories", "revisions"} & set(path.parts)
    ]
    return f"{sum(count > 0 for count in counts)} / {sum(counts)}"


def _repeated_classes() -> int:
    names = Counter(node.name for node in _nodes() if isinstance(node, ast.ClassDef))
    return sum(count > 1 for count in names.values())


def _riddles() -> str:
    opened = [
        text.split(maxsplit=1)[0]
        for node in _nodes()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node))
    ]
    return f"{100 * sum(word in _RIDDLES for word in opened) / len(opened):.1f} %"


def _vague() -> int:
    """Count the functions' variables that have a vague name, each once in its function."""
    count = 0
    for node in _nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stored = {
                name.id
                for name in ast.walk(node)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }
            count += len(stored & _VAGUE)
    return count


def _sql_outside() -> int:
    return sum(
        bool(re.search(r"^(?:from|import) sqlalchemy", path.read_text(), re.MULTILINE))
        for path in _trees()
        if not _STORE.search(path.relative_to(_ROOT).as_posix()) and path.parent != _APP
    )


def _sizes() -> str:
    lines = [path.read_text().count("\n") for path in _trees()]
    return f"{sum(lines):,} / {len(lines)}"


MEASURES: dict[str, tuple[Callable[[], object], str]] = {
    "import edges between them": (_edges, "40"),
    "files / times that name display_name": (lambda: _column("display_name"), "3 / 6"),
    "docstrings that open with a riddle": (_riddles, "3 %"),
    "functions' variables called one or found": (_vague, "60"),
    "settings": (lambda: len(Settings.model_fields), "95"),
    "lines of the README": (lambda: (_ROOT / "README.md").read_text().count("\n"), "230"),
    "lines / files of app/": (_sizes, "80,600 / 490"),
}
"""Measures that are printed and not tested: how each is counted, and its target."""


@cache
def counted() -> dict[str, dict[str, int]]:
    """Return the figures that the budget limits, by its tables."""
    structure = {
        "entries_at_the_top": len(_entries()),
        "names_in_contracts": _contract_names(),
        "hubs_beside_the_roster": len(set(_hubs()) - {_ROSTER}),
        "repeated_class_names": _repeated_classes(),
        "modules_with_sql_outside_stores": _sql_outside(),
    }
    return {
        "structure": structure,
        "shapes": shapes(_ROOT, _trees()),
        "lines": lines_by_area(_ROOT, _trees()),
    }


def budget() -> dict[str, dict[str, int]]:
    """Return the limits of the figures in `counted`."""
    return tomllib.loads(_BUDGET.read_text())


def faults() -> list[str]:
    """Return the figures that are above their budget, or have none."""
    limits = budget()
    return [
        f"{table}.{name}: {count}, budget {limits.get(table, {}).get(name, 'none')}; simplify, or"
        f" raise {name} in tests/architecture/budget.toml"
        for table, figures in counted().items()
        for name, count in figures.items()
        if count > limits.get(table, {}).get(name, -1)
    ]


def main() -> None:
    """Print the figures, and name the hubs; exit with 1 if one is above its budget."""
    print(f"{'measure':<44}{'now':>14}{'target':>16}")
    for name, (count, most) in MEASURES.items():
        print(f"{name:<44}{count()!s:>14}{most:>16}")
    limits = budget()
    for table, figures in counted().items():
        print(f"\n{table:<44}{'now':>14}{'budget':>16}")
        for name, figure in figures.items():
            print(f"{name:<44}{figure:>14,}{limits[table][name]:>16,}")
    print("hubs:", ", ".join(_hubs()) or "none")
    if found := faults():
        sys.exit("; ".join(found))


if __name__ == "__main__":
    main()
