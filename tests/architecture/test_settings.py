"""Every setting says what it is and in which unit, and is used."""

import re
from typing import get_type_hints

from app.kernel.tuning import Tuning
from app.settings.settings import Settings
from tests.architecture.code import modules

UNITS = {"seconds", "bytes", "chars", "rows"}
COUNTED = {
    "artifacts",
    "calls",
    "port",
    "processes",
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
    "exports",
    "memories",
    "indexes",
}
"""What the number of a setting without a unit counts."""

FIELDS = Settings.model_fields
USED = re.compile(r"(?:(?<=\bself\.)|(?<=settings\.))\w+")


def test_each_is_described() -> None:
    undescribed = [name for name, field in FIELDS.items() if not _is_sentence(field.description)]
    assert undescribed == []


def _is_sentence(description: str | None) -> bool:
    return description is not None and description.endswith(".")


def test_a_number_has_its_unit_in_its_name() -> None:
    numbers = {name: field.annotation for name, field in FIELDS.items()} | get_type_hints(Tuning)
    assert [name for name, kind in numbers.items() if not _has_unit(name, kind)] == []


def _has_unit(name: str, kind: object) -> bool:
    counted = name.partition("_per_")[0].removesuffix("_held")
    is_seconds = kind is not float or name.endswith("_seconds")
    return kind not in {int, float} or (
        counted.rpartition("_")[2] in UNITS | COUNTED and is_seconds
    )


def test_each_has_a_default() -> None:
    assert [name for name, field in FIELDS.items() if field.is_required()] == []


def test_each_is_used() -> None:
    used = {name for code in modules() for name in USED.findall(code.text)}
    assert FIELDS.keys() - used == set()
