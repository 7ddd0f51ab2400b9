"""Says no to who asks for too much: rates, places and quotas."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

from typing_extensions import override

from app.core.auth import Caller
from app.core.clock import Clock
from app.core.limits import Counted, Limits
from app.db.session import Database
from app.limits.places import Places
from app.limits.quotas import Quotas
from app.limits.rates import Rates
from app.settings import Settings


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
    def _places(self) -> Places:
        settings = self.settings
        return Places(settings.max_costly_requests_per_key, settings.max_costly_requests)

    @cached_property
    def _quotas(self) -> Quotas:
        return Quotas(self.db, self.clock, self.settings)

    @override
    async def charge(self, caller: Caller, engine_id: int | None, cost: int) -> None:
        await self._rates.charge(caller.key_id, engine_id, cost)

    @override
    def occupy(self, caller: Caller) -> AbstractContextManager[None]:
        return self._places.occupy(caller.key_id)

    @override
    async def check_quota(self, engine_id: int, added: Counted) -> None:
        await self._quotas.check(engine_id, added)
