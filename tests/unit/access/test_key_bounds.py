"""A key can be bound to every scope that a memory can have."""

from app.memory.memories.schemas import memories
from app.platform.access import schemas as keys
from app.platform.engines.logic import config as engines


def test_conditions_are_bounded_as_scopes_are() -> None:
    assert keys.MAX_CONDITION_KEYS == memories.MAX_SCOPE_PAIRS
    assert keys.MAX_SCOPE_KEY_CHARS == engines.MAX_SCOPE_KEY_CHARS
    assert keys.MAX_SCOPE_VALUE_CHARS == memories.MAX_SCOPE_VALUE_CHARS
