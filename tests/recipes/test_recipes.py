"""Recipes whose frameworks the tests have anyway; `make test-recipes` runs the others, too."""

from collections.abc import Iterator

import pytest

from tests.recipes.recipes import FOLDER, RECIPES, Kitchen, Recipe, kitchen, run
from tests.support.model_server import ModelServer

_MOST_LINES, _MOST_LINES_OF_A_STORY = 60, 30
_HERE = [recipe for recipe in RECIPES if not recipe.is_apart]


@pytest.fixture(scope="module")
def serving(running_server: ModelServer) -> Iterator[Kitchen]:
    with kitchen(running_server) as running:
        yield running


@pytest.mark.parametrize("recipe", _HERE, ids=lambda recipe: recipe.name)
def test_a_recipe_prints_what_it_promises(recipe: Recipe, serving: Kitchen) -> None:
    assert run(recipe, serving) == recipe.promised


def test_every_recipe_is_listed_and_short() -> None:
    files = {path.stem: path.read_text() for path in FOLDER.glob("*.py")}
    assert files.keys() == {recipe.name for recipe in RECIPES}
    lines = {name: len(text.splitlines()) for name, text in files.items()}
    stories = {recipe.name for recipe in RECIPES if recipe.is_story}
    assert {name for name, count in lines.items() if count > _MOST_LINES} == set()
    assert {name for name in stories if lines[name] > _MOST_LINES_OF_A_STORY} == set()
    assert {name for name, text in files.items() if "omb_" in text or "sk-" in text} == set()


def test_recipes_apart_have_locks() -> None:
    locks = {path.stem for path in (FOLDER / "requirements").glob("*.lock")}
    assert locks == {recipe.name for recipe in RECIPES if recipe.is_apart}
