"""Clients of the service's REST API, for commands and for programs on an agent's machine."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import httpx2

JSON = "application/json"
_BASE = "/v1beta1"
_CONNECT_SECONDS = 10.0
_SECONDS = 300.0
"""Longest wait for the next bytes, such as the answer to an upload or an export's next part."""
_REFUSALS = 400
_SHOWN_CHARS = 500
Query = Mapping[str, str | int | bool]
"""The parameters of a query."""
_TOOL_SECONDS = 90.0
"""Time limit of a request; longer than the longest wait of a tool."""


class RemoteError(Exception):
    """The service refused a request, or could not be reached: then `status` is None."""

    def __init__(
        self,
        message: str,
        status: int | None = None,
        reason: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.metadata = dict(metadata or {})


class ApiClient:
    """Calls of one service with one key. Paths begin after `/v1beta1`."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url.rstrip("/")
        self._client = httpx2.Client(
            base_url=self.url + _BASE,
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx2.Timeout(_SECONDS, connect=_CONNECT_SECONDS),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Query | None = None,
    ) -> dict[str, Any]:
        """Send a request with a JSON body or none; return the JSON answer."""
        with _errors(self.url):
            response = self._client.request(method, path, json=body, params=_text(query))
        return _answer(response)

    def upload(
        self,
        path: str,
        content: Iterable[bytes],
        media_type: str,
        query: Query | None = None,
    ) -> dict[str, Any]:
        """Post a body of any length, piece by piece; return the JSON answer."""
        headers = {"Content-Type": media_type}
        with _errors(self.url):
            response = self._client.post(
                path, content=content, headers=headers, params=_text(query)
            )
        return _answer(response)

    @contextmanager
    def download(self, path: str, query: Query | None = None) -> Iterator[Iterator[bytes]]:
        """Open an answer of any length; yield an iterator over its bytes as they arrive."""
        with (
            _errors(self.url),
            self._client.stream("GET", path, params=_text(query)) as response,
        ):
            if response.status_code >= _REFUSALS:
                response.read()
                _answer(response)
            yield response.iter_raw()


@contextmanager
def _errors(url: str) -> Iterator[None]:
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        raise RemoteError(f"No service answers at {url}: {error}.") from error
    except httpx2.TimeoutException as error:
        raise RemoteError(f"The service at {url} does not answer in time.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise RemoteError(f"The connection to {url} failed: {error}.") from error


def _text(query: Query | None) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (query or {}).items()
    }


def _answer(response: httpx2.Response) -> dict[str, Any]:
    try:
        body = response.json()
        if response.status_code < _REFUSALS:
            return dict(body)
        error = body["error"]
        info: dict[str, Any] = next(
            (detail for detail in error.get("details", ()) if "reason" in detail), {}
        )
        message = str(error["message"])
    except (json.JSONDecodeError, UnicodeDecodeError, LookupError, TypeError, ValueError):
        shown = response.text[:_SHOWN_CHARS] or "nothing"
        raise RemoteError(
            f"The answer with status {response.status_code} is not this service's: {shown}",
            response.status_code,
        ) from None
    raise RemoteError(message, response.status_code, info.get("reason"), info.get("metadata"))


def status_of_mcp(url: str, key: str) -> int:
    """Return the status of the MCP endpoint's answer to a key.

    Raises:
        RemoteError: there is no answer.
    """
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with _errors(url):
        headers = {"Authorization": f"Bearer {key}", "Accept": JSON}
        return httpx2.post(url, json=ping, headers=headers, timeout=_CONNECT_SECONDS).status_code


def client_with(key: str, refused: Callable[[str], None]) -> httpx2.AsyncClient:
    """Return a client that sends a key; `refused` gets each error message, except JSON-RPC's."""

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
        timeout=_TOOL_SECONDS,
        event_hooks={"response": [listen]},
    )
