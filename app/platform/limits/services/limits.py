"""Limits on requests: rates, concurrency, quotas and bodies."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property

from typing_extensions import override

from app.adapters.db.session import Database
from app.kernel.auth import Caller
from app.kernel.clock import Clock
from app.kernel.errors import ResourceExhausted
from app.kernel.limits import Counted, HeldBody, Limits
from app.platform.limits.services.bodies import Bodies, BodyBounds
from app.platform.limits.services.quotas import Quotas
from app.platform.limits.services.rates import Rates, too_many
from app.settings.settings import Settings


class Concurrency:
    """The concurrency slots of one process, bounded per key and in all."""

    def __init__(self, per_key: int, in_all: int) -> None:
        self._per_key = per_key
        self._in_all = in_all
        self._taken = Counter[str]()
        """Slots in use, by key."""
        self._taken_in_all = 0

    @contextmanager
    def occupy(self, key_id: str) -> Iterator[None]:
        """Hold a slot of a key and of the process during the block, or raise ResourceExhausted."""
        if self._taken[key_id] >= self._per_key:
            raise too_many("key", self._per_key)
        if self._taken_in_all >= self._in_all:
            raise too_many("process", self._in_all)
        self._taken[key_id] += 1
        self._taken_in_all += 1
        try:
            yield
        finally:
            self._taken_in_all -= 1
            self._taken[key_id] -= 1
            if not self._taken[key_id]:
                del self._taken[key_id]


@dataclass(frozen=True)
class LimitService(Limits):
    """The limits of one process."""

    db: Database
    clock: Clock
    settings: Settings

    @cached_property
    def _rates(self) -> Rates:
        return Rates(self.db, self.clock, self.settings)

    @cached_property
    def _places(self) -> Concurrency:
        settings = self.settings
        return Concurrency(settings.max_costly_requests_per_key, settings.max_costly_requests)

    @cached_property
    def _quotas(self) -> Quotas:
        return Quotas(self.db, self.clock, self.settings)

    @cached_property
    def _bodies(self) -> Bodies:
        settings = self.settings
        return Bodies(
            BodyBounds(
                settings.tuning.max_body_requests_per_key, settings.tuning.max_body_bytes_per_key
            ),
            BodyBounds(settings.tuning.max_body_requests, settings.tuning.max_body_bytes_held),
        )

    @override
    async def charge(self, caller: Caller, engine_id: int | None, cost: int) -> None:
        await self._rates.charge(caller.key_id, engine_id, cost)

    @override
    def occupy(self, caller: Caller) -> AbstractContextManager[None]:
        return self._places.occupy(caller.key_id)

    @override
    def hold_body(
        self, caller: Caller | None, address: str | None, give_up: Callable[[], None]
    ) -> HeldBody:
        if caller is None:
            return self._bodies.hold("address", address or "", give_up)
        return self._bodies.hold("key", caller.key_id, give_up)

    @override
    def hold_answer(self, caller: Caller | None, address: str | None, size: int) -> HeldBody:
        held = self.hold_body(caller, address, _nothing)
        # An answer is complete, so it is never given up.
        held.end()
        try:
            held.keep(size)
        except ResourceExhausted:
            held.release()
            raise
        return held

    @override
    def give_up_body(self, *, slow: bool) -> bool:
        return self._bodies.give_up_one(slow=slow)

    @override
    async def check_quota(self, engine_id: int, added: Counted) -> None:
        await self._quotas.check(engine_id, added)


def _nothing() -> None:
    pass
