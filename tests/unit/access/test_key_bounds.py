"""A key can be bound to every scope that a memory can have."""

from app.access import schemas as keys
from app.engines import config as engines
from app.memories import schemas as memories


def test_conditions_are_bounded_as_scopes_are() -> None:
    assert keys.MAX_CONDITION_KEYS == memories.MAX_SCOPE_PAIRS
    assert keys.MAX_SCOPE_KEY_CHARS == engines.MAX_SCOPE_KEY_CHARS
    assert keys.MAX_SCOPE_VALUE_CHARS == memories.MAX_SCOPE_VALUE_CHARS
