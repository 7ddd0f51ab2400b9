"""Sessions, their events and their shared states in archives."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, ValidationError
from typing_extensions import override

from app.kernel.errors import ServiceError
from app.kernel.names import SessionName
from app.kernel.wire.archived import (
    WITH_MASKS,
    ArchivedRow,
    Count,
    Moment,
    Past,
    Position,
    SessionId,
    StoredId,
    UtcOffset,
)
from app.kernel.wire.content import ArtifactRef, Content
from app.kernel.wire.memory_policy import MemoryPolicy
from app.platform.operations.schemas import StoredAnswer
from app.platform.sessions.logic.states import APP, USER
from app.platform.sessions.schemas.events import EventActions, EventMetadata, TokenCount
from app.platform.sessions.schemas.sessions import (
    MAX_TEXT_CHARS,
    SessionLabels,
    State,
    UserId,
)

_REFERENCE = "artifactRef"
_FORMER_REFERENCE = "formerArtifactRef"
_ShortText = Annotated[str, Field(max_length=WITH_MASKS * MAX_TEXT_CHARS)]


def of_today(content: Any) -> Any:  # noqa: ANN401 - JSON
    """Rename parts of a content that only look like references, which were accepted formerly."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content
    return {**content, "parts": [_without_false_reference(part) for part in parts]}


def _without_false_reference(part: Any) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(part, dict) or _REFERENCE not in part or _is_reference(part):
        return part
    return {_FORMER_REFERENCE if key == _REFERENCE else key: part[key] for key in part}


def _is_reference(part: Mapping[str, Any]) -> bool:
    try:
        ArtifactRef.model_validate(part[_REFERENCE])
    except ValidationError:
        return False
    return len(part) == 1


def _check_user_keys(state: dict[str, Any]) -> dict[str, Any]:
    return _all_begin(state, USER)


def _check_app_keys(state: dict[str, Any]) -> dict[str, Any]:
    return _all_begin(state, APP)


def _all_begin(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    if not all(key.startswith(prefix) for key in state):
        raise ValueError(f"must have keys that start with {prefix}")
    return state


class ArchivedUserState(ArchivedRow):
    """The columns of the state of a user's sessions in an archive."""

    user_id: UserId
    state: Annotated[dict[str, Any], AfterValidator(_check_user_keys)]


class ArchivedAppState(ArchivedRow):
    """The columns of the state of an engine's sessions in an archive."""

    state: Annotated[dict[str, Any], AfterValidator(_check_app_keys)]


class ArchivedSession(ArchivedRow):
    """The columns of a session in an archive."""

    session_id: SessionId
    user_id: UserId
    display_name: _ShortText | None
    labels: SessionLabels
    session_state: State
    last_seq: Count
    exchanges: Count
    is_answered: bool
    cleared_seq: Count
    cleared_exchange: Count
    memory_policy: MemoryPolicy | None
    version: Position
    create_time: Past
    update_time: Past
    shown_update_time: Moment
    expire_time: Moment

    @override
    def contradictions(self) -> Iterable[tuple[str, str]]:
        if self.exchanges > self.last_seq:
            yield "exchanges", "must be at most lastSeq"
        if self.cleared_seq > self.last_seq:
            yield "cleared_seq", "must be at most lastSeq"
        if self.cleared_exchange > self.exchanges:
            yield "cleared_exchange", "must be at most exchanges"


class ArchivedEvent(ArchivedRow):
    """The columns of an event in an archive; an erased one keeps its place alone."""

    former: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"content": of_today}

    session_id: SessionId
    seq: Position
    event_id: StoredId
    author: _ShortText
    invocation_id: _ShortText
    timestamp: Moment
    utc_offset: UtcOffset | None
    content: Content | None
    actions: EventActions | None
    error_code: str | None
    error_message: str | None
    event_metadata: EventMetadata | None
    raw_event: dict[str, Any] | None
    exchange: Count
    token_count: TokenCount | None
    delete_time: Past | None
    size_bytes: Count
    create_time: Past

    @override
    def contradictions(self) -> Iterable[tuple[str, str]]:
        if (self.author == "") != (self.delete_time is not None):
            yield "author", "must be empty if the event is erased, and only then"
        if self.exchange > self.seq:
            yield "exchange", "must be at most seq"


def _check_name(text: str) -> str:
    try:
        SessionName.parse(text)
    except ServiceError:
        raise ValueError("must be the full name of a session") from None
    return text


class StoredSession(StoredAnswer):
    """The stored answer of the creation of a session, without its content."""

    name: Annotated[str, AfterValidator(_check_name)]
    create_time: str
