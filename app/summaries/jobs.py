"""What a worker runs to make summaries of a session.

Read what is due, have it written, then write it in the transaction that locks the session: until
nothing more is due. A summary of what has changed meanwhile is not kept, and made again. Where the
model fails, that is written and the operation waits, so that nothing else does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import Aborted, NotFound, Reason
from app.core.names import EngineName, SessionName, SummaryName
from app.db.session import Session
from app.llm.ports import Meter
from app.operations.runner import Job
from app.operations.schemas import type_url
from app.resources import Resources
from app.sessions import repository as sessions
from app.sessions.spoken import Said
from app.sessions.tables import SessionRow
from app.strategies.composing import Due, Fixed, Kind, Shares, next_due, shares_of
from app.strategies.counters import Counter, counter_of
from app.strategies.policies import rules_of
from app.summaries import material, repository
from app.summaries.erasure import give_up
from app.summaries.repository import State
from app.summaries.tables import SessionSummaryRow
from app.summaries.work import Found, Work
from app.wire.memory_policy import MemoryPolicy

_PAGE = 200
_MOST_IN_VAIN = 3
"""How often a summary is made of what has changed by then, before the work is left for later."""


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
    counter = counter_of(found.rules.counter, resources.settings)
    await _Summarizing(found, counter, shares).run()


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
    """One run of the operation of a session and a policy."""

    work: Work
    counter: Counter
    shares: Shares
    in_vain: int = 0

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
        found = await self._read()
        if found is None:
            return await self._end()
        written = await work.write(found, meter)
        async with work.writing(meter) as session:
            row = await work.lock(session)
            new = work.row(found, meter, written)
            is_kept = await work.keep(session, row, found, new)
            self.in_vain = 0 if is_kept else self.in_vain + 1
            has_more = row is not None and await self._due(session, row) is not None
            await work.record(session, meter)
            if not has_more:
                await self._finish(session, row)
        if has_more and self.in_vain == _MOST_IN_VAIN:
            raise Aborted(
                f"The session changed each of the {_MOST_IN_VAIN} times that it was summarised.",
                Reason.CONCURRENT_CHANGE,
            )
        return not has_more

    async def _end(self) -> bool:
        """End the operation, unless something has become due since."""
        async with self.work.job.db.transaction() as session:
            row = await self.work.lock(session)
            if row is not None and await self._due(session, row) is not None:
                return False
            await self._finish(session, row)
        return True

    async def _finish(self, session: Session, row: SessionRow | None) -> None:
        work = self.work
        if row is not None:
            await give_up(session, work.name, work.rules.key, work.job.clock.now())
        await work.job.finish(session, _response("SummarizeSession"), work.details())

    async def _read(self) -> Found | None:
        """Read what is due; None: nothing is, or there is no such session."""
        async with self.work.job.db.snapshot() as session:
            row = await self.work.find(session)
            return None if row is None else await self._due(session, row)

    async def _due(self, session: Session, row: SessionRow) -> Found | None:
        work = self.work
        told = await material.load_due(session, row, work.name, work.rules, self.counter)
        due = next_due(work.rules, told.history, self.shares)
        if due is None:
            return None
        first, last = due.read or (0, -1)
        said = [told.said[seq] for seq in sorted(told.said) if first <= seq <= last]
        previous = [told.summaries[one].text or "" for one in due.previous]
        return await work.found(session, row, due, said, previous)


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
                await work.job.note(session, work.details())
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
        texts = await repository.list_texts(session, self.work.name, due.previous)
        previous = [text or "" for _, text in texts]
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
