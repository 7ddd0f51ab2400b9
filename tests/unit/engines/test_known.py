"""The engines that a process knows: bounded by their number and by their configurations."""

import pytest
from sqlalchemy.orm import Session

from app.kernel.names import WILDCARD, EngineName
from app.platform.engines.services import engine_cache
from app.platform.engines.services.engine_cache import EngineCache
from app.platform.engines.store.tables import EngineRow

LARGE = engine_cache._LARGEST - 1_000


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


def ids(engines: EngineCache, count: int) -> list[int]:
    names = [EngineName(WILDCARD, WILDCARD, number) for number in range(count)]
    return [name.engine for name in names if engines.find(name) is not None]


def test_the_last_so_many_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_cache, "MAX_KNOWN", 3)
    engines = EngineCache()
    for number in (0, 1, 2, 0, 3):
        engines.note(engine(number))
    assert ids(engines, 5) == [0, 2, 3]


def test_of_large_ones_the_last_so_many_characters_are_known() -> None:
    engines, most = EngineCache(), engine_cache._MAX_WEIGHT // engine_cache._LARGEST
    for number in range(most + 10):
        engines.note(engine(number, LARGE))
    assert ids(engines, most + 10) == list(range(10, most + 10))


def test_what_is_noted_again_counts_once() -> None:
    engines, most = EngineCache(), engine_cache._MAX_WEIGHT // engine_cache._LARGEST
    engines.note(engine(0))
    for version in range(most + 10):
        engines.note(engine(1, LARGE, version))
        engines.note(engine(1, LARGE, version))
    assert ids(engines, 2) == [0, 1]


def test_one_that_is_too_large_is_not_known() -> None:
    engines = EngineCache()
    engines.note(engine(0))
    engines.note(engine(1))
    engines.note(engine(1, engine_cache._LARGEST + 1, version=2))
    assert ids(engines, 2) == [0]


def test_an_engine_is_cached_only_once_its_transaction_has_ended() -> None:
    """Else a commit that is lost with its connection would leave a row without values in here."""
    engines = EngineCache()
    with Session() as session:
        session.add(found := engine(1))
        with pytest.raises(RuntimeError, match="before the end of the transaction"):
            engines.note(found)
    engines.note(found)
    assert ids(engines, 2) == [1]
