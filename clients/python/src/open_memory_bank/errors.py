"""Errors of the service, of the way to it, and of operations.

Messages name the path of a request, never its key or its body.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"


class MemoryBankError(Exception):
    """Any error that this package raises about a request that was sent."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Else pickle would call the class with its message alone.
        return _empty, (type(self),), {**vars(self), "args": self.args}


def _empty(kind: type[MemoryBankError]) -> MemoryBankError:
    return kind.__new__(kind)


class Unreachable(MemoryBankError):
    """No whole answer came: the connection failed, broke or took too long."""


class ApiError(MemoryBankError):
    """An answer that refuses a request; one subclass for each canonical code.

    Attributes:
        status: the name of the canonical code, such as `NOT_FOUND`; `UNKNOWN` if the answer has
            none, as that of a proxy.
        reason: the service's own reason, such as `RESOURCE_NOT_FOUND`; may be empty.
        message: the explanation for people.
        http_status: the status of the answer.
        request_id: the id under which the service's logs have the request; may be empty.
        details: the whole details of the answer.
        retry_after: seconds after which the request may succeed; None: not said.
    """

    def __init__(
        self,
        status: str,
        reason: str,
        message: str,
        http_status: int,
        *,
        request_id: str = "",
        details: Sequence[Mapping[str, Any]] = (),
        retry_after: float | None = None,
        path: str = "",
    ) -> None:
        super().__init__(f"{path}: {message} ({status}{f', {reason}' if reason else ''})")
        self.status = status
        self.reason = reason
        self.message = message
        self.http_status = http_status
        self.request_id = request_id
        self.details = details
        self.retry_after = retry_after


class InvalidArgument(ApiError):
    """The request is wrong, whatever the state of the service."""


class FailedPrecondition(ApiError):
    """The state of the service does not allow it."""


class Unauthenticated(ApiError):
    """There is no valid key."""


class PermissionDenied(ApiError):
    """The key may not do it."""


class NotFound(ApiError):
    """There is no such resource, or the key does not reach it."""


class AlreadyExists(ApiError):
    """The id is taken."""


class Aborted(ApiError):
    """Another change won, or the version is not the current one."""


class ResourceExhausted(ApiError):
    """A rate, a quota or a budget is used up."""


class Cancelled(ApiError):
    """The request was given up."""


class Unimplemented(ApiError):
    """A known method that the service does not serve."""


class Internal(ApiError):
    """A fault of the service; its logs have it under `request_id`."""


class Unavailable(ApiError):
    """The service, or what it depends on, cannot be reached at the moment."""


class DeadlineExceeded(ApiError):
    """Something that the service depends on was too slow."""


class OperationFailed(MemoryBankError):
    """The work of an operation failed.

    Attributes:
        name: the full name of the operation.
        code: the number of the canonical code, 1 to 16.
        reason: the service's own reason; may be empty.
        message: the explanation for people.
        metadata: the account of the work, with tokens and calls of models.
    """

    def __init__(self, operation: Mapping[str, Any]) -> None:
        error = operation["error"]
        self.name: str = operation["name"]
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.reason = reason_of(error.get("details") or ())
        self.metadata: Mapping[str, Any] = operation["metadata"]
        super().__init__(f"{self.name}: {self.message}")


class WaitTimeout(MemoryBankError, TimeoutError):
    """An operation was not done in time; it goes on.

    Attributes:
        operation: its handle, `Operation` or `AsyncOperation`, to go on waiting with; None in
            another process, which has no connection of it.
    """

    def __init__(self, operation: Any, name: str, seconds: float) -> None:  # noqa: ANN401 - of either client
        super().__init__(f"{name} is not done after {seconds:g} s; it goes on.")
        self.operation = operation

    def __reduce__(self) -> tuple[Any, ...]:
        make, made_of, state = super().__reduce__()
        return make, made_of, {**state, "operation": None}


_BY_STATUS: Mapping[str, type[ApiError]] = {
    "ABORTED": Aborted,
    "ALREADY_EXISTS": AlreadyExists,
    "CANCELLED": Cancelled,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "FAILED_PRECONDITION": FailedPrecondition,
    "INTERNAL": Internal,
    "INVALID_ARGUMENT": InvalidArgument,
    "NOT_FOUND": NotFound,
    "PERMISSION_DENIED": PermissionDenied,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "UNAUTHENTICATED": Unauthenticated,
    "UNAVAILABLE": Unavailable,
    "UNIMPLEMENTED": Unimplemented,
}


def object_of(response: httpx.Response) -> Any:  # noqa: ANN401 - of the caller's type
    """Return the JSON object that an answer holds.

    Raises:
        ApiError: it holds none, as that of a proxy.
    """
    found = _json(response)
    if not isinstance(found, dict):
        raise error_of(response)
    return found


def error_of(response: httpx.Response) -> ApiError:
    """Return the error that an answer tells of, which has been read."""
    body = _json(response)
    error: Any = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        error = {}
    status = str(error.get("status", "UNKNOWN"))
    given = error.get("details")
    details = [row for row in given if isinstance(row, dict)] if isinstance(given, list) else []
    said = f"HTTP status {response.status_code}"
    return _BY_STATUS.get(status, ApiError)(
        status,
        reason_of(details),
        str(error.get("message", f"{said} without JSON" if response.is_success else said)),
        response.status_code,
        request_id=response.headers.get("x-request-id", ""),
        details=details,
        retry_after=_seconds(response.headers.get("retry-after")),
        path=response.request.url.path,
    )


def reason_of(details: Sequence[Mapping[str, Any]]) -> str:
    """Return the reason that details name; empty if they name none."""
    for detail in details:
        if detail.get("@type") == _ERROR_INFO:
            return str(detail.get("reason", ""))
    return ""


def _json(response: httpx.Response) -> Any:  # noqa: ANN401 - any JSON
    try:
        return response.json()
    except ValueError:
        return None


def _seconds(header: str | None) -> float | None:
    """Return the seconds of `Retry-After`: a number, or from a proxy perhaps a date."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds)
