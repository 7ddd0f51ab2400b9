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
from app.memory.generation.schemas import (
    ContentEvent,
    GenerateMemoriesRequest,
    QueuedGeneration,
    VertexSessionSource,
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
from app.platform.engines.store.tables import EngineRow
from app.platform.privacy.logic.guard import Guard
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionEventRow
from app.settings.settings import Settings

MAX_SESSION_EVENTS = 10_000
"""Events of a session that are read: the last ones; the others are only counted."""


@dataclass(frozen=True)
class _Spoken:
    """The usable events of a session, and the number of older ones left out."""

    origin: SourceSession
    rows: Sequence[SessionEventRow]
    omitted: int


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
        remembered: the revisions of a memory that the model is shown, the present one included.
    """

    events: Sequence[ContentEvent]
    place: StreamPlace | None
    omitted_events: int
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
    session_time: datetime | None,
    place: StreamPlace | None,
) -> Material:
    """Read the engine and the conversation in a snapshot of its own.

    With `session_time`, a source session must have been created at that time. `place` is the place
    of the request's own events, if they are part of a larger source.

    Raises:
        NotFound: the engine or the session is gone.
        InvalidArgument: the session holds what the engine refuses.
    """
    async with resources.db.snapshot() as session:
        engine = await engines.get(session, name)
        now = resources.clock.now()
        source = request.vertex_session_source
        spoken = None
        if source is not None:
            spoken = await _spoken(session, engine, source, session_time, now)
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
        place=place or own_place,
        omitted_events=spoken.omitted if spoken else 0,
        guide=_guide(config, profiles, request, resources),
        takes_facts=not config.disable_natural_language_memories,
        model=resources.models.choose(generation.model if generation is not None else None),
        remembered=1 if revisions is None else revisions,
        profiles=profiles,
        masking=masking,
    )


async def _spoken(
    session: Session,
    engine: EngineRow,
    source: VertexSessionSource,
    session_time: datetime | None,
    now: datetime,
) -> _Spoken:
    """Return the usable events of a session, which the request was admitted to read."""
    origin = await origins.find(session, engine, source, now)
    if session_time not in {None, origin.row.create_time}:
        # Created anew under its id, maybe by another user: the caller may not read this one.
        raise NotFound.of(origin.name)
    rows, omitted = await sessions.list_events(
        session,
        origin.name.engine.engine,
        origin.name.session,
        source.start_time,
        source.end_time,
        MAX_SESSION_EVENTS,
    )
    return _Spoken(origin, rows, omitted)


def _conversation(
    request: GenerateMemoriesRequest, spoken: _Spoken | None, masking: Masking
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
        for row in spoken.rows
    ]
    place = StreamPlace(str(spoken.origin.name), [row.seq for row in spoken.rows])
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
    spoken: _Spoken | None,
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
