"""Input of a generation: the conversation, and the bank's configuration for it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from zoneinfo import ZoneInfo

from app.adapters.db.session import Session
from app.adapters.llm.ports import TextModel
from app.adapters.resources import Resources
from app.kernel.errors import NotFound
from app.kernel.names import EngineName
from app.kernel.wire.content import Content
from app.kernel.wire.privacy_config import Place
from app.kernel.wire.scalars import format_timestamp, with_utc_offset
from app.language.facts import ENGINE
from app.language.scoring import effective
from app.memory.generation.logic.masking import Masking
from app.memory.generation.logic.outcomes import count_fitting
from app.memory.generation.logic.profiles import ProfileSchema, schemas_for
from app.memory.generation.logic.prompts import VERSION, Example, Guide
from app.memory.generation.logic.recalled import MemoryRelation
from app.memory.generation.logic.rereading import LineReader
from app.memory.generation.logic.values import ShownFields, field_lines
from app.memory.generation.schemas import (
    ContentEvent,
    GenerateMemoriesRequest,
    QueuedGeneration,
    ReadTo,
    VertexSessionSource,
)
from app.memory.generation.services.conversation import (
    ReadConversation,
    SourceEvents,
    StreamPlace,
    Zones,
    place_of,
)
from app.memory.generation.services.generation import SourceSession, find_source
from app.memory.generation.services.profile_fields import read_fields
from app.memory.generation.services.turns import USER_ROLES, configured_topics, topics_of, turn_of
from app.memory.generation.store import repository
from app.memory.memories.logic.search_hints import same
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.memories.store import facts as stored_facts
from app.memory.memories.store.facts import FactsOfScope
from app.platform.engines.logic.config import (
    ConsolidationConfig,
    CustomizationConfig,
    MemoryBankConfig,
    customization_for,
    search_language,
)
from app.platform.engines.logic.topics import GenerateMemoriesExample
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import config_of, privacy_of
from app.platform.operations.schemas import OperationSource, OperationSourceEvents
from app.platform.privacy.logic import Guard
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.repository import EventPlace, EventSpan
from app.platform.sessions.store.tables import SessionEventRow
from app.settings.settings import Settings

_MAX_COMPARED = 2_000
"""Maximum number of list entries and the like to compare with memories; others count as new."""
MAX_SESSION_EVENTS = 10_000
"""Maximum number of events to read from a session: the last ones; the others are only counted."""


@dataclass(frozen=True)
class ReadPart:
    """The part of a conversation that a generation reads.

    Attributes:
        time: the time of the request; None for a request made now.
        session_time: the creation time of the source session, if known.
        place: the place of the request's events, if they are part of a larger source.
        read_to: the last event of the session that earlier rounds have read, if any.
    """

    time: datetime | None = None
    session_time: datetime | None = None
    place: StreamPlace | None = None
    read_to: ReadTo | None = None


@dataclass(frozen=True)
class Material:
    """The input of one generation, read once.

    Attributes:
        conversation: the turns; none for given facts.
        source: the events read of a session in the engine of the memories, if any.
        omitted_events: the number of a session's oldest events that are not read.
        read_to: the last event of the session that is read, if another round has to read more.
        takes_facts: True if the bank keeps natural-language memories.
        model: None if the built-in rules do the work.
        search_language: the text-search configuration of the bank; None: the language of each text.
        remembered: the number of revisions of a memory in the prompt, with the present one.
        present: the fields in the prompt; empty without a model.
    """

    conversation: ReadConversation
    source: "SessionPart | None"
    omitted_events: int
    read_to: ReadTo | None
    guide: Guide
    takes_facts: bool
    model: TextModel | None
    search_language: str | None
    remembered: int
    profiles: tuple[ProfileSchema, ...]
    present: ShownFields
    masking: Masking


async def read(
    resources: Resources,
    name: EngineName,
    request: GenerateMemoriesRequest,
    origin: ReadPart,
) -> Material:
    """Read the engine and the conversation in separate snapshots.

    A session is read up to the limit of one generation. If `origin` has a session time, the session
    must have been created at that time.

    Raises:
        NotFound: the engine or the session no longer exists.
        InvalidArgument: the engine refuses a value in the session.
    """
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        engine = await engines.get(session, name)
        EngineEmbedding.of(resources).serving(engine)
        source = request.vertex_session_source
        stored = None
        if source is not None:
            stored_session = await find_source(session, engine, source, now)
            if origin.session_time not in {None, stored_session.row.create_time}:
                # The id was reused, maybe for a user whose sessions the caller may not read.
                raise NotFound.of(stored_session.name)
            span = _span(stored_session, source, origin.read_to)
            stored = await _session_part(session, stored_session, span, request, resources.settings)
        bank, scope = config_of(engine), request.scope or {}
        profiles, generation = schemas_for(bank, scope), bank.generation_config
        model = resources.models.choose(generation.model if generation is not None else None)
        # The rules do not use the present values.
        is_shown = model is not None and bool(profiles)
        fields = await read_fields(session, name.engine, scope, now) if is_shown else []
    config = customization_for(bank, scope)
    consolidation = config.consolidation_config or ConsolidationConfig()
    revisions = consolidation.revisions_per_candidate_count
    masking = _masking(bank, request, stored, resources.settings)
    zones = Zones(_zone(request.time_zone), _zone(bank.time_zone))
    present = ShownFields(fields, await asyncio.to_thread(masking.shown_fields, fields))
    guide = _guide(config, profiles, request, zones.localised(now), zones.request)
    source_events = await asyncio.to_thread(_source_events, request, origin, stored, masking, now)
    reader = _reader(request, guide, model)
    conversation = await asyncio.to_thread(ReadConversation, source_events, zones, reader)
    await _compare(resources, name, request, conversation)
    return Material(
        conversation=conversation,
        source=stored if stored and stored.events and stored.origin.is_named_in(scope) else None,
        omitted_events=stored.omitted if stored else 0,
        read_to=stored.read_to if stored else None,
        guide=replace(guide, fields=field_lines(profiles, present.shown)),
        takes_facts=not config.disable_natural_language_memories,
        model=model,
        search_language=search_language(bank),
        remembered=1 if revisions is None else revisions,
        profiles=profiles,
        present=present,
        masking=masking,
    )


@dataclass(frozen=True)
class SessionPart:
    """The events of a session that one generation reads.

    `omitted` counts older events that none reads; `read_to` is set if another round has to read
    more.
    """

    origin: SourceSession
    events: Sequence[SessionEventRow]
    omitted: int
    read_to: ReadTo | None

    @property
    def source(self) -> OperationSource:
        """The session and the events, for the metadata of the operation."""
        first, last = (f"{self.origin.name}/events/{self.events[at].event_id}" for at in (0, -1))
        return OperationSource(
            session=str(self.origin.name), events=OperationSourceEvents(first=first, last=last)
        )


async def _session_part(
    session: Session,
    origin: SourceSession,
    span: EventSpan,
    request: GenerateMemoriesRequest,
    settings: Settings,
) -> SessionPart:
    """Return the usable events of a session up to a total length, at least one."""
    # A preview has a single round, which reads the newest events.
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
    last = read[-1] if left else None
    read_to = last and ReadTo(timestamp=last.timestamp, seq=last.seq, last_seq=span.last_seq)
    return SessionPart(origin, events, omitted, read_to)


def _span(origin: SourceSession, source: VertexSessionSource, read_to: ReadTo | None) -> EventSpan:
    after = None if read_to is None else EventPlace(read_to.timestamp, read_to.seq)
    last_seq = origin.row.last_seq if read_to is None else read_to.last_seq
    return EventSpan(origin.name.session, source.start_time, source.end_time, last_seq, after)


def _source_events(
    request: GenerateMemoriesRequest,
    origin: ReadPart,
    stored: SessionPart | None,
    masking: Masking,
    now: datetime,
) -> SourceEvents:
    direct, moment = request.direct_contents_source, origin.time or now
    if direct is not None:
        place = origin.place or place_of(request.scope or {}, direct.events)
        return SourceEvents(_across(direct.events, masking), moment, place)
    if stored is None:
        return SourceEvents((), moment)
    events = [
        ContentEvent(
            content=_content(row, masking),
            event_id=row.event_id,
            event_time=with_utc_offset(row.timestamp, row.utc_offset),
        )
        for row in stored.events
    ]
    stored_session = stored.origin
    place = StreamPlace(str(stored_session.name), [row.seq for row in stored.events])
    # The engine is left out, because an archive may restore it under another id.
    session = f"{stored_session.name.session} {format_timestamp(stored_session.row.create_time)}"
    return SourceEvents(_across(events, masking), moment, place, session)


async def _compare(
    resources: Resources,
    name: EngineName,
    request: GenerateMemoriesRequest,
    conversation: ReadConversation,
) -> None:
    scope, entries = request.scope or {}, conversation.entries[:_MAX_COMPARED]
    rereads = bool(request.reread_events or request.disable_consolidation)
    digests = set() if rereads else conversation.digests
    if not digests and not entries:
        return
    now = resources.clock.now()
    known = await repository.find_known(resources.db, name.engine, scope, digests, now)
    facts = FactsOfScope()
    if entries:
        async with resources.db.snapshot() as session:
            facts = await stored_facts.find_facts(session, name.engine, scope, entries, now)
    await asyncio.to_thread(conversation.compare, known, partial(_relation_of, facts))


def _relation_of(facts: FactsOfScope, text: str) -> MemoryRelation:
    if same(text) in facts.present:
        return MemoryRelation.MEMORY
    return MemoryRelation.EARLIER if same(text) in facts.earlier else MemoryRelation.NOTHING


def _reader(request: GenerateMemoriesRequest, guide: Guide, model: TextModel | None) -> LineReader:
    allowed = [topic.label for topic in topics_of(request.allowed_topics)]
    wanted = [f"{topic.label}: {topic.description}" for topic in guide.topics]
    author = ENGINE if model is None else f"{model.model_id} {VERSION}"
    return LineReader(tuple(sorted(allowed)), (author, *sorted(wanted), *sorted(guide.fields)))


def _zone(name: str | None) -> ZoneInfo | None:
    return None if name is None else ZoneInfo(name)


def _across(events: Sequence[ContentEvent], masking: Masking) -> Sequence[ContentEvent]:
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
    stored: SessionPart | None,
    settings: Settings,
) -> Masking:
    # Given facts are masked like direct writes.
    own, defaults = bank.privacy_config, settings.privacy_defaults
    sent = Guard.of(own, defaults, Place.GENERATION)
    if request.direct_memories_source is None:
        theirs = None
        if stored is not None and stored.origin.is_elsewhere:
            theirs = Guard.of(privacy_of(stored.origin.engine), defaults, Place.GENERATION)
        return Masking(sent, sent, theirs)
    is_told = isinstance(request, QueuedGeneration) and request.is_told
    return Masking(Guard.of_writes(own, defaults, is_told=is_told), sent)


def _content(row: SessionEventRow, masking: Masking) -> Content:
    # Without a role, the author decides who is the speaker.
    content = Content.model_validate(masking.admitted(row.content))
    if content.role or row.author.strip().lower() in USER_ROLES:
        return content
    return content.model_copy(update={"role": "model"})


def _guide(
    config: CustomizationConfig,
    profiles: Sequence[ProfileSchema],
    request: GenerateMemoriesRequest,
    now: datetime,
    zone: tzinfo | None,
) -> Guide:
    topics = effective(configured_topics(config), topics_of(request.allowed_topics))
    return Guide(
        topics=() if config.disable_natural_language_memories else topics,
        third_person=bool(config.enable_third_person_memories),
        examples=tuple(map(_example, config.generate_memories_examples or [])),
        now=now,
        time_zone=zone,
        fields=field_lines(profiles),
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
