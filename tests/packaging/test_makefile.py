"""The Makefile tells what it offers, and why it cannot go on."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.checkout import ROOT, UNSET

_PROMISED = {
    *("help", "run", "vendors", "setup", "test", "check", "lint", "unit", "conformance"),
    "test-citus",
    *("generated", "schema", "openapi", "client", "reference"),
    *("dist", "test-wheel", "test-weekly"),
    *("migration", "docs", "lock", "sbom", "clean", "browser", "screenshots"),
}


def make(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = ["env", *UNSET, "make", *arguments]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


@pytest.fixture
def bare_checkout(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", *(path.name for path in ROOT.glob("*.lock"))):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    return tmp_path


def test_make_alone_lists_every_target_in_one_line() -> None:
    listed = make(ROOT).stdout
    declared = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert re.findall(r"^make (\S+) +\S.*$", listed, re.MULTILINE) == declared
    assert set(declared) >= _PROMISED


@pytest.mark.parametrize("target", sorted(_PROMISED))
def test_target_exists(bare_checkout: Path, target: str) -> None:
    assert make(bare_checkout, "--dry-run", target).returncode == 0


def test_everything_that_is_generated_is_one_target(bare_checkout: Path) -> None:
    recipe = make(bare_checkout, "--dry-run", "generated").stdout
    for target in ("schema", "openapi", "client", "reference"):
        alone = make(bare_checkout, "--dry-run", target).stdout.splitlines()
        assert alone[-1] in recipe, target


def test_cleaning_leaves_what_is_committed(bare_checkout: Path) -> None:
    page = bare_checkout / "docs" / "reference" / "settings.md"
    page.parent.mkdir(parents=True)
    page.touch()
    for name in ("site", "app", "benchmarks", "migrations", "tests"):
        (bare_checkout / name).mkdir()
    assert make(bare_checkout, "clean").returncode == 0
    assert page.exists()
    assert not (bare_checkout / "site").exists()


def test_without_a_python_one_sentence_tells_what_to_do(bare_checkout: Path) -> None:
    ended = make(bare_checkout, "run", "PYTHON=/nonexistent/python3")
    assert ended.returncode != 0
    assert "There is no Python 3.11 or newer here" in ended.stderr
    assert not (bare_checkout / ".venv").exists()


def test_without_the_venv_module_one_sentence_tells_what_to_do(bare_checkout: Path) -> None:
    python = bare_checkout / "python-without-venv"
    python.write_text('#!/bin/sh\ncase "$*" in *venv*) exit 1;; esac\n')
    python.chmod(0o755)
    ended = make(bare_checkout, "run", f"PYTHON={python}")
    assert ended.returncode != 0
    assert f"{python} lacks its venv module: install it" in ended.stderr


def test_migration_without_a_message_says_what_is_missing(bare_checkout: Path) -> None:
    (bare_checkout / "Makefile").write_text(
        (ROOT / "Makefile").read_text().replace("migration: setup", "migration:")
    )
    assert 'make migration m="add x"' in make(bare_checkout, "migration").stderr


_INSTALLS = ["apt-get update --quiet=2"]
_FAILS = [*_INSTALLS, "chromium could not be installed: nothing is tested in a browser"]


@pytest.mark.parametrize(
    ("programs", "between"),
    [
        ({"chromium": "exit 1", "apt-get": "exit 1", "id": "echo 0"}, []),
        ({"apt-get": "echo apt-get $* >&2; exit 1", "id": "echo 0"}, _FAILS),
        ({"apt-get": "exit 1", "id": "echo 1000"}, []),
    ],
    ids=["with a browser", "without a browser", "not as root"],
)
def test_ci_runs_all_tests_from_the_root(
    tmp_path: Path, programs: dict[str, str], between: list[str]
) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    programs_folder = tmp_path / "bin"
    programs_folder.mkdir()
    for name in ("bash", "dirname"):
        (programs_folder / name).symlink_to(str(shutil.which(name)))
    for name, text in {"make": 'echo "$(pwd -P) $*"', **programs}.items():
        program = programs_folder / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    ended = subprocess.run(
        [str(tmp_path / ".ci" / "run")],
        cwd="/",
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PATH": str(programs_folder)},
    )
    root = tmp_path.resolve()
    assert ended.stdout.splitlines() == [f"{root} test", *between, f"{root} browser"]


@pytest.mark.parametrize(("wanted", "code"), [("", 0), ("required", 1)])
def test_without_a_browser_its_tests_say_what_to_install(wanted: str, code: int) -> None:
    variables = {
        "PATH": "/usr/bin:/bin",
        "MEMORY_BANK_TEST_CHROMIUM": "/nonexistent",
        "MEMORY_BANK_TEST_BROWSER": wanted,
    }
    command = ["sh", "scripts/browser.sh"]
    ended = subprocess.run(
        command, cwd=ROOT, env=variables, check=False, capture_output=True, text=True
    )
    words = "no chromium: apt install chromium, or set MEMORY_BANK_TEST_CHROMIUM\n"
    assert (ended.returncode, ended.stdout) == (code, words)


def test_a_checkout_that_has_the_packages_of_vendors_keeps_them(bare_checkout: Path) -> None:
    before = make(bare_checkout, "--dry-run", "run").stdout
    (bare_checkout / ".venv/lib/python3.12/site-packages/anthropic").mkdir(parents=True)
    after = make(bare_checkout, "--dry-run", "run").stdout

    assert "requirements-dev.lock requirements.lock requirements-run.lock" in before
    assert "requirements-run.lock" not in after


def test_trimmed_packages_are_installed_again_until_all_of_them_are(bare_checkout: Path) -> None:
    installed = bare_checkout / ".venv" / "bin"
    installed.mkdir(parents=True)
    (installed / "python").symlink_to(sys.executable)
    (installed / "memory-bank").touch(0o755)
    (installed / "uv").touch(0o755)
    # An installation that breaks off leaves the tool that installs.
    (installed / "uv").write_text('#!/bin/sh\necho "$@" >> uv.log\nexit 1\n')
    (bare_checkout / ".venv" / "trimmed").touch()
    for _ in range(2):
        assert make(bare_checkout, "setup").returncode != 0
    tries = (bare_checkout / "uv.log").read_text().splitlines()
    assert [line.split()[:4] for line in tries] == [["pip", "sync", "--quiet", "--reinstall"]] * 2
