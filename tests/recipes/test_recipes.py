"""Recipes are short, listed, and have locks; `make test-recipes` runs them."""

from tests.recipes.recipes import FOLDER, RECIPES

_MOST_LINES = 60


def test_every_recipe_is_listed_and_short() -> None:
    files = {path.stem: path.read_text() for path in FOLDER.glob("*.py")}
    assert files.keys() == {recipe.name for recipe in RECIPES}
    assert {name for name, text in files.items() if len(text.splitlines()) > _MOST_LINES} == set()
    assert {name for name, text in files.items() if "omb_" in text or "sk-" in text} == set()


def test_recipes_apart_have_locks() -> None:
    locks = {path.stem for path in (FOLDER / "requirements").glob("*.lock")}
    assert locks == {recipe.name for recipe in RECIPES if recipe.is_apart}
