"""The wire form of sessions and their events. Source: wire specification, section 13."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName, SessionName
from app.kernel.wire.base import WireModel
from app.kernel.wire.memory_policy import MemoryPolicy
from app.kernel.wire.objects import MAX_LABEL_CHARS, MAX_LABELS, Labels, size_of
from app.kernel.wire.scalars import PositiveDuration, Timestamp
from app.platform.sessions.logic.states import SharedState, lasting
from app.platform.sessions.store.tables import SessionRow

MAX_STATE_BYTES = 1024 * 1024
MAX_USER_ID_CHARS = 512
MAX_TEXT_CHARS = 4_096
# Lower case in scripts with cases; letters of other scripts are accepted.
_LABEL = re.compile(r"[\w-]*")
_LABEL_SCHEMA = {"type": "string", "pattern": "^[a-z0-9_-]*$", "maxLength": MAX_LABEL_CHARS}


def check_state_size(state: Mapping[str, Any], field: str) -> None:
    """Raise InvalidArgument for a state that is too long as stored: 1e300 is written in full."""
    if size_of(state) > MAX_STATE_BYTES:
        raise InvalidArgument.of_field(
            field, f"the session's state must have at most {MAX_STATE_BYTES} bytes as JSON."
        )


State = Annotated[
    dict[str, Any],
    AfterValidator(lasting),
    Field(
        description=f"Any JSON object, of at most {MAX_STATE_BYTES} bytes. Keys that start with"
        " `user:` are shared by the sessions of the user, and keys with `app:` by all sessions of"
        " the engine. Keys with `temp:` are not stored."
    ),
]


def _check_labels(labels: dict[str, str]) -> dict[str, str]:
    for text in [*labels, *labels.values()]:
        if _LABEL.fullmatch(text) is None or text != text.lower():
            raise ValueError("must have keys and values of lower-case letters, digits, _ and -")
    return labels


SessionLabels = Annotated[
    Labels,
    AfterValidator(_check_labels),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": MAX_LABELS,
            "propertyNames": {**_LABEL_SCHEMA, "minLength": 1},
            "additionalProperties": _LABEL_SCHEMA,
            "examples": [{"channel": "web"}],
        }
    ),
]


class SessionFields(WireModel):
    """The fields of a session that callers may set, at its creation or later."""

    display_name: str | None = Field(
        None, max_length=MAX_TEXT_CHARS, description="Name for people."
    )
    labels: SessionLabels | None = Field(
        None,
        description="The caller's own labels, of lower-case letters, digits, `_` and `-`.",
    )
    session_state: State | None = Field(
        None,
        description=f"Values that agents keep: at most {MAX_STATE_BYTES} bytes as JSON. Keys"
        " that start with `user:` are shared by the user's sessions, and keys with `app:` by all"
        " sessions of the engine. Keys with `temp:` are not stored.",
    )
    expire_time: Timestamp | None = Field(
        None,
        description="Time at which the session is deleted, in UTC; absent: by `ttl`, else by the"
        " service's setting.",
    )
    ttl: PositiveDuration | None = Field(None, description="Input only: expiry is now + ttl.")
    memory_policy: MemoryPolicy | None = Field(
        None, description="Policy of its contexts and summaries; absent: the engine's policy."
    )

    @model_validator(mode="after")
    def _has_one_expiry(self) -> Self:
        if self.ttl is not None and self.expire_time is not None:
            raise ValueError("must have at most one of ttl and expireTime")
        return self

    def columns(self) -> dict[str, Any]:
        """Return the columns set by callers, with the request's values, except the expiry."""
        return {
            "display_name": self.display_name,
            "labels": self.labels or {},
            "session_state": self.session_state or {},
            "memory_policy": self.memory_policy and self.memory_policy.wire(),
        }


UserId = Annotated[str, Field(min_length=1, max_length=MAX_USER_ID_CHARS, examples=["42"])]


class CreateSessionRequest(SessionFields):
    """A session as sent by its creator. Output-only fields are ignored."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"userId": "42", "sessionState": {"language": "de"}}]}
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time", "etag"})

    user_id: UserId = Field(description="Id of the user that the session belongs to.")


class UpdateSessionRequest(SessionFields):
    """The fields to change. The user may be repeated unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"displayName": "Trip to Lisbon"}]})

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time"})

    user_id: UserId | None = Field(
        None, description="The session's own user; another one is refused."
    )
    etag: str | None = Field(None, description="The etag that was read.")


class Session(WireModel):
    """A conversation of a user with an agent."""

    name: str = Field(description="Full name of the session.")
    user_id: str = Field(description="Id of the user that it belongs to.")
    display_name: str | None = Field(None, description="Name for people.")
    labels: dict[str, str] | None = Field(
        None, description="The caller's own labels; absent: none."
    )
    session_state: dict[str, Any] = Field(
        description="Its own state merged with the shared keys, which start with `user:` and"
        " `app:`."
    )
    memory_policy: MemoryPolicy | None = Field(
        None, description="Policy of its contexts and summaries; absent: the engine's policy."
    )
    create_time: Timestamp = Field(description="Time of its creation.")
    update_time: Timestamp = Field(
        description="A microsecond after the `timestamp` of the newest event, or the time of a"
        " later change; not before the creation. Filters and orders use the time of the last"
        " change."
    )
    expire_time: Timestamp = Field(description="Time at which it is deleted with its events.")
    etag: str = Field(description="Version of the session, for conditional requests.")

    @classmethod
    def from_row(cls, engine: EngineName, row: SessionRow, shared: SharedState) -> "Session":
        """Build the wire form; `engine` is the stored full name."""
        return cls(
            name=str(SessionName(engine, row.session_id)),
            user_id=row.user_id,
            display_name=row.display_name,
            labels=row.labels or None,
            session_state=shared.merged(row.session_state, row.user_id),
            memory_policy=row.memory_policy and MemoryPolicy.model_validate(row.memory_policy),
            create_time=row.create_time,
            update_time=row.shown_update_time,
            expire_time=row.expire_time,
            etag=str(row.version),
        )


class AnsweredSession(Session):
    """A session that an operation created; only its name and time if it is deleted."""

    model_config = ConfigDict(json_schema_extra={"required": ["name"]})


class ListSessionsResponse(WireModel):
    """A page of sessions."""

    sessions: list[Session] = Field(description="The sessions of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )
