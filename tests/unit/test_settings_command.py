"""`memory-bank settings` lists settings with defaults, bounds and present values."""

import json
import re

import pytest
from typer.testing import CliRunner, Result

from app.process.cli import app
from app.settings.described import variable
from app.settings.settings import Settings

_SECRET = "sk-0123456789-secret"


@pytest.fixture(autouse=True)
def _keep_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command sends logs to its own standard error, which ends with it."""
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)


def _list(*arguments: str, **given: str) -> Result:
    variables = {variable(name): value for name, value in given.items()} | {"COLUMNS": "500"}
    return CliRunner().invoke(app, ["settings", *arguments], env=variables)


def test_every_setting_is_listed_with_its_description() -> None:
    ended = _list()
    assert ended.exit_code == 0
    listed = re.findall(r"^(MEMORY_BANK_\w+) = ", ended.stdout, re.MULTILINE)
    assert listed == sorted(map(variable, Settings.model_fields))
    text = " ".join(ended.stdout.split())
    for field in Settings.model_fields.values():
        assert " ".join(str(field.description).split()) in text


def test_a_word_selects_by_name_and_description() -> None:
    ended = _list("shutdown", shutdown_grace_seconds="90")
    assert ended.stdout == (
        "MEMORY_BANK_SHUTDOWN_GRACE_SECONDS = 90 (default: 10)\n"
        "    Time that running work may take to stop. Accepts: at least 0.\n"
    )
    by_description = _list("SHARED BY", "x")
    assert by_description.exit_code == 2, "one word"
    assert "MEMORY_BANK_PROCESSES = " in _list("share the port").stdout
    assert "MEMORY_BANK_PORT = 8000 (default)" in _list("MEMORY_BANK_PORT").stdout


def test_choices_bounds_and_larger_units_are_shown() -> None:
    assert "Accepts: hybrid, vector." in _list("ranking").stdout
    assert "Accepts: at least 0, at most 65,535." in _list("worker_port").stdout
    assert " = 8388608 (8 MiB) (default)\n" in _list("max_body_bytes").stdout
    assert " = 5000000 (default: 8388608 (8 MiB))\n" in (
        _list("max_body_bytes", max_body_bytes="5000000").stdout
    )
    assert "MEMORY_BANK_DAILY_MAX_TOKENS = not set (default)" in _list("daily").stdout


def test_of_the_constants_those_that_are_given_are_shown() -> None:
    assert "MEMORY_BANK_TUNING = {} (default)" in _list("tuning").stdout
    given = json.dumps({"idle_seconds": 5})
    assert 'TUNING = {"idle_seconds": 5.0} (default: {})' in _list("tuning", tuning=given).stdout


def test_secrets_are_hidden() -> None:
    reader = {"model": "m", "locality": "local", "key": _SECRET}
    ended = _list(
        admin_key=_SECRET,
        database_url=f"postgresql://user:{_SECRET}@host/bank",
        model_base_url=f"https://user:{_SECRET}@host/v1",
        task_readers=json.dumps({"house": reader}),
    )
    assert ended.exit_code == 0
    assert _SECRET not in ended.output
    for name in ("ADMIN_KEY", "DATABASE_URL", "MODEL_BASE_URL"):
        assert f"MEMORY_BANK_{name} = set, and not shown (default: not set)\n" in ended.stdout
    assert '"locality": "local"' in ended.stdout


def test_a_word_that_no_setting_has_is_told() -> None:
    ended = _list("xyzzy")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr == "No setting has xyzzy in its name or description.\n"


@pytest.mark.parametrize("value", ["abc", "-1"])
def test_a_wrong_value_is_told_in_place_of_a_list(value: str) -> None:
    ended = _list(port=value)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("MEMORY_BANK_PORT must be ")
