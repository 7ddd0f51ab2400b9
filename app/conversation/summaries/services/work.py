"""Making of one summary: inputs, the model call outside any transaction, and the stored row.

If a model's reply is too long, the model is called once more. A second reply that is too long is
cut at the end of a sentence. A conversation too long for the model's window is summarised piece by
piece, each with the summary of the pieces before it. If a summary has more tokens than the texts
that it stands for, it is dropped, and the texts stand in its place.

Usage is recorded even if the summary fails. No event is lost: until a summary exists, contexts show
the events themselves.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import structlog

from app.adapters.concurrency import offloaded
from app.adapters.db.session import Session
from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import Meter, Prompt, TextModel
from app.adapters.resources import Resources
from app.conversation.strategies.logic.policies import Combine, Rules, Summarising
from app.conversation.strategies.logic.turns import Due, TurnKind, label_of, lines_of
from app.conversation.strategies.service import WORK_PER_TEXT, loaded
from app.conversation.summaries import logic as prompts
from app.conversation.summaries.logic import MODEL_ID, Utterance, extract
from app.conversation.summaries.store import repository
from app.conversation.summaries.store.repository import NewSummary
from app.kernel.errors import Reason, ServiceError, describe
from app.kernel.limits import Counted
from app.kernel.names import SessionName
from app.kernel.wire.memory_policy import BUILTIN, MemoryPolicy
from app.kernel.wire.model_entries import SummaryReply
from app.language.sentences import cut_off
from app.language.tokens import BYTES_PER_TOKEN, estimate_tokens_of_bytes
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.limits.services.quotas import check_room
from app.platform.operations.logic.states import Answered, type_url
from app.platform.operations.services.runner import Job, LeaseLost, Postponed
from app.platform.operations.store import leases
from app.platform.operations.store import repository as operations
from app.platform.sessions.logic.event_text import EventText
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow
from app.platform.usage import logic as costs
from app.platform.usage import store as usage
from app.platform.usage.service import UsageService, finish_in_time, reset_time

_SCHEMA_TOKENS = 200
"""Tokens reserved in a model's window for the schema of the reply."""
_LEAST_ROOM = 200


class WrittenReply(SummaryReply):
    """Reply of a model that summarises."""


@dataclass(frozen=True)
class SummaryTask:
    """A summary to write from events, and from the texts of the summaries to absorb, in order."""

    due: Due
    rules: Rules
    summarising: Summarising
    said: Sequence[EventText]
    previous: Sequence[str]

    @property
    def template(self) -> str:
        """Prompt template, with placeholders."""
        is_merge = self.due.kind is TurnKind.MERGE
        return prompts.template_of(
            self.summarising, is_merge=is_merge, follows=bool(self.due.previous)
        )


@dataclass(frozen=True)
class WrittenSummary:
    """A written summary; `is_cut` is True if its end is missing."""

    text: str
    is_cut: bool = False


def model_for(models: TextModels, summarising: Summarising) -> TextModel | None:
    """Return the model that summarises; None: the built-in selection of sentences."""
    return None if summarising.model == BUILTIN else models.choose(summarising.model)


def name_of(model: TextModel | None) -> str:
    """Return the model id to report for a summary."""
    return MODEL_ID if model is None else model.model_id


async def summarise(model: TextModel | None, task: SummaryTask, meter: Meter) -> WrittenSummary:
    """Write a summary, and add its usage to `meter`. No transaction may be open."""
    if model is None:
        # Extraction is slow: a few pages take as long as several requests.
        return WrittenSummary(await asyncio.to_thread(_extracted, task))
    is_merge = task.due.kind is TurnKind.MERGE
    lines = prompts.merged_lines(task.previous) if is_merge else lines_of(task.said, task.rules)
    so_far = "" if is_merge else "\n".join(task.previous)
    if not lines:
        # Everything to read has been erased.
        text = cut_off(so_far, task.due.chars)
        return WrittenSummary(text, is_cut=text != so_far)
    return await _Folding(model, task, meter).fold(lines, so_far)


def needs_model(models: TextModels, summarising: Summarising) -> bool:
    """Return True if a policy has a template that no model will follow."""
    has_template = bool(summarising.template or summarising.recursive_template)
    return has_template and model_for(models, summarising) is None


def not_longer(
    task: SummaryTask, written: WrittenSummary, count: Callable[[str], int]
) -> WrittenSummary:
    """Return a summary, or the texts that it stands for if it has more tokens than they have."""
    lines = () if task.due.kind is TurnKind.MERGE else lines_of(task.said, task.rules)
    verbatim = "\n".join(filter(None, (*task.previous, *lines)))
    return WrittenSummary(verbatim) if count(written.text) > count(verbatim) else written


def _extracted(task: SummaryTask) -> str:
    old = (Utterance("", text, is_summary=True) for text in task.previous)
    new = (
        Utterance(label_of(event.speaker, task.rules), event.text)
        for event in task.said
        if event.text
    )
    return extract(chain(old, new), task.due.chars)


@dataclass(frozen=True)
class _Folding:
    model: TextModel
    task: SummaryTask
    meter: Meter

    async def fold(self, lines: Sequence[str], so_far: str) -> WrittenSummary:
        rest = list(lines)
        template = self.task.template
        while True:
            piece = self._piece(rest, template, so_far)
            chars = self.task.due.chars
            written = await self._ask(prompts.filled(template, piece, so_far, chars))
            if not rest:
                return written
            so_far, template = written.text, prompts.following(self.task.summarising)

    def _piece(self, rest: list[str], template: str, so_far: str) -> list[str]:
        """Remove and return the lines that fit, or a part of the first line if it is too long."""
        chars = self.task.due.chars
        text = prompts.instructions(chars, chars) + prompts.filled(template, (), so_far, chars)
        left = max(self.model.max_input_tokens - _SCHEMA_TOKENS - _tokens(text), _LEAST_ROOM)
        if _tokens(rest[0]) > left:
            size = left * BYTES_PER_TOKEN
            head = rest[0].encode()[:size].decode(errors="ignore")
            rest[0] = rest[0][len(head) :]
            return [head]
        count = 0
        while count < len(rest) and _tokens(rest[count]) <= left:
            left -= _tokens(rest[count])
            count += 1
        taken = rest[:count]
        del rest[:count]
        return taken

    async def _ask(self, text: str) -> WrittenSummary:
        chars = self.task.due.chars
        first = await self._ask_model(text, None)
        if len(first) <= chars:
            return WrittenSummary(first)
        try:
            second = await self._ask_model(text, len(first))
        except ServiceError:
            # The first reply is already paid for, and a cut summary is better than none.
            second = first
        is_cut = len(second) > chars
        return WrittenSummary(cut_off(second, chars) if is_cut else second, is_cut)

    async def _ask_model(self, text: str, written: int | None) -> str:
        instructions = prompts.instructions(self.task.due.chars, written)
        if self.task.summarising.system_instruction is False:
            instructions, text = "", f"{instructions}\n\n{text}"
        reply = await self.model.ask(Prompt(instructions, text), WrittenReply, self.meter)
        return reply.summary


def _tokens(text: str) -> int:
    return estimate_tokens_of_bytes(text, "replace")


log = structlog.get_logger()


@dataclass(frozen=True)
class SummaryInput:
    """Inputs of a summary, with the session's state, which is compared later to detect changes.

    Attributes:
        superseded: ids of the active summaries that the new one will supersede.
    """

    task: SummaryTask
    session_time: datetime
    cleared_seq: int
    superseded: frozenset[str]


@dataclass
class Work:
    """Making of summaries for one session and policy, with the usage and number so far.

    Attributes:
        is_asked: whether a client requested that a summary be made again.
    """

    job: Job
    resources: Resources
    name: SessionName
    policy: MemoryPolicy
    rules: Rules
    summarising: Summarising
    is_asked: bool = False
    spent: Meter = field(default_factory=Meter)
    count: int = 0

    @property
    def model(self) -> TextModel | None:
        """Model that writes summaries; None: the built-in selection of sentences."""
        return model_for(self.resources.models, self.summarising)

    async def found(
        self,
        session: Session,
        row: SessionRow,
        due: Due,
        said: Sequence[EventText],
        previous: Sequence[str],
    ) -> SummaryInput:
        """Return the inputs of a summary; `said` and `previous` are the texts to read."""
        superseded = await repository.list_overlapping(session, self.name, self.rules.key, due)
        task = SummaryTask(due, self.rules, self.summarising, said, previous)
        return SummaryInput(task, row.create_time, row.cleared_seq, superseded)

    async def lock(self, session: Session) -> SessionRow | None:
        """Lock the engine against deletion; return the locked session, or None as in `find`."""
        await engines.get(session, self.name.engine, Lock.SHARED)
        return await self.find(session, for_update=True)

    async def find(self, session: Session, *, for_update: bool = False) -> SessionRow | None:
        """Return the session, or None if it was deleted or its id now belongs to another user."""
        now = self.job.clock.now()
        row = await sessions.find(session, self.name, now, for_update=for_update)
        users = (self.job.claim.scopes or {}).get("user_id", ())
        return row if row is not None and row.user_id in users else None

    async def make(self, inputs: SummaryInput, answer: Answered | None = None) -> bool:
        """Write and store a summary; return False if the session has changed and it is discarded.

        A stored summary finishes the operation if `answer` is given.

        Raises:
            Cancelled: the client has cancelled the operation.
            LeaseLost: another worker has the lease.
            Postponed: the model failed, or a quota is used up; the failure and the retry time are
                stored.
            ServiceError: the same failures of a client's request, which is not retried.
        """
        meter = Meter()
        written = await self._write(inputs, meter)
        async with self._writing(meter) as session:
            row = await self.lock(session)
            is_kept = await self._keep(session, row, inputs, self._row(inputs, meter, written))
            await self._record(session, meter)
            if is_kept and answer is not None:
                await self.finish(session, answer)
            else:
                await self._hold(session)
        return is_kept

    async def finish(self, session: Session, answer: Answered) -> None:
        """Finish the operation."""
        await self.job.finish(session, response_of(answer), self.details())

    async def _write(self, inputs: SummaryInput, meter: Meter) -> WrittenSummary:
        try:
            await self._check_room()
            if self.model is not None:
                await self._check_budget()
            return await self._written(inputs.task, meter)
        except Exception as error:
            # This includes unexpected errors: an immediate retry would cost the same again.
            retry_time = await self._fail(inputs, meter, _reason_of(error))
            raise error if retry_time is None else Postponed(retry_time) from error
        except asyncio.CancelledError:
            # The worker stops, but the calls so far are paid for and must be recorded.
            await finish_in_time(asyncio.create_task(self._note(meter)))
            raise

    async def _written(self, task: SummaryTask, meter: Meter) -> WrittenSummary:
        counter = await loaded(self.rules.counter, self.resources.settings)
        try:
            written = await summarise(self.model, task, meter)
        finally:
            for model, used in meter.by_model.items():
                self.spent.add(model, used)
        length = sum(len(event.text) + WORK_PER_TEXT for event in task.said)
        return await offloaded(length, not_longer, task, written, counter.count)

    @asynccontextmanager
    async def _writing(self, meter: Meter) -> AsyncIterator[Session]:
        """Open the transaction that stores the results of model calls, or else their usage."""
        count = self.count
        try:
            async with self.job.db.transaction() as session:
                yield session
        except BaseException:
            self.count = count
            await finish_in_time(asyncio.create_task(self._note(meter)))
            raise

    async def _hold(self, session: Session) -> None:
        """Store the operation's progress and renew its lease. Call it late, like `_record`."""
        owned = self.job.claim.owned
        lease = timedelta(seconds=self.resources.settings.tuning.worker_lease_seconds)
        is_cancelled = await leases.renew(session, owned, lease)
        if is_cancelled is None:
            raise LeaseLost
        if is_cancelled:
            raise operations.cancelled()
        await self.job.note(session, self.details())

    async def _keep(
        self, session: Session, row: SessionRow | None, inputs: SummaryInput, summary: NewSummary
    ) -> bool:
        if row is None or row.create_time != inputs.session_time:
            return False
        if await self._is_same(session, row, inputs):
            await repository.insert_summary(session, self.name, summary)
            self.count += 1
            return True
        await repository.insert_stale(session, self.name, summary)
        return False

    async def _is_same(self, session: Session, row: SessionRow, inputs: SummaryInput) -> bool:
        due = inputs.task.due
        if row.cleared_seq != inputs.cleared_seq:
            return False
        key = self.rules.key
        if await repository.list_overlapping(session, self.name, key, due) != inputs.superseded:
            return False
        kept = 0 if due.read is None else await repository.count_kept(session, self.name, due.read)
        return kept == len(inputs.task.said)

    def _row(
        self, inputs: SummaryInput, meter: Meter, written: WrittenSummary | None
    ) -> NewSummary:
        template = "" if self.model is None else inputs.task.template
        return NewSummary(
            policy_key=self.rules.key,
            policy=self.policy.wire(),
            due=inputs.task.due,
            is_cell=self.summarising.combine is not Combine.APPEND,
            is_asked=self.is_asked,
            now=self.job.clock.now(),
            model_id=name_of(self.model),
            template=template,
            text=None if written is None else written.text,
            is_cut=written is not None and written.is_cut,
            usage=self._usage(meter),
        )

    def _usage(self, meter: Meter) -> dict[str, dict[str, Any]]:
        prices = self.resources.settings.model_prices
        return {
            model: {
                "calls": used.calls,
                "inputTokens": used.input_tokens,
                "outputTokens": used.output_tokens,
                "milliseconds": used.milliseconds,
                **({} if (cost := costs.cost_of(model, used, prices)) is None else {"cost": cost}),
            }
            for model, used in meter.by_model.items()
        }

    async def _record(self, session: Session, meter: Meter) -> None:
        """Record usage. Call it late, since it blocks other transactions of the engine."""
        prices, kind = self.resources.settings.model_prices, self.job.claim.kind
        now = self.job.clock.now()
        await usage.record(session, self.name.engine.engine, now, meter, prices, kind)

    def details(self) -> dict[str, Any]:
        """Return the operation's metadata over all attempts: usage and number of summaries."""
        earlier = self.job.claim.details
        own = costs.details(self.spent, self.resources.settings)
        count = self.count + int(earlier.get("summaryCount", 0))
        return {**costs.with_earlier(own, earlier), "summaryCount": count}

    async def _check_room(self) -> None:
        settings = self.resources.settings
        async with self.job.db.snapshot() as session:
            await check_room(session, settings, self.name.engine.engine, Counted.BYTES, 1)

    async def _check_budget(self) -> None:
        service = UsageService.of(self.resources)
        if service.settings.daily_max_tokens is None:
            return
        async with self.job.db.snapshot() as session:
            await service.check_budget(session, self.name.engine.engine)

    async def _fail(self, inputs: SummaryInput, meter: Meter, reason: Reason) -> datetime | None:
        """Store a failed attempt; return the retry time, or None if there is no retry."""
        retry_time = None
        async with self._writing(meter) as session:
            row = await self.lock(session)
            if row is not None and row.create_time == inputs.session_time:
                failed = await repository.last_failure(session, self.name, self.rules.key)
                times = 0 if failed is None else failed.attempts
                retry_time = None if self.is_asked else self._next_time(reason, times)
                new = self._row(inputs, meter, None)
                await repository.fail(session, self.name, new, reason, retry_time)
            await self._record(session, meter)
            await self._hold(session)
        return retry_time

    def _next_time(self, reason: Reason, times: int) -> datetime:
        now = self.job.clock.now()
        if reason is Reason.TOKEN_BUDGET_EXHAUSTED:
            return reset_time(now)
        settings = self.resources.settings
        # 17 doublings turn one second into more than a day.
        seconds = settings.tuning.worker_retry_base_seconds * 2 ** min(times, 17)
        return now + timedelta(seconds=min(seconds, settings.tuning.summary_retry_max_seconds))

    async def _note(self, meter: Meter) -> None:
        try:
            async with self.job.db.transaction() as session:
                await engines.get(session, self.name.engine, Lock.SHARED)
                await self._record(session, meter)
                await self.job.note(session, self.details())
        except Exception as error:  # noqa: BLE001 - the error that interrupted the work must be reported
            log.warning("summary.costs_not_recorded", error=describe(error))


def response_of(name: Answered) -> dict[str, Any]:
    """Return the answer of a finished operation."""
    return {"@type": type_url(name)}


def _reason_of(error: Exception) -> Reason:
    if isinstance(error, ServiceError):
        return error.reason
    log.error("summary.unexpected_error", error=describe(error))
    return Reason.INTERNAL
