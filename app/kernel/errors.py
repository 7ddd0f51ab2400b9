"""Canonical errors and their two renderings; the only module that shapes failures.

A message is one sentence. It names the resource or field and the accepted values, and never holds
the text of a memory, an event or an artifact.

Source: google.rpc.Status, google.rpc.ErrorInfo, google.rpc.BadRequest.
"""

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

DOMAIN = "open-memory-bank"
_TYPES = "type.googleapis.com/google.rpc."
_MAX_FRAMES = 12


class Reason(StrEnum):
    """The public catalogue of error reasons. Names are stable."""

    FIELD_INVALID = "FIELD_INVALID"
    """One or more fields of the request are invalid; each is named."""
    SENSITIVE_CONTENT = "SENSITIVE_CONTENT"
    """The engine refuses secrets or personal data of this kind; field and kind are named."""
    BODY_NOT_JSON = "BODY_NOT_JSON"
    """The body is not a JSON object that can be stored."""
    BODY_TOO_LARGE = "BODY_TOO_LARGE"
    """The body is longer than the service accepts."""
    CONTENT_TYPE_NOT_JSON = "CONTENT_TYPE_NOT_JSON"
    """The body is declared as something other than JSON."""
    CONTENT_ENCODING_NOT_SERVED = "CONTENT_ENCODING_NOT_SERVED"
    """The body is compressed; only uncompressed bodies are accepted."""
    HOST_NOT_SERVED = "HOST_NOT_SERVED"
    """The settings do not list the host of the request."""
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    """The path exists, but not with this HTTP method."""
    PATH_NOT_FOUND = "PATH_NOT_FOUND"
    """The path does not exist."""
    FILTER_INVALID = "FILTER_INVALID"
    """The filter cannot be parsed; the metadata has the column of the fault."""
    PAGE_TOKEN_INVALID = "PAGE_TOKEN_INVALID"  # noqa: S105 - a reason, not a secret
    """The page token is not one that this service returned for this query."""
    CREDENTIAL_MISSING = "CREDENTIAL_MISSING"
    """No API key was sent."""
    CREDENTIAL_INVALID = "CREDENTIAL_INVALID"
    """The API key is unknown, or the token is invalid."""
    ISSUER_KEYS_UNAVAILABLE = "ISSUER_KEYS_UNAVAILABLE"
    """The signing keys of the token issuer cannot be read at the moment."""
    PERMISSION_MISSING = "PERMISSION_MISSING"
    """The key lacks the named permission, or is restricted to a part of what it concerns."""
    SCOPE_OUT_OF_REACH = "SCOPE_OUT_OF_REACH"
    """The scope of the tools contradicts the conditions of the API key; the pair is named."""
    ORIGIN_NOT_ALLOWED = "ORIGIN_NOT_ALLOWED"
    """A page of another origin sent the request, and the settings do not list that origin."""
    RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED"
    """The key, or the engine, exceeds its request rate."""
    TOO_MANY_AT_ONCE = "TOO_MANY_AT_ONCE"
    """The key, or the process, has its maximum of costly requests or open bodies."""
    QUOTA_EXHAUSTED = "QUOTA_EXHAUSTED"
    """The engine, or a stream in it, is at its quota; the quota is named."""
    REQUEST_TOO_SLOW = "REQUEST_TOO_SLOW"
    """The headers or the body did not arrive in time."""
    REQUEST_NOT_HTTP = "REQUEST_NOT_HTTP"
    """The request is malformed HTTP, or in another protocol."""
    HEADERS_TOO_LARGE = "HEADERS_TOO_LARGE"
    """The request line and the headers are longer than the service accepts."""
    TOO_MANY_CONNECTIONS = "TOO_MANY_CONNECTIONS"
    """The process has its maximum of open connections, and all of them are in use."""
    SERVER_STOPPING = "SERVER_STOPPING"
    """The process is stopping, and the request did not end within its grace period."""
    LAST_ADMIN_KEY = "LAST_ADMIN_KEY"
    """The key is the last one that can manage keys; without it, only the command line could."""
    KEY_ENDED = "KEY_ENDED"
    """The key is revoked or has expired."""
    TOOL_UNKNOWN = "TOOL_UNKNOWN"
    """No tool that the key may use has this name."""
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND"
    """The named resource does not exist, or no longer does."""
    ID_TAKEN = "ID_TAKEN"
    """A resource with this id exists."""
    NOT_DELETED = "NOT_DELETED"
    """The memory is live; only a deleted memory can be recovered."""
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    """The request id was used with another request."""
    ETAG_STALE = "ETAG_STALE"
    """The resource was changed since the etag was read."""
    CONCURRENT_CHANGE = "CONCURRENT_CHANGE"
    """Another change won; read again and retry."""
    SEQUENCE_CONFLICT = "SEQUENCE_CONFLICT"
    """The last event of the session is not the expected one; its number is in the metadata."""
    SCOPE_KEEPS_CHANGING = "SCOPE_KEEPS_CHANGING"
    """The memories changed after each plan of the generation; send the request again."""
    ENGINE_NOT_EMPTY = "ENGINE_NOT_EMPTY"
    """The engine still holds memories, sessions, queued events or artifacts; see `force`."""
    ENGINE_RESTORING = "ENGINE_RESTORING"
    """The engine is being restored from an archive: only get, delete and restore are served."""
    REVISION_IS_DELETION = "REVISION_IS_DELETION"
    """The revision records a deletion and has nothing to restore."""
    SUMMARY_NOT_ACTIVE = "SUMMARY_NOT_ACTIVE"
    """The summary is not active: another replaced it, or one of its events was erased."""
    OPERATION_RUNNING = "OPERATION_RUNNING"
    """The operation has not ended."""
    SCOPE_BEING_ERASED = "SCOPE_BEING_ERASED"
    """The operation in the metadata is erasing the scope, or a part of it; write to it later."""
    OPERATION_NOT_FAILED = "OPERATION_NOT_FAILED"
    """The operation succeeded or was cancelled; only a failed one can be retried."""
    KIND_NOT_RETRIED = "KIND_NOT_RETRIED"
    """Operations of this kind cannot be retried; the message says what to do instead."""
    REQUEST_NOT_KEPT = "REQUEST_NOT_KEPT"
    """The request of the failed operation is no longer kept, was erased, or is out of date."""
    ALREADY_RETRIED = "ALREADY_RETRIED"
    """The failed operation was retried already; the metadata has the newer operation."""
    NOTHING_TO_UNDO = "NOTHING_TO_UNDO"
    """The operation left nothing to undo; the message says why."""
    OPERATION_CANCELLED = "OPERATION_CANCELLED"
    """The operation was cancelled on request."""
    ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"
    """The work failed in all of its attempts."""
    METHOD_NOT_SERVED = "METHOD_NOT_SERVED"
    """The method is known, but this version does not serve it."""
    MODEL_TIMEOUT = "MODEL_TIMEOUT"
    """The model did not answer in time, even after retries."""
    MODEL_RATE_LIMITED = "MODEL_RATE_LIMITED"
    """The model's provider refuses more requests at the moment."""
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"
    """The model's provider fails, or its circuit breaker is open."""
    MODEL_REFUSED = "MODEL_REFUSED"
    """The model's provider refused the request or the key; its HTTP status is in the metadata."""
    MODEL_OUTPUT_INVALID = "MODEL_OUTPUT_INVALID"
    """The model's output did not have the requested structure, even after a retry."""
    EMBEDDING_LENGTH_CHANGED = "EMBEDDING_LENGTH_CHANGED"
    """The embedding model's vectors differ in length from the stored ones; both are named."""
    TOKEN_BUDGET_EXHAUSTED = "TOKEN_BUDGET_EXHAUSTED"  # noqa: S105 - a reason, not a secret
    """The engine's models have used up the token budget of the day; the budget is named."""
    BUDGET_TOO_SMALL = "BUDGET_TOO_SMALL"
    """The required parts of a context exceed its token limit; the message gives the numbers."""
    UNSUPPORTED_ARTIFACT_TYPE = "UNSUPPORTED_ARTIFACT_TYPE"
    """An output, or an element of it, has a type that cannot be stored; both are named."""
    ARTIFACT_TOO_LARGE = "ARTIFACT_TOO_LARGE"
    """The artifact is longer than the service accepts."""
    DIGEST_MISMATCH = "DIGEST_MISMATCH"
    """The content does not match its digest; nothing is stored."""
    RANGE_NOT_SATISFIABLE = "RANGE_NOT_SATISFIABLE"
    """The artifact has none of the requested bytes; the response has its length."""
    NESTED_LIST = "NESTED_LIST"
    """A list of outputs contains another list; the element is named."""
    INFO_TOO_LARGE = "INFO_TOO_LARGE"
    """The information or error of an output is too long for the prompt."""
    NO_READABLE_ARTIFACTS = "NO_READABLE_ARTIFACTS"
    """The namespace has no readable text; no model was called."""
    TEXT_TAKES_TOO_LONG = "TEXT_TAKES_TOO_LONG"
    """Cutting the text of the artifact took too long; the artifact is kept without text."""
    FILE_UNREADABLE = "FILE_UNREADABLE"
    """The artifact is encrypted, damaged, too large to read, or has no text; it is kept."""
    READING_INTERRUPTED = "READING_INTERRUPTED"
    """The process that reads the file did not start, or ended early; it is tried again."""
    MODEL_NOT_ALLOWED = "MODEL_NOT_ALLOWED"
    """The model may not read the namespace; the allowed models are named."""
    READER_NOT_ALLOWED = "READER_NOT_ALLOWED"
    """This reader may not use the namespace; the allowed readers are named."""
    ACTIVITY_DENIED = "ACTIVITY_DENIED"
    """The policy of the tool denies the activity; nothing is stored."""
    INLINE_DENIED = "INLINE_DENIED"
    """The namespace is sensitive: results derived from it are stored, not shown."""
    DERIVATION_TOO_DEEP = "DERIVATION_TOO_DEEP"
    """The result would be derived from too long a chain of other results."""
    ARCHIVE_INVALID = "ARCHIVE_INVALID"
    """The archive is damaged, changed or in the wrong order; the lines are named."""
    ARCHIVE_TRUNCATED = "ARCHIVE_TRUNCATED"
    """The archive ends before its trailer."""
    ARCHIVE_MISMATCH = "ARCHIVE_MISMATCH"
    """Another archive is being restored into the engine; both are named in the metadata."""
    ARCHIVE_FORMAT_UNKNOWN = "ARCHIVE_FORMAT_UNKNOWN"
    """The archive is from a later release; the first release that can read it is named."""
    EXPORT_TOO_SLOW = "EXPORT_TOO_SLOW"
    """The export takes longer than the settings allow; the part that was sent is no archive."""
    REQUEST_ABANDONED = "REQUEST_ABANDONED"
    """The client stopped waiting for the response."""
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    """The database cannot be reached at the moment."""
    SCHEMA_CHANGED = "SCHEMA_CHANGED"
    """The schema is, or soon will be, of another release; this process has stopped writing."""
    NOT_READY = "NOT_READY"
    """A dependency, named in the metadata, is not ready, or texts are not yet cut into chunks."""
    INTERNAL = "INTERNAL"
    """A fault of this service; search the logs for the request id."""


@dataclass(frozen=True)
class FieldViolation:
    """An invalid field, by its path in wire spelling, and the accepted values."""

    field: str
    description: str


class ServiceError(Exception):
    """The base of every error that is reported to callers."""

    code: ClassVar[int]
    """The number of the code in google.rpc.Code."""
    http: ClassVar[int]
    status: ClassVar[str]
    ends_connection: bool = False
    """True: the connection closes after the answer, as the request was not read to its end."""

    def __init__(
        self,
        message: str,
        reason: Reason,
        *,
        violations: Sequence[FieldViolation] = (),
        metadata: Mapping[str, str] | None = None,
        retry_after_seconds: float | None = None,
        http: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.violations = tuple(violations)
        self.metadata = dict(metadata or {})
        self.retry_after_seconds = retry_after_seconds
        self.http_status = http or self.http

    def details(self) -> list[dict[str, object]]:
        """Return the typed details, ErrorInfo first."""
        details: list[dict[str, object]] = [
            {
                "@type": _TYPES + "ErrorInfo",
                "reason": self.reason.value,
                "domain": DOMAIN,
                "metadata": self.metadata,
            }
        ]
        if self.violations:
            listed = [{"field": v.field, "description": v.description} for v in self.violations]
            details.append({"@type": _TYPES + "BadRequest", "fieldViolations": listed})
        if self.retry_after_seconds is not None:
            delay = f"{self.retry_after_seconds:g}s"
            details.append({"@type": _TYPES + "RetryInfo", "retryDelay": delay})
        return details

    def as_http_body(self) -> dict[str, object]:
        """Return the body of an HTTP answer; its code is the HTTP status."""
        return {
            "error": {
                "code": self.http_status,
                "message": self.message,
                "status": self.status,
                "details": self.details(),
            }
        }

    def as_operation_error(self) -> dict[str, object]:
        """Return the `error` of an operation; its code is the number of google.rpc.Code."""
        return {"code": self.code, "message": self.message, "details": self.details()}


class InvalidArgument(ServiceError):
    """The request is wrong in any state of the service."""

    code, http, status = 3, 400, "INVALID_ARGUMENT"

    @classmethod
    def of_field(cls, field: str, description: str) -> "InvalidArgument":
        """Return the error of one field, named in wire spelling, with the accepted values."""
        violation = FieldViolation(field, description)
        return cls(f"{field}: {description}", Reason.FIELD_INVALID, violations=[violation])


class FailedPrecondition(ServiceError):
    """The state does not allow the request."""

    code, http, status = 9, 400, "FAILED_PRECONDITION"


class Unauthenticated(ServiceError):
    """The request has no valid credential."""

    code, http, status = 16, 401, "UNAUTHENTICATED"


class PermissionDenied(ServiceError):
    """The caller may not do this."""

    code, http, status = 7, 403, "PERMISSION_DENIED"


class NotFound(ServiceError):
    """The resource does not exist for this caller."""

    code, http, status = 5, 404, "NOT_FOUND"

    @classmethod
    def of(cls, name: object) -> "NotFound":
        """Return the error that names the missing resource."""
        return cls(f"{name} does not exist.", Reason.RESOURCE_NOT_FOUND)


class AlreadyExists(ServiceError):
    """The id is taken."""

    code, http, status = 6, 409, "ALREADY_EXISTS"


class Aborted(ServiceError):
    """A concurrent change won."""

    code, http, status = 10, 409, "ABORTED"


class ResourceExhausted(ServiceError):
    """A quota is exhausted, here or at a provider."""

    code, http, status = 8, 429, "RESOURCE_EXHAUSTED"


class Cancelled(ServiceError):
    """The operation was cancelled."""

    code, http, status = 1, 499, "CANCELLED"


class Internal(ServiceError):
    """A fault of the service; the message reveals nothing internal."""

    code, http, status = 13, 500, "INTERNAL"


class Unimplemented(ServiceError):
    """The method is known, but not served."""

    code, http, status = 12, 501, "UNIMPLEMENTED"


class Unavailable(ServiceError):
    """A dependency is unavailable; send the request again."""

    code, http, status = 14, 503, "UNAVAILABLE"


class BadGateway(ServiceError):
    """A dependency sent an unusable answer; unlike after a 503, do not retry."""

    code, http, status = 14, 502, "UNAVAILABLE"


class DeadlineExceeded(ServiceError):
    """A dependency was too slow."""

    code, http, status = 4, 504, "DEADLINE_EXCEEDED"


def describe(error: BaseException) -> str:
    """Return the types of the error and its causes, and the innermost frames, for logs."""
    # Messages are left out: the database and libraries quote the text of memories in theirs.
    frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
    places = " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
    names = [type(error).__name__]
    cause = error.__cause__ or error.__context__
    while cause is not None and len(names) < _MAX_FRAMES:
        names.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    return f"{' from '.join(names)} at {places}"
