"""An HTTP client of a remote service, for programs that run on an agent's machine."""

import json
from collections.abc import Callable

import httpx2

_SECONDS = 90.0
"""Time limit of a request; longer than the longest wait of a tool."""
_REFUSALS = 400


def client_with(key: str, refused: Callable[[str], None]) -> httpx2.AsyncClient:
    """Return a client that sends a key and follows no redirect.

    Args:
        key: an API key of the service.
        refused: called with the message of each error answer, except errors of JSON-RPC.
    """

    async def listen(response: httpx2.Response) -> None:
        if response.status_code < _REFUSALS:
            return
        try:
            answer = json.loads(await response.aread())
            message = str(answer["error"]["message"])
        except (ValueError, LookupError, TypeError):
            # The answer of a proxy, or of another service.
            refused(f"The service answers with status {response.status_code}.")
            return
        if "jsonrpc" not in answer:
            refused(message)

    return httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {key}"},
        timeout=_SECONDS,
        event_hooks={"response": [listen]},
    )
