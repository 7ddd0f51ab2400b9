"""Use cases of a session's summaries: list, get, regenerate, clear, and report usage."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.adapters.db.lists import list_page
from app.adapters.db.session import Database
from app.adapters.db.session import Session as Transaction
from app.adapters.llm.models import TextModels
from app.adapters.offload import done
from app.adapters.resources import Resources
from app.conversation.strategies.logic.policies import rules_of
from app.conversation.summaries.services import queue
from app.conversation.summaries.services.listing import (
    ListSummariesResponse,
    SessionSummary,
    SessionUsage,
)
from app.conversation.summaries.services.writing import model_for
from app.conversation.summaries.store import erasure, repository, spending
from app.conversation.summaries.store.repository import StoredSummaryState
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.clock import Clock
from app.kernel.idempotency import IdempotencyKey
from app.kernel.limits import Counted
from app.kernel.names import EngineName, SessionName, SummaryName
from app.kernel.paging import PageRequest
from app.kernel.wire.memory_policy import CHARS4, COUNTERS, MemoryPolicy
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.rows import name_of
from app.platform.limits.services.quotas import check_more
from app.platform.operations.services.mutation import Method, mutate, write
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.schemas.sessions import Session
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store import shared
from app.platform.usage.services.usage import UsageService
from app.settings.settings import Settings

_REGENERATE = Method(queue.REGENERATE, "RegenerateSummary")


@dataclass(frozen=True)
class SummaryService:
    """Use cases of the stored summaries of sessions."""

    db: Database
    clock: Clock
    settings: Settings
    models: TextModels
    usages: UsageService

    @classmethod
    def of(cls, resources: Resources) -> "SummaryService":
        """Build the service from the process's resources."""
        return cls(
            resources.db,
            resources.clock,
            resources.settings,
            resources.models,
            UsageService.of(resources),
        )

    async def list_summaries(
        self,
        name: SessionName,
        state: StoredSummaryState | None,
        policy_key: str | None,
        page: PageRequest,
    ) -> ListSummariesResponse:
        """Return a page of summaries, oldest first, in all states unless `state` is given.

        Raises:
            NotFound: the session does not exist.
        """
        parent = f"{name.engine.engine}/{name.session}"
        asked = repository.SUMMARIES.page(
            page, session=parent, state=state or "", policy=policy_key or ""
        )
        statement = repository.select_summaries(name, state, policy_key)
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.engine))
            await sessions.get(session, name, self.clock.now())
            rows, token = await list_page(session, statement, asked)
        shown = await self._render_summaries(SessionName(engine, name.session), rows)
        return ListSummariesResponse(summaries=shown, next_page_token=token)

    async def _render_summaries(
        self, stored: SessionName, rows: Sequence[SessionSummaryRow]
    ) -> list[SessionSummary]:
        """Return summaries in wire form; much text is counted in a thread."""

        def shown() -> list[SessionSummary]:
            return [SessionSummary.from_row(stored, row, self.settings) for row in rows]

        if all((row.policy.get("counter") or CHARS4) in COUNTERS for row in rows):
            return await done(sum(len(row.text or "") for row in rows), shown)
        # The first use of an encoding reads its file.
        return await asyncio.to_thread(shown)

    async def get(self, name: SummaryName) -> SessionSummary:
        """Return a summary.

        Raises:
            NotFound: the summary does not exist.
        """
        async with self.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.session.engine))
            await sessions.get(session, name.session, self.clock.now())
            row = await repository.get(session, name)
        stored = SessionName(engine, name.session.session)
        (shown,) = await self._render_summaries(stored, [row])
        return shown

    async def regenerate(self, name: SummaryName, once: IdempotencyKey | None) -> OperationRow:
        """Enqueue a new version of a summary, made from the same events.

        Raises:
            FailedPrecondition: the summary is no longer active.
            ResourceExhausted: the engine's token budget for today is used up, or its queue is full.
        """
        now = self.clock.now()
        locked = engines.locked(name.session.engine)
        async with mutate(self, locked, _REGENERATE, once, now=now) as change:
            if change.replayed is not None:
                return change.replayed
            session, engine = change.session, change.engine
            await change.check_queue()
            owner = await sessions.get(session, name.session, now)
            row = await repository.get(session, name)
            if row.state != StoredSummaryState.ACTIVE:
                raise repository.not_active(name)
            await self._check_budget(session, engine.engine_id, row.policy)
            stored = SessionName(name_of(engine), owner.session_id)
            request = {"session": str(stored), "policy": row.policy, "summary": row.summary_id}
            key = queue.key_of(owner.session_id, row.policy_key)
            change.concerns({"user_id": owner.user_id})
            return await change.queue(key, request)

    async def renew(
        self, session: Transaction, failed: OperationRow, new: NewOperation
    ) -> NewOperation:
        """Return `new` if a failed regeneration may be retried; the worker reads the summary again.

        Raises:
            NotFound: the engine does not exist.
            ResourceExhausted: the engine has no room, or has used up its tokens of today.
        """
        name = EngineName.parse(failed.engine_name)
        engine = await engines.get(session, name, Lock.SHARED)
        await check_more(session, self.settings, engine.engine_id, Counted.BYTES)
        await self._check_budget(session, engine.engine_id, (failed.request or {})["policy"])
        return new

    async def _check_budget(
        self, session: Transaction, engine_id: int, policy: Mapping[str, Any]
    ) -> None:
        """Check the token budget of the engine if the policy summarises with a model.

        Raises:
            ResourceExhausted: the engine has used up its tokens of today.
        """
        made = rules_of(MemoryPolicy.model_validate(policy)).summarising
        if made is not None and model_for(self.models, made) is not None:
            await self.usages.check_budget(session, engine_id)

    async def clear(self, name: SessionName, once: IdempotencyKey | None) -> Session:
        """Make contexts begin after the last event; keep the events, and supersede all summaries.

        Raises:
            NotFound: the session does not exist.
        """
        now = self.clock.now()
        async with write(self, engines.locked(name.engine), once, now=now) as change:
            session, engine = change.session, change.engine
            row = await sessions.get(session, name, now, for_update=True)
            if change.replayed is None:
                values = {"cleared_seq": row.last_seq, "cleared_exchange": row.exchanges}
                row = await sessions.update_session(session, row, values, now)
                keys = await erasure.supersede_all(session, name, now)
                await queue.run_now(session, engine.engine_id, row.session_id, keys, now)
            held = await shared.read(session, engine.engine_id, [row.user_id])
            return Session.from_row(name_of(engine), row, held)

    async def usage(self, name: SessionName) -> SessionUsage:
        """Return the usage of a session's summaries.

        Raises:
            NotFound: the session does not exist.
        """
        async with self.db.snapshot() as session:
            await engines.get(session, name.engine)
            row = await sessions.get(session, name, self.clock.now())
            spent = await spending.list_spent(session, name)
            counts = await spending.count_states(session, name)
        return SessionUsage.of(row, spent, counts, self.settings)


async def retry(
    resources: Resources, session: Transaction, failed: OperationRow, new: NewOperation
) -> NewOperation:
    """Return the operation that retries a failed regeneration; see `SummaryService.renew`."""
    return await SummaryService.of(resources).renew(session, failed, new)
