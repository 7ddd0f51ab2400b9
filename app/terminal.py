"""What all commands have in common: their settings, and how they fail."""

from typing import Any, NoReturn

import typer
from pydantic import ValidationError

from app.logs import configure_logs
from app.settings import Settings

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
    configure_logs(settings)
    return settings
