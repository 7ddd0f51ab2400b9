"""Secrets that are read from files."""

import os
from pathlib import Path

import pytest
import typer
from structlog.testing import capture_logs

from app.adapters.terminal import MISUSED, SECRETS, read_settings
from app.settings.environment import PREFIX, PROVIDER_KEYS

_SECRET = "a-secret-as-long-as-the-longest-has-to-be"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{_SECRET}\n")
    path.chmod(0o600)
    return path


def test_every_secret_may_be_in_a_file_whose_last_line_break_is_cut(
    monkeypatch: pytest.MonkeyPatch, secret: Path
) -> None:
    assert {"admin_key", "database_url", "listen_url", "model_key", "embedding_key"} <= set(SECRETS)
    for name in SECRETS:
        monkeypatch.setenv(f"{PREFIX}{name.upper()}_FILE", str(secret))
        monkeypatch.setenv(f"{PREFIX}{name.upper()}", "")  # as compose passes on what is not set
    for ending in ("", "\n", "\r\n"):
        secret.write_bytes(f"{_SECRET}{ending}".encode())
        with capture_logs() as logs:
            settings = read_settings()
        assert {getattr(settings, name).get_secret_value() for name in SECRETS} == {_SECRET}
        assert logs == []


def test_keys_of_model_providers_may_be_in_files_too(
    monkeypatch: pytest.MonkeyPatch, secret: Path
) -> None:
    for name in PROVIDER_KEYS:
        monkeypatch.setenv(name, "")
        monkeypatch.setenv(f"{name}_FILE", str(secret))
    read_settings()
    read_settings()  # the value that the first command took is not refused
    assert {os.environ[name] for name in PROVIDER_KEYS} == {_SECRET}


@pytest.mark.parametrize("name", [f"{PREFIX}MODEL_KEY", "OPENAI_API_KEY"])
def test_a_file_that_cannot_be_used_is_refused_by_name_without_its_content(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    secret: Path,
    tmp_path: Path,
    name: str,
) -> None:
    def refused(path: Path) -> str:
        monkeypatch.setenv(f"{name}_FILE", str(path))
        with pytest.raises(typer.Exit) as raised:
            read_settings()
        assert raised.value.exit_code == MISUSED
        told = capsys.readouterr().err
        assert _SECRET not in told
        return told.strip()

    monkeypatch.setenv(name, "another")
    assert refused(secret) == f"{name} and {name}_FILE are both set: set only one of them."
    monkeypatch.delenv(name)
    missing = tmp_path / "missing"
    assert refused(missing) == f"{name}_FILE must name a file that exists; got {missing}."
    assert refused(tmp_path) == f"{name}_FILE must name a file that exists; got {tmp_path}."
    secret.write_text("\n")
    assert refused(secret) == f"{name}_FILE: {secret} must hold a value; it is empty."
    secret.write_bytes(_SECRET.encode("utf-16"))
    assert refused(secret) == f"{name}_FILE: {secret} must be text in UTF-8."
    secret.write_text(_SECRET * 10_000)
    assert refused(secret) == f"{name}_FILE: {secret} must have at most 65536 bytes."


def test_a_file_that_others_may_read_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, secret: Path
) -> None:
    monkeypatch.setenv("MEMORY_BANK_MODEL_KEY_FILE", str(secret))
    for mode, warnings in ((0o600, 0), (0o640, 1), (0o604, 1)):
        secret.chmod(mode)
        with capture_logs() as logs:
            read_settings()
        found = [log["name"] for log in logs if log["event"] == "settings.exposed"]
        assert found == ["MEMORY_BANK_MODEL_KEY_FILE"] * warnings
        assert _SECRET not in str(logs)
