"""Calls of the API for one page: together, at most four at a time, and remembered as `curl`."""

import asyncio
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from app.adapters.inprocess import InProcess, InProcessAnswer
from app.kernel.errors import Reason


class Json(dict[str, Any]):
    """An object of an answer; a field that it lacks is None, in templates too."""

    def __missing__(self, _: str) -> None:
        return None


Query = Sequence[tuple[str, str]]

_AT_ONCE = 4
_SUCCESS = range(200, 300)


class ApiRefusal(Exception):
    """The API refused a call.

    Attributes:
        status: the HTTP status.
        message: what the API says.
        reason: its reason, such as `ETAG_STALE`.
        fields: what it says of fields, by their names.
    """

    def __init__(self, answer: InProcessAnswer) -> None:
        error = _read(answer)["error"] or Json()
        self.status = answer.status
        self.message: str = error.get("message", "")
        self.reason = ""
        self.fields: dict[str, str] = {}
        for detail in error.get("details", ()):
            self.reason = self.reason or detail.get("reason", "")
            for violation in detail.get("fieldViolations", ()):
                self.fields[violation["field"]] = violation["description"]
        super().__init__(self.reason)

    @property
    def is_stale(self) -> bool:
        """True if the resource was changed since its etag was read."""
        return self.reason == Reason.ETAG_STALE

    @property
    def is_forbidden(self) -> bool:
        """True if the caller lacks a permission."""
        return self.reason == Reason.PERMISSION_MISSING


@dataclass
class Api:
    """The API for one page.

    Attributes:
        calls: how it is called.
        made: the calls of the page that read, as commands.
    """

    calls: InProcess
    made: list[str] = field(default_factory=list)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def get(self, path: str, query: Query = ()) -> Json:
        """Return what a path answers.

        Raises:
            ApiRefusal: it is not a success.
        """
        self.made.append(_curl(self.calls.host, path, query))
        return await self._call("GET", path, query=query)

    async def ask(self, path: str, body: Mapping[str, Any]) -> Json:
        """Return what a method answers that takes a body and changes nothing.

        Raises:
            ApiRefusal: it is not a success.
        """
        self.made.append(_curl(self.calls.host, path, (), body))
        return await self._call("POST", path, body=body)

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
        """Send a change; return the answer.

        Args:
            method: the HTTP method.
            path: in the API.
            body: of the request.
            request_id: of the form, so that its change happens once; None: the method takes none.
            etag: the version that the form was made of; None: any.
            mask: the fields to change; None: those of the body.

        Raises:
            ApiRefusal: it is not a success.
        """
        named = (("requestId", request_id), ("updateMask", mask))
        query = [(name, value) for name, value in named if value is not None]
        # Whatever a form carried as an etag, it is one header.
        headers = {} if etag is None else {"if-match": json.dumps(etag)}
        return await self._call(method, path, query=query, body=body, headers=headers)

    async def _call(self, method: str, path: str, **sent: Any) -> Json:  # noqa: ANN401 - as `call` takes them
        async with self._slots:
            answer = await self.calls.call(method, path, **sent)
        if answer.status not in _SUCCESS:
            raise ApiRefusal(answer)
        return _read(answer)


def _read(answer: InProcessAnswer) -> Json:
    """Return the JSON of an answer; all answers of the API have it."""
    found: Json = json.loads(answer.body, object_hook=Json)
    return found


def _curl(host: str, path: str, query: Query, body: Mapping[str, Any] | None = None) -> str:
    """Return a call as a command, with the key left out."""
    url = f"http://{host}{path}" + (f"?{urlencode(query)}" if query else "")
    command = f'curl -H "Authorization: Bearer $KEY" {shlex.quote(url)}'
    if body is None:
        return command
    sent = shlex.quote(json.dumps(body, ensure_ascii=False))
    return f'{command} -X POST -H "Content-Type: application/json" -d {sent}'
