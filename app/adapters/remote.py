"""Calls of a service elsewhere by what runs beside an agent."""

import json
from collections.abc import Callable

import httpx2

_SECONDS = 90.0
"""More than the longest wait of a tool."""
_REFUSALS = 400


def client_with(key: str, refused: Callable[[str], None]) -> httpx2.AsyncClient:
    """Return a client that sends a key and follows no redirect.

    Args:
        key: of the service.
        refused: told the message of each answer that is an error, but no message of JSON-RPC.
    """

    async def listen(response: httpx2.Response) -> None:
        if response.status_code < _REFUSALS:
            return
        try:
            answer = json.loads(await response.aread())
            message = str(answer["error"]["message"])
        except (ValueError, LookupError, TypeError):
            # Of something before the service, or of another service.
            refused(f"The service answers with status {response.status_code}.")
            return
        if "jsonrpc" not in answer:
            refused(message)

    return httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {key}"},
        timeout=_SECONDS,
        event_hooks={"response": [listen]},
    )
