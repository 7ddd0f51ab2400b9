"""Canonical errors and their two renderings. The single place where failures get their shape.

    ServiceError
      InvalidArgument      3  400  the request is wrong whatever the state is
      FailedPrecondition   9  400  the state does not allow it
      Unauthenticated     16  401  no valid credential
      PermissionDenied     7  403  the caller may not
      NotFound             5  404  no such resource for this caller
      AlreadyExists        6  409  the id is taken
      Aborted             10  409  a concurrent change won
      ResourceExhausted    8  429  a quota, here or at a provider
      Cancelled            1  499  the operation was cancelled
      Internal            13  500  our fault; the message says nothing internal
      Unimplemented       12  501  a known method that is not served
      Unavailable         14  503  a dependency is away; retry
      BadGateway          14  502  what a dependency answered is of no use
      DeadlineExceeded     4  504  a dependency was too slow

Messages are one sentence, name the resource or field, say what would be accepted, and never hold
the text of a memory, an event or an artifact.

Source: google.rpc.Status, google.rpc.ErrorInfo, google.rpc.BadRequest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

DOMAIN = "open-memory-bank"
_TYPES = "type.googleapis.com/google.rpc."


class Reason(StrEnum):
    """The public catalogue of reasons. A member's name is stable for ever."""

    FIELD_INVALID = "FIELD_INVALID"
    """One or more fields of the request are not acceptable; each is named."""
    BODY_NOT_JSON = "BODY_NOT_JSON"
    """The body is not a JSON object that can be stored."""
    BODY_TOO_LARGE = "BODY_TOO_LARGE"
    """The body is longer than the service takes."""
    CONTENT_TYPE_NOT_JSON = "CONTENT_TYPE_NOT_JSON"
    """The body is declared as something other than JSON."""
    CONTENT_ENCODING_NOT_SERVED = "CONTENT_ENCODING_NOT_SERVED"
    """The body is compressed; it is taken as it is only."""
    HOST_NOT_SERVED = "HOST_NOT_SERVED"
    """The request is for a host that the settings do not list."""
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    """The path exists, but not with this HTTP method."""
    PATH_NOT_FOUND = "PATH_NOT_FOUND"
    """No such path."""
    FILTER_INVALID = "FILTER_INVALID"
    """The filter cannot be read; the column is given."""
    PAGE_TOKEN_INVALID = "PAGE_TOKEN_INVALID"  # noqa: S105 - a reason, not a secret
    """The page token was not made by this service for this query."""
    CREDENTIAL_MISSING = "CREDENTIAL_MISSING"
    """No API key was sent."""
    CREDENTIAL_INVALID = "CREDENTIAL_INVALID"
    """The API key is not known here, or the token is not valid."""
    ISSUER_KEYS_UNAVAILABLE = "ISSUER_KEYS_UNAVAILABLE"
    """The keys with which the issuer of tokens signs cannot be read at the moment."""
    PERMISSION_MISSING = "PERMISSION_MISSING"
    """The key does not have the permission, which is named, or not over all that it concerns."""
    ORIGIN_NOT_ALLOWED = "ORIGIN_NOT_ALLOWED"
    """A page of another origin has sent the request, and the settings do not list that origin."""
    RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED"
    """The key, or the engine, asks for more than it may in this time."""
    TOO_MANY_AT_ONCE = "TOO_MANY_AT_ONCE"
    """The key, or the process, has as many costly requests under way as it may, or bodies open."""
    QUOTA_EXHAUSTED = "QUOTA_EXHAUSTED"
    """The engine, or a stream in it, holds as much as it may; the quota is named."""
    REQUEST_TOO_SLOW = "REQUEST_TOO_SLOW"
    """The headers or the body did not arrive in time."""
    REQUEST_NOT_HTTP = "REQUEST_NOT_HTTP"
    """What was sent cannot be read as HTTP, or asks for what is not served: another protocol."""
    HEADERS_TOO_LARGE = "HEADERS_TOO_LARGE"
    """The request line and the headers are longer than the service takes."""
    TOO_MANY_CONNECTIONS = "TOO_MANY_CONNECTIONS"
    """As many connections are open as the process takes, and all of them are being served."""
    SERVER_STOPPING = "SERVER_STOPPING"
    """The process stops, and the request took longer than its period of grace."""
    LAST_ADMIN_KEY = "LAST_ADMIN_KEY"
    """The key is the last that can manage keys; without it, only the command line could."""
    KEY_ENDED = "KEY_ENDED"
    """The key is revoked or has expired."""
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND"
    """The named resource does not exist, or no longer does."""
    ID_TAKEN = "ID_TAKEN"
    """A resource with this id exists."""
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    """The request id was used with another request."""
    ETAG_STALE = "ETAG_STALE"
    """The resource was changed since the etag was read."""
    CONCURRENT_CHANGE = "CONCURRENT_CHANGE"
    """Another change won; read again and retry."""
    SEQUENCE_CONFLICT = "SEQUENCE_CONFLICT"
    """The session's last event is another than the expected one; its number is in the metadata."""
    SCOPE_KEEPS_CHANGING = "SCOPE_KEEPS_CHANGING"
    """The memories changed each time that a generation had planned for them; ask again."""
    ENGINE_NOT_EMPTY = "ENGINE_NOT_EMPTY"
    """The engine still holds memories, sessions, waiting events or artifacts; see `force`."""
    REVISION_IS_DELETION = "REVISION_IS_DELETION"
    """The revision records a deletion, which holds nothing to restore."""
    SUMMARY_NOT_ACTIVE = "SUMMARY_NOT_ACTIVE"
    """The summary is not in force: another took its place, or an event of it was erased."""
    OPERATION_RUNNING = "OPERATION_RUNNING"
    """The operation has not ended."""
    NOTHING_TO_UNDO = "NOTHING_TO_UNDO"
    """The operation left nothing that can be taken back; the message says why."""
    OPERATION_CANCELLED = "OPERATION_CANCELLED"
    """The operation was cancelled on request."""
    ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"
    """The work failed as often as it may be tried."""
    METHOD_NOT_SERVED = "METHOD_NOT_SERVED"
    """The method is known but this version does not serve it."""
    MODEL_TIMEOUT = "MODEL_TIMEOUT"
    """The model gave no answer in time, retries included."""
    MODEL_RATE_LIMITED = "MODEL_RATE_LIMITED"
    """The model's provider takes no more requests at the moment."""
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"
    """The model's provider fails, or has failed so often that it is spared for a while."""
    MODEL_REFUSED = "MODEL_REFUSED"
    """The model's provider refuses the request or the key; its HTTP status is in the metadata."""
    MODEL_OUTPUT_INVALID = "MODEL_OUTPUT_INVALID"
    """The model's output did not have the asked structure, also when asked again."""
    EMBEDDING_LENGTH_CHANGED = "EMBEDDING_LENGTH_CHANGED"
    """The embedding model gives vectors of another length than those that are stored; both told."""
    TOKEN_BUDGET_EXHAUSTED = "TOKEN_BUDGET_EXHAUSTED"  # noqa: S105 - a reason, not a secret
    """The engine's models have used the tokens of the day; the budget is named."""
    BUDGET_TOO_SMALL = "BUDGET_TOO_SMALL"
    """What a context has to show does not fit in its token limit; the numbers are told."""
    UNSUPPORTED_ARTIFACT_TYPE = "UNSUPPORTED_ARTIFACT_TYPE"
    """An output, or an element of one, is of a kind that is not stored here; both are named."""
    ARTIFACT_TOO_LARGE = "ARTIFACT_TOO_LARGE"
    """The artifact is longer than the service keeps."""
    DIGEST_MISMATCH = "DIGEST_MISMATCH"
    """What has come is not what the digest says; nothing of it is kept."""
    RANGE_NOT_SATISFIABLE = "RANGE_NOT_SATISFIABLE"
    """The artifact has none of the bytes that were asked for; its length is told."""
    NESTED_LIST = "NESTED_LIST"
    """A list among outputs holds another; the element is named."""
    INFO_TOO_LARGE = "INFO_TOO_LARGE"
    """What an output says for the prompt, as information or error, is longer than may pass."""
    NO_READABLE_ARTIFACTS = "NO_READABLE_ARTIFACTS"
    """Nothing in the namespace has text that could be read; no model was asked."""
    MODEL_NOT_ALLOWED = "MODEL_NOT_ALLOWED"
    """The model may not read the namespace; those that may are named."""
    INLINE_DENIED = "INLINE_DENIED"
    """The namespace is sensitive: what is made of it is stored, not shown."""
    DERIVATION_TOO_DEEP = "DERIVATION_TOO_DEEP"
    """What would be stored is made of what was made of results, over and over."""
    REQUEST_ABANDONED = "REQUEST_ABANDONED"
    """Nobody waits for the answer any more."""
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    """The database cannot be reached at the moment."""
    NOT_READY = "NOT_READY"
    """A dependency is not ready, which is named in the metadata; or texts are not cut up yet."""
    INTERNAL = "INTERNAL"
    """A fault of this service; the request id finds it in the logs."""


@dataclass(frozen=True)
class FieldViolation:
    """A field that is wrong, by its path in wire spelling, and what would be accepted."""

    field: str
    description: str


class ServiceError(Exception):
    """The base of every error that a caller is meant to see."""

    code: ClassVar[int]
    """The number of the code in google.rpc.Code."""
    http: ClassVar[int]
    status: ClassVar[str]
    ends_connection: bool = False
    """True closes the connection after the answer, because the request was not read to its end."""

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
        """Render the typed details, ErrorInfo first."""
        found: list[dict[str, object]] = [
            {
                "@type": _TYPES + "ErrorInfo",
                "reason": self.reason.value,
                "domain": DOMAIN,
                "metadata": self.metadata,
            }
        ]
        if self.violations:
            listed = [{"field": v.field, "description": v.description} for v in self.violations]
            found.append({"@type": _TYPES + "BadRequest", "fieldViolations": listed})
        if self.retry_after_seconds is not None:
            delay = f"{self.retry_after_seconds:g}s"
            found.append({"@type": _TYPES + "RetryInfo", "retryDelay": delay})
        return found

    def as_http_body(self) -> dict[str, object]:
        """Render for an HTTP answer: the code is the HTTP status."""
        return {
            "error": {
                "code": self.http_status,
                "message": self.message,
                "status": self.status,
                "details": self.details(),
            }
        }

    def as_operation_error(self) -> dict[str, object]:
        """Render for the `error` of an operation: the code is the number of google.rpc.Code."""
        return {"code": self.code, "message": self.message, "details": self.details()}


class InvalidArgument(ServiceError):
    """The request is wrong whatever the state is."""

    code, http, status = 3, 400, "INVALID_ARGUMENT"

    @classmethod
    def of_field(cls, field: str, description: str) -> "InvalidArgument":
        """Name one field, in wire spelling, and say what is accepted."""
        violation = FieldViolation(field, description)
        return cls(f"{field}: {description}", Reason.FIELD_INVALID, violations=[violation])


class FailedPrecondition(ServiceError):
    """The state does not allow it."""

    code, http, status = 9, 400, "FAILED_PRECONDITION"


class Unauthenticated(ServiceError):
    """No valid credential."""

    code, http, status = 16, 401, "UNAUTHENTICATED"


class PermissionDenied(ServiceError):
    """The caller may not."""

    code, http, status = 7, 403, "PERMISSION_DENIED"


class NotFound(ServiceError):
    """No such resource for this caller."""

    code, http, status = 5, 404, "NOT_FOUND"

    @classmethod
    def of(cls, name: object) -> "NotFound":
        """Name the resource that is not there."""
        return cls(f"{name} does not exist.", Reason.RESOURCE_NOT_FOUND)


class AlreadyExists(ServiceError):
    """The id is taken."""

    code, http, status = 6, 409, "ALREADY_EXISTS"


class Aborted(ServiceError):
    """A concurrent change won."""

    code, http, status = 10, 409, "ABORTED"


class ResourceExhausted(ServiceError):
    """A quota, here or at a provider."""

    code, http, status = 8, 429, "RESOURCE_EXHAUSTED"


class Cancelled(ServiceError):
    """The operation was cancelled."""

    code, http, status = 1, 499, "CANCELLED"


class Internal(ServiceError):
    """Our fault; the message says nothing internal."""

    code, http, status = 13, 500, "INTERNAL"


class Unimplemented(ServiceError):
    """A known method that is not served."""

    code, http, status = 12, 501, "UNIMPLEMENTED"


class Unavailable(ServiceError):
    """A dependency is away; retry."""

    code, http, status = 14, 503, "UNAVAILABLE"


class BadGateway(ServiceError):
    """A dependency sent an unusable answer; unlike `Unavailable`, it is not asked again."""

    code, http, status = 14, 502, "UNAVAILABLE"


class DeadlineExceeded(ServiceError):
    """A dependency was too slow."""

    code, http, status = 4, 504, "DEADLINE_EXCEEDED"
