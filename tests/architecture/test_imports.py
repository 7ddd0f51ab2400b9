"""The import contracts hold, guard what they name, and are joined by what they cannot see."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import grimp

from tests.architecture.code import ROOT, modules

AREAS = ("conversation", "artifacts", "memory", "platform")
"""Those that hold features."""
NOBODY_ELSES = {"feature", "routes", "jobs"}
MAY_USE = {
    "store": {"store", "logic"},
    "logic": {"logic"},
    "schemas": {"schemas", "store", "logic"},
}
"""What roles may import of other features; the others may import all but `NOBODY_ELSES`."""


def contracts() -> list[dict[str, Any]]:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    found: list[dict[str, Any]] = options["contracts"]
    return found


@cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("app")


def role_of(module: str) -> tuple[str, str] | None:
    """Return the feature and the role of a module, if it has one."""
    parts = module.split(".")
    return (".".join(parts[:3]), parts[3]) if len(parts) > 3 and parts[1] in AREAS else None


def imports_between_features() -> Iterator[tuple[str, str, str, str]]:
    """Yield importing and imported modules of different features, each with its role."""
    for module in sorted(graph().modules):
        mine = role_of(module)
        for other in sorted(graph().find_modules_directly_imported_by(module)):
            theirs = role_of(other)
            if mine is not None and theirs is not None and mine[0] != theirs[0]:
                yield module, mine[1], other, theirs[1]


def test_the_contracts_hold() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    command = [str(program), "--no-cache"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_import_is_excused() -> None:
    assert not [contract["id"] for contract in contracts() if contract.get("ignore_imports")]


def test_each_contract_guards_something() -> None:
    """A name that is mistyped, or a wildcard that matches next to nothing, would guard nothing."""
    known = {code.name for code in modules()}
    for contract in contracts():
        for key in ("source_modules", "protected_modules", "allowed_importers", "containers"):
            for name in contract.get(key, []):
                if not name.startswith("app"):
                    continue
                pattern = re.escape(name).replace(r"\*\*", ".+").replace(r"\*", r"[^.]+")
                matching = [module for module in known if re.fullmatch(pattern, module)]
                assert len(matching) >= (2 if "*" in name else 1), (contract["id"], name)


def test_nobody_imports_the_door_of_another_feature() -> None:
    found = [
        (module, other)
        for module, _, other, role in imports_between_features()
        if role in NOBODY_ELSES
    ]
    assert found == []


def test_lower_roles_import_no_higher_ones_of_other_features() -> None:
    """No contract of layers sees imports between features."""
    found = [
        (module, other)
        for module, mine, other, theirs in imports_between_features()
        if theirs not in MAY_USE.get(mine, {theirs})
    ]
    assert found == []


def test_the_areas_are_all_that_is_at_the_top() -> None:
    others = {"__init__.py", "__pycache__", "py.typed"}
    entries = {path.name for path in (ROOT / "app").iterdir()} - others
    named = next(contract for contract in contracts() if contract["id"] == "map")["layers"]
    assert entries == {name for layer in named for name in layer.split(" | ")}
