"""Use cases of a session's summaries: list, get, regenerate, clear, and report usage."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from app.adapters.concurrency import offloaded
from app.adapters.db.lists import list_page
from app.adapters.db.session import Session as Transaction
from app.adapters.resources import Resources
from app.conversation.strategies.logic.policies import rules_of
from app.conversation.strategies.service import counter_of
from app.conversation.summaries.schemas import (
    Covered,
    ListSummariesResponse,
    ModelSums,
    SessionSummary,
    SessionUsage,
    SummaryCounts,
)
from app.conversation.summaries.services import queue
from app.conversation.summaries.services.work import model_for
from app.conversation.summaries.store import lookups, repository
from app.conversation.summaries.store.lookups import SummarySpending
from app.conversation.summaries.store.repository import StoredSummaryState
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import InvalidArgument
from app.kernel.limits import Counted
from app.kernel.names import EngineName, SessionName, SummaryName
from app.kernel.paging import PageRequest
from app.kernel.wire.memory_policy import CHARS4, COUNTERS, MemoryPolicy
from app.language.tokens import estimate_tokens
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import name_of
from app.platform.limits.services.quotas import check_more
from app.platform.operations.services.mutation import Method, mutate, write
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.schemas.sessions import Session
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store import shared
from app.platform.usage.logic import Sums, money
from app.platform.usage.schemas import UsageSums
from app.platform.usage.service import UsageService
from app.settings.settings import Settings

_REGENERATE = Method(queue.REGENERATE, "RegenerateSummary")


async def list_summaries(
    resources: Resources,
    name: SessionName,
    state: StoredSummaryState | None,
    policy_key: str | None,
    page: PageRequest,
) -> ListSummariesResponse:
    """Return a page of summaries, oldest first, in all states unless `state` is given."""
    parent = f"{name.engine.engine}/{name.session}"
    asked = repository.SUMMARIES.page(
        page, session=parent, state=state or "", policy=policy_key or ""
    )
    statement = repository.select_summaries(name, state, policy_key)
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name.engine))
        await sessions.get(session, name, resources.clock.now())
        rows, token = await list_page(session, statement, asked)
    shown = await _render_summaries(resources, SessionName(engine, name.session), rows)
    return ListSummariesResponse(summaries=shown, next_page_token=token)


async def _render_summaries(
    resources: Resources, stored: SessionName, rows: Sequence[SessionSummaryRow]
) -> list[SessionSummary]:
    def shown() -> list[SessionSummary]:
        return [_to_wire(stored, row, resources.settings) for row in rows]

    if all((row.policy.get("counter") or CHARS4) in COUNTERS for row in rows):
        return await offloaded(sum(len(row.text or "") for row in rows), shown)
    # The first use of an encoding reads its file.
    return await asyncio.to_thread(shown)


async def get(resources: Resources, name: SummaryName) -> SessionSummary:
    """Return a summary."""
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name.session.engine))
        await sessions.get(session, name.session, resources.clock.now())
        row = await repository.get(session, name)
    stored = SessionName(engine, name.session.session)
    (shown,) = await _render_summaries(resources, stored, [row])
    return shown


async def regenerate(
    resources: Resources, name: SummaryName, once: IdempotencyKey | None
) -> OperationRow:
    """Enqueue a new version of a summary, made from the same events.

    Raises:
        FailedPrecondition: the summary is no longer active.
        ResourceExhausted: the engine's token budget for today is used up, or its queue is full.
    """
    now = resources.clock.now()
    locked = engines.locked(name.session.engine)
    async with mutate(resources, locked, _REGENERATE, once, now=now) as change:
        if change.replayed is not None:
            return change.replayed
        session, engine = change.session, change.engine
        await change.check_queue()
        owner = await sessions.get(session, name.session, now)
        row = await repository.get(session, name)
        if row.state != StoredSummaryState.ACTIVE:
            raise repository.not_active(name)
        await _check_budget(resources, session, engine.engine_id, row.policy)
        stored = SessionName(name_of(engine), owner.session_id)
        request = {"session": str(stored), "policy": row.policy, "summary": row.summary_id}
        key = queue.key_of(owner.session_id, row.policy_key)
        change.concerns({"user_id": owner.user_id})
        return await change.queue(key, request)


async def _check_budget(
    resources: Resources, session: Transaction, engine_id: int, policy: Mapping[str, Any]
) -> None:
    summarising = rules_of(MemoryPolicy.model_validate(policy)).summarising
    if summarising is not None and model_for(resources.models, summarising) is not None:
        await UsageService.of(resources).check_budget(session, engine_id)


async def clear(resources: Resources, name: SessionName, once: IdempotencyKey | None) -> Session:
    """Make contexts begin after the last event; keep the events, and supersede all summaries."""
    now = resources.clock.now()
    async with write(resources, engines.locked(name.engine), once, now=now) as change:
        session, engine = change.session, change.engine
        row = await sessions.get(session, name, now, for_update=True)
        if change.replayed is None:
            values = {"cleared_seq": row.last_seq, "cleared_exchange": row.exchanges}
            row = await sessions.update_session(session, row, values, now)
            keys = await repository.supersede_all(session, name, now)
            await queue.run_now(session, engine.engine_id, row.session_id, keys, now)
        held = await shared.read(session, engine.engine_id, [row.user_id])
        return Session.from_row(name_of(engine), row, held)


async def usage(resources: Resources, name: SessionName) -> SessionUsage:
    """Return the usage of a session's summaries."""
    async with resources.db.snapshot() as session:
        await engines.get(session, name.engine)
        row = await sessions.get(session, name, resources.clock.now())
        spent = await lookups.list_spent(session, name)
        counts = await lookups.count_states(session, name)
    return SessionUsage(
        models=[_model_sums(model_spent, resources.settings) for model_spent in spent],
        total=UsageSums(**_sums(spent, resources.settings)),
        summaries=SummaryCounts.model_validate(counts),
        event_count=row.last_seq,
        exchange_count=row.exchanges,
    )


async def retry(
    resources: Resources, session: Transaction, failed: OperationRow, new: NewOperation
) -> NewOperation:
    """Return `new` if a failed regeneration may be retried, or raise ResourceExhausted."""
    engine = await engines.get(session, EngineName.parse(failed.engine_name), Lock.SHARED)
    await check_more(session, resources.settings, engine.engine_id, Counted.BYTES)
    await _check_budget(resources, session, engine.engine_id, (failed.request or {})["policy"])
    return new


def _to_wire(session: SessionName, row: SessionSummaryRow, settings: Settings) -> SessionSummary:
    read = None
    if row.read_first_seq is not None and row.read_last_seq is not None:
        read = Covered(first_seq=row.read_first_seq, last_seq=row.read_last_seq)
    return SessionSummary(
        name=str(SummaryName(session, row.summary_id)),
        policy_key=row.policy_key,
        kind=row.kind,
        state=StoredSummaryState(row.state),
        version=row.version,
        covers=Covered(first_seq=row.first_seq, last_seq=row.last_seq),
        text=row.text,
        tokens=None if row.text is None else _tokens(row.text, row.policy, settings),
        char_limit=row.char_limit,
        cut=row.is_cut,
        previous_summaries=[str(SummaryName(session, summary_id)) for summary_id in row.previous],
        inputs=read,
        model=row.model_id,
        template=row.template or None,
        usage=[_model_sums(spent, settings) for spent in _spent(row.usage)],
        error=row.error_reason,
        retry_time=row.retry_time,
        create_time=row.create_time,
        update_time=row.update_time,
    )


def _tokens(text: str, policy: Mapping[str, Any], settings: Settings) -> int:
    """Return the tokens of a text, estimated by length if the policy's counter is gone."""
    name = rules_of(MemoryPolicy.model_validate(policy)).counter
    try:
        return counter_of(name, settings).count(text)
    except InvalidArgument:
        return estimate_tokens(text)


def _spent(usage: Mapping[str, Mapping[str, Any]]) -> list[SummarySpending]:
    return [
        SummarySpending(
            model,
            used["calls"],
            used["inputTokens"],
            used["outputTokens"],
            used["milliseconds"],
            used.get("cost"),
        )
        for model, used in sorted(usage.items())
    ]


def _model_sums(spent: SummarySpending, settings: Settings) -> ModelSums:
    return ModelSums(model=spent.model_id, **_sums([spent], settings))


def _sums(spent: Sequence[SummarySpending], settings: Settings) -> dict[str, Any]:
    sums, currency = Sums.of(spent), settings.price_currency
    amounts = [model_spent.cost for model_spent in spent]
    return {
        "call_count": sums.calls,
        "input_token_count": sums.input_tokens,
        "output_token_count": sums.output_tokens,
        "model_milliseconds": sums.milliseconds,
        "cost": money(amounts, currency),
        "known_cost": money([amount for amount in amounts if amount is not None], currency),
        "unpriced_call_count": sum(
            model_spent.calls for model_spent in spent if model_spent.cost is None
        ),
    }
