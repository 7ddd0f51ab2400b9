"""Worker jobs that make the summaries of a session.

Each step reads the inputs of a due summary, writes the summary, and stores it in a transaction that
locks the session. The check for due summaries runs without that lock; under the lock, the job only
checks for changes since then. If the inputs have changed meanwhile, the summary is discarded and
made again. If the model fails, the failure is stored and the operation waits for its retry, which
prevents another one from starting.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.conversation.strategies.logic.policies import rules_of
from app.conversation.strategies.logic.rendering import shares_of
from app.conversation.strategies.logic.schedule import next_due
from app.conversation.strategies.logic.turns import Due, Fixed, Shares, TurnKind
from app.conversation.strategies.service import Counter, Scale, loaded
from app.conversation.summaries.services import queue
from app.conversation.summaries.services.material import SessionReader
from app.conversation.summaries.services.work import SummaryInput, Work, response_of
from app.conversation.summaries.store import lookups, repository
from app.conversation.summaries.store.repository import StoredSummaryState, give_up
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.errors import Aborted, NotFound, Reason
from app.kernel.names import EngineName, SessionName, SummaryName
from app.kernel.wire.memory_policy import MemoryPolicy
from app.platform.engines.store import repository as engines
from app.platform.operations.services.runner import Job
from app.platform.sessions.logic.event_text import EventNumbers, EventText
from app.platform.sessions.store import event_texts
from app.platform.sessions.store.tables import SessionRow

_PAGE = 200
_MOST_DISCARDED = 3
"""Consecutive discarded summaries after which the job gives up for now."""
_MOST_LOOKS = 3
"""Checks without the lock after which a constantly changing session is checked under it."""


async def summarize(job: Job, resources: Resources) -> None:
    """Make all summaries of a session that are due under a policy."""
    request = job.claim.request
    fixed = request.get("fixed") or {}
    work = _work(job, resources, request)
    if work is None:
        async with job.db.transaction() as session:
            await job.finish(session, response_of("SummarizeSessionResponse"), {"summaryCount": 0})
        return
    shares = shares_of(
        work.rules, Fixed(system=fixed.get("system", 0), pending=fixed.get("pending", 0))
    )
    counter = await loaded(work.rules.counter, resources.settings)
    is_own = bool(request.get("isOwn"))
    await _Summarizing(work, counter, shares, is_own).run()


async def regenerate(job: Job, resources: Resources) -> None:
    """Make one summary again from the same inputs."""
    request = job.claim.request
    work = _work(job, resources, request)
    assert work is not None
    await _Regenerating(work, SummaryName(work.name, request["summary"])).run()


def _work(job: Job, resources: Resources, request: Mapping[str, Any]) -> Work | None:
    policy = MemoryPolicy.model_validate(request["policy"])
    rules = rules_of(policy)
    if rules.summarising is None:
        return None
    # The operation has the engine's current name.
    engine = EngineName.parse(job.claim.engine_name)
    name = SessionName(engine, SessionName.parse(request["session"]).session)
    is_asked = "summary" in request
    return Work(job, resources, name, policy, rules, rules.summarising, is_asked)


@dataclass
class _Summarizing:
    """One run of the summarise operation, for a session and a policy.

    Attributes:
        is_own: whether the policy was the session's own when the operation was requested. If so, no
            summary is due once the session has another policy.
        looks: number of consecutive checks that found no summary due but a changed session.
    """

    work: Work
    counter: Counter
    shares: Shares
    is_own: bool
    discarded: int = 0
    looks: int = 0

    async def run(self) -> None:
        """Make summaries until none is due, or raise Postponed, or Aborted for constant changes."""
        while not await self._step():
            await self.work.job.step()

    async def _step(self) -> bool:
        state, inputs = await self._read()
        if inputs is None:
            return await self._end(state)
        if self.discarded == _MOST_DISCARDED:
            raise Aborted(
                f"The session changed each of the {_MOST_DISCARDED} times that it was summarised.",
                Reason.CONCURRENT_CHANGE,
            )
        is_kept = await self.work.make(inputs)
        self.discarded = 0 if is_kept else self.discarded + 1
        self.looks = 0
        return False

    async def _end(self, state: "_State | None") -> bool:
        async with self.work.job.db.transaction() as session:
            row = await self.work.lock(session)
            if row is not None and await self._has_more(session, row, state):
                return False
            work = self.work
            if row is not None:
                await give_up(session, work.name, work.rules.key, work.job.clock.now())
            await work.finish(session, "SummarizeSessionResponse")
        return True

    async def _has_more(self, session: Session, row: SessionRow, state: "_State | None") -> bool:
        """Return True if another step is needed; counting events should not block the session."""
        now = await self._state(session, row)
        if now == state or not now.is_held:
            return False
        self.looks += 1
        return self.looks < _MOST_LOOKS or await self._due(session, row) is not None

    async def _read(self) -> "tuple[_State | None, SummaryInput | None]":
        async with self.work.job.db.snapshot() as session:
            row = await self.work.find(session)
            if row is None:
                return None, None
            state = await self._state(session, row)
            return state, await self._due(session, row) if state.is_held else None

    async def _state(self, session: Session, row: SessionRow) -> "_State":
        work = self.work
        return _State(
            create_time=row.create_time,
            last_seq=row.last_seq,
            cleared_seq=row.cleared_seq,
            active=await lookups.count_active(session, work.name, work.rules.key),
            is_held=not self.is_own or await self._is_held(session, row),
        )

    async def _is_held(self, session: Session, row: SessionRow) -> bool:
        engine = await engines.get(session, self.work.name.engine)
        policy = queue.policy_of(row.memory_policy, engine)
        return policy is not None and rules_of(policy).key == self.work.rules.key

    async def _due(self, session: Session, row: SessionRow) -> SummaryInput | None:
        work = self.work
        scale = Scale(work.rules, self.counter)
        content = await SessionReader(session, row, work.name, scale).due()
        due = next_due(work.rules, content.history, self.shares)
        if due is None:
            return None
        first, last = due.read or (0, -1)
        said = [content.said[seq] for seq in sorted(content.said) if first <= seq <= last]
        return await work.found(session, row, due, said, await _previous(session, work, due))


@dataclass(frozen=True)
class _State:
    """State of a session that is compared to detect changes that may make a summary due.

    Attributes:
        active: number of active summaries of the policy. Erased events reduce it; only this job can
            increase it while it runs.
    """

    create_time: datetime
    last_seq: int
    cleared_seq: int
    active: int
    is_held: bool


async def _previous(session: Session, work: Work, due: Due) -> list[str]:
    if not due.previous:
        return []
    texts = await lookups.list_texts(session, work.name, due.previous)
    return [text or "" for _, text in texts]


@dataclass(frozen=True)
class _Regenerating:
    """One run of the operation that regenerates a summary."""

    work: Work
    summary: SummaryName

    async def run(self) -> None:
        """Make the summary, or raise FailedPrecondition if it is no longer active."""
        async with self.work.job.db.snapshot() as session:
            inputs = await self._read(session)
        if not await self.work.make(inputs, "RegenerateSummaryResponse"):
            raise repository.not_active(self.summary)

    async def _read(self, session: Session) -> SummaryInput:
        row = await self.work.find(session)
        if row is None:
            raise NotFound.of(self.work.name)
        summary = await repository.get(session, self.summary)
        if summary.state != StoredSummaryState.ACTIVE:
            raise repository.not_active(self.summary)
        due = _due_of(summary, self.work.summarising.chars_per_token)
        said = await self._read_events(session, due)
        previous = await _previous(session, self.work, due)
        return await self.work.found(session, row, due, said, previous)

    async def _read_events(self, session: Session, due: Due) -> list[EventText]:
        events: list[EventText] = []
        first, last = due.read or (0, -1)
        while first <= last:
            page = await event_texts.list_event_texts(
                session, self.work.name, EventNumbers(first, last), _PAGE, newest=False
            )
            if not page:
                break
            events += page
            first = page[-1].seq + 1
        return events


def _due_of(row: SessionSummaryRow, chars_per_token: int) -> Due:
    read = None
    if row.read_first_seq is not None and row.read_last_seq is not None:
        read = EventNumbers(row.read_first_seq, row.read_last_seq)
    return Due(
        TurnKind(row.kind),
        row.first_seq,
        row.last_seq,
        row.last_exchange,
        read,
        tuple(row.previous),
        row.char_limit // chars_per_token,
        row.char_limit,
    )
