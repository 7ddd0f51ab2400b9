"""A key can be bound to every scope that a memory can have."""

from app.memory.memories.schemas import memories
from app.platform.access import schemas as keys
from app.platform.engines.logic import config as engines
from app.surfaces.tools import scopes as tools


def test_conditions_are_bounded_as_scopes_are() -> None:
    assert keys.MAX_CONDITION_KEYS == memories.MAX_SCOPE_PAIRS
    assert keys.MAX_SCOPE_KEY_CHARS == engines.MAX_SCOPE_KEY_CHARS
    assert keys.MAX_SCOPE_VALUE_CHARS == memories.MAX_SCOPE_VALUE_CHARS


def test_scopes_of_tools_are_bounded_as_those_of_memories() -> None:
    assert tools.MAX_PAIRS == memories.MAX_SCOPE_PAIRS
    assert tools.MAX_KEY_CHARS == engines.MAX_SCOPE_KEY_CHARS
    assert tools.MAX_VALUE_CHARS == memories.MAX_SCOPE_VALUE_CHARS
