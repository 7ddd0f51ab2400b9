"""The command line of `memory-bank` in the environment where this process was started."""

import shlex
import shutil
import sys
from pathlib import Path

from app.settings.settings import Settings

NAME = "memory-bank"
_DEFAULT_FOLDER = Settings.model_fields["data_dir"].default


def typed(settings: Settings, *arguments: str) -> str:
    """Return a command for the database of these settings, quoted for a shell."""
    words = [_program(), *arguments]
    if settings.database_url is None and settings.data_dir != _DEFAULT_FOLDER:
        words += ["--data-dir", str(settings.data_dir)]
    return shlex.join(words)


def whole_path() -> str:
    """Return the absolute path of the command if known, for programs with another `PATH`."""
    installed = _installed()
    return str(installed) if installed.exists() else NAME


def _program() -> str:
    """Return the name of a command on the `PATH`, else its path, relative if below this folder."""
    installed, executable = _installed(), shutil.which(NAME)
    if not installed.exists() or (executable and Path(executable).samefile(installed)):
        return NAME
    try:
        below = installed.relative_to(Path.cwd())
    except ValueError:
        return str(installed)
    return str(below) if below.parent != Path() else str(installed)


def _installed() -> Path:
    return Path(sys.executable).with_name(NAME)
