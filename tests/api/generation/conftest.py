"""A model with a script, for the tests that give it to the bank."""

import pytest

from tests.support.scripted_models import Reply, ScriptedTextModel


@pytest.fixture
def script() -> list[Reply]:
    """What the model replies, in order; empty until the test fills it."""
    return []


@pytest.fixture
def model(script: list[Reply]) -> ScriptedTextModel:
    """A model that follows the script."""
    return ScriptedTextModel(script)
