"""Run all recipes, and print a row for each: its framework's version, seconds, result.

Usage: `make test-recipes [ARGS=NAME]`; a recipe without an environment is skipped by name.
"""

import subprocess
import sys
import time
from pathlib import Path

from tests.recipes.recipes import RECIPES, Kitchen, Recipe, kitchen, printed, run
from tests.support.model_server import model_server

_BESIDE = Path(__file__).with_name("beside_in_memory.py")
_WIDTH = 24


def main(names: list[str]) -> int:
    """Run the recipes that are named, or all; return the exit status."""
    wanted = [recipe for recipe in RECIPES if not names or recipe.name in names]
    if not wanted:
        print(f"No such recipe; there are: {', '.join(recipe.name for recipe in RECIPES)}.")
        return 2
    print(f"{'recipe':{_WIDTH}} {'framework':{_WIDTH}} seconds  result")
    with model_server() as model, kitchen(model) as serving:
        results = [_row(recipe, serving) for recipe in wanted]
    return 0 if all(results) else 1


def _row(recipe: Recipe, serving: Kitchen) -> bool:
    begin = time.monotonic()
    version, result, is_good = "", "skipped: it has no environment for this Python", True
    if recipe.python.exists():
        version = _version(recipe)
        try:
            last = run(recipe, serving)
            is_good = last == recipe.promised
            result = "passed" if is_good else f"printed {last!r}, not {recipe.promised!r}"
            if recipe.name == "langgraph_store":
                result += f"; {printed(recipe, _BESIDE, serving).strip()}"
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            is_good, result = False, f"failed: {failure}"
    seconds = time.monotonic() - begin
    print(f"{recipe.name:{_WIDTH}} {version:{_WIDTH}} {seconds:7.1f}  {result}", flush=True)
    return is_good


def _version(recipe: Recipe) -> str:
    program = f"from importlib.metadata import version; print(version({recipe.package!r}))"
    command = [str(recipe.python), "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return f"{recipe.package} {ended.stdout.strip()}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
