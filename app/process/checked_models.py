"""Checks of a configured model, step by step, without a server or database."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import typer

from app.adapters.llm.names import ModelSetupError
from app.adapters.terminal import FAILED, fail
from app.kernel.errors import ServiceError
from app.settings.described import is_shown

_NOT_FOUND = "404"


@dataclass
class ModelCheck(ABC):
    """A check of a model with its findings so far.

    Attributes:
        advice: settings to change, as `NAME=value`, and other advice, as sentences.
        is_passed: False once the model proves unusable with this configuration.
    """

    advice: list[str] = field(default_factory=list, kw_only=True)
    is_passed: bool = field(default=True, kw_only=True)

    @abstractmethod
    def steps(self) -> Iterator[Callable[[], Awaitable[Sequence[str]]]]:
        """Yield the calls in order; each returns lines for people, or raises ServiceError."""

    async def show(self, model_id: str, address: str | None) -> None:
        """Print the model and the result of each call; exit with 1 if a call proves it unusable."""
        base = address.partition("?")[0] if address else ""
        typer.echo(f"{model_id} at {base}" if base and is_shown(base) else model_id)
        for step in self.steps():
            typer.echo("\n".join(await step()))
        if self.advice:
            typer.echo("\n".join(["Change:", *(f"  {line}" for line in self.advice)]))
        else:
            typer.echo("Nothing has to be changed.")
        if not self.is_passed:
            raise typer.Exit(FAILED)


def run_check(check: Callable[[], Coroutine[object, object, None]], address: str | None) -> None:
    """Run a check; report its errors in one sentence."""
    try:
        asyncio.run(check())
    except ModelSetupError as error:
        fail(str(error))
    except ServiceError as error:
        _explain(error, address)


def _explain(error: ServiceError, address: str | None) -> NoReturn:
    base = address.partition("?")[0] if address else ""
    if error.metadata.get("httpStatus") == _NOT_FOUND and base and not base.endswith("/v1"):
        fail(f"{error.message}\nThe addresses of most servers end in /v1.")
    fail(error.message)
