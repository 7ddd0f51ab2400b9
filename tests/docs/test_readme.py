"""The README and the guides are true: their commands exist, their outputs are what is printed."""

import re
import subprocess
import sys

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from app.process.cli import app
from benchmarks.costs.__main__ import main as draw_costs
from scripts.reference.permissions_page import roles_table
from tests.support.documents import DOCS, README, ROOT, samples

_CONTEXTS_SAMPLES = samples(DOCS / "guides" / "contexts.md", "text")
_DEMO_TIMEOUT_SECONDS = 120


def test_the_table_of_commands_names_every_command() -> None:
    running = (DOCS / "operations" / "running.md").read_text()
    listed = set(re.findall(r"^\| `memory-bank ([\w-]+)` \|", running, re.MULTILINE))
    command = get_command(app)
    assert listed == set(command.commands)  # type: ignore[attr-defined]  # it is a group


def test_the_table_of_roles_is_current() -> None:
    assert roles_table() in (DOCS / "operations" / "security.md").read_text()


def test_the_first_screen_has_the_commands() -> None:
    first_screen = "\n".join(README.read_text().splitlines()[:20])
    for command in ("git clone", "make run", "make test"):
        assert command in first_screen


def test_the_sample_of_the_demo_is_what_the_demo_prints() -> None:
    command = [sys.executable, "-m", "app.process.cli", "demo"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=_DEMO_TIMEOUT_SECONDS
    )
    assert f"{done.stdout.strip()}\n" in samples(DOCS / "quickstart.md", "text")


def test_the_services_for_adk_are_those_that_are_tested() -> None:
    tested = ROOT / "tests/conformance/adk/agents/services.py"
    assert samples(DOCS / "guides" / "adk.md", "python") == [tested.read_text()]


def test_the_sample_of_costs_is_what_the_command_prints() -> None:
    (sample,) = (text for text in _CONTEXTS_SAMPLES if text.startswith("$ memory-bank"))
    typed, _, printed = sample.replace("\\\n", "").partition("\n")
    ended = CliRunner().invoke(app, typed.removeprefix("$ memory-bank ").split())
    assert ended.stdout.strip() == printed.strip()


def test_the_chart_of_costs_is_what_the_benchmark_draws(capsys: pytest.CaptureFixture[str]) -> None:
    command = "$ python -m benchmarks.costs '"
    (sample,) = (text for text in _CONTEXTS_SAMPLES if text.startswith(command))
    body, _, printed = sample.removeprefix(command).partition("'\n")
    draw_costs([body])
    assert capsys.readouterr().out.strip() == printed.strip()


def test_no_page_is_a_title_alone() -> None:
    short = [
        path.relative_to(DOCS).as_posix()
        for path in DOCS.rglob("*.md")
        if len(path.read_text().splitlines()) < 5 and "--8<--" not in path.read_text()
    ]
    assert short == []


def test_paths_that_contributors_read_exist() -> None:
    """What CONTRIBUTING.md and ARCHITECTURE.md name from the root is there."""
    tops = "|".join(re.escape(path.name) for path in ROOT.iterdir() if path.is_dir())
    path_like = re.compile(rf"`((?:{tops})(?:/[\w.*-]+)*/?|[\w.-]+\.(?:md|toml|yml))`")
    named = set()
    for name in ("CONTRIBUTING.md", "ARCHITECTURE.md"):
        path = ROOT / name
        if path.exists():
            named |= set(path_like.findall(path.read_text()))
    assert named
    assert sorted(found for found in named if not list(ROOT.glob(found.rstrip("/")))) == []


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_paths_that_it_names_exist(name: str) -> None:
    named = re.findall(r"`((?:app|tests|scripts)/[\w/]+(?:\.py)?)`", (ROOT / name).read_text())
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
