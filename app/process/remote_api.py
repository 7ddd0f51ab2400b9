"""Parts shared by the commands that call a service over its REST API.

    with connected(url, key_file) as api:
        answer = api.ask("GET", engine_path(engine))

The key is never an argument, because other users could read it in the list of processes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from app.adapters.api_client import ApiClient, Query, RemoteError
from app.adapters.terminal import FAILED, MISUSED, fail
from app.kernel.paging import MAX_PAGE_SIZE
from app.process.progress import stoppable
from app.settings.environment import PREFIX, environment

KEY_VARIABLE = f"{PREFIX}CLIENT_KEY"
URL_VARIABLE = f"{PREFIX}CLIENT_URL"
_DEFAULT_URL = "http://127.0.0.1:8000"
_TOO_MANY = 429
BUSY = frozenset({_TOO_MANY, 503})
"""Statuses of a service that may accept the same request later."""
_LASTING = {"QUOTA_EXHAUSTED", "TOKEN_BUDGET_EXHAUSTED"}
"""Reasons of 429 for which a retry is useless, unlike limits of rates and queues."""
_ATTEMPTS = 9
_MAX_PAUSE_SECONDS = 30.0
_POLL_SECONDS = 0.2
_MAX_POLL_SECONDS = 2.0

_T = TypeVar("_T")

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
def connected(url: str | None, key_file: Path | None) -> Iterator[ApiClient]:
    """Open a client of the service for the block; end the command if a call fails.

    The exit code is 2 without a key, 1 after an error of the service, 130 after Ctrl-C.
    """
    address = url or environment().get(URL_VARIABLE, "").strip() or _DEFAULT_URL
    with ApiClient(address, read_key(key_file)) as api:
        try:
            with stoppable("Interrupted."):
                yield api
        except RemoteError as error:
            fail(described(error), FAILED)


def described(error: RemoteError) -> str:
    """Return the message of an error with its reason."""
    return error.message if error.reason is None else f"{error.message} ({error.reason})"


def engine_path(engine: str | int) -> str:
    """Return the path of an engine for the client; end the command if the id is invalid."""
    if not str(engine).isdecimal():
        fail("--engine: must be the id of an engine, such as 1.", MISUSED)
    return f"/reasoningEngines/{engine}"


def all_engines(api: ApiClient) -> list[str]:
    """Return the paths of all engines that the key reaches."""
    engines = listed(api, "/projects/-/locations/-/reasoningEngines", "reasoningEngines")
    return [f"/{engine['name']}" for engine in engines]


def listed(
    api: ApiClient,
    path: str,
    field: str,
    page_size: int = MAX_PAGE_SIZE,
    query: Query | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the resources of a list, page by page; `field` names them in the answer."""
    asked = {**(query or {}), "pageSize": page_size}
    while True:
        page = patiently(partial(api.ask, "GET", path, query=asked))
        yield from page.get(field, ())
        if not (token := page.get("nextPageToken")):
            return
        asked["pageToken"] = token


def states(api: ApiClient, name: str) -> Iterator[dict[str, Any]]:
    """Yield the states of an operation until it has ended."""
    pause = _POLL_SECONDS
    while True:
        operation = patiently(lambda: api.ask("GET", f"/{name}"))
        yield operation
        if operation.get("done"):
            return
        time.sleep(pause)
        pause = min(2 * pause, _MAX_POLL_SECONDS)


def wait(api: ApiClient, name: str) -> dict[str, Any]:
    """Wait for an operation to end and return it."""
    *_, operation = states(api, name)
    return operation


def patiently(call: Callable[[], _T]) -> _T:
    """Return the result of a call; retry for some minutes while the service is busy."""
    pause = 1.0
    for _ in range(_ATTEMPTS):
        try:
            return call()
        except RemoteError as error:
            if error.status not in BUSY or error.reason in _LASTING:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _MAX_PAUSE_SECONDS)
    return call()


def read_key(key_file: Path | None) -> str:
    """Return the key of a file, else of the environment; end the command without one."""
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
