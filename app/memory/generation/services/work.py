"""One generation: read, think outside any transaction, then write everything at once.

Used by the jobs of `memories:generate` and of `memories:ingestEvents`. A memory that was changed
while the work was thinking makes it plan again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog

from app.adapters.db.session import Session
from app.adapters.llm.checked import CheckedTextModel
from app.adapters.llm.ports import Meter
from app.adapters.resources import Resources
from app.kernel.errors import Aborted, Reason
from app.kernel.failures import describe
from app.kernel.names import EngineName, MemoryName
from app.language.dates import day_in
from app.language.extraction import ENGINE, direct
from app.language.facts import Candidate
from app.language.merging import ASKED
from app.memory.generation.logic.decisions import Caps
from app.memory.generation.logic.fields import plan_fields
from app.memory.generation.logic.outcomes import Dropped, Unmet, sums
from app.memory.generation.logic.plan import Plan, PlannedChange, considered, plan
from app.memory.generation.logic.profiles import FieldValue
from app.memory.generation.logic.prompts import VERSION
from app.memory.generation.logic.ruling import by_rules, unconsolidated
from app.memory.generation.schemas import GenerateMemoriesRequest
from app.memory.generation.services import extraction, material
from app.memory.generation.services.consolidation import Consolidation, compared
from app.memory.generation.services.extraction import Extracted
from app.memory.generation.services.material import Material
from app.memory.generation.services.neighbours import NearMemories, Neighbourhood
from app.memory.generation.services.previews import preview
from app.memory.generation.services.provenance import Place, Provenance
from app.memory.generation.services.turns import topics_of
from app.memory.generation.services.writer import Writer
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store.changes import Writing
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.logic.states import type_url
from app.platform.operations.store.repository import UNMET_REQUESTS
from app.platform.usage.logic import costs
from app.platform.usage.services.usage import UsageService
from app.platform.usage.store import repository as usage

log = structlog.get_logger()

_MAX_PLANS = 3
"""How often a job plans before it leaves the scope to whoever keeps changing it."""
_MAX_NOTE_SECONDS = 5
"""What work that is stopped may take to note its costs: who stops it waits for that."""
_MEASURED_MODEL = "MiniLM"
"""The embedder whose similarities tell the rules what a request to forget means."""
_MAX_SKIPPED_NAMED = 20
"""Files that the metadata name; more are counted."""


@dataclass(frozen=True)
class Task:
    """A generation to run, for whoever runs it.

    Attributes:
        operation_id: the operation that its revisions name.
        request: with its scope.
        step: awaited between the calls of a model; raises when the work shall not go on.
        finish: awaited in the transaction of the changes, with the response and the metadata;
            raises when they shall not be.
        note: awaited in a transaction of its own, with the author and the costs of work that failed
            or was stopped.
        session_time: when the session that is the source was created, where that is known.
        place: where the events of the request stand, where they are part of something longer.
    """

    engine: EngineName
    operation_id: str
    request: GenerateMemoriesRequest
    step: Callable[[], Awaitable[None]]
    finish: Callable[[Session, dict[str, Any], dict[str, Any]], Awaitable[None]]
    note: Callable[[Session, dict[str, Any]], Awaitable[None]]
    session_time: datetime | None = None
    place: Place | None = None


@dataclass(frozen=True)
class Generation:
    """One run of one generation."""

    task: Task
    resources: Resources
    scope: Neighbourhood
    meter: Meter

    @classmethod
    def of(cls, resources: Resources, task: Task) -> "Generation":
        """Build the work from the process's resources."""
        return cls(task, resources, Neighbourhood(resources, task.engine, task.request), Meter())

    async def run(self) -> None:
        """Extract, then plan and apply until nothing has changed in between.

        Raises:
            ServiceError: a model failed, the budget is spent, or the scope keeps changing.
        """
        found: Material | None = None
        try:
            found = await self._read()
            await self._run(found)
        except BaseException:
            # Also where the worker stops: what was asked until then is paid for.
            await self._note_in_time(found)
            raise

    async def _read(self) -> Material:
        task = self.task
        origin = (task.session_time, task.place)
        found = await material.read(self.resources, task.engine, task.request, *origin)
        if found.model is None:
            return found
        return replace(found, model=CheckedTextModel(found.model, self._check))

    async def _check(self) -> None:
        """Go on to ask the model, unless the engine's tokens are spent or the work was cancelled.

        The tokens must suffice for the first call: work that has begun to spend is brought to its
        end. Before that call, the operation has only just been claimed.
        """
        if self.meter.by_model:
            await self.task.step()
        else:
            await self._check_budget()

    async def _run(self, found: Material) -> None:
        extracted = await self._extracted(found)
        extracted.count("omittedEventCount", found.omitted_events)
        most = self.resources.settings.generation_max_candidates
        candidates = considered(extracted.candidates, most)
        extracted.count("omittedCandidateCount", len(extracted.candidates) - len(candidates))
        consolidation = Consolidation(found.model, self.meter, self._caps) if found.model else None
        for attempt in range(1, _MAX_PLANS + 1):
            planned = await self._planned(candidates, found, consolidation)
            planned = await self._with_fields(planned, extracted.values, found)
            facts = [change.fact for change in planned.changes if change.fact is not None]
            embedding = self.scope.embedding
            embed = embedding.vectors if self.task.request.validate_only else embedding.facts
            vectors = await embed(self.task.engine.engine, facts)
            try:
                await self._apply(planned, vectors, _Told.of(found, extracted, planned))
            except Aborted as aborted:
                if attempt == _MAX_PLANS:
                    raise _keeps_changing() from aborted
            else:
                return

    async def _check_budget(self) -> None:
        if self.resources.settings.daily_max_tokens is None:
            return
        async with self.resources.db.snapshot() as session:
            usages = UsageService.of(self.resources)
            await usages.check_budget(session, self.task.engine.engine)

    async def _extracted(self, found: Material) -> Extracted:
        source = self.task.request.direct_memories_source
        if source is not None:
            given = [(one.fact, topics_of(one.topics)) for one in source.direct_memories]
            return Extracted(direct(given) if found.takes_facts else [])
        if found.model is None:
            return await extraction.by_rules(found)
        most = self.resources.settings.generation_max_pieces
        return await extraction.by_model(found.model, found, self.meter, most)

    async def _planned(
        self,
        candidates: Sequence[Candidate],
        found: Material,
        consolidation: Consolidation | None,
    ) -> Plan:
        """Decide what becomes of each candidate among the memories of the scope."""
        if consolidation is not None:
            return await self._by_model(candidates, found, consolidation)
        if self.task.request.disable_consolidation:
            return unconsolidated(candidates)
        near = await self.scope.near(candidates)
        by_meaning = _MEASURED_MODEL in near.model_id
        return await asyncio.to_thread(
            by_rules, candidates, near.rows, self._caps, by_meaning=by_meaning
        )

    async def _by_model(
        self, candidates: Sequence[Candidate], found: Material, consolidation: Consolidation
    ) -> Plan:
        near: Sequence[NearMemories] = [NearMemories()] * len(candidates)
        is_consolidated = not self.task.request.disable_consolidation
        if is_consolidated:
            near = await self.scope.searched(candidates)
        facts = compared(candidates, near)
        if not is_consolidated and not facts.needs_model:
            return unconsolidated(candidates)
        ids = {one.memory_id for new in facts.open for one in new.near}
        histories = await self.scope.histories(sorted(ids), found.remembered)
        today = day_in(found.guide.time_zone, self.resources.clock.now())
        done = await consolidation.decide(facts, histories, today)
        shown = [one.memories for one in near]
        return replace(plan(candidates, shown, done.verdicts, self._caps.all), outcome=done)

    @property
    def _caps(self) -> Caps:
        settings = self.resources.settings
        return Caps(settings.generation_max_deletes, settings.generation_max_forgets)

    async def _with_fields(
        self, planned: Plan, values: Sequence[FieldValue], found: Material
    ) -> Plan:
        """Add the changes of profiles; deletions share the bound of all of them."""
        if not values:
            return planned
        stored = await self.scope.profile_fields()
        deleted = sum(
            change.action == "DELETED" and change.reason != ASKED for change in planned.changes
        )
        left = max(self.resources.settings.generation_max_deletes - deleted, 0)
        fields = plan_fields(values, stored, max_deletes=left, schemas=found.profiles)
        return replace(planned, changes=(*planned.changes, *map(PlannedChange.of_field, fields)))

    async def _apply(self, planned: Plan, vectors: Mapping[str, Vector], told: "_Told") -> None:
        """Make all changes and end the operation in one transaction.

        Raises:
            Aborted: a memory was changed since it was read.
        """
        service = MemoryService.of(self.resources)
        now = self.resources.clock.now()
        author, version = told.author(self.meter)
        async with self.resources.db.transaction() as session:
            engine = await engines.get(session, self.task.engine, Lock.SHARED)
            writing = replace(
                service.writing_for(engine, self.task.operation_id, now, self.task.request),
                author=author,
                prompt_version=version,
            )
            most = self.resources.settings.max_metadata_entries
            origin = told.provenance
            writer = Writer(session, engine, writing, self.task.request, origin, most)
            if self.task.request.validate_only:
                await writer.check(planned.changes)
                response = preview(writing.engine, author, planned, told.dropped)
            else:
                generated = await writer.write(planned.changes, vectors)
                response = _response(author, generated)
            await self._record_costs(session)
            await self.task.finish(session, response, self._details(told, writing))

    def _details(self, told: "_Told", writing: Writing) -> dict[str, Any]:
        """Return what the operation's metadata tells of the work."""
        return {
            **told.details,
            **told.unmet_requests(writing.engine),
            "author": writing.author,
            **({"promptVersion": writing.prompt_version} if writing.prompt_version else {}),
            **({} if writing.keeps_revisions else {"revisionsDisabled": True}),
            **self._costs(),
        }

    def _costs(self) -> dict[str, Any]:
        return costs.details(self.meter, self.resources.settings)

    async def _record_costs(self, session: Session) -> None:
        prices = self.resources.settings.model_prices
        now = self.resources.clock.now()
        await usage.record(session, self.task.engine.engine, now, self.meter, prices)

    async def _note_in_time(self, found: Material | None) -> None:
        """Note the costs in a task of its own, which no second cancellation breaks off."""
        noting = asyncio.create_task(self._note_costs(found))
        _, late = await asyncio.wait([noting], timeout=_MAX_NOTE_SECONDS)
        for task in late:
            task.cancel()

    async def _note_costs(self, found: Material | None) -> None:
        """Record what failed work has spent: it counts towards the budget all the same."""
        author = {} if found is None else _engine_of(found)
        try:
            async with self.resources.db.transaction() as session:
                if self.meter.by_model:
                    await engines.get(session, self.task.engine, Lock.SHARED)
                    await self._record_costs(session)
                await self.task.note(session, {**author, **self._costs()})
        except Exception as error:  # noqa: BLE001 - what made the work fail is what has to be told
            log.warning("generation.costs_not_recorded", error=describe(error))


@dataclass(frozen=True)
class _Told:
    """What the metadata tell of the thinking, and who did it; what memories tell of the events."""

    model_id: str | None
    has_conversation: bool
    details: dict[str, Any]
    dropped: Sequence[Dropped]
    unmet: Sequence[Unmet]
    provenance: Provenance

    @classmethod
    def of(cls, found: Material, extracted: Extracted, planned: Plan) -> "_Told":
        dropped = [*extracted.dropped, *planned.outcome.dropped]
        details: dict[str, Any] = {
            "candidateCount": len(extracted.candidates),
            **extracted.counts,
        }
        for name, value in sums(dropped, planned.outcome.refused).items():
            details[name] = value + details.get(name, 0) if isinstance(value, int) else value
        if planned.outcome.verified:
            details["verifiedFactCount"] = planned.outcome.verified
        if extracted.skipped_files:
            details["skippedFileCount"] = len(extracted.skipped_files)
            details["skippedFiles"] = [
                {"event": event, "mimeType": media_type}
                for event, media_type in extracted.skipped_files[:_MAX_SKIPPED_NAMED]
            ]
        model_id = found.model.model_id if found.model is not None else None
        has_conversation, unmet = bool(found.events), planned.outcome.unmet
        return cls(model_id, has_conversation, details, dropped, unmet, found.provenance)

    def unmet_requests(self, engine: EngineName) -> dict[str, Any]:
        """Return the requests to forget that were not carried out, as the metadata name them."""
        told = [
            {
                "request": one.request,
                "reason": one.reason,
                **({"nearest": _names(engine, one)} if one.nearest else {}),
                **({"hasMore": True} if one.has_more else {}),
            }
            for one in self.unmet
        ]
        return {UNMET_REQUESTS: told} if told else {}

    def author(self, meter: Meter) -> tuple[str, str | None]:
        """Return who wrote, and the version of the prompts: given facts may need no model."""
        if self.model_id is not None and (meter.by_model or self.has_conversation):
            return self.model_id, VERSION
        return ENGINE, None


def _engine_of(found: Material) -> dict[str, Any]:
    """Return what the metadata tell of who was to do work that failed."""
    if found.model is None:
        return {"author": ENGINE}
    return {"author": found.model.model_id, "promptVersion": VERSION}


def _keeps_changing() -> Aborted:
    return Aborted(
        f"The memories changed each of the {_MAX_PLANS} times that their changes were planned;"
        " ask again.",
        Reason.SCOPE_KEEPS_CHANGING,
    )


def _response(author: str, generated: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer; that of nothing worth keeping is empty."""
    response: dict[str, Any] = {"@type": type_url("GenerateMemoriesResponse")}
    if generated:
        response |= {"author": author, "generatedMemories": list(generated)}
    return response


def _names(engine: EngineName, one: Unmet) -> list[str]:
    return [str(MemoryName(engine, memory_id)) for memory_id in one.nearest]
