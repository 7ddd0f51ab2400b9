"""The wire form of sessions and their events. Source: wire specification, section 13."""

import re
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator

from app.core.names import EngineName, EventName, SessionName
from app.sessions.tables import SessionEventRow, SessionRow
from app.wire.base import WireModel
from app.wire.content import Content
from app.wire.labels import MAX_LABEL_CHARS, MAX_LABELS, Labels
from app.wire.objects import AnyMessage, size_of
from app.wire.scalars import PositiveDuration, Timestamp

MAX_STATE_BYTES = 1024 * 1024
MAX_USER_ID_CHARS = 512
_MAX_TEXT_CHARS = 4_096
_MAX_TOOL_IDS = 1_000
# Lower case where a script has cases; letters of other scripts are accepted.
_LABEL = re.compile(r"[\w-]*")
_LABEL_SCHEMA = {"type": "string", "pattern": "^[a-z0-9_-]*$", "maxLength": MAX_LABEL_CHARS}

STATE_TOO_LARGE = f"must have at most {MAX_STATE_BYTES} bytes as JSON"


def _check_state(state: dict[str, Any]) -> dict[str, Any]:
    if size_of(state) > MAX_STATE_BYTES:
        raise ValueError(STATE_TOO_LARGE)
    return state


State = Annotated[
    dict[str, Any],
    AfterValidator(_check_state),
    Field(description=f"Any JSON object, of at most {MAX_STATE_BYTES} bytes."),
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
    """What callers may set of a session, at its creation or later."""

    display_name: str | None = Field(None, max_length=_MAX_TEXT_CHARS)
    labels: SessionLabels | None = None
    session_state: State | None = None
    expire_time: Timestamp | None = None
    ttl: PositiveDuration | None = Field(None, description="Input only: expiry is now + ttl.")

    @model_validator(mode="after")
    def _has_one_expiry(self) -> Self:
        if self.ttl is not None and self.expire_time is not None:
            raise ValueError("must have at most one of ttl and expireTime")
        return self

    def columns(self) -> dict[str, Any]:
        """Return the columns that callers set, as this request has them; not the expiry."""
        return {
            "display_name": self.display_name,
            "labels": self.labels or {},
            "session_state": self.session_state or {},
        }


UserId = Annotated[str, Field(min_length=1, max_length=MAX_USER_ID_CHARS, examples=["42"])]


class CreateSessionRequest(SessionFields):
    """A session as its creator sends it. Fields that only answers have are ignored."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"userId": "42", "sessionState": {"language": "de"}}]}
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time", "etag"})

    user_id: UserId


class UpdateSessionRequest(SessionFields):
    """The fields to change. The user may be repeated as it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"displayName": "Trip to Lisbon"}]})

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time"})

    user_id: UserId | None = None
    etag: str | None = Field(None, description="The etag that was read.")


class Session(WireModel):
    """A conversation of a user with an agent."""

    name: str
    user_id: str
    display_name: str | None = None
    labels: dict[str, str] | None = None
    session_state: dict[str, Any]
    create_time: Timestamp
    update_time: Timestamp
    expire_time: Timestamp
    etag: str

    @classmethod
    def from_row(cls, engine: EngineName, row: SessionRow) -> "Session":
        """Build the answer; `engine` is the stored full name."""
        return cls(
            name=str(SessionName(engine, row.session_id)),
            user_id=row.user_id,
            display_name=row.display_name,
            labels=row.labels or None,
            session_state=row.session_state,
            create_time=row.create_time,
            update_time=row.update_time,
            expire_time=row.expire_time,
            etag=str(row.version),
        )


class ListSessionsResponse(WireModel):
    """A page of sessions."""

    sessions: list[Session]
    next_page_token: str | None = None


class EventActions(WireModel):
    """What an event does beside what it says."""

    state_delta: dict[str, Any] | None = Field(
        None, description="Replaces these keys of the session's state."
    )
    artifact_delta: dict[str, int] | None = Field(
        None, description="Files that were written, with their versions."
    )
    transfer_agent: str | None = None
    escalate: bool | None = None
    skip_summarization: bool | None = None
    requested_auth_configs: dict[str, Any] | None = None


class EventMetadata(WireModel):
    """What is known of an event that a model made."""

    partial: bool | None = None
    turn_complete: bool | None = None
    interrupted: bool | None = None
    branch: str | None = None
    custom_metadata: dict[str, Any] | None = None
    long_running_tool_ids: list[str] | None = Field(None, max_length=_MAX_TOOL_IDS)
    grounding_metadata: AnyMessage | None = None
    input_transcription: AnyMessage | None = None
    output_transcription: AnyMessage | None = None


class EventFields(WireModel):
    """An event, but for its name."""

    author: str = Field(min_length=1, max_length=_MAX_TEXT_CHARS, examples=["user"])
    invocation_id: str = Field(max_length=_MAX_TEXT_CHARS, examples=["e-1"])
    timestamp: Timestamp = Field(description="When it happened.")
    content: Content | None = None
    actions: EventActions | None = None
    error_code: str | None = None
    error_message: str | None = None
    event_metadata: EventMetadata | None = None
    raw_event: dict[str, Any] | None = Field(
        None, description="Any JSON object; it is returned as it is."
    )


class AppendEventRequest(EventFields):
    """An event as callers send it. Its name is ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "author": "user",
                    "invocationId": "e-1",
                    "timestamp": "2026-01-15T12:00:00Z",
                    "content": {"role": "user", "parts": [{"text": "I prefer a window seat."}]},
                    "actions": {"stateDelta": {"seat": "window"}},
                }
            ]
        }
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"name"})

    def columns(self) -> dict[str, Any]:
        """Return the columns that hold the event."""
        wire = self.wire()
        return {
            "author": self.author,
            "invocation_id": self.invocation_id,
            "timestamp": self.timestamp,
            "content": wire.get("content"),
            "actions": wire.get("actions"),
            "error_code": self.error_code,
            "error_message": self.error_message,
            "event_metadata": wire.get("eventMetadata"),
            "raw_event": self.raw_event,
            "size_bytes": size_of(wire),
        }


class SessionEvent(EventFields):
    """An event of a session."""

    name: str

    @classmethod
    def from_row(cls, session: SessionName, row: SessionEventRow) -> "SessionEvent":
        """Build the answer; `session` is the stored full name."""
        return cls.model_validate(
            {
                "name": str(EventName(session, row.event_id)),
                "author": row.author,
                "invocation_id": row.invocation_id,
                "timestamp": row.timestamp,
                "content": row.content,
                "actions": row.actions,
                "error_code": row.error_code,
                "error_message": row.error_message,
                "event_metadata": row.event_metadata,
                "raw_event": row.raw_event,
            }
        )


class ListEventsResponse(WireModel):
    """A page of events."""

    session_events: list[SessionEvent]
    next_page_token: str | None = None
