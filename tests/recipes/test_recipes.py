"""Recipes whose frameworks the tests have anyway; `make test-recipes` runs the others, too."""

from collections.abc import Iterator

import pytest

from tests.packaging.checkout import scratch_folder
from tests.recipes.recipes import FOLDER, RECIPES, Recipe, run
from tests.support.live import LiveServer, live_server
from tests.support.model_server import ModelServer

_MOST_LINES = 60
_HERE = [recipe for recipe in RECIPES if not recipe.is_apart]


@pytest.fixture(scope="module")
def service() -> Iterator[LiveServer]:
    with scratch_folder() as folder, live_server(folder) as running:
        yield running


@pytest.mark.parametrize("recipe", _HERE, ids=lambda recipe: recipe.name)
def test_a_recipe_prints_what_it_promises(
    recipe: Recipe, service: LiveServer, server: ModelServer
) -> None:
    assert run(recipe, service, server) == recipe.promised


def test_every_recipe_is_listed_and_short() -> None:
    files = {path.stem: path.read_text() for path in FOLDER.glob("*.py")}
    assert files.keys() == {recipe.name for recipe in RECIPES}
    assert {name for name, text in files.items() if len(text.splitlines()) > _MOST_LINES} == set()
    assert {name for name, text in files.items() if "omb_" in text or "sk-" in text} == set()


def test_recipes_apart_have_locks() -> None:
    locks = {path.stem for path in (FOLDER / "requirements").glob("*.lock")}
    assert locks == {recipe.name for recipe in RECIPES if recipe.is_apart}
