"""API calls for one page or tool, at most four at a time, recorded as `curl` commands."""

import asyncio
import json
import shlex
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from typing_extensions import override

from app.adapters.inprocess import InProcess, InProcessAnswer
from app.kernel.errors import Reason


class Json(dict[str, Any]):
    """A JSON object of a response; a missing field is None, in templates too."""

    def __missing__(self, _: str) -> None:
        return None


Query = Sequence[tuple[str, str]]

_AT_ONCE = 4
_SUCCESS = range(200, 300)
_FAULT = 400


class ApiRefusal(Exception):
    """The API refused a call; `reason` is one such as `ETAG_STALE`."""

    def __init__(self, answer: InProcessAnswer) -> None:
        error = _read(answer)["error"] or Json()
        self.status = answer.status
        self.message: str = error.get("message", "")
        self.reason = ""
        self.fields: dict[str, str] = {}
        self.details: list[Json] = error.get("details", [])
        for detail in self.details:
            self.reason = self.reason or detail.get("reason", "")
            for violation in detail.get("fieldViolations", ()):
                self.fields[violation["field"]] = violation["description"]
        super().__init__(self.reason)

    @property
    def is_stale(self) -> bool:
        """True if the resource has changed since its etag was read."""
        return self.reason == Reason.ETAG_STALE

    @property
    def is_forbidden(self) -> bool:
        """True if the caller lacks a permission."""
        return self.reason == Reason.PERMISSION_MISSING


class ApiFault(ApiRefusal):
    """The API found a fault in the request itself: the status is 400."""


@dataclass
class Api:
    """API client for one page of the console or one tool call; its calls raise `ApiRefusal`.

    Attributes:
        address: the address at which the browser reaches the service.
        made: the read calls made so far, as `curl` commands.
    """

    calls: InProcess
    address: str
    made: list[str] = field(default_factory=list)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def get(self, path: str, query: Query = ()) -> Json:
        """Return the JSON response of a GET request."""
        self.made.append(_curl(self.address, path, query))
        return _read(await self._call("GET", path, query=query))

    async def ask(
        self,
        path: str,
        body: Mapping[str, Any],
        query: Query = (),
        *,
        request_id: str | None = None,
    ) -> Json:
        """Return the response of a POST request that reads; a request id makes it idempotent."""
        self.made.append(_curl(self.address, path, query, body))
        once = [] if request_id is None else [("requestId", request_id)]
        return _read(await self._call("POST", path, query=[*query, *once], body=body))

    async def content(self, path: str, max_bytes: int) -> bytes:
        """Return the first bytes of a file, which must not be empty."""
        self.made.append(_curl(self.address, path))
        headers = {"range": f"bytes=0-{max_bytes - 1}"}
        return (await self._call("GET", path, headers=headers)).body

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        request_id: str | None = None,
        etag: str | None = None,
        mask: str | None = None,
    ) -> Json:
        """Send a change and return the response.

        Args:
            method: the HTTP method.
            path: the path in the API.
            body: the body of the request.
            request_id: the form's id, for idempotency; None: the method takes none.
            etag: the version that the form displayed; None: any version.
            mask: the fields to change; None: the fields in the body.
        """
        named = (("requestId", request_id), ("updateMask", mask))
        query = [(name, value) for name, value in named if value is not None]
        # The etag comes from a form field; JSON quoting keeps it within one header.
        headers = {} if etag is None else {"if-match": json.dumps(etag)}
        return _read(await self._call(method, path, query=query, body=body, headers=headers))

    async def upload(self, path: str, query: Query, media_type: str, receive: Receive) -> Json:
        """Send a body as it arrives and return the response."""
        answer = await self.calls.upload(path, query, media_type, receive)
        return _read(_succeeded(answer))

    def download(self, path: str, query: Query, file: str) -> Response:
        """Return a response that streams an API response to the browser as a file."""
        return Download(self.calls, path, query, file)

    async def erase(self, path: str, request_id: str) -> None:
        """Delete a resource permanently."""
        query = [("permanent", "true"), ("requestId", request_id)]
        await self._call("DELETE", path, query=query)

    async def _call(self, method: str, path: str, **sent: Any) -> InProcessAnswer:  # noqa: ANN401 - as `call` takes them
        async with self._slots:
            return _succeeded(await self.calls.call(method, path, **sent))


class Download(Response):
    """A streamed API response with the headers of a file download."""

    def __init__(self, calls: InProcess, path: str, query: Query, file: str) -> None:
        super().__init__()
        self._calls, self._path, self._query, self._file = calls, path, query, file

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in _SUCCESS:
                headers = MutableHeaders(scope=message)
                headers["Content-Disposition"] = f'attachment; filename="{self._file}"'
            await send(message)

        await self._calls.forward(self._path, self._query, receive, send_named)


async def refusals(changes: Mapping[str, Awaitable[Json]]) -> dict[str, str]:
    """Make a form's changes concurrently; return the messages of refused ones, by change name."""
    results = await asyncio.gather(*changes.values(), return_exceptions=True)
    messages: dict[str, str] = {}
    for name, result in zip(changes, results, strict=True):
        if isinstance(result, ApiRefusal) and not result.is_forbidden:
            messages[name] = result.message
        elif isinstance(result, BaseException):
            raise result
    return messages


def _succeeded(answer: InProcessAnswer) -> InProcessAnswer:
    if answer.status not in _SUCCESS:
        raise ApiFault(answer) if answer.status == _FAULT else ApiRefusal(answer)
    return answer


def _read(answer: InProcessAnswer) -> Json:
    content: Json = json.loads(answer.body, object_hook=Json)
    return content


def _curl(address: str, path: str, query: Query = (), body: Mapping[str, Any] | None = None) -> str:
    """Return a call as a `curl` command with a placeholder for the key."""
    url = f"{address}{path}" + (f"?{urlencode(query)}" if query else "")
    command = 'curl -H "Authorization: Bearer $KEY"'
    if body is not None:
        sent = shlex.quote(json.dumps(body, ensure_ascii=False))
        command += f' -X POST -H "Content-Type: application/json" -d {sent}'
    return f"{command} {shlex.quote(url)}"
