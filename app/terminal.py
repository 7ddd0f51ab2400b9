"""What all commands have in common: their settings, and how they fail."""

import re
from typing import Any, NoReturn

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from app.logs import configure_logs
from app.settings import Settings

_FIELD = re.compile(r'field "(\w+)"')
FAILED = 1
MISUSED = 2


def fail(sentence: str, code: int = FAILED) -> NoReturn:
    """End the command with one sentence that says why."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


def read_settings(**given: Any) -> Settings:  # noqa: ANN401 - the values of any settings
    """Read the settings; options given on the command line win over the environment."""
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        for item in error.errors():
            name = "MEMORY_BANK_" + "_".join(str(part) for part in item["loc"]).upper()
            # What concerns several settings names them itself.
            typer.echo(f"{name}: {item['msg']}" if item["loc"] else item["msg"], err=True)
        raise typer.Exit(MISUSED) from None
    except SettingsError as error:
        # The message has the name of the field, and nothing of the value.
        named = _FIELD.search(str(error))
        name = f"MEMORY_BANK_{named[1].upper()}" if named else "A setting"
        fail(f"{name}: is not valid JSON.", MISUSED)
    configure_logs(settings)
    return settings
