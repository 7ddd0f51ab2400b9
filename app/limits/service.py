"""Says no to who asks for too much: rates, places and quotas."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from typing_extensions import override

from app.core.auth import Caller
from app.core.clock import Clock
from app.core.limits import Counted, Limits
from app.db.session import Database
from app.settings import Settings


@dataclass(frozen=True)
class LimitService(Limits):
    """The limits of one process."""

    db: Database
    clock: Clock
    settings: Settings

    @override
    async def charge(self, caller: Caller, engine_id: int | None, cost: int) -> None:
        del caller, engine_id, cost

    @override
    @contextmanager
    def occupy(self, caller: Caller) -> Iterator[None]:
        yield

    @override
    async def check_quota(self, engine_id: int, added: Counted) -> None:
        del engine_id, added
