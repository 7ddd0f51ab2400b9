"""Counts of the shapes that `tests/architecture/budget.toml` limits, such as small files."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

_SMALL_FILE_LINES = 60
_SMALL_CLASS_FIELDS = 3
_ROLES = {
    "__init__",
    "feature",
    "routes",
    "schemas",
    "service",
    "jobs",
    "store",
    "logic",
    "tables",
    "repository",
}
"""Names of files that ARCHITECTURE.md gives a role, so that a small one is no fault."""
_OF_COLUMNS = {"select", "tuple_", "group_by", "order_by"}
"""SQLAlchemy's functions that take columns."""
_FRAME = {
    "app/platform/operations/services/mutation.py",
    "app/platform/operations/store/idempotency.py",
}

Trees = Mapping[Path, ast.Module]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def shapes(root: Path, trees: Trees) -> dict[str, int]:
    """Return the counts by the names that the budget uses.

    Args:
        root: the folder above `app/`.
        trees: the modules below it, by their paths.
    """
    lines = {path: path.read_text().count("\n") for path in trees}
    return {
        "small_modules_with_one_importer": len(list(_small_modules(root, trees, lines))),
        "one_method_classes": sum(_has_one_method(node) for node in _classes(trees)),
        "starred_local_tuples": sum(_starred(node) for node in _functions(trees)),
        "tuple_parameters": sum(_tuple_parameters(node) for node in _functions(trees)),
        "one_use_dataclasses": _one_use_dataclasses(trees),
        "definitions_of_list_page": sum(node.name == "list_page" for node in _functions(trees)),
        "idempotency_calls": _idempotency_calls(root, trees),
        "longest_file": max(lines.values()),
        "longest_function": max(
            (node.end_lineno or 0) - node.lineno + 1 for node in _functions(trees)
        ),
    }


def lines_by_area(root: Path, trees: Trees) -> dict[str, int]:
    """Return the lines of each folder of `app/`."""
    counts: Counter[str] = Counter()
    for path in trees:
        parts = path.relative_to(root).parts
        if len(parts) > 2:
            counts[parts[1]] += path.read_text().count("\n")
    return dict(sorted(counts.items()))


def _nodes(trees: Trees) -> Iterator[ast.AST]:
    for tree in trees.values():
        yield from ast.walk(tree)


def _functions(trees: Trees) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in _nodes(trees) if isinstance(node, _FUNCTIONS))


def _classes(trees: Trees) -> Iterator[ast.ClassDef]:
    return (node for node in _nodes(trees) if isinstance(node, ast.ClassDef))


def _small_modules(root: Path, trees: Trees, lines: Mapping[Path, int]) -> Iterator[Path]:
    """Yield the small modules without a role that one module alone imports."""
    names = {".".join(path.relative_to(root).with_suffix("").parts): path for path in trees}
    importers: defaultdict[Path, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported = {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
                for other in {names[module] for module in imported & names.keys()} - {path}:
                    importers[other].add(path)
    for path, sources in importers.items():
        if len(sources) == 1 and lines[path] < _SMALL_FILE_LINES and path.stem not in _ROLES:
            yield path


def _has_one_method(node: ast.ClassDef) -> bool:
    """Return True for a class with one method beside `__init__` that could be a function.

    Values (frozen dataclasses), subclasses and callables, such as ASGI middleware, do not count.
    """
    methods = [one.name for one in node.body if isinstance(one, _FUNCTIONS)]
    methods = [name for name in methods if name != "__init__"]
    is_value = any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)
    return len(methods) == 1 and methods != ["__call__"] and not (node.bases or is_value)


def _starred(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the local tuples that are starred into a call.

    Keys do not count: tuples of columns that a statement selects, compares and orders by.
    """
    made = {
        node.targets[0].id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and isinstance(node.targets[0], ast.Name)
    }
    return sum(
        isinstance(given, ast.Starred)
        and isinstance(given.value, ast.Name)
        and given.value.id in made
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and _called(node) not in _OF_COLUMNS
        for given in node.args
    )


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _tuple_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the parameters that are tuples of a fixed length."""
    given = [*function.args.args, *function.args.kwonlyargs]
    types = [ast.unparse(one.annotation) for one in given if one.annotation is not None]
    return sum(text.startswith("tuple[") and "..." not in text for text in types)


def _one_use_dataclasses(trees: Trees) -> int:
    """Count the dataclasses of few fields, without a method, that are built in one place."""
    called = Counter(_called(node) for node in _nodes(trees) if isinstance(node, ast.Call))
    return sum(
        any("dataclass" in ast.unparse(one) for one in node.decorator_list)
        and sum(isinstance(one, ast.AnnAssign) for one in node.body) <= _SMALL_CLASS_FIELDS
        and not any(isinstance(one, _FUNCTIONS) for one in node.body)
        and called[node.name] == 1
        for node in _classes(trees)
    )


def _idempotency_calls(root: Path, trees: Trees) -> int:
    """Count the calls of `idempotency.*` outside its own module and the frame."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "idempotency"
        for path, tree in trees.items()
        if path.relative_to(root).as_posix() not in _FRAME
        for node in ast.walk(tree)
    )
