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
from app.language.topics import effective
from app.memory.generation.logic.field_lines import field_lines
from app.memory.generation.logic.masking import Masking
from app.memory.generation.logic.profiles import ProfileSchema, schemas_for
from app.memory.generation.logic.prompts import VERSION, Example, Guide
from app.memory.generation.logic.recalled import Told
from app.memory.generation.logic.rereading import Reader
from app.memory.generation.logic.values import ShownFields
from app.memory.generation.schemas import (
    ContentEvent,
    GenerateMemoriesRequest,
    VertexSessionSource,
)
from app.memory.generation.services import origins
from app.memory.generation.services.conversation import Conversation, Spoken, Zones
from app.memory.generation.services.origins import Origin
from app.memory.generation.services.profile_fields import read_fields
from app.memory.generation.services.provenance import StreamPlace, place_of
from app.memory.generation.services.turns import USER_ROLES, configured_topics, topics_of, turn_of
from app.memory.generation.store import repository
from app.memory.memories.logic.search_hints import same
from app.memory.memories.store import repository as memories
from app.memory.memories.store.repository import FactsOfScope
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
class _Stored:
    """The usable events of a session, and the number of older ones left out."""

    origin: Origin
    rows: Sequence[SessionEventRow]
    omitted: int


@dataclass(frozen=True)
class Material:
    """The input of one generation, read once.

    Attributes:
        conversation: without turns for given facts.
        omitted_events: the number of a session's oldest events that are not read, if it has more
            than one generation reads.
        takes_facts: True if the bank keeps natural-language memories.
        model: None if the built-in rules do the work.
        remembered: the revisions of a memory that the model is shown, the present one included.
        present: the fields that the model is shown; none without one.
    """

    conversation: Conversation
    omitted_events: int
    guide: Guide
    takes_facts: bool
    model: TextModel | None
    remembered: int
    profiles: tuple[ProfileSchema, ...]
    present: ShownFields
    masking: Masking


@dataclass(frozen=True)
class Asked:
    """The request of a generation.

    Attributes:
        time: of the request; None: it is made now.
        session_time: the creation time of the session that is the source, if known.
        place: the place of the request's own events, if they are part of a larger source.
    """

    request: GenerateMemoriesRequest
    time: datetime | None = None
    session_time: datetime | None = None
    place: StreamPlace | None = None


async def read(resources: Resources, name: EngineName, asked: Asked) -> Material:
    """Read the engine and the conversation, each in a snapshot of its own.

    Raises:
        NotFound: the engine or the session is gone.
        InvalidArgument: the session holds what the engine refuses.
    """
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        engine = await engines.get(session, name)
        source = asked.request.vertex_session_source
        stored = None
        if source is not None:
            stored = await _stored(session, engine, source, asked.session_time, now)
        bank, scope = config_of(engine), asked.request.scope or {}
        profiles, generation = schemas_for(bank, scope), bank.generation_config
        model = resources.models.choose(generation.model if generation is not None else None)
        # The rules look at no present value.
        is_shown = model is not None and bool(profiles)
        fields = await read_fields(session, name.engine, scope, now) if is_shown else []
    request = asked.request
    config = customization_for(bank, scope)
    consolidation = config.consolidation_config or ConsolidationConfig()
    revisions = consolidation.revisions_per_candidate_count
    masking = _masking(bank, request, stored, resources.settings)
    zones = Zones(_zone(request.time_zone), _zone(bank.time_zone))
    present = ShownFields(fields, await asyncio.to_thread(masking.shown_fields, fields))
    guide = _guide(config, profiles, request, zones.localised(now), zones.request)
    spoken = await asyncio.to_thread(_spoken, asked, stored, masking, now)
    reader = _reader(request, guide, model)
    conversation = await asyncio.to_thread(Conversation, spoken, zones, reader)
    await _compare(resources, name, request, conversation)
    return Material(
        conversation=conversation,
        omitted_events=stored.omitted if stored else 0,
        guide=replace(guide, fields=field_lines(profiles, present.shown)),
        takes_facts=not config.disable_natural_language_memories,
        model=model,
        remembered=1 if revisions is None else revisions,
        profiles=profiles,
        present=present,
        masking=masking,
    )


async def _stored(
    session: Session,
    engine: EngineRow,
    source: VertexSessionSource,
    session_time: datetime | None,
    now: datetime,
) -> _Stored:
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
    return _Stored(origin, rows, omitted)


def _spoken(asked: Asked, stored: _Stored | None, masking: Masking, now: datetime) -> Spoken:
    """Return the events of the request or of its session, and their place."""
    direct, moment = asked.request.direct_contents_source, asked.time or now
    if direct is not None:
        place = asked.place or place_of(asked.request.scope or {}, direct.events)
        return Spoken(direct.events, moment, place)
    if stored is None:
        return Spoken((), moment)
    events = [
        ContentEvent(
            content=_content(row, masking),
            event_id=row.event_id,
            event_time=with_utc_offset(row.timestamp, row.utc_offset),
        )
        for row in stored.rows
    ]
    origin = stored.origin
    place = StreamPlace(str(origin.name), [row.seq for row in stored.rows])
    # Without its engine, which an archive may restore under another id.
    session = f"{origin.name.session} {format_timestamp(origin.row.create_time)}"
    return Spoken(events, moment, place, session)


async def _compare(
    resources: Resources,
    name: EngineName,
    request: GenerateMemoriesRequest,
    conversation: Conversation,
) -> None:
    """Compare the conversation with what the scope has read, and with its memories."""
    scope, entries = request.scope or {}, conversation.entries
    rereads = bool(request.reread_events or request.disable_consolidation)
    digests = set() if rereads else conversation.digests
    if not digests and not entries:
        return
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        known = await repository.find_known(session, name.engine, scope, digests, now)
        facts = await memories.find_facts(session, name.engine, scope, entries, now)
    await asyncio.to_thread(conversation.compare, known, partial(_told, facts))


def _told(facts: FactsOfScope, text: str) -> Told:
    """Return what the scope knows of a text."""
    if same(text) in facts.present:
        return Told.MEMORY
    return Told.EARLIER if same(text) in facts.earlier else Told.NOTHING


def _reader(request: GenerateMemoriesRequest, guide: Guide, model: TextModel | None) -> Reader:
    """Return the parts of a generation on which it depends whether a line leaves anything."""
    allowed = [topic.label for topic in topics_of(request.allowed_topics)]
    wanted = [f"{topic.label}: {topic.description}" for topic in guide.topics]
    author = ENGINE if model is None else f"{model.model_id} {VERSION}"
    return Reader(tuple(sorted(allowed)), (author, *sorted(wanted), *sorted(guide.fields)))


def _zone(name: str | None) -> ZoneInfo | None:
    return None if name is None else ZoneInfo(name)


def _masking(
    bank: MemoryBankConfig,
    request: GenerateMemoriesRequest,
    stored: _Stored | None,
    settings: Settings,
) -> Masking:
    """Return the masking of a generation; given facts are written as direct writes are."""
    own, defaults = bank.privacy_config, settings.privacy_defaults
    sent = Guard.of(own, defaults, Place.GENERATION)
    if request.direct_memories_source is None:
        theirs = None
        if stored is not None and stored.origin.is_elsewhere:
            theirs = Guard.of(privacy_of(stored.origin.engine), defaults, Place.GENERATION)
        return Masking(sent, sent, theirs)
    return Masking(Guard.of(own, defaults, Place.DIRECT), sent)


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
