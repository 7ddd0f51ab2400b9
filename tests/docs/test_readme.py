"""The README is true: its settings are the settings, its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

from typer.main import get_command

from app.process.cli import app
from tests.support.roles_table import roles_table
from tests.support.settings_table import settings_table

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_table_of_settings_is_current() -> None:
    assert settings_table() in README, "python -m tests.support.settings_table prints it"


def test_the_table_of_roles_is_current() -> None:
    assert roles_table() in README, "python -m tests.support.roles_table prints it"


def test_the_table_of_commands_names_every_command() -> None:
    listed = set(re.findall(r"^\| `memory-bank (\w+)` \|", README, re.MULTILINE))
    command = get_command(app)
    assert listed == set(command.commands)  # type: ignore[attr-defined]  # it is a group


def test_the_first_screen_has_the_two_commands() -> None:
    first_screen = "\n".join(README.splitlines()[:20])
    assert "make run" in first_screen
    assert "make test" in first_screen


def test_the_sample_of_the_demo_is_what_the_demo_prints() -> None:
    command = [sys.executable, "-m", "app.process.cli", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() in README


def test_the_services_for_adk_are_those_that_are_tested() -> None:
    tested = Path(__file__).parents[1] / "conformance/adk/agents/services.py"
    assert tested.read_text().strip() in README
