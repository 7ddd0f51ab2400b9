"""Every setting says what it is and in which unit, and is used."""

import re

import pytest

from app.settings.settings import Settings
from tests.architecture.code import modules

UNITS = {"seconds", "bytes", "chars", "rows"}
COUNTED = {
    "artifacts",
    "calls",
    "port",
    "size",
    "overflow",
    "threads",
    "entries",
    "events",
    "neighbours",
    "candidates",
    "deletes",
    "forgets",
    "concurrency",
    "attempts",
    "failures",
    "policies",
    "pairs",
    "pieces",
    "tokens",
    "units",
    "requests",
    "connections",
    "memories",
    "indexes",
}
"""What the number of a setting without a unit counts."""

every_setting = pytest.mark.parametrize("name", Settings.model_fields)


@every_setting
def test_it_is_described(name: str) -> None:
    description = Settings.model_fields[name].description
    assert description
    assert description.endswith(".")


@every_setting
def test_a_number_has_its_unit_in_its_name(name: str) -> None:
    kind = Settings.model_fields[name].annotation
    if kind in {int, float}:
        counted = name.partition("_per_")[0].removesuffix("_held")
        assert counted.rpartition("_")[2] in UNITS | COUNTED
    if kind is float:
        assert name.endswith("_seconds")


@every_setting
def test_it_has_a_default(name: str) -> None:
    assert not Settings.model_fields[name].is_required()


@every_setting
def test_it_is_used(name: str) -> None:
    used = re.compile(rf"\bself\.{name}\b|settings\.{name}\b")
    assert any(used.search(code.text) for code in modules())
