"""Embed memories with the service's model; the former one serves until all are embedded."""

from typing import Annotated, Any

import typer

from app.adapters.api_client import ApiClient
from app.adapters.terminal import FAILED, MISUSED, fail
from app.process.remote_api import KeyFile, Url, all_engines, connected, engine_path, states


def run(
    *,
    engine: Annotated[
        list[int] | None, typer.Option(help="Engine, by its id; repeatable.", min=1)
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every engine.")] = False,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    if bool(engine) == all_:
        fail("Give at least one --engine, or --all.", MISUSED)
    with connected(url, key_file) as api:
        paths = all_engines(api) if all_ else map(engine_path, engine or ())
        queued = [api.ask("POST", f"{path}:reembed")["name"] for path in paths]
        succeeded = [_followed(api, name) for name in queued]
    if not all(succeeded):
        raise typer.Exit(FAILED)


def _followed(api: ApiClient, name: str) -> bool:
    last, operation = "", {}
    for operation in states(api, name):
        line = f"{name.partition('/operations/')[0]}: {progress_of(operation)}"
        if line != last:
            typer.echo(line)
        last = line
    return "error" not in operation


def progress_of(operation: dict[str, Any]) -> str:
    """Return the progress of a re-embedding as a sentence."""
    metadata = operation["metadata"]
    if "error" in operation:
        return str(operation["error"]["message"])
    if "response" in operation:
        response = operation["response"]
        serves = f"{metadata['embeddedCount']} memories; {response['embeddingModel']} serves."
        refused = response.get("refusedCount", 0)
        # The operation names the refused memories.
        return f"{serves} It refuses {refused} more, found by words alone." if refused else serves
    if "postponedUntil" in metadata:
        return f"the model is away; next attempt at {metadata['postponedUntil']}."
    if "totalCount" not in metadata:
        return "waiting."
    return f"{metadata['embeddedCount']} of {metadata['totalCount']} ({metadata['percent']} %)."
