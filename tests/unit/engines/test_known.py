"""The engines that a process knows: bounded by their number and by their configurations."""

import pytest

from app.kernel.names import WILDCARD, EngineName
from app.platform.engines.services import known
from app.platform.engines.services.known import KnownEngines
from app.platform.engines.store.tables import EngineRow

LARGE = known._LARGEST - 1_000


def engine(engine_id: int, chars: int = 0, version: int = 1) -> EngineRow:
    """Return an engine with so many characters deep in its configuration."""
    config = {"customizationConfigs": [{"memoryTopics": [{"description": "x" * chars}]}]}
    return EngineRow(
        engine_id=engine_id,
        project="default",
        location="local",
        labels={},
        bank_config=config,
        version=version,
    )


def ids(engines: KnownEngines, count: int) -> list[int]:
    names = [EngineName(WILDCARD, WILDCARD, number) for number in range(count)]
    return [name.engine for name in names if engines.find(name) is not None]


def test_the_last_so_many_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_MAX_KNOWN", 3)
    engines = KnownEngines()
    for number in (0, 1, 2, 0, 3):
        engines.note(engine(number))
    assert ids(engines, 5) == [0, 2, 3]


def test_of_large_ones_the_last_so_many_characters_are_known() -> None:
    engines, most = KnownEngines(), known._MAX_WEIGHT // known._LARGEST
    for number in range(most + 10):
        engines.note(engine(number, LARGE))
    assert ids(engines, most + 10) == list(range(10, most + 10))


def test_what_is_noted_again_counts_once() -> None:
    engines, most = KnownEngines(), known._MAX_WEIGHT // known._LARGEST
    engines.note(engine(0))
    for version in range(most + 10):
        engines.note(engine(1, LARGE, version))
        engines.note(engine(1, LARGE, version))
    assert ids(engines, 2) == [0, 1]


def test_one_that_is_too_large_is_not_known() -> None:
    engines = KnownEngines()
    engines.note(engine(0))
    engines.note(engine(1))
    engines.note(engine(1, known._LARGEST + 1, version=2))
    assert ids(engines, 2) == [0]
