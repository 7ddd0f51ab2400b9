"""Shared parts of all commands: reading settings, and failing."""

import re
from typing import Any, NoReturn

import structlog
import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from app.adapters.logs import configure_logs
from app.kernel.tuning import Tuning
from app.settings.described import refusals
from app.settings.environment import (
    PREFIX,
    PROVIDER_KEYS,
    SUFFIX,
    SecretError,
    clean_provider_addresses,
    environment,
    exposed,
    misspelt,
    secret_names,
    take_provider_keys,
    unknown,
)
from app.settings.setting_types import is_of_a_link
from app.settings.settings import CONSTANTS, FormerSettings, Settings

TUNING = f"{PREFIX}TUNING"
"""The variable that changes constants."""
SECRETS = secret_names(Settings.model_fields)
VARIABLES = [*Settings.model_fields, *(f"{name}{SUFFIX}" for name in SECRETS)]
"""The names of all variables that are read, without the prefix."""
_FIELD = re.compile(r'field "(\w+)"')
FAILED = 1
MISUSED = 2
IN_USE = 3
"""Exit code: the database is in use by processes that need another schema."""
OUTDATED = 75
"""Exit code: the supervisor should start the release that fits the database. EX_TEMPFAIL."""


def fail(sentence: str, code: int = FAILED) -> NoReturn:
    """Print one sentence with the reason, and end the command with the exit code."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


def read_settings(**given: Any) -> Settings:  # noqa: ANN401 - the values of any settings
    """Read the settings; options win over the environment; refuse misspelt variables."""
    if wrong := misspelt(environment(), [*VARIABLES, *CONSTANTS]):
        fail("\n".join(f"{name}: {_nearest(near)}" for name, near in wrong.items()), MISUSED)
    try:
        take_provider_keys(environment())
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
        clean_provider_addresses(environment(), settings.own_addresses)
    except ValidationError as error:
        fail("\n".join(refusals(error)), MISUSED)
    except SecretError as error:
        fail(str(error), MISUSED)
    except SettingsError as error:
        # The message contains the name of the field, but no value.
        named = _FIELD.search(str(error))
        fail(f"{PREFIX}{named[1].upper()} must be JSON." if named else str(error), MISUSED)
    configure_logs(settings)
    _warn(settings.tuning)
    return settings


def _nearest(variable: str) -> str:
    constant = variable.removeprefix(PREFIX).lower()
    if constant in CONSTANTS:
        return f"there is no such setting; {constant} is a constant, which {TUNING} changes."
    return f"there is no such setting; the nearest is {variable}."


def _warn(tuning: Tuning) -> None:
    # Not cached: tests run several commands in one process.
    log = structlog.get_logger()
    constants = {f"{PREFIX}{name.upper()}": name for name in CONSTANTS}
    unread = unknown(environment(), VARIABLES)
    for name in sorted(constants.keys() & set(unread)):
        constant = constants[name]
        until = (
            "; read in this release for the last time" if constant in FormerSettings.NAMES else ""
        )
        meaning = f"a constant now{until}; {TUNING} changes {constant!r} if it must be"
        value = getattr(tuning, constant)
        log.warning("setting.retired", name=name, why=meaning, in_force=value)
    if others := [name for name in unread if name not in constants]:
        log.warning("settings.unknown", names=others)
    secrets = [*(PREFIX + name.upper() for name in SECRETS), *PROVIDER_KEYS]
    for name in exposed(environment(), secrets):
        log.warning("settings.exposed", name=name, why="the group or everybody may read the file")
    for name in (f"{PREFIX}PORT", f"{PREFIX}METRICS_PORT", f"{PREFIX}WORKER_PORT"):
        if is_of_a_link(port := environment().get(name, "")):
            meaning = "set by the container platform for a service of this name, and not read"
            log.warning("settings.ignored", name=name, value=port, why=meaning)
