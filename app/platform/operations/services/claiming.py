"""Claims of a worker: it finds operations by itself, or by the hints that others leave."""

import asyncio
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from operator import attrgetter
from time import monotonic

import structlog

from app.adapters.db.nodes import working_for
from app.adapters.db.session import Database
from app.kernel.clock import Clock
from app.kernel.errors import DeadlineExceeded, ServiceError, Unavailable, describe
from app.platform.operations.logic.places import NONE, PassedOver
from app.platform.operations.logic.states import SOON
from app.platform.operations.store import leases, queue, waking
from app.platform.operations.store.leases import Claim, WantedOperations
from app.platform.operations.store.queue import FreeOperation
from app.platform.operations.store.waking import Hint
from app.settings.settings import Settings

log = structlog.get_logger()

_AFTER_SILENCE = timedelta(minutes=1)
_FULL_LOOK = "operations.fullLook"
"""The tick of the looks over all engines."""


class Claiming:
    """The claims of one worker.

    A single server finds operations of all engines by an index. A distributed one would ask every
    shard, so its workers read which engines have work, and ask for theirs alone.
    """

    def __init__(self, db: Database, clock: Clock, settings: Settings) -> None:
        self._db = db
        self._clock = clock
        self._lease = timedelta(seconds=settings.tuning.worker_lease_seconds)
        self._interval = timedelta(seconds=settings.tuning.worker_full_look_seconds)
        self._silent_seconds = settings.tuning.worker_silent_node_seconds
        self._looked: float | None = None
        self._left: set[int] = set()
        """Engines with due work that the last claim has passed over."""

    async def claim(self, passed: PassedOver = NONE) -> Claim | None:
        """Claim the longest-due operation with a free key; skip engines and callers in `passed`."""
        if not self._db.is_distributed:
            return await self._claim_any(passed)
        await self._look_at_all()
        return await self._claim_by_hints(passed)

    async def take(self, wanted: WantedOperations) -> Claim | None:
        """Claim one of some operations of an engine, unless others have them all."""
        owner = secrets.token_hex(8)
        return await leases.take(self._db, wanted, owner, self._clock.now(), self._lease)

    async def quiet_seconds(self) -> float:
        """Return how long to sleep, until work is due or must be looked for without a notice."""
        now, longest = self._clock.now(), SOON
        if self._db.is_distributed:
            longest = min(longest, self._interval)
            due = await waking.next_due(self._db, self._left)
        else:
            due = await queue.next_due(self._db, now)
        quiet = longest if due is None else min(longest, due - now)
        return quiet.total_seconds()

    async def _claim_any(self, passed: PassedOver) -> Claim | None:
        now = self._clock.now()
        lost: list[str] = []
        while candidates := await queue.find(self._db, now, lost, passed):
            for _, theirs in groupby(candidates, attrgetter("engine_id")):
                if (claim := await self.take(_wanted(list(theirs), now))) is not None:
                    return claim
            lost += [each.operation_id for each in candidates]
        return None

    async def _claim_by_hints(self, passed: PassedOver) -> Claim | None:
        now = self._clock.now()
        self._left = set(passed.engines)
        seen = [*passed.engines]
        while read := await waking.read(self._db, now, seen):
            for hint in read:
                try:
                    with working_for(hint.engine_id):
                        claim = await self._claim_of(hint, now, passed)
                except (ServiceError, TimeoutError) as error:
                    # If only the node of this engine is away, others go on.
                    log.warning("worker.claim_failed", engine=hint.engine_id, error=describe(error))
                    is_silent = isinstance(error, TimeoutError | DeadlineExceeded)
                    rest = _AFTER_SILENCE if is_silent else SOON
                    await waking.settle(self._db, hint, self._clock.now() + rest)
                    if is_silent:
                        # The worker shows between two looks that it does not hang.
                        return None
                    continue
                if claim is not None:
                    return claim
            seen += [hint.engine_id for hint in read]
        return None

    async def _claim_of(self, hint: Hint, now: datetime, passed: PassedOver) -> Claim | None:
        engine_id = hint.engine_id
        await self._db.nodes.check(engine_id)
        # A claim is not cut off: once it is committed, nobody else would run the operation.
        async with asyncio.timeout(self._silent_seconds):
            candidates = await queue.find_of_engine(self._db, engine_id, now, passed.callers)
        claim = await self.take(_wanted(candidates, now)) if candidates else None
        if passed.callers and not candidates:
            self._left.add(engine_id)
        if passed.callers or (candidates and claim is None):
            # What was passed over stays due; what others hold, they note themselves.
            return claim
        taken = claim.owned.operation_id if claim is not None else None
        left = [each.due_time for each in candidates if each.operation_id != taken]
        try:
            due = left[0] if left else await self._next_of(hint, now)
        except (ServiceError, TimeoutError):
            if claim is None:
                raise
            due = now + SOON
        await waking.settle(self._db, hint, due)
        return claim

    async def _next_of(self, hint: Hint, now: datetime) -> datetime | None:
        async with asyncio.timeout(self._silent_seconds):
            return await queue.next_of_engine(self._db, hint.engine_id, now)

    async def _look_at_all(self) -> None:
        """Leave hints of all engines with due work, once per interval for all workers.

        A process that was killed after a commit has left none.
        """
        at = monotonic()
        if self._looked is not None and at - self._looked < self._interval.total_seconds():
            return
        self._looked = at
        async with self._db.transaction() as session:
            is_mine = await queue.take_tick(session, _FULL_LOOK, self._interval)
        if not is_mine or self._db.nodes.away:
            return
        find = partial(queue.find_engines, self._db, self._clock.now())
        try:
            engines = await self._db.server.all_shards.run(find)
        except Unavailable as error:
            log.warning("worker.look_failed", error=describe(error))
            return
        if engines:
            await waking.leave(self._db, dict(engines))


def _wanted(candidates: Sequence[FreeOperation], now: datetime) -> WantedOperations:
    return WantedOperations(
        candidates[0].engine_id, [each.operation_id for each in candidates], now
    )
