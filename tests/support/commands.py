"""The command `memory-bank`, run as operators run it, to its end."""

import os
import subprocess
from collections.abc import Mapping, Sequence

from tests.support import forks
from tests.support.variables import with_constants

_SECONDS = 120


def command(*arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run a command with settings, given by their names in lower case."""
    return _run(["-m", "app.process.cli", *arguments], settings)


def module(name: str, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run a module with settings, as `command` does."""
    return _run(["-m", name, *arguments], settings)


def program(text: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Run a program in Python with settings, as `command` does."""
    return _run(["-c", text], settings)


def _run(
    arguments: Sequence[str], settings: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    given = {f"MEMORY_BANK_{name.upper()}": value for name, value in settings.items()}
    variables = {**os.environ, "MEMORY_BANK_EMBEDDER": "hash", **with_constants(given)}
    return forks.run(arguments, variables, _SECONDS)


def sentence(*arguments: str, **settings: str) -> str:
    """Run a command that cannot do its work; return the one sentence in which it says why."""
    ended = command(*arguments, **settings)
    assert (ended.returncode, ended.stdout) == (1, ""), ended
    (said,) = ended.stderr.splitlines()
    return said
