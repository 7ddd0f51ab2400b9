"""Composition of contexts for prompts."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from app.adapters.db.session import Database, Session
from app.adapters.llm.models import TextModels
from app.adapters.llm.named import check_policy
from app.adapters.offload import done
from app.adapters.resources import Resources
from app.conversation.contexts.schemas import (
    AUTO,
    ComposeContextRequest,
    Consistency,
    SummaryState,
)
from app.conversation.contexts.services import included
from app.conversation.contexts.services.answers import Composed, ContextPrompt, encoded
from app.conversation.strategies.logic.budgets import BudgetTooSmall
from app.conversation.strategies.logic.composing import compose, shares_of
from app.conversation.strategies.logic.policies import DEFAULT, Rules, rules_of
from app.conversation.strategies.logic.schedule import next_due
from app.conversation.strategies.logic.turns import Composition, Fixed, History, Shares
from app.conversation.strategies.service import Scale, loaded
from app.conversation.summaries.services import queue
from app.conversation.summaries.services.material import (
    EventWindow,
    SessionInput,
    last_words,
    load_newest,
)
from app.conversation.summaries.store import repository
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument
from app.kernel.names import OperationName, SessionName
from app.kernel.wire.memory_policy import MemoryPolicy, Strategy
from app.memory.retrieval.services.retrieval import RetrievalService
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.rows import name_of
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import SUMMARIZE
from app.platform.operations.services.operations import OperationService
from app.platform.operations.store import leases
from app.platform.sessions.store import event_texts
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow
from app.platform.usage.logic.costs import money
from app.settings.settings import Settings

GivenUp = Callable[[], Awaitable[bool]]
"""Callback that returns True if the client no longer waits for the response."""
_PRICED_TOKENS = 1_000_000
MAX_RAW_CHARS = 16 * 1024 * 1024
"""Maximum characters of raw events in a context; beyond it, older events have no raw event."""
_ROUNDS = 2
"""Maximum number of waits for due summaries in one request."""


@dataclass(frozen=True)
class _Frame:
    """Policy, fixed parts and token shares of a context.

    Attributes:
        fixed: tokens in the requested format.
        plain: tokens as plain messages, which decide whether summaries are due.
    """

    policy: MemoryPolicy
    scale: Scale
    prompt: ContextPrompt
    fixed: Fixed
    plain: Fixed
    shares: Shares

    @property
    def room(self) -> int | None:
        """Tokens of events to read: enough to determine whether a summary is due."""
        if self.shares.room is None:
            return None
        split = self._split
        return max(self.shares.room, (split and split.stm) or 0)

    def is_due(self, history: History) -> bool:
        """Return True if a summary is due."""
        split = self._split
        return split is not None and next_due(self.scale.rules, history, split) is not None

    @property
    def _split(self) -> Shares | None:
        """Division of the window for the summariser; None: no summaries are made."""
        if self.scale.rules.summarising is None:
            return None
        try:
            return shares_of(self.scale.rules, self.plain)
        except BudgetTooSmall:
            # The content fits in its format, but not as plain messages.
            return None


@dataclass(frozen=True)
class _Due:
    """State of the due summaries.

    Attributes:
        attempts: number of consecutive failures.
        operation: id of the unfinished operation that makes the summaries, if any.
        start_time: earliest time of that operation's next run.
    """

    state: SummaryState
    attempts: int = 0
    operation: str | None = None
    start_time: datetime | None = None

    @property
    def is_due(self) -> bool:
        """True if a summary is due."""
        return self.state is not SummaryState.CURRENT

    def begins_by(self, latest: datetime) -> bool:
        """Return True if the operation may start by `latest`; after a failure it waits to retry."""
        return self.start_time is None or self.start_time <= latest


_NOT_DUE = _Due(SummaryState.CURRENT)


@dataclass(frozen=True)
class _Found:
    """Current content of a session and a context composed of it, still without memories.

    Attributes:
        session: full name of the session.
        plain: tokens of the fixed parts, as plain messages.
        query: search query for memories; None if no memories are included.
    """

    session: SessionName
    user_id: str
    composed: Composed
    plain: Fixed
    due: _Due
    query: str | None


@dataclass(frozen=True)
class ContextService:
    """Composition of contexts of sessions."""

    db: Database
    clock: Clock
    settings: Settings
    models: TextModels
    retrieval: RetrievalService
    operations: OperationService

    @classmethod
    def of(cls, resources: Resources) -> "ContextService":
        """Build the service from the process's resources."""
        return cls(
            resources.db,
            resources.clock,
            resources.settings,
            resources.models,
            RetrievalService.of(resources),
            OperationService.of(resources),
        )

    async def compose(
        self, name: SessionName, request: ComposeContextRequest, is_given_up: GivenUp
    ) -> bytes:
        """Return a context as the JSON of a `ContextResponse`; enqueue due summaries.

        A preview does not enqueue summaries. Calls no model except the embedding model, if memories
        are included.

        Raises:
            BudgetTooSmall: the mandatory content does not fit.
            InvalidArgument: the policy names something that does not exist, or needs a limit.
            NotFound: the session does not exist.
        """
        check_policy(request.policy, self.models, self.settings, "policy")
        current = await self._find(name, request)
        # While the primary database is unavailable, summaries cannot be enqueued.
        if current.due.is_due and not request.preview and not self.db.is_primary_away:
            current = await self._with_due(name, request, current, is_given_up)
        composed = await self._with_memories(request, current)
        if request.include_raw_events:
            composed = await self._with_raw_events(name, composed)
        return await done(composed.length, self._to_json, composed, request)

    def _to_json(self, composed: Composed, request: ComposeContextRequest) -> bytes:
        answer, cost = composed.answer(), self._cost(request.model, composed.total)
        if cost is not None:
            answer["estimatedCost"] = cost
        if request.preview:
            answer["isPreview"] = True
        return encoded(answer)

    async def _find(self, name: SessionName, request: ComposeContextRequest) -> _Found:
        """Read the session's content in one snapshot, and compose it."""
        frame = await self._read_frame(name, request)
        scale = frame.scale
        async with self.db.snapshot() as session:
            engine = await engines.get(session, name.engine)
            row = await sessions.get(session, name, self.clock.now())
            _check_as_of(request, row)
            wanted = EventWindow(frame.room, request.as_of_seq)
            told = await load_newest(session, row, name, scale, wanted)
            due = _NOT_DUE
            if request.as_of_seq is None and frame.is_due(told.history):
                due = await _due(session, row, name, scale.rules.key)
            query = await _query(session, row, name, request)
        full_name = SessionName(name_of(engine), row.session_id)
        composed = Composed(
            session=str(full_name),
            policy=frame.policy,
            scale=scale,
            prompt=frame.prompt,
            fixed=frame.fixed,
            shares=frame.shares,
            told=told,
            composition=_compose(scale, told, frame.shares),
            state=due.state,
        )
        return _Found(full_name, row.user_id, composed, frame.plain, due, query)

    async def _read_frame(self, name: SessionName, request: ComposeContextRequest) -> _Frame:
        """Count the tokens of the fixed parts, outside any transaction, since they may be long."""
        async with self.db.snapshot() as session:
            engine = await engines.get(session, name.engine)
            row = await sessions.get(session, name, self.clock.now())
            policy = _effective_policy(request, row, engine)
        rules = rules_of(policy)
        _check_limit(rules)
        scale = Scale(rules, await loaded(rules.counter, self.settings), request.format)
        prompt = ContextPrompt(request.system_prompt, request.pending_message)
        fixed = await prompt.weighed(scale)
        plain = fixed if scale == scale.plain else await prompt.weighed(scale.plain)
        return _Frame(policy, scale, prompt, fixed, plain, shares_of(rules, fixed))

    async def _with_due(
        self,
        name: SessionName,
        request: ComposeContextRequest,
        current: _Found,
        is_given_up: GivenUp,
    ) -> _Found:
        """Enqueue due summaries; if the request waits for them, return the new context.

        An operation that another request enqueued may not make all the summaries needed here.
        """
        loop = asyncio.get_running_loop()
        longest = self.operations.longest_wait
        asked = longest if request.wait_timeout is None else min(request.wait_timeout, longest)
        deadline = loop.time() + asked.total_seconds()
        for _ in range(_ROUNDS):
            attempts = current.due.attempts
            operation = current.due.operation or await self._enqueue_summary(name, current)
            left = timedelta(seconds=max(0.0, deadline - loop.time()))
            is_for_now = current.due.begins_by(self.clock.now() + left)
            if request.consistency is not Consistency.WAIT or not is_for_now:
                return current
            waited = OperationName(current.session.engine, operation)
            is_in_vain = partial(self._is_in_vain, name, current, is_given_up)
            await self.operations.wait(waited, left, is_in_vain)
            current = await self._find(name, request)
            if not current.due.is_due or current.due.attempts > attempts or loop.time() >= deadline:
                break
        return current

    async def _is_in_vain(self, name: SessionName, current: _Found, is_given_up: GivenUp) -> bool:
        """Return True if the client no longer waits, or the summary has failed again."""
        if await is_given_up():
            return True
        key = current.composed.scale.rules.key
        async with self.db.snapshot() as session:
            failed = await repository.last_failure(session, name, key)
        return failed is not None and failed.attempts > current.due.attempts

    async def _enqueue_summary(self, name: SessionName, current: _Found) -> str:
        now = self.clock.now()
        asked = queue.SummaryQuery(current.composed.policy, current.plain)
        async with self.db.transaction() as session:
            engine = await engines.get(session, name.engine, Lock.SHARED)
            row = await sessions.get(session, name, now, for_update=True)
            operation = await queue.ask(session, engine, row, asked, now, self.settings)
            return operation.operation_id

    async def _with_memories(self, request: ComposeContextRequest, current: _Found) -> Composed:
        asked, composed = request.include_memories, current.composed
        if asked is None or current.query is None:
            return composed
        left = composed.composition.left
        bounds = [bound for bound in (left, asked.max_tokens) if bound is not None]
        room = min(bounds, default=None)
        scope = asked.scope or {"user_id": current.user_id}
        engine = current.session.engine
        memories = await included.find(self.retrieval, engine, asked, current.query, scope)
        fitting = await included.fitting(memories, room, composed.scale)
        return replace(composed, memories=fitting)

    async def _with_raw_events(self, name: SessionName, composed: Composed) -> Composed:
        async with self.db.snapshot() as session:
            seqs = composed.whole_seqs
            raw = await event_texts.list_raw_events(session, name, seqs, MAX_RAW_CHARS)
        return replace(composed, raw=raw)

    def _cost(self, model: str | None, tokens: int) -> dict[str, Any] | None:
        price = self.settings.model_prices.get(model or "")
        if price is None:
            return None
        return money([price.input * tokens / _PRICED_TOKENS], self.settings.price_currency)


def _effective_policy(
    request: ComposeContextRequest, row: SessionRow, engine: EngineRow
) -> MemoryPolicy:
    policy = request.policy or queue.policy_of(row.memory_policy, engine) or DEFAULT
    given = {
        "token_limit": request.token_limit,
        "reserve_output_tokens": request.reserve_output_tokens,
    }
    given = {name: number for name, number in given.items() if number is not None}
    return policy.model_copy(update=given)


def _check_limit(rules: Rules) -> None:
    if rules.strategy is Strategy.AGENT_SUMMARY and rules.limit is None:
        raise InvalidArgument.of_field(
            "tokenLimit", f"is required by {rules.strategy}, here or in the policy."
        )


def _check_as_of(request: ComposeContextRequest, row: SessionRow) -> None:
    if (request.as_of_seq or 0) > row.last_seq:
        raise InvalidArgument.of_field(
            "asOfSeq", f"must be at most {row.last_seq}, the session's last event."
        )


async def _due(session: Session, row: SessionRow, name: SessionName, policy_key: str) -> _Due:
    """Return the state of a due summary."""
    failed = await repository.last_failure(session, name, policy_key)
    key = queue.key_of(row.session_id, policy_key)
    under_way = await leases.unfinished(session, row.engine_id, SUMMARIZE, key)
    return _Due(
        state=SummaryState.PENDING if failed is None else SummaryState.FAILED,
        attempts=0 if failed is None else failed.attempts,
        operation=None if under_way is None else under_way.operation_id,
        start_time=None if under_way is None else under_way.due_time,
    )


async def _query(
    session: Session, row: SessionRow, name: SessionName, request: ComposeContextRequest
) -> str | None:
    """Return the search query for memories, or None if there is none."""
    if request.include_memories is None:
        return None
    if request.include_memories.query != AUTO:
        return request.include_memories.query
    if request.pending_message and request.pending_message.strip():
        return request.pending_message
    return await last_words(session, row, name, request.as_of_seq)


def _compose(scale: Scale, told: SessionInput, shares: Shares) -> Composition:
    rules = scale.rules
    if told.is_bounded and not rules.may_omit:
        raise InvalidArgument.of_field(
            "tokenLimit",
            "must be set, with onOverflow omit: the session has more events than one context"
            " takes; or choose another strategy.",
        )
    return compose(rules, told.shown, shares, lambda turn: scale.least(told.said[turn.seq]))
