"""What a worker runs to make summaries of a session.

Read what is due, have it written, then write it in the transaction that locks the session: until
nothing more is due. Whether it is, is looked up without that lock; under it, only whether anything
has changed since. A summary of what has changed meanwhile is not kept, and made again. Where the
model fails, that is written and the operation waits, so that nothing else does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.adapters.db.session import Session
from app.adapters.llm.ports import Meter
from app.adapters.resources import Resources
from app.conversation.strategies.logic.composing import (
    Due,
    Fixed,
    Kind,
    Shares,
    next_due,
    shares_of,
)
from app.conversation.strategies.logic.policies import rules_of
from app.conversation.strategies.services.counters import Counter, loaded
from app.conversation.summaries.services import material, queue
from app.conversation.summaries.services.work import Found, Work
from app.conversation.summaries.store import lookups, repository
from app.conversation.summaries.store.erasure import give_up
from app.conversation.summaries.store.repository import State
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.errors import Aborted, NotFound, Reason
from app.kernel.names import EngineName, SessionName, SummaryName
from app.kernel.wire.memory_policy import MemoryPolicy
from app.platform.engines.store import repository as engines
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.runner import Job
from app.platform.sessions.logic.spoken import Said
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow

_PAGE = 200
_MOST_IN_VAIN = 3
"""How often a summary is made of what has changed by then, before the work is left for later."""
_MOST_LOOKS = 3
"""How often what changes all the time is looked at without its lock."""


async def summarize(job: Job, resources: Resources) -> None:
    """Make all summaries that are due of a session by a policy."""
    request = job.claim.request
    fixed = request.get("fixed") or {}
    found = _work(job, resources, request)
    if found is None:
        await _finish_empty(job)
        return
    shares = shares_of(
        found.rules, Fixed(system=fixed.get("system", 0), pending=fixed.get("pending", 0))
    )
    counter = await loaded(found.rules.counter, resources.settings)
    is_own = bool(request.get("isOwn"))
    await _Summarizing(found, counter, shares, is_own).run()


async def regenerate(job: Job, resources: Resources) -> None:
    """Make one summary once more, of what it was made of."""
    request = job.claim.request
    work = _work(job, resources, request)
    assert work is not None
    await _Regenerating(work, SummaryName(work.name, request["summary"])).run()


def _work(job: Job, resources: Resources, request: Mapping[str, Any]) -> Work | None:
    policy = MemoryPolicy.model_validate(request["policy"])
    rules = rules_of(policy)
    if rules.summarising is None:
        return None
    # The engine as it lies now: as the operation names it.
    engine = EngineName.parse(job.claim.engine_name)
    name = SessionName(engine, SessionName.parse(request["session"]).session)
    is_asked = "summary" in request
    return Work(job, resources, name, policy, rules, rules.summarising, is_asked)


async def _finish_empty(job: Job) -> None:
    async with job.db.transaction() as session:
        await job.finish(session, _response("SummarizeSession"), {"summaryCount": 0})


def _response(method: str, **fields: object) -> dict[str, Any]:
    return {"@type": type_url(f"{method}Response"), **fields}


@dataclass
class _Summarizing:
    """One run of the operation of a session and a policy.

    Attributes:
        is_own: whether the policy was the session's when this was asked for. Once it no longer is,
            nothing is due.
        in_vain: how often in a row a summary was not kept.
        looks: how often in a row nothing was due, and the session had changed by then.
    """

    work: Work
    counter: Counter
    shares: Shares
    is_own: bool
    in_vain: int = 0
    looks: int = 0

    async def run(self) -> None:
        """Go on until nothing is due.

        Raises:
            Postponed: the summariser fails, or the tokens of the day are used up.
            Aborted: the session has changed each time that a summary of it was made.
        """
        while not await self._step():
            await self.work.job.step()

    async def _step(self) -> bool:
        """Make the next summary, if one is due; return whether the operation has ended."""
        work, meter = self.work, Meter()
        state, found = await self._read()
        if found is None:
            return await self._end(state)
        if self.in_vain == _MOST_IN_VAIN:
            raise Aborted(
                f"The session changed each of the {_MOST_IN_VAIN} times that it was summarised.",
                Reason.CONCURRENT_CHANGE,
            )
        written = await work.write(found, meter)
        async with work.writing(meter) as session:
            row = await work.lock(session)
            is_kept = await work.keep(session, row, found, work.row(found, meter, written))
            await work.record(session, meter)
            await work.hold(session)
        self.in_vain = 0 if is_kept else self.in_vain + 1
        self.looks = 0
        return False

    async def _end(self, state: "_State | None") -> bool:
        """End the operation, unless something may have become due since."""
        async with self.work.job.db.transaction() as session:
            row = await self.work.lock(session)
            if row is not None and await self._has_more(session, row, state):
                return False
            await self._finish(session, row)
        return True

    async def _has_more(self, session: Session, row: SessionRow, state: "_State | None") -> bool:
        """Say whether to look again: a session is not kept waiting while its events are counted."""
        now = await self._state(session, row)
        if now == state or not now.is_held:
            return False
        self.looks += 1
        return self.looks < _MOST_LOOKS or await self._due(session, row) is not None

    async def _finish(self, session: Session, row: SessionRow | None) -> None:
        work = self.work
        if row is not None:
            await give_up(session, work.name, work.rules.key, work.job.clock.now())
        await work.job.finish(session, _response("SummarizeSession"), work.details())

    async def _read(self) -> "tuple[_State | None, Found | None]":
        """Read how the session stands, and what is due; None: there is none, or nothing is."""
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
        """Say whether the policy still holds for the session."""
        engine = await engines.get(session, self.work.name.engine)
        policy = queue.policy_of(row.memory_policy, engine)
        return policy is not None and rules_of(policy).key == self.work.rules.key

    async def _due(self, session: Session, row: SessionRow) -> Found | None:
        work = self.work
        told = await material.load_due(session, row, work.name, work.rules, self.counter)
        due = next_due(work.rules, told.history, self.shares)
        if due is None:
            return None
        first, last = due.read or (0, -1)
        said = [told.said[seq] for seq in sorted(told.said) if first <= seq <= last]
        return await work.found(session, row, due, said, await _previous(session, work, due))


@dataclass(frozen=True)
class _State:
    """By what a session shows that something may have become due.

    Attributes:
        active: how many summaries of the policy are. An erased event takes from them; nobody else
            can add to them as long as this runs.
        is_held: whether the policy holds.
    """

    create_time: datetime
    last_seq: int
    cleared_seq: int
    active: int
    is_held: bool


async def _previous(session: Session, work: Work, due: Due) -> list[str]:
    """Return the texts of the summaries that another takes up."""
    if not due.previous:
        return []
    texts = await lookups.list_texts(session, work.name, due.previous)
    return [text or "" for _, text in texts]


@dataclass(frozen=True)
class _Regenerating:
    """One run of the operation that makes one summary once more."""

    work: Work
    summary: SummaryName

    async def run(self) -> None:
        """Make it.

        Raises:
            FailedPrecondition: it is no longer in force.
            ServiceError: the summariser fails.
        """
        work, meter = self.work, Meter()
        async with work.job.db.snapshot() as session:
            found = await self._read(session)
        written = await work.write(found, meter)
        async with work.writing(meter) as session:
            row = await work.lock(session)
            is_kept = await work.keep(session, row, found, work.row(found, meter, written))
            await work.record(session, meter)
            if is_kept:
                await work.job.finish(session, _response("RegenerateSummary"), work.details())
            else:
                await work.hold(session)
        if not is_kept:
            raise repository.not_active(self.summary)

    async def _read(self, session: Session) -> Found:
        row = await self.work.find(session)
        if row is None:
            raise NotFound.of(self.work.name)
        summary = await repository.get(session, self.summary)
        if summary.state != State.ACTIVE:
            raise repository.not_active(self.summary)
        due = _due_of(summary, self.work.made.chars_per_token)
        said = await self._said(session, due)
        previous = await _previous(session, self.work, due)
        return await self.work.found(session, row, due, said, previous)

    async def _said(self, session: Session, due: Due) -> list[Said]:
        found: list[Said] = []
        first, last = due.read or (0, -1)
        while first <= last:
            page = await sessions.list_said(
                session, self.work.name, (first, last), _PAGE, newest=False
            )
            if not page:
                break
            found += page
            first = page[-1].seq + 1
        return found


def _due_of(row: SessionSummaryRow, chars_per_token: int) -> Due:
    """Return a summary as it was due."""
    read = None
    if row.read_first_seq is not None and row.read_last_seq is not None:
        read = (row.read_first_seq, row.read_last_seq)
    return Due(
        Kind(row.kind),
        row.first_seq,
        row.last_seq,
        row.last_exchange,
        read,
        tuple(row.previous),
        row.char_limit // chars_per_token,
        row.char_limit,
    )
