"""Parts shared by the commands that call a service over its REST API.

A command has the options `Url` and `KeyFile`, and runs in `connected`:

    with connected(url, key_file) as api:
        answer = api.ask("GET", engine_path(engine))

The key is never an argument, because other users could read it in the list of processes. The
client is slow to import and is imported only when needed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.adapters.terminal import FAILED, MISUSED, fail
from app.process.progress import stoppable
from app.settings.environment import PREFIX, environment

if TYPE_CHECKING:
    from app.adapters.api_client import ApiClient, RemoteError

KEY_VARIABLE = f"{PREFIX}CLIENT_KEY"
URL_VARIABLE = f"{PREFIX}CLIENT_URL"
_DEFAULT_URL = "http://127.0.0.1:8000"

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        help=f"The service's address; absent: {URL_VARIABLE}.",
        show_default=_DEFAULT_URL,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", help=f"File with the key; absent: {KEY_VARIABLE} has the key."),
]


@contextmanager
def connected(url: str | None, key_file: Path | None) -> Iterator["ApiClient"]:
    """Open a client of the service for the block; end the command if a call fails.

    The exit code is 2 without a key, 1 after an error of the service, 130 after Ctrl-C.
    """
    from app.adapters.api_client import ApiClient, RemoteError  # noqa: PLC0415 - slow import

    address = url or environment().get(URL_VARIABLE, "").strip() or _DEFAULT_URL
    with ApiClient(address, _key(key_file)) as api:
        try:
            with stoppable("Interrupted."):
                yield api
        except RemoteError as error:
            fail(described(error), FAILED)


def described(error: "RemoteError") -> str:
    """Return the message of an error with its reason."""
    return error.message if error.reason is None else f"{error.message} ({error.reason})"


def engine_path(engine: str | int) -> str:
    """Return the path of an engine for the client; end the command if the id is invalid."""
    if not str(engine).isdecimal():
        fail("--engine: must be the id of an engine, such as 1.", MISUSED)
    return f"/reasoningEngines/{engine}"


def _key(key_file: Path | None) -> str:
    if key_file is None:
        key = environment().get(KEY_VARIABLE, "").strip()
    else:
        try:
            key = key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            fail(f"--key-file: {key_file} cannot be read: {error}.", MISUSED)
    if not key:
        fail(f"Set {KEY_VARIABLE} to a key, or name a file with one by --key-file.", MISUSED)
    return key
