"""The import contracts hold, and leave out no part of the service."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.architecture.code import ROOT, modules


def contract(name: str) -> dict[str, Any]:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return next(found for found in options["contracts"] if found["id"] == name)


def layers(name: str) -> list[str]:
    """Return every name of a layered contract, from the top down."""
    return [part.strip(" ()") for layer in contract(name)["layers"] for part in layer.split("|")]


def test_the_contracts_hold() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    command = [str(program), "--no-cache"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_folder_and_module_has_its_place() -> None:
    here = {code.name.split(".")[1] for code in modules() if "." in code.name}
    assert set(layers("map")) == here
    assert contract("map")["exhaustive"]
    assert contract("slice")["exhaustive"]


def test_every_feature_is_layered_inside() -> None:
    """The features are what lies above the web; no other folder has routes or tables."""
    order = layers("map")
    folders = {path.name for path in (ROOT / "app").iterdir() if path.is_dir()}
    features = {name for name in order[: order.index("web")] if name in folders}
    assert {f"app.{name}" for name in features} == set(contract("slice")["containers"])
    assert features >= {code.name.split(".")[1] for code in modules() if ".tables" in code.name}


def test_no_import_is_excused() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert not [one["id"] for one in options["contracts"] if one.get("ignore_imports")]


def test_each_contract_names_modules_that_exist() -> None:
    """A name that is mistyped would guard nothing."""
    known = {code.name for code in modules()}
    for one in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]:
        for key in ("source_modules", "protected_modules", "allowed_importers", "containers"):
            named = {
                name for name in one.get(key, []) if name.startswith("app") and "*" not in name
            }
            assert named <= known, (one["id"], named - known)
