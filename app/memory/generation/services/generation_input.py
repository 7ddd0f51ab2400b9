"""Input of a generation: the conversation, and the bank's configuration for it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from app.adapters.db.session import Session
from app.adapters.llm.ports import TextModel
from app.adapters.resources import Resources
from app.kernel.errors import NotFound
from app.kernel.names import EngineName
from app.kernel.wire.content import Content
from app.kernel.wire.privacy_config import Place
from app.language.topics import effective
from app.memory.generation.logic.masking import Masking
from app.memory.generation.logic.profiles import ProfileSchema, prompt_lines, schemas_for
from app.memory.generation.logic.prompts import Example, Guide
from app.memory.generation.logic.rounds import count_fitting
from app.memory.generation.schemas import (
    ContentEvent,
    GenerateMemoriesRequest,
    QueuedGeneration,
)
from app.memory.generation.services import origins
from app.memory.generation.services.origins import SourceSession
from app.memory.generation.services.provenance import Provenance, StreamPlace, place_of
from app.memory.generation.services.turns import USER_ROLES, configured_topics, topics_of, turn_of
from app.platform.engines.logic.config import (
    ConsolidationConfig,
    CustomizationConfig,
    MemoryBankConfig,
    customization_for,
)
from app.platform.engines.logic.topics import GenerateMemoriesExample
from app.platform.engines.store import repository as engines
from app.platform.engines.store.rows import config_of, privacy_of
from app.platform.privacy.logic.guard import Guard
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.repository import EventPlace, EventSpan
from app.platform.sessions.store.tables import SessionEventRow
from app.settings.settings import Settings

MAX_SESSION_EVENTS = 10_000
"""Events of a session that are read: the last ones; the others are only counted."""


@dataclass(frozen=True)
class ReadPart:
    """The part of a conversation that a generation reads.

    Attributes:
        session_time: the creation time of the session that is the source, if known.
        place: the place of the request's events, if they are part of a larger source.
        read_to: the last event of the session that earlier rounds have read; None: there are none.
    """

    session_time: datetime | None = None
    place: StreamPlace | None = None
    read_to: EventPlace | None = None


@dataclass(frozen=True)
class Material:
    """The input of one generation, read once.

    Attributes:
        events: the conversation; empty for given facts.
        place: the source of its events; None for given facts.
        omitted_events: the number of a session's oldest events that are not read, if it has more
            than one generation reads.
        takes_facts: True if the bank keeps natural-language memories.
        model: None if the built-in rules do the work.
        read_to: the last event of the session that is read, if another round has to read more.
        remembered: the revisions of a memory that the model is shown, the present one included.
    """

    events: Sequence[ContentEvent]
    place: StreamPlace | None
    omitted_events: int
    read_to: EventPlace | None
    guide: Guide
    takes_facts: bool
    model: TextModel | None
    remembered: int
    profiles: tuple[ProfileSchema, ...]
    masking: Masking

    @property
    def provenance(self) -> Provenance:
        """Provenance columns of the memories made from the events."""
        return Provenance(self.events, self.place, self.guide.now)


async def read(
    resources: Resources,
    name: EngineName,
    request: GenerateMemoriesRequest,
    origin: ReadPart,
) -> Material:
    """Read the engine and the conversation in a snapshot of its own.

    Of a session, as much is read as one generation takes. It must have been created at the time
    that `origin` names, if any.

    Raises:
        NotFound: the engine or the session is gone.
        InvalidArgument: the session holds what the engine refuses.
    """
    async with resources.db.snapshot() as session:
        engine = await engines.get(session, name)
        source = request.vertex_session_source
        spoken = None
        if source is not None:
            found = await origins.find(session, engine, source, resources.clock.now())
            if origin.session_time not in {None, found.row.create_time}:
                # Created anew under its id, maybe by another user: the caller may not read this.
                raise NotFound.of(found.name)
            span = EventSpan(found.name.session, source.start_time, source.end_time, origin.read_to)
            spoken = await _session_part(session, found, span, request, resources.settings)
    bank = config_of(engine)
    config = customization_for(bank, request.scope or {})
    profiles = schemas_for(bank, request.scope or {})
    generation = bank.generation_config
    consolidation = config.consolidation_config or ConsolidationConfig()
    revisions = consolidation.revisions_per_candidate_count
    masking = _masking(bank, request, spoken, resources.settings)
    events, own_place = await asyncio.to_thread(_conversation, request, spoken, masking)
    return Material(
        events=events,
        place=origin.place or own_place,
        omitted_events=spoken.omitted if spoken else 0,
        read_to=spoken.read_to if spoken else None,
        guide=_guide(config, profiles, request, resources),
        takes_facts=not config.disable_natural_language_memories,
        model=resources.models.choose(generation.model if generation is not None else None),
        remembered=1 if revisions is None else revisions,
        profiles=profiles,
        masking=masking,
    )


@dataclass(frozen=True)
class _SessionPart:
    """The events of a session that one generation reads.

    Attributes:
        omitted: the number of older ones that no generation reads.
        read_to: the last one, if another round has to read more.
    """

    origin: SourceSession
    events: Sequence[SessionEventRow]
    omitted: int
    read_to: EventPlace | None


async def _session_part(
    session: Session,
    origin: SourceSession,
    span: EventSpan,
    request: GenerateMemoriesRequest,
    settings: Settings,
) -> _SessionPart:
    """Return the usable events of a session up to a length, at least one.

    A preview has a single round, which reads the newest.
    """
    engine_id = origin.name.engine.engine
    places, omitted = await sessions.list_places(session, engine_id, span, MAX_SESSION_EVENTS)
    ordered = places[::-1] if request.validate_only else places
    most = settings.max_generation_chars
    count = max(count_fitting((place.size_bytes for place in ordered), most), 1)
    left = max(len(places) - count, 0)
    if request.validate_only:
        places, omitted, left = places[left:], omitted + left, 0
    read = places[:count]
    events = await sessions.events_at(session, engine_id, origin.name.session, read)
    return _SessionPart(origin, events, omitted, read[-1] if left else None)


def _conversation(
    request: GenerateMemoriesRequest, spoken: _SessionPart | None, masking: Masking
) -> tuple[Sequence[ContentEvent], StreamPlace | None]:
    """Return the turns of the request or of its session, and their place."""
    direct = request.direct_contents_source
    if direct is not None:
        return _across(direct.events, masking), place_of(request.scope or {}, direct.events)
    if spoken is None:
        return [], None
    events = [
        ContentEvent(
            content=_content(row, masking), event_id=row.event_id, event_time=row.timestamp
        )
        for row in spoken.events
    ]
    place = StreamPlace(str(spoken.origin.name), [row.seq for row in spoken.events])
    return _across(events, masking), place


def _across(events: Sequence[ContentEvent], masking: Masking) -> Sequence[ContentEvent]:
    """Return events without values that are announced, or go on, in another part or event."""
    parts = [part for event in events for part in event.content.parts or () if part.text]
    texts = [part.text or "" for part in parts]
    masked = masking.across(texts)
    if masked == texts:
        return events
    rest = iter(masked)
    return [
        event.model_copy(
            update={
                "content": event.content.model_copy(
                    update={
                        "parts": [
                            part.model_copy(update={"text": next(rest)}) if part.text else part
                            for part in event.content.parts or ()
                        ]
                    }
                )
            }
        )
        for event in events
    ]


def _masking(
    bank: MemoryBankConfig,
    request: GenerateMemoriesRequest,
    spoken: _SessionPart | None,
    settings: Settings,
) -> Masking:
    """Return the masking of a generation; given facts are written as direct writes are."""
    own, defaults = bank.privacy_config, settings.privacy_defaults
    sent = Guard.of(own, defaults, Place.GENERATION)
    if request.direct_memories_source is None:
        theirs = None
        if spoken is not None and spoken.origin.is_elsewhere:
            theirs = Guard.of(privacy_of(spoken.origin.engine), defaults, Place.GENERATION)
        return Masking(sent, sent, theirs)
    is_told = isinstance(request, QueuedGeneration) and request.is_told
    return Masking(Guard.of_writes(own, defaults, is_told=is_told), sent)


def _content(row: SessionEventRow, masking: Masking) -> Content:
    """Return an event's masked content; without a role in it, the author decides who spoke."""
    content = Content.model_validate(masking.admitted(row.content))
    if content.role or row.author.strip().lower() in USER_ROLES:
        return content
    return content.model_copy(update={"role": "model"})


def _guide(
    config: CustomizationConfig,
    profiles: Sequence[ProfileSchema],
    request: GenerateMemoriesRequest,
    resources: Resources,
) -> Guide:
    topics = effective(configured_topics(config), topics_of(request.allowed_topics))
    return Guide(
        topics=() if config.disable_natural_language_memories else topics,
        third_person=bool(config.enable_third_person_memories),
        examples=tuple(map(_example, config.generate_memories_examples or [])),
        now=resources.clock.now(),
        time_zone=ZoneInfo(request.time_zone or "UTC"),
        fields=prompt_lines(profiles),
    )


def _example(example: GenerateMemoriesExample) -> Example:
    source = example.conversation_source
    said = [
        turn_of(ContentEvent(content=event.content)).text
        for event in (source and source.events) or []
    ]
    return Example(
        " / ".join(said), tuple(memory.fact for memory in example.generated_memories or [])
    )
