"""One generation: it reads, asks models outside transactions, then writes all changes at once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import structlog
from typing_extensions import override

from app.adapters import tracing
from app.adapters.db.session import Session
from app.adapters.llm.ports import Attachment, Meter, OutputT, Prompt, TextModel
from app.adapters.resources import Resources
from app.kernel.errors import Aborted, Reason, describe
from app.kernel.names import EngineName
from app.language.dates import day_in
from app.language.extraction import direct
from app.language.facts import ENGINE, Candidate
from app.memory.generation.logic.decisions import Caps
from app.memory.generation.logic.masking import Masking
from app.memory.generation.logic.outcomes import fates
from app.memory.generation.logic.plan import Plan, by_rules, considered, plan, unconsolidated
from app.memory.generation.logic.profiles import FieldValue
from app.memory.generation.logic.prompts import VERSION
from app.memory.generation.logic.rereading import LineStanding
from app.memory.generation.schemas import GenerateMemoriesRequest, ReadTo
from app.memory.generation.services import extraction, generation_input
from app.memory.generation.services.consolidation import Compared, Consolidation, compared
from app.memory.generation.services.conversation import ReadConversation
from app.memory.generation.services.extraction import Extracted, in_pieces
from app.memory.generation.services.generation_input import Material, ReadPart
from app.memory.generation.services.judging import Judges
from app.memory.generation.services.neighbours import NearCandidates, NearMemories, Neighbourhood
from app.memory.generation.services.profile_fields import with_profiles
from app.memory.generation.services.summary import Summary, preview
from app.memory.generation.services.turns import topics_of
from app.memory.generation.services.writer import GenerationWriter
from app.memory.generation.store import repository
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store.changes import ChangeContext
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.logic.states import type_url
from app.platform.privacy.service import count
from app.platform.sessions.store import repository as sessions
from app.platform.usage import logic as costs
from app.platform.usage import store as usage
from app.platform.usage.service import UsageService, finish_in_time

log = structlog.get_logger()
_SaidT = TypeVar("_SaidT", Candidate, FieldValue)
_MAX_PLANS = 3
"""Maximum number of plans before a job gives up because other writers keep changing the scope."""
_MEASURED_MODEL = "MiniLM"
"""The embedder whose similarities the rules use to interpret a request to forget."""


class CheckedTextModel(TextModel):
    """A text model that awaits a check before it asks another; errors of the check pass through."""

    def __init__(self, model: TextModel, check: Callable[[], Awaitable[None]]) -> None:
        self.model_id = model.model_id
        self.max_input_tokens = model.max_input_tokens
        self._model = model
        self._check = check

    @override
    def reads(self, attachment: Attachment) -> bool:
        return self._model.reads(attachment)

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        await self._check()
        return await self._model.ask(prompt, output, meter)


@dataclass(frozen=True)
class GenerationTask:
    """A generation to run, with the hooks of its caller.

    Attributes:
        caller: the id of the key that requested it; None for the service itself.
        step: awaited between the calls of a model; raises if the work must stop.
        begin: awaited in the transaction of the changes, before them; returns the id of the
            operation that their revisions refer to.
        finish: awaited in the same transaction, with response and metadata; may raise.
        note: awaited in a separate transaction, with the author and the costs of work that failed
            or was stopped.
        go_on: awaited in place of `finish` if another round has to read more of a session, with
            the last event that was read.
    """

    engine: EngineName
    kind: str
    caller: str | None
    request: GenerateMemoriesRequest
    step: Callable[[], Awaitable[None]]
    begin: Callable[[Session], Awaitable[str]]
    finish: Callable[[Session, dict[str, Any], dict[str, Any]], Awaitable[None]]
    note: Callable[[Session, dict[str, Any]], Awaitable[None]]
    go_on: Callable[[ReadTo, Session, dict[str, Any], dict[str, Any]], Awaitable[None]] | None = (
        None
    )
    origin: ReadPart = field(default_factory=ReadPart)


@dataclass(frozen=True)
class Generation:
    """One run of one generation."""

    resources: Resources
    task: GenerationTask
    meter: Meter = field(default_factory=Meter)

    @property
    def scope(self) -> Neighbourhood:
        """The scope, with the memories to compare."""
        return Neighbourhood(self.resources, self.task.engine, self.task.request)

    async def run(self) -> None:
        """Extract, then plan and apply until no memory changes in between.

        Raises:
            ServiceError: a model failed, the budget is spent, or the scope keeps changing.
        """
        inputs: Material | None = None
        try:
            inputs = await self._read()
            await self._run(inputs)
        except BaseException:
            # Also if the worker stops: the calls made so far have to be paid.
            await finish_in_time(asyncio.create_task(self._note_costs(inputs)))
            raise

    async def _read(self) -> Material:
        task = self.task
        inputs = await generation_input.read(self.resources, task.engine, task.request, task.origin)
        if inputs.model is None:
            return inputs
        return replace(inputs, model=CheckedTextModel(inputs.model, self._check))

    async def _check(self) -> None:
        # Work that has begun to spend is finished, so the budget counts before the first
        # call only. An operation that was claimed just now need not be checked for its
        # cancellation.
        if self.meter.by_model:
            await self.task.step()
        else:
            await self._check_budget()

    async def _run(self, inputs: Material) -> None:
        extracted = await self._extracted(inputs)
        await asyncio.to_thread(_mask, extracted, inputs.masking)
        extracted.count("omittedEventCount", inputs.omitted_events)
        most = self.resources.settings.tuning.generation_max_candidates
        candidates = considered(extracted.candidates, most)
        extracted.count("omittedCandidateCount", len(extracted.candidates) - len(candidates))
        kept = set(map(id, candidates))
        extracted.unread |= {
            candidate.turn for candidate in extracted.candidates if id(candidate) not in kept
        }
        extracted.count("knownEventCount", inputs.conversation.known)
        extracted.count("recalledLineCount", inputs.conversation.recalled)
        candidates = [_timed(candidate, inputs.conversation) for candidate in candidates]
        values = [_timed(value, inputs.conversation) for value in extracted.values]
        zone = inputs.guide.now.tzinfo
        consolidation = (
            Consolidation(inputs.model, self.meter, self._caps, zone, extracted.entries)
            if inputs.model
            else None
        )
        for attempt in range(1, _MAX_PLANS + 1):
            planned = await self._planned(candidates, inputs, consolidation)
            task, schemas = self.task, inputs.profiles
            planned = await with_profiles(
                self.resources, task.engine, task.request, planned, schemas, values
            )
            # Mask again, since a model may have joined parts of a value.
            masking = replace(inputs.masking, counts=Counter(inputs.masking.counts))
            planned = await asyncio.to_thread(masking.plan, planned)
            facts = [change.fact for change in planned.changes if change.fact is not None]
            embedding = self.scope.embedding
            embed = embedding.vectors if self.task.request.validate_only else embedding.facts
            vectors = await embed(self.task.engine.engine, facts)
            try:
                summary = Summary(inputs, extracted, planned, masking)
                with tracing.span("write"):
                    await self._apply(vectors, summary)
            except Aborted as aborted:
                if attempt == _MAX_PLANS:
                    raise _keeps_changing() from aborted
            else:
                count(masking.guard.place, masking.counts)
                return

    async def _check_budget(self) -> None:
        if self.resources.settings.daily_max_tokens is None:
            return
        async with self.resources.db.snapshot() as session:
            usages = UsageService.of(self.resources)
            await usages.check_budget(session, self.task.engine.engine)

    async def _extracted(self, inputs: Material) -> Extracted:
        source = self.task.request.direct_memories_source
        if source is not None:
            facts = [(memory.fact, topics_of(memory.topics)) for memory in source.direct_memories]
            return Extracted(direct(facts) if inputs.takes_facts else [])
        if inputs.model is None:
            return await extraction.by_rules(inputs, self._judges)
        most = self.resources.settings.tuning.generation_max_pieces
        return await extraction.by_model(inputs.model, inputs, self.meter, most)

    async def _planned(
        self,
        candidates: Sequence[Candidate],
        inputs: Material,
        consolidation: Consolidation | None,
    ) -> Plan:
        if consolidation is not None:
            return await self._by_model(candidates, inputs, consolidation)
        if self.task.request.disable_consolidation:
            return unconsolidated(candidates)
        near = await self.scope.near(candidates)
        by_meaning = _MEASURED_MODEL in near.model_id
        judge = await self._judges.of_pairs(near, self.scope)
        planned = await in_pieces(
            by_rules(near.candidates, near.rows, self._caps, by_meaning=by_meaning, judge=judge)
        )
        return planned.with_dropped(near.older)

    async def _by_model(
        self, candidates: Sequence[Candidate], inputs: Material, consolidation: Consolidation
    ) -> Plan:
        is_consolidated = not self.task.request.disable_consolidation
        near = NearCandidates(candidates, [NearMemories()] * len(candidates))
        if is_consolidated:
            near = await self.scope.searched(candidates, inputs.search_language)
        facts = compared(near.candidates, near.near)
        if not is_consolidated and not facts.needs_model:
            return unconsolidated(candidates)
        ids = {memory.memory_id for new in facts.open for memory in new.near}
        histories = await self.scope.histories(sorted(ids), inputs.remembered)
        # The memories may be older than the masking rules for models.
        shown = await asyncio.to_thread(inputs.masking.shown, facts.open, histories)
        today = day_in(inputs.guide.time_zone, self.resources.clock.now())
        masked = Compared(facts.settled, list(shown.masked))
        done = await consolidation.decide(masked, shown.histories, today)
        verdicts = shown.restored(done.verdicts)
        planned = plan(near.candidates, near.rows, verdicts, self._caps.all)
        dropped = [*done.dropped, *planned.outcome.dropped]
        decided = replace(planned, outcome=replace(done, dropped=dropped))
        return decided.with_dropped(near.older)

    @property
    def _judges(self) -> Judges:
        return Judges(self.scope.embedding, self.task.engine.engine)

    @property
    def _caps(self) -> Caps:
        settings = self.resources.settings
        return Caps(settings.generation_max_deletes, settings.generation_max_forgets)

    async def _apply(self, vectors: Mapping[str, Vector], summary: Summary) -> None:
        """Make all changes and end the operation, or raise Aborted if a memory has changed."""
        task, service = self.task, MemoryService.of(self.resources)
        planned, now = summary.planned, self.resources.clock.now()
        author, version = summary.author(self.meter)
        async with self.resources.db.transaction() as session:
            engine = await engines.get(session, task.engine, Lock.SHARED)
            operation_id = await task.begin(session)
            writing = replace(
                service.writing_for(engine, operation_id, now, task.request, task.caller),
                author=author,
                prompt_version=version,
            )
            most = self.resources.settings.tuning.max_metadata_entries
            origin = summary.inputs.conversation.provenance
            writer = GenerationWriter(session, engine, writing, task.request, origin, most)
            if task.request.validate_only:
                await writer.check(planned.changes)
                shown = preview(
                    writing.engine, author, planned, summary.dropped, summary.dropped_fields
                )
                response = summary.masking.preview(shown)
            else:
                generated = await writer.write(planned.changes, vectors)
                response = _response(author, generated)
                scope = task.request.scope or {}
                await repository.keep(session, task.engine.engine, scope, summary.lines_read(now))
            await self._record_costs(session)
            end = task.finish
            if summary.inputs.read_to is not None:
                assert task.go_on is not None
                end = partial(task.go_on, summary.inputs.read_to)
            details = self._details(summary, writing) | await self._source(session, summary.inputs)
            await end(session, response, details | fates(response))

    def _details(self, summary: Summary, writing: ChangeContext) -> dict[str, Any]:
        return {
            **summary.details,
            **summary.unmet_requests(writing.engine),
            "author": writing.author,
            **({"promptVersion": writing.prompt_version} if writing.prompt_version else {}),
            **({} if writing.keeps_revisions else {"revisionsDisabled": True}),
            **self._costs(),
        }

    async def _source(self, session: Session, inputs: Material) -> dict[str, Any]:
        part = inputs.source
        if part is None:
            return {}
        origin = part.origin
        is_held = await sessions.hold(session, origin.name, origin.row.create_time)
        return {"source": part.source.wire()} if is_held else {}

    def _costs(self) -> dict[str, Any]:
        return costs.details(self.meter, self.resources.settings)

    async def _record_costs(self, session: Session) -> None:
        prices = self.resources.settings.model_prices
        now = self.resources.clock.now()
        task = self.task
        await usage.record(session, task.engine.engine, now, self.meter, prices, task.kind)

    async def _note_costs(self, inputs: Material | None) -> None:
        """Record the costs of failed work, which also count towards the budget."""
        author = {} if inputs is None else _engine_of(inputs)
        try:
            async with self.resources.db.transaction() as session:
                if self.meter.by_model:
                    await engines.get(session, self.task.engine, Lock.SHARED)
                    await self._record_costs(session)
                await self.task.note(session, {**author, **self._costs()})
        except Exception as error:  # noqa: BLE001 - the error that ended the work must be reported
            log.warning("generation.costs_not_recorded", error=describe(error))


def _timed(finding: _SaidT, conversation: ReadConversation) -> _SaidT:
    return replace(
        finding,
        said_at=conversation.provenance.said_at(finding.turn),
        is_repeat=conversation.standings.get(finding.turn) is LineStanding.PERHAPS,
    )


def _mask(extracted: Extracted, masking: Masking) -> None:
    """Mask the findings before they reach a model or an embedder again."""
    extracted.candidates = masking.candidates(extracted.candidates)
    extracted.values = masking.values(extracted.values)


def _engine_of(inputs: Material) -> dict[str, Any]:
    if inputs.model is None:
        return {"author": ENGINE}
    return {"author": inputs.model.model_id, "promptVersion": VERSION}


def _keeps_changing() -> Aborted:
    return Aborted(
        f"The memories changed during each of the {_MAX_PLANS} attempts to plan their changes;"
        " retry.",
        Reason.SCOPE_KEEPS_CHANGING,
    )


def _response(author: str, generated: Sequence[dict[str, Any]]) -> dict[str, Any]:
    response: dict[str, Any] = {"@type": type_url("GenerateMemoriesResponse")}
    if generated:
        response |= {"author": author, "generatedMemories": list(generated)}
    return response
