"""List operations of a running service, and retry failed ones."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from app.adapters.api_client import RemoteError
from app.adapters.terminal import FAILED
from app.process.remote_api import KeyFile, Url, all_engines, connected, engine_path, listed

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)


@app.command("list")
def list_all(
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Failed operations alone.")] = False,
    engine: Annotated[
        list[int] | None,
        typer.Option(help="Engine, by its id; repeatable.", show_default="all", min=1),
    ] = None,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    """List operations, newest first: name, time, and how it ended."""
    query = {"filter": 'state="FAILED"'} if failed else {}
    with connected(url, key_file) as api:
        for path in map(engine_path, engine) if engine else all_engines(api):
            for operation in listed(api, f"{path}/operations", "operations", query=query):
                time = operation["metadata"]["genericMetadata"]["createTime"]
                typer.echo(f"{operation['name']}  {time}  {_outcome(operation)}")


def _outcome(operation: Mapping[str, Any]) -> str:
    newer = operation["metadata"].get("retriedBy")
    if newer is not None:
        return f"retried by {newer}"
    if "error" in operation:
        return str(operation["error"]["details"][0]["reason"])
    return "succeeded" if operation.get("done") else "has not ended"


@app.command("retry")
def retry(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Names of failed operations; without any, the first word of each line of the"
            " standard input, such as `operations list --failed` prints.",
        ),
    ] = None,
    *,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    """Retry failed operations one by one, and print the names of the new ones."""
    succeeded = True
    with connected(url, key_file) as api:
        for name in names or [line.split()[0] for line in sys.stdin if line.strip()]:
            try:
                typer.echo(api.ask("POST", f"/{name}:retry")["name"])
            except RemoteError as error:
                if error.status is None:
                    raise
                typer.echo(error.message)
                succeeded = False
    if not succeeded:
        raise typer.Exit(FAILED)
