"""Composition of contexts for prompts."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from app.adapters.concurrency import offloaded
from app.adapters.db.session import Session
from app.adapters.llm.models import check_policy
from app.adapters.resources import Resources
from app.conversation.contexts.schemas import (
    AUTO,
    ComposeContextRequest,
    Consistency,
    IncludeMemories,
    SummaryState,
)
from app.conversation.contexts.services.answers import Composed, Frame, encoded
from app.conversation.contexts.services.carrying import carry, read_former
from app.conversation.strategies.logic.policies import DEFAULT, Rules, rules_of
from app.conversation.strategies.logic.rendering import compose, shares_of
from app.conversation.strategies.logic.turns import Composition, Fixed, Shares, SourceField
from app.conversation.strategies.service import WORK_PER_TEXT, Scale, loaded
from app.conversation.summaries.services import queue
from app.conversation.summaries.services.material import (
    SessionInput,
    SessionReader,
    last_words,
)
from app.conversation.summaries.services.work import needs_model
from app.conversation.summaries.store import repository
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName, OperationName, SessionName
from app.kernel.wire.memory_policy import MemoryPolicy, Strategy
from app.memory.retrieval.schemas import RetrieveMemoriesRequest, SimilaritySearchParams
from app.memory.retrieval.services import retrieval
from app.platform.engines.logic.topics import MAX_FACT_CHARS
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, name_of
from app.platform.operations.logic.states import SUMMARIZE
from app.platform.operations.services.operations import GivenUp, OperationService
from app.platform.operations.store import leases
from app.platform.sessions.store import event_texts
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow
from app.platform.usage.logic import money

_PRICED_TOKENS = 1_000_000
MAX_RAW_CHARS = 16 * 1024 * 1024
"""Maximum characters of raw events in a context; beyond it, older events have no raw event."""
_TEMPLATE_NEEDS_MODEL = "template_needs_model"
_ROUNDS = 2
"""Maximum number of waits for due summaries in one request."""
Memory = tuple[str, str]
"""Name and fact."""
_ROUNDING = 1
"""Tokens by which a whole may count less than the sum of its two parts."""


@dataclass(frozen=True)
class _Due:
    """State of the due summaries.

    Attributes:
        attempts: number of consecutive failures.
        operation: id of the unfinished operation that makes the summaries, if any.
    """

    state: SummaryState
    attempts: int = 0
    operation: str | None = None
    start_time: datetime | None = None

    @property
    def is_due(self) -> bool:
        return self.state is not SummaryState.CURRENT

    def begins_by(self, latest: datetime) -> bool:
        return self.start_time is None or self.start_time <= latest


_NOT_DUE = _Due(SummaryState.CURRENT)


class _Current(NamedTuple):
    """Current content of a session, still without memories; `query` finds them, if any."""

    composed: Composed
    due: _Due
    query: str | None


@dataclass(frozen=True)
class ContextComposer:
    """Composition of one context; `is_given_up` returns True once the client no longer waits."""

    resources: Resources
    name: SessionName
    request: ComposeContextRequest
    is_given_up: GivenUp

    async def compose(self) -> bytes:
        """Return the context as the JSON of a `ContextResponse`; enqueue due summaries.

        A preview enqueues none.

        Raises:
            BudgetTooSmall: the mandatory content does not fit.
            InvalidArgument: the policy names something that does not exist, or needs a limit.
        """
        resources, request = self.resources, self.request
        check_policy(request.policy, resources.models, resources.settings, "policy")
        current = await self._find()
        # While the primary database is unavailable, summaries cannot be enqueued.
        if current.due.is_due and not request.preview and not resources.db.is_primary_away:
            current = await self._with_due(current)
        composed = await self._with_memories(current)
        if request.include_raw_events:
            async with resources.db.snapshot() as session:
                seqs = composed.whole_seqs
                raw = await event_texts.list_raw_events(session, self.name, seqs, MAX_RAW_CHARS)
            composed = replace(composed, raw=raw)
        return await offloaded(composed.length, self._to_json, composed)

    def _to_json(self, composed: Composed) -> bytes:
        answer, settings = composed.answer(), self.resources.settings
        price = settings.model_prices.get(self.request.model or "")
        if price is not None:
            amount = price.input * composed.total / _PRICED_TOKENS
            answer["estimatedCost"] = money([amount], settings.price_currency)
        if self.request.preview:
            answer["isPreview"] = True
        summarising = composed.frame.scale.rules.summarising
        if summarising is not None and needs_model(self.resources.models, summarising):
            answer["warnings"] = [_TEMPLATE_NEEDS_MODEL]
        return encoded(answer)

    async def _find(self) -> _Current:
        request, name, frame = self.request, self.name, await self._read_frame()
        scale, now = frame.scale, self.resources.clock.now()
        async with self.resources.db.snapshot() as session:
            engine = await engines.get(session, name.engine)
            row = await sessions.get(session, name, now)
            _check_as_of(request, row)
            former = await read_former(session, row, scale.rules.carry_over, now)
            reader = SessionReader(session, row, name, scale)
            content = await reader.newest(frame.room, request.as_of_seq)
            due = _NOT_DUE
            if request.as_of_seq is None and frame.is_due(content.history):
                due = await _due(session, row, name, scale.rules.key)
            query = await _query(session, row, name, request)
        chosen, place = _compose(scale, content, frame.shares), name_of(engine)
        carried = await offloaded(former.length, carry, former, chosen, scale, place)
        composed = Composed(
            request=request,
            session=SessionName(place, row.session_id),
            user_id=row.user_id,
            frame=frame,
            content=content,
            composition=chosen,
            carried=carried,
            state=due.state,
        )
        return _Current(composed, due, query)

    async def _read_frame(self) -> Frame:
        resources, request = self.resources, self.request
        async with resources.db.snapshot() as session:
            engine = await engines.get(session, self.name.engine)
            row = await sessions.get(session, self.name, resources.clock.now())
            policy = _effective_policy(request, row, engine)
        rules = rules_of(policy)
        _check_limit(rules)
        counter = await loaded(rules.counter, resources.settings)
        scale = Scale(rules, counter, request.format)
        length = len(request.system_prompt or "") + len(request.pending_message or "")
        fixed = await offloaded(length, _weigh, request, scale)
        plain = fixed
        if scale != scale.plain:
            plain = await offloaded(length, _weigh, request, scale.plain)
        return Frame(policy, scale, fixed, plain, shares_of(rules, fixed))

    async def _with_due(self, current: _Current) -> _Current:
        """Enqueue due summaries; if the request waits for them, return the new context.

        An operation that another request enqueued may not make all the summaries needed here.
        """
        loop, operations = asyncio.get_running_loop(), OperationService.of(self.resources)
        longest, wanted = operations.longest_wait, self.request.wait_timeout
        asked = longest if wanted is None else min(wanted, longest)
        deadline = loop.time() + asked.total_seconds()
        for _ in range(_ROUNDS):
            attempts = current.due.attempts
            operation = current.due.operation or await self._enqueue_summary(current)
            left = timedelta(seconds=max(0.0, deadline - loop.time()))
            is_for_now = current.due.begins_by(self.resources.clock.now() + left)
            if self.request.consistency is not Consistency.WAIT or not is_for_now:
                return current
            waited = OperationName(current.composed.session.engine, operation)
            await operations.wait(waited, left, partial(self._is_wait_over, current))
            current = await self._find()
            if not current.due.is_due or current.due.attempts > attempts or loop.time() >= deadline:
                break
        return current

    async def _is_wait_over(self, current: _Current) -> bool:
        if await self.is_given_up():
            return True
        key = current.composed.frame.scale.rules.key
        async with self.resources.db.snapshot() as session:
            failed = await repository.last_failure(session, self.name, key)
        return failed is not None and failed.attempts > current.due.attempts

    async def _enqueue_summary(self, current: _Current) -> str:
        now, frame = self.resources.clock.now(), current.composed.frame
        async with self.resources.db.transaction() as session:
            engine = await engines.get(session, self.name.engine, Lock.SHARED)
            row = await sessions.get(session, self.name, now, for_update=True)
            settings = self.resources.settings
            operation = await queue.ask(
                session, engine, row, frame.policy, now, settings, frame.plain
            )
            return operation.operation_id

    async def _with_memories(self, current: _Current) -> Composed:
        asked, composed = self.request.include_memories, current.composed
        if asked is None or current.query is None:
            return composed
        bounds = [bound for bound in (composed.left, asked.max_tokens) if bound is not None]
        scope = asked.scope or {"user_id": composed.user_id}
        engine = composed.session.engine
        memories = await find_memories(self.resources, engine, asked, current.query, scope)
        room = min(bounds, default=None)
        fitting = await fitting_memories(memories, room, composed.frame.scale)
        return replace(composed, memories=fitting)


def _weigh(request: ComposeContextRequest, scale: Scale) -> Fixed:
    return Fixed(
        system=scale.of_part(SourceField.SYSTEM, request.system_prompt or ""),
        pending=scale.of_part(SourceField.PENDING, request.pending_message or ""),
    )


def _effective_policy(
    request: ComposeContextRequest, row: SessionRow, engine: EngineRow
) -> MemoryPolicy:
    policy = request.policy or queue.policy_of(row.memory_policy, engine) or DEFAULT
    asked = {
        "token_limit": request.token_limit,
        "reserve_output_tokens": request.reserve_output_tokens,
        "framing": request.framing,
    }
    asked = {name: value for name, value in asked.items() if value is not None}
    return policy.model_copy(update=asked)


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
    if request.include_memories is None:
        return None
    if request.include_memories.query != AUTO:
        return request.include_memories.query
    if request.pending_message and request.pending_message.strip():
        return request.pending_message
    return await last_words(session, row, name, request.as_of_seq)


def _compose(scale: Scale, content: SessionInput, shares: Shares) -> Composition:
    rules = scale.rules
    if content.is_bounded and not rules.may_omit:
        raise InvalidArgument.of_field(
            "tokenLimit",
            "must be set, with onOverflow omit: the session has more events than one context"
            " takes; or choose another strategy.",
        )
    return compose(rules, content.shown, shares, lambda turn: scale.least(content.said[turn.seq]))


async def find_memories(
    resources: Resources,
    engine: EngineName,
    asked: IncludeMemories,
    query: str,
    scope: Mapping[str, str],
) -> list[Memory]:
    """Return the memories of a scope that match a query, best first; calls the embedding model."""
    request = RetrieveMemoriesRequest(
        scope=dict(scope),
        similarity_search_params=SimilaritySearchParams(
            search_query=query[:MAX_FACT_CHARS], top_k=asked.top_k
        ),
    )
    hits = (await retrieval.retrieve(resources, engine, request)).response["retrievedMemories"]
    memories = [hit["memory"] for hit in hits]
    return [(memory["name"], memory["fact"]) for memory in memories if memory.get("fact")]


async def fitting_memories(
    memories: Sequence[Memory], room: int | None, scale: Scale
) -> list[Memory]:
    """Return the memories that fit, in their order; one that is too long is skipped, not cut."""
    length = sum(len(fact) + WORK_PER_TEXT for _, fact in memories)
    return await offloaded(length, _fitting, memories, room, scale)


def _fitting(memories: Sequence[Memory], room: int | None, scale: Scale) -> list[Memory]:
    if room is None:
        return list(memories)
    block = _Block(room, scale)
    kept = [memory for memory in memories if block.takes(memory[1])]
    # A counter that splits long texts may count more tokens in the whole than in its parts.
    while kept and scale.of_facts([fact for _, fact in kept]) > room:
        kept.pop()
    return kept


@dataclass
class _Block:
    """A growing block of facts, each counted once; the whole block only where the sum is too close.

    Attributes:
        most: tokens of the facts so far; an upper bound unless `is_weighed`.
    """

    room: int
    scale: Scale
    facts: list[str] = field(default_factory=list)
    most: int = 0
    is_weighed: bool = True

    def takes(self, fact: str) -> bool:
        tokens = self.scale.of_fact(fact)
        if self.facts and self.most + tokens <= self.room:
            return self._add(fact, self.most + tokens, is_weighed=False)
        if self._exact_tokens() + tokens - _ROUNDING > self.room:
            return False
        whole = self.scale.of_facts([*self.facts, fact])
        return whole <= self.room and self._add(fact, whole, is_weighed=True)

    def _exact_tokens(self) -> int:
        if not self.is_weighed:
            self.most, self.is_weighed = self.scale.of_facts(self.facts), True
        return self.most

    def _add(self, fact: str, most: int, *, is_weighed: bool) -> bool:
        self.facts.append(fact)
        self.most, self.is_weighed = most, is_weighed
        return True
