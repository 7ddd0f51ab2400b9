"""Use cases of contexts: compose what a prompt shows of a session."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from app.adapters.db.session import Database, Session
from app.adapters.llm.aside import done
from app.adapters.llm.models import TextModels
from app.adapters.llm.named import check_policy
from app.adapters.resources import Resources
from app.conversation.contexts.schemas import AUTO, ComposeContextRequest, Consistency, SummaryState
from app.conversation.contexts.services import included
from app.conversation.contexts.services.answers import Composed, Prompt
from app.conversation.strategies.logic.budgets import BudgetTooSmall
from app.conversation.strategies.logic.composing import compose, shares_of
from app.conversation.strategies.logic.due import next_due
from app.conversation.strategies.logic.policies import DEFAULT, Rules, rules_of
from app.conversation.strategies.logic.turns import Composition, Fixed, History, Shares
from app.conversation.strategies.services.counters import loaded
from app.conversation.strategies.services.scales import Scale
from app.conversation.summaries.services import queue
from app.conversation.summaries.services.material import Told, Wanted, last_words, load_newest
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
from app.platform.operations.services.operations import OperationService
from app.platform.operations.store import claims
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow
from app.platform.usage.logic.costs import money
from app.settings.settings import Settings

GivenUp = Callable[[], Awaitable[bool]]
"""Says whether nobody waits for the answer any more."""
_PRICED_TOKENS = 1_000_000
_ROUNDS = 2
"""How often what is due is waited for."""


@dataclass(frozen=True)
class _Frame:
    """What stands around the events, by which policy, and what of the window it leaves.

    Attributes:
        fixed: tokens in the form that is asked for.
        plain: tokens as messages, by which summaries are due.
    """

    policy: MemoryPolicy
    scale: Scale
    prompt: Prompt
    fixed: Fixed
    plain: Fixed
    shares: Shares

    @property
    def room(self) -> int | None:
        """How many tokens of events to read: of which it can be seen whether a summary is due."""
        if self.shares.room is None:
            return None
        split = self._split
        return max(self.shares.room, (split and split.stm) or 0)

    def is_due(self, history: History) -> bool:
        """Say whether a summary is to be made."""
        split = self._split
        return split is not None and next_due(self.scale.rules, history, split) is not None

    @property
    def _split(self) -> Shares | None:
        """How a summariser divides the window; None: nothing is summarised."""
        if self.scale.rules.summarising is None:
            return None
        try:
            return shares_of(self.scale.rules, self.plain)
        except BudgetTooSmall:
            # What is shown fits, and as messages it does not.
            return None


@dataclass(frozen=True)
class _Due:
    """Whether a summary is to be made, and how it stands with it.

    Attributes:
        attempts: how often in a row that has failed.
        operation: the id of the one that makes it, if it is under way.
        start_time: when that runs next, at the earliest.
    """

    state: SummaryState
    attempts: int = 0
    operation: str | None = None
    start_time: datetime | None = None

    @property
    def is_due(self) -> bool:
        """Whether one is."""
        return self.state is not SummaryState.CURRENT

    def begins_by(self, latest: datetime) -> bool:
        """Say whether it may be made until then; one that failed is put off."""
        return self.start_time is None or self.start_time <= latest


_NOT_DUE = _Due(SummaryState.CURRENT)


@dataclass(frozen=True)
class _Found:
    """What there is of a session at present, for a context without memories.

    Attributes:
        session: the full name.
        plain: tokens of what stands around the events, as messages.
        query: what memories are looked for by; None: none are.
    """

    session: SessionName
    user_id: str
    composed: Composed
    plain: Fixed
    due: _Due
    query: str | None


@dataclass(frozen=True)
class ContextService:
    """Contexts of sessions."""

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
        """Return a context, a `ContextResponse` as JSON; what is due is asked for.

        Calls no model but that of the embeddings, where memories are looked for.

        Raises:
            BudgetTooSmall: what has to be shown does not fit.
            InvalidArgument: the policy names what is not here, or needs a limit.
            NotFound: no such session.
        """
        check_policy(request.policy, self.models, self.settings, "policy")
        found = await self._find(name, request)
        if found.due.is_due:
            found = await self._with_due(name, request, found, is_given_up)
        composed = await self._with_memories(request, found)
        return await done(composed.length, self._written, composed, request.model)

    def _written(self, composed: Composed, model: str | None) -> bytes:
        answer, cost = composed.answer(), self._cost(model, composed.total)
        if cost is not None:
            answer["estimatedCost"] = cost
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()

    async def _find(self, name: SessionName, request: ComposeContextRequest) -> _Found:
        """Read what there is, as of one moment, and compose it."""
        frame = await self._framed(name, request)
        scale = frame.scale
        async with self.db.snapshot() as session:
            engine = await engines.get(session, name.engine)
            row = await sessions.get(session, name, self.clock.now())
            _check_as_of(request, row)
            wanted = Wanted(frame.room, request.as_of_seq)
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
            composition=_composed(scale, told, frame.shares),
            state=due.state,
        )
        return _Found(full_name, row.user_id, composed, frame.plain, due, query)

    async def _framed(self, name: SessionName, request: ComposeContextRequest) -> _Frame:
        """Weigh what stands around the events; outside any transaction, as it may be long."""
        async with self.db.snapshot() as session:
            engine = await engines.get(session, name.engine)
            row = await sessions.get(session, name, self.clock.now())
            policy = _effective(request, row, engine)
        rules = rules_of(policy)
        _check_limit(rules)
        scale = Scale(rules, await loaded(rules.counter, self.settings), request.format)
        prompt = Prompt(request.system_prompt, request.pending_message)
        fixed = await prompt.weighed(scale)
        plain = fixed if scale == scale.plain else await prompt.weighed(scale.plain)
        return _Frame(policy, scale, prompt, fixed, plain, shares_of(rules, fixed))

    async def _with_due(
        self,
        name: SessionName,
        request: ComposeContextRequest,
        found: _Found,
        is_given_up: GivenUp,
    ) -> _Found:
        """Have what is due made; return the context as it is then, where that is waited for.

        What was asked for by another request may not be all that this one needs.
        """
        loop = asyncio.get_running_loop()
        longest = self.operations.longest_wait
        asked = longest if request.wait_timeout is None else min(request.wait_timeout, longest)
        deadline = loop.time() + asked.total_seconds()
        for _ in range(_ROUNDS):
            attempts = found.due.attempts
            operation = found.due.operation or await self._ask(name, found)
            left = timedelta(seconds=max(0.0, deadline - loop.time()))
            is_for_now = found.due.begins_by(self.clock.now() + left)
            if request.consistency is not Consistency.WAIT or not is_for_now:
                return found
            waited = OperationName(found.session.engine, operation)
            is_in_vain = partial(self._is_in_vain, name, found, is_given_up)
            await self.operations.wait(waited, left, is_in_vain)
            found = await self._find(name, request)
            if not found.due.is_due or found.due.attempts > attempts or loop.time() >= deadline:
                break
        return found

    async def _is_in_vain(self, name: SessionName, found: _Found, is_given_up: GivenUp) -> bool:
        """Say whether nobody waits any more, or the summary has failed once more since."""
        if await is_given_up():
            return True
        key = found.composed.scale.rules.key
        async with self.db.snapshot() as session:
            failed = await repository.last_failure(session, name, key)
        return failed is not None and failed.attempts > found.due.attempts

    async def _ask(self, name: SessionName, found: _Found) -> str:
        now = self.clock.now()
        asked = queue.Asked(found.composed.policy, found.plain)
        async with self.db.transaction() as session:
            engine = await engines.get(session, name.engine, Lock.SHARED)
            row = await sessions.get(session, name, now, for_update=True)
            operation = await queue.ask(session, engine, row, asked, now, self.settings)
            return operation.operation_id

    async def _with_memories(self, request: ComposeContextRequest, found: _Found) -> Composed:
        asked, composed = request.include_memories, found.composed
        if asked is None or found.query is None:
            return composed
        left = composed.composition.left
        bounds = [bound for bound in (left, asked.max_tokens) if bound is not None]
        room = min(bounds, default=None)
        scope = asked.scope or {"user_id": found.user_id}
        engine = found.session.engine
        memories = await included.find(self.retrieval, engine, asked, found.query, scope)
        fitting = await included.fitting(memories, room, composed.scale)
        return replace(composed, memories=fitting)

    def _cost(self, model: str | None, tokens: int) -> dict[str, Any] | None:
        price = self.settings.model_prices.get(model or "")
        if price is None:
            return None
        return money([price.input * tokens / _PRICED_TOKENS], self.settings.price_currency)


def _effective(request: ComposeContextRequest, row: SessionRow, engine: EngineRow) -> MemoryPolicy:
    """Return the policy of the request, of the session, of the engine or the default one."""
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
            "tokenLimit", f"is needed by {rules.strategy}; give it here or in the policy."
        )


def _check_as_of(request: ComposeContextRequest, row: SessionRow) -> None:
    if (request.as_of_seq or 0) > row.last_seq:
        raise InvalidArgument.of_field(
            "asOfSeq", f"must be at most {row.last_seq}, the session's last event."
        )


async def _due(session: Session, row: SessionRow, name: SessionName, policy_key: str) -> _Due:
    """Return how it stands with a summary that is to be made."""
    failed = await repository.last_failure(session, name, policy_key)
    key = queue.key_of(row.session_id, policy_key)
    under_way = await claims.unfinished(session, row.engine_id, queue.SUMMARIZE, key)
    return _Due(
        state=SummaryState.PENDING if failed is None else SummaryState.FAILED,
        attempts=0 if failed is None else failed.attempts,
        operation=None if under_way is None else under_way.operation_id,
        start_time=None if under_way is None else under_way.due_time,
    )


async def _query(
    session: Session, row: SessionRow, name: SessionName, request: ComposeContextRequest
) -> str | None:
    """Return what memories are looked for by; None where there is nothing to ask for."""
    if request.include_memories is None:
        return None
    if request.include_memories.query != AUTO:
        return request.include_memories.query
    if request.pending_message and request.pending_message.strip():
        return request.pending_message
    return await last_words(session, row, name, request.as_of_seq)


def _composed(scale: Scale, told: Told, shares: Shares) -> Composition:
    rules = scale.rules
    if told.is_bounded and not rules.may_omit:
        raise InvalidArgument.of_field(
            "tokenLimit",
            "the session has more events than one context takes; set a tokenLimit with onOverflow"
            " omit, or choose another strategy.",
        )
    return compose(rules, told.shown, shares, lambda turn: scale.least(told.said[turn.seq]))
