"""The command line as a whole: its release, the groups of its commands, the words of options."""

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from app.kernel.release import RELEASE
from app.process.cli import app

_WITH_SCOPES = [["keys", "create"], ["mcp"], ["import"]]


@pytest.fixture(autouse=True)
def _keep_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command sends logs to its own standard error, which ends with it."""
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)


def _help(*command: str) -> str:
    ended = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert ended.exit_code == 0
    return ended.stdout


def test_the_release_is_told() -> None:
    ended = CliRunner().invoke(app, ["--version"])
    assert (ended.exit_code, ended.stdout) == (0, f"memory-bank {RELEASE}\n")


def test_without_arguments_it_names_the_start_and_starts_nothing() -> None:
    ended = CliRunner().invoke(app, [], env={"COLUMNS": "200"})
    assert ended.exit_code == 2
    assert "Start it with `serve`" in ended.output


def test_every_command_stands_in_a_group_with_a_purpose() -> None:
    panels = re.split(r"^╭─ ([^─]+) ─+╮$", _help(), flags=re.MULTILINE)[1:]
    groups = {
        title: re.findall(r"^│ ([\w-]+) +\S", text, re.MULTILINE)
        for title, text in zip(panels[::2], panels[1::2], strict=True)
    }
    del groups["Options"]
    assert groups["Run"] == ["serve", "worker", "demo"]
    assert "Commands" not in groups, "the group of those that have none"
    command = get_command(app)
    listed = sorted(name for names in groups.values() for name in names)
    assert listed == sorted(command.commands)  # type: ignore[attr-defined]  # it is a group


@pytest.mark.parametrize("command", _WITH_SCOPES)
def test_a_scope_has_one_name(command: list[str]) -> None:
    shown = _help(*command)
    assert "--scope" in shown
    assert "--condition" not in shown
