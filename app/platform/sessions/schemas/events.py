"""The wire form of events. Source: wire specification, section 13; batches are this service's."""

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, ConfigDict, Field

from app.kernel.names import MAX_INT64, EventName, SessionName
from app.kernel.wire.base import WireModel
from app.kernel.wire.content import Content, Part
from app.kernel.wire.memory_policy import MAX_TOKENS
from app.kernel.wire.objects import AnyMessage, BoundedObject, size_of
from app.kernel.wire.scalars import Timestamp, ZonedTimestamp, utc_offset
from app.platform.sessions.logic.event_text import Speaker, speaker_of
from app.platform.sessions.logic.states import lasting
from app.platform.sessions.schemas.sessions import MAX_TEXT_CHARS
from app.platform.sessions.store.tables import SessionEventRow

MAX_BATCH = 500
_MAX_TOOL_IDS = 1_000


class EventActions(WireModel):
    """Effects of an event besides its content."""

    state_delta: Annotated[dict[str, Any], AfterValidator(lasting)] | None = Field(
        None,
        description="New values of these keys of the session's state, of its user's (`user:`) and"
        " of the engine's (`app:`); keys that start with `temp:` are not stored.",
    )
    artifact_delta: dict[str, int] | None = Field(
        None, description="Files written, with their versions."
    )
    transfer_agent: str | None = Field(None, description="Name of the agent that takes over.")
    escalate: bool | None = Field(
        None, description="True: the agent hands over to the one above it."
    )
    skip_summarization: bool | None = Field(
        None, description="True: the framework should not summarise the tool's answer."
    )
    requested_auth_configs: dict[str, Any] | None = Field(
        None, description="Requests of tools for a sign-in, by the id of their call."
    )


class EventMetadata(WireModel):
    """Metadata of an event created by a model."""

    partial: bool | None = Field(
        None,
        description="True: the text is a piece of an answer that is still being written.",
    )
    turn_complete: bool | None = Field(None, description="True: the model has finished its turn.")
    interrupted: bool | None = Field(None, description="True: the user cut the model short.")
    branch: str | None = Field(
        None, description="Path of agents that the event belongs to, such as `root.planner`."
    )
    custom_metadata: dict[str, Any] | None = Field(None, description="The caller's own values.")
    long_running_tool_ids: list[str] | None = Field(
        None, max_length=_MAX_TOOL_IDS, description="Ids of calls of tools that return later."
    )
    grounding_metadata: AnyMessage | None = Field(
        None, description="Sources of the answer, as the model's provider returns them."
    )
    input_transcription: AnyMessage | None = Field(
        None, description="Text of the user's speech, as the model's provider returns it."
    )
    output_transcription: AnyMessage | None = Field(
        None, description="Text of the model's speech, as its provider returns it."
    )


TokenCount = Annotated[int, Field(ge=0, le=MAX_TOKENS)]
"""The tokens of a prompt that an item takes, as declared by its sender."""


class EventFields(WireModel):
    """The fields of an event except its name."""

    author: str = Field(
        min_length=1,
        max_length=MAX_TEXT_CHARS,
        examples=["user"],
        description="`user`, or the name of the agent.",
    )
    invocation_id: str = Field(
        max_length=MAX_TEXT_CHARS,
        examples=["e-1"],
        description="Id of the agent's run that the event belongs to.",
    )
    timestamp: Timestamp = Field(description="Time of the event.")
    content: Content | None = Field(
        None, description="Content of the message; absent if there is none."
    )
    actions: EventActions | None = Field(
        None, description="Changes that the event makes, such as changes of the state."
    )
    error_code: str | None = Field(
        None, description="Code of the model's error, as its provider names it."
    )
    error_message: str | None = Field(None, description="Text of the model's error.")
    event_metadata: EventMetadata | None = Field(
        None, description="Details that the model returns with its answer."
    )
    raw_event: dict[str, Any] | None = Field(
        None, description="Any JSON object; it is returned as it is."
    )
    token_count: TokenCount | None = Field(
        None, description="Tokens it takes in a prompt, for policies with the counter `declared`."
    )


class AppendEventRequest(EventFields):
    """An event as sent by clients. Its name and numbers are ignored: the service sets them."""

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

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "seq", "exchange"})

    timestamp: ZonedTimestamp = Field(
        description="Time of the event. An offset other than zero is the sender's time zone, and"
        ' so determines the day of "today"; responses show UTC.'
    )

    def columns(self) -> dict[str, Any]:
        """Return the columns of the event."""
        wire = self.wire()
        return {
            "author": self.author,
            "invocation_id": self.invocation_id,
            "timestamp": self.timestamp.astimezone(UTC),
            "utc_offset": utc_offset(self.timestamp),
            "content": wire.get("content"),
            "actions": wire.get("actions"),
            "error_code": self.error_code,
            "error_message": self.error_message,
            "event_metadata": wire.get("eventMetadata"),
            "raw_event": _without_temporary(self.raw_event),
            "size_bytes": size_of(wire),
            "token_count": self.token_count,
        }


_STATE_DELTAS = frozenset({"stateDelta", "state_delta"})
"""Names of a state change in an event serialised by ADK."""


def _without_temporary(raw_event: dict[str, Any] | None) -> dict[str, Any] | None:
    actions = None if raw_event is None else raw_event.get("actions")
    if raw_event is None or not isinstance(actions, dict):
        return raw_event
    kept = {
        name: lasting(value) if name in _STATE_DELTAS and isinstance(value, dict) else value
        for name, value in actions.items()
    }
    return {**raw_event, "actions": kept}


ExpectedLastSeq = Annotated[
    int | None,
    Field(
        ge=0,
        le=MAX_INT64,
        description="The number of the session's last event as known to the caller; if another"
        " event is last, nothing is appended: 409.",
    ),
]


class BatchAppendEventsRequest(WireModel):
    """Events to append in order: all or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "events": [
                        {
                            "author": "user",
                            "invocationId": "e-1",
                            "timestamp": "2026-01-15T12:00:00Z",
                            "content": {"role": "user", "parts": [{"text": "Is 12A free?"}]},
                        },
                        {
                            "author": "agent",
                            "invocationId": "e-1",
                            "timestamp": "2026-01-15T12:00:01Z",
                            "content": {"role": "model", "parts": [{"text": "It is."}]},
                            "tokenCount": 3,
                        },
                    ]
                }
            ]
        }
    )

    events: list[AppendEventRequest] = Field(
        min_length=1, max_length=MAX_BATCH, description="The events, the oldest first."
    )
    expected_last_seq: ExpectedLastSeq = None


def _check_agent(name: str) -> str:
    # The role marks the event as the agent's, but agent frameworks go by the author.
    if speaker_of(name, None) is Speaker.USER:
        raise ValueError("must be the name of an agent, not of a user")
    return name


class CreateExchangeRequest(WireModel):
    """The text of a user and the answer of the agent."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"input": "Is 12A free?", "output": "It is."}]}
    )

    input: str = Field(min_length=1, description="The user's text.")
    output: str = Field(min_length=1, description="The agent's text.")
    agent: Annotated[str, AfterValidator(_check_agent)] = Field(
        "agent", min_length=1, max_length=MAX_TEXT_CHARS, description="The author of the answer."
    )
    invocation_id: str | None = Field(
        None, max_length=MAX_TEXT_CHARS, description="Invocation of both events; absent: a new one."
    )
    timestamp: ZonedTimestamp | None = Field(None, description="Time of the exchange; absent: now.")
    input_token_count: TokenCount | None = Field(
        None, description="Tokens of the input in a prompt, for the counter `declared`."
    )
    output_token_count: TokenCount | None = Field(
        None, description="Tokens of the output, likewise."
    )
    metadata: BoundedObject | None = Field(
        None, description="Metadata stored with both events, as their `customMetadata`."
    )
    expected_last_seq: ExpectedLastSeq = None

    def events(self, now: datetime, invocation_id: str) -> list[AppendEventRequest]:
        """Return the two events, with the arguments as defaults."""
        shared: dict[str, Any] = {
            "invocation_id": invocation_id if self.invocation_id is None else self.invocation_id,
            "timestamp": self.timestamp or now,
        }
        if self.metadata is not None:
            shared["event_metadata"] = EventMetadata(custom_metadata=self.metadata)
        said = (
            ("user", "user", self.input, self.input_token_count),
            (self.agent, "model", self.output, self.output_token_count),
        )
        return [
            AppendEventRequest(
                author=author,
                content=Content(role=role, parts=[Part(text=text)]),
                token_count=tokens,
                **shared,
            )
            for author, role, text, tokens in said
        ]


class AppendedEvent(WireModel):
    """An appended event with its number."""

    name: str = Field(description="Full name of the event.")
    seq: int = Field(description="Its number in the session: from 1, without gaps.")
    exchange: int = Field(description="The number of its exchange; 0 before a user's first event.")


class BatchAppendEventsResponse(WireModel):
    """The appended events of a batch, in order."""

    events: list[AppendedEvent] = Field(
        description="The appended events, in the order of the request."
    )
    last_seq: int = Field(description="The number of the last of them.")


class Exchange(BatchAppendEventsResponse):
    """An appended exchange."""

    exchange: int = Field(description="Its number in the session.")


class SessionEvent(EventFields):
    """An event of a session."""

    name: str = Field(description="Full name of the event.")
    seq: int = Field(description="Its number in the session: from 1, without gaps.")
    exchange: int = Field(description="The number of its exchange; 0 before a user's first event.")

    @classmethod
    def from_row(cls, session: SessionName, row: SessionEventRow) -> "SessionEvent":
        """Build the wire form; `session` is the stored full name."""
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
                "token_count": row.token_count,
                "seq": row.seq,
                "exchange": row.exchange,
            }
        )


class ListEventsResponse(WireModel):
    """A page of events."""

    session_events: list[SessionEvent] = Field(description="The events of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )
