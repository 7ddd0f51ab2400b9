"""The reference pages are current, and have everything that they describe."""

import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest

from app.kernel.errors import Reason
from app.kernel.permissions import Permission
from app.kernel.tuning import Tuning
from app.process.features import demands
from app.settings.described import rounded, unit, variable
from app.settings.settings import Settings
from scripts.make_reference import FOLDER, PAGES, write
from scripts.reference.openapi import methods, schemas
from scripts.reference.settings_page import accepted
from tests.support.documents import ROOT

_METRIC = re.compile(r"(?:Counter|Gauge|Histogram)(?:\(|,)\s*\"(memory_bank_\w+)\"")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reference")
    write(folder)
    return {path.stem: path.read_text() for path in folder.iterdir()}


def _missing(page: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if f"`{name}`" not in page]


def test_the_committed_pages_are_current(pages: dict[str, str]) -> None:
    committed = {path.stem: path.read_text() for path in FOLDER.iterdir()}
    assert set(committed) == set(pages) == set(PAGES)
    stale = [name for name, text in pages.items() if committed[name] != text]
    assert stale == [], "run `make generated`"


def test_every_setting_has_a_row(pages: dict[str, str]) -> None:
    rows = re.findall(r"^\| `(MEMORY_BANK_\w+)` \|", pages["settings"], re.MULTILINE)
    assert sorted(rows) == sorted(variable(name) for name in Settings.model_fields)


def test_every_setting_is_described(pages: dict[str, str]) -> None:
    text = pages["settings"].replace("\\|", "|")
    for field in Settings.model_fields.values():
        assert f"| {field.description} |" in text


def test_a_setting_has_its_unit_its_bounds_and_its_default() -> None:
    fields = Settings.model_fields
    assert unit("max_body_bytes_per_key") == "bytes"
    assert unit("key_rate_units_per_second") == "units a second"
    assert accepted(fields["ranking"]) == "`hybrid`, `vector`"
    assert accepted(fields["metrics_port"]) == "≥ 0, ≤ 65,535"
    assert rounded("seconds", 86_400) == " (1 day)"
    assert rounded("bytes", 8_388_608) == " (8 MiB)"
    assert rounded("seconds", 61) == ""


def test_every_reason_is_explained(pages: dict[str, str]) -> None:
    rows = re.findall(r"^\| `(\w+)` \| [\d, ]+ \| \S", pages["errors"], re.MULTILINE)
    assert rows == [reason.value for reason in Reason]


def test_every_permission_is_named(pages: dict[str, str]) -> None:
    assert _missing(pages["permissions"], (permission.value for permission in Permission)) == []


def test_every_method_has_its_demand(pages: dict[str, str]) -> None:
    assert _missing(pages["permissions"], demands()) == []


def test_every_operation_is_described(pages: dict[str, str]) -> None:
    headings = re.findall(r"^### (\w+)$", pages["api"], re.MULTILINE)
    assert sorted(headings) == sorted(method.id for method in methods())


def test_every_type_is_described(pages: dict[str, str]) -> None:
    headings = re.findall(r"^## (.+)$", pages["types"], re.MULTILINE)
    assert headings == sorted(schemas())


def test_every_metric_is_described(pages: dict[str, str]) -> None:
    source = "\n".join(path.read_text() for path in sorted((ROOT / "app").rglob("*.py")))
    named = {name.removesuffix("_total") for name in _METRIC.findall(source)}
    rows = re.findall(r"^\| `(memory_bank_\w+)` \|", pages["metrics"], re.MULTILINE)
    assert {name.removesuffix("_total") for name in rows} == named


def test_every_quota_is_a_limit(pages: dict[str, str]) -> None:
    quotas = [variable(name) for name in Settings.model_fields if name.startswith("engine_max_")]
    assert quotas
    assert _missing(pages["limits"], quotas) == []


def test_every_constant_is_a_limit(pages: dict[str, str]) -> None:
    rows = re.findall(r"^\| `(\w+)` \| `\S+`[^|]* \| [\w ]*\| \S", pages["limits"], re.MULTILINE)
    assert [name for name in rows if name.islower()] == [field.name for field in fields(Tuning)]


def test_pages_are_the_same_each_time(pages: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path)
    assert {path.stem: path.read_text() for path in tmp_path.iterdir()} == pages
