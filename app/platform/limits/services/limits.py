"""Limits on requests: rates, concurrency, quotas and bodies."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

from typing_extensions import override

from app.adapters.db.session import Database
from app.kernel.auth import Caller
from app.kernel.clock import Clock
from app.kernel.errors import ResourceExhausted
from app.kernel.limits import Counted, HeldBody, Limits
from app.platform.limits.services.bodies import Bodies, BodyBounds
from app.platform.limits.services.concurrency import Concurrency
from app.platform.limits.services.quotas import Quotas
from app.platform.limits.services.rates import Rates
from app.settings.settings import Settings


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
