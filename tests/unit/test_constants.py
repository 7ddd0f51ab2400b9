"""Constants are no settings, but can be given where settings are."""

import json
import re
from dataclasses import fields

import pytest
import typer
from structlog.testing import capture_logs

from app.adapters.terminal import read_settings
from app.kernel.tuning import Tuning
from app.settings.settings import CONSTANTS, FormerSettings, Settings
from tests.architecture.code import modules


def test_no_constant_is_a_setting() -> None:
    assert not CONSTANTS & Settings.model_fields.keys()


def test_each_is_used() -> None:
    used = {name for code in modules() for name in re.findall(r"\btuning\.(\w+)", code.text)}
    assert {constant.name for constant in fields(Tuning)} - used == set()


def test_code_gives_them_beside_settings() -> None:
    settings = Settings(sweep_batch_rows=2, port=9_000)
    assert (settings.tuning.sweep_batch_rows, settings.port) == (2, 9_000)
    other = settings.model_copy(update={"sweep_batch_rows": 3, "port": 9_001})
    assert (other.tuning.sweep_batch_rows, other.port) == (3, 9_001)
    assert settings.tuning.sweep_batch_rows == 2


def test_one_variable_changes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_TUNING", json.dumps({"idle_seconds": 5}))
    settings = Settings(sweep_batch_rows=2)
    assert settings.tuning == Tuning(idle_seconds=5, sweep_batch_rows=2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"idle_second": 5},
            "MEMORY_BANK_TUNING must name constants of this release; got idle_second",
        ),
        (
            {"idle_seconds": "long"},
            "MEMORY_BANK_TUNING: idle_seconds must be a number; got long.",
        ),
        ({"max_page_size": 0}, "MEMORY_BANK_TUNING: max_page_size must be greater than 0; got 0."),
        ({"max_page_size": 5_000}, "max_page_size must be at most 1,000; got 5000."),
        ({"sweep_batch_rows": -1}, "sweep_batch_rows must be greater than 0; got -1."),
        ({"task_index_at_once_bytes": 64 * 1024**2}, "must be at most 8,388,608; got 67108864."),
    ],
)
def test_what_is_no_constant_is_refused(
    given: dict[str, object],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MEMORY_BANK_TUNING", json.dumps(given))
    with pytest.raises(typer.Exit):
        read_settings()
    assert said in capsys.readouterr().err


def test_a_misspelt_variable_of_a_constant_is_told_what_changes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORY_BANK_IDLE_SECOND", "5")
    with pytest.raises(typer.Exit):
        read_settings()
    said = "idle_seconds is a constant, which MEMORY_BANK_TUNING changes."
    assert capsys.readouterr().err == f"MEMORY_BANK_IDLE_SECOND: there is no such setting; {said}\n"


def test_a_setting_that_has_become_a_constant_is_told_and_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)
    monkeypatch.setenv("MEMORY_BANK_IDLE_SECONDS", "5")
    with capture_logs() as logs:
        assert read_settings().tuning == Tuning()
    (line,) = logs
    assert (line["event"], line["name"]) == ("setting.retired", "MEMORY_BANK_IDLE_SECONDS")
    assert "idle_seconds" in line["why"]
    assert line["in_force"] == 75


def test_a_setting_of_the_former_release_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)
    monkeypatch.setenv("MEMORY_BANK_WORKER_LEASE_SECONDS", "7")
    with capture_logs() as logs:
        assert read_settings().tuning == Tuning(worker_lease_seconds=7.0)
    (line,) = logs
    assert (line["event"], line["in_force"]) == ("setting.retired", 7.0)
    assert "for the last time" in line["why"]


def test_every_former_setting_is_a_constant() -> None:
    assert FormerSettings.NAMES <= CONSTANTS
