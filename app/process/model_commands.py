"""The commands `memory-bank check-model` and `check-embedder`, without server or database."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, NoReturn

import typer

from app.adapters.llm.names import ModelSetupError
from app.adapters.terminal import FAILED, fail, read_settings
from app.kernel.errors import ServiceError
from app.settings.settings import EmbedderChoice
from app.settings.shown import is_shown

if TYPE_CHECKING:
    from app.process.embedder_check import EmbedderCheck
    from app.process.model_check import ModelCheck
    from app.settings.settings import Settings

_NO_MODEL = (
    "MEMORY_BANK_MODEL is not set, so built-in rules write memories. Set it, such as\n"
    "  MEMORY_BANK_MODEL=openai:gpt-5-mini OPENAI_API_KEY=...\n"
    "  MEMORY_BANK_MODEL=ollama:qwen3\n"
    "  MEMORY_BANK_MODEL=openai:any MEMORY_BANK_MODEL_BASE_URL=http://127.0.0.1:8080/v1"
)
_NOT_USED = (
    "MEMORY_BANK_EMBEDDER is {choice}, so MEMORY_BANK_EMBEDDING_MODEL is not used. Set"
    " MEMORY_BANK_EMBEDDER=http."
)
_NOT_FOUND = "404"


def check_model() -> None:
    """Ask the configured model three small questions, and print what to set.

    The status is 0 if it can write memories, else 1.
    """
    settings = read_settings(log_level="ERROR")
    if settings.model is None:
        fail(_NO_MODEL)
    _run(lambda: _check_model(settings), settings.model_base_url)


def check_embedder() -> None:
    """Embed a few texts with the configured embedder, and print what to set.

    The status is 0 if searches can use it, else 1.
    """
    settings = read_settings(log_level="ERROR")
    if settings.embedding_model is not None and settings.embedder is not EmbedderChoice.HTTP:
        fail(_NOT_USED.format(choice=settings.embedder))
    _run(lambda: _check_embedder(settings), settings.embedding_base_url)


def _run(check: Callable[[], Coroutine[object, object, None]], address: str | None) -> None:
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


async def _check_model(settings: "Settings") -> None:
    # Imported here, because `--help` and usage errors should respond at once.
    from app.adapters.llm.factory import open_models  # noqa: PLC0415 - slow import
    from app.process.model_check import ModelCheck  # noqa: PLC0415 - slow import

    models = open_models(settings.model_copy(update={"model_max_attempts": 1}))
    try:
        model = models.default
        assert model is not None
        _title(model.model_id, settings.model_base_url)
        await _print(ModelCheck(model, settings))
    finally:
        await models.close()


async def _check_embedder(settings: "Settings") -> None:
    from app.adapters.llm.factory import choose_embedder  # noqa: PLC0415 - slow import
    from app.process.embedder_check import EmbedderCheck  # noqa: PLC0415 - slow import

    embedder = choose_embedder(settings.model_copy(update={"model_max_attempts": 1}))
    try:
        is_remote = settings.embedder is EmbedderChoice.HTTP
        _title(embedder.model_id, settings.embedding_base_url if is_remote else None)
        await _print(EmbedderCheck(embedder))
    finally:
        await embedder.close()


def _title(model_id: str, address: str | None) -> None:
    base = address.partition("?")[0] if address else ""
    typer.echo(f"{model_id} at {base}" if base and is_shown(base) else model_id)


async def _print(check: "ModelCheck | EmbedderCheck") -> None:
    """Make the calls of a check and print each result as it arrives."""
    for step in check.steps():
        typer.echo("\n".join(await step()))
    if check.advice:
        typer.echo("\n".join(["Change:", *(f"  {line}" for line in check.advice)]))
    else:
        typer.echo("Nothing has to be changed.")
    if not check.is_passed:
        raise typer.Exit(FAILED)
