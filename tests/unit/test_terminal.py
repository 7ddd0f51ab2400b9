"""How commands tell of settings that they cannot read."""

import pytest
import typer

from app.adapters.terminal import MISUSED, read_settings


def test_what_is_no_json_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORY_BANK_TASK_READERS", '{"house": {"key": "secret"')
    with pytest.raises(typer.Exit) as raised:
        read_settings()
    assert raised.value.exit_code == MISUSED
    assert capsys.readouterr().err == "MEMORY_BANK_TASK_READERS must be JSON.\n"
