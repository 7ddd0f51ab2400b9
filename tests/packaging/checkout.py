"""A copy of the checkout as a newcomer has it, and what runs in a folder."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_IGNORED = shutil.ignore_patterns(".*_cache", "__pycache__", ".git", ".venv", ".data")

UNSET = [
    argument
    for name in (
        "MAKEFLAGS",
        "MAKELEVEL",
        "MFLAGS",
        "MEMORY_BANK_ADMIN_KEY",
        "MEMORY_BANK_DATABASE_URL",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONPATH",
        "VIRTUAL_ENV",
    )
    for argument in ("-u", name)
]
"""For `env`: what the caller's shell or make must not hand down to a newcomer's command."""

_HAS_COMPOSE = ["sh", "-c", "docker compose version"]
needs_compose = pytest.mark.skipif(
    subprocess.run(_HAS_COMPOSE, capture_output=True, check=False).returncode != 0,
    reason="docker compose is not installed",
)


def check_with_compose(file: Path) -> None:
    """Check that Compose takes a file."""
    command = ["docker", "compose", "--file", str(file), "--profile", "init", "config", "--quiet"]
    subprocess.run(command, check=True)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give an empty folder with a short name that the user of the embedded Postgres can enter."""
    with tempfile.TemporaryDirectory(prefix="omb-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        yield folder


def copy_checkout(target: Path) -> None:
    """Copy what a clone would hold: no .git, no .venv, nothing that git ignores."""
    if not (ROOT / ".git").exists():
        shutil.copytree(ROOT, target, dirs_exist_ok=True, ignore=_IGNORED)
        return
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():  # not one that was deleted since
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def running_in(folder: Path) -> list[str]:
    """Return the commands of all processes that run in the folder (on Linux; else none)."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            inside = (process / "cwd").readlink().is_relative_to(folder)
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # ended meanwhile, or another user's
            continue
        if inside or str(folder) in command:
            found.append(command)
    return found
