"""Masking of what comes in, before anything of it is stored or sent."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client import Counter

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.kernel.wire.base import WireModel
from app.kernel.wire.privacy_config import Kind, Place
from app.platform.engines.store import repository as engines
from app.platform.engines.store.rows import config_of
from app.platform.privacy.logic.guard import Guard
from app.settings.settings import Settings

_MASKED = Counter(
    "memory_bank_masked_total",
    "Sensitive values that were masked, by kind and by the way they came in.",
    ["kind", "place"],
)
_CUSTOM = "CUSTOM"
"""Label of all custom patterns: their names are an operator's, and without a bound."""

Request = TypeVar("Request", bound=WireModel)


@dataclass(frozen=True)
class PrivacyService:
    """Applies the rules of engines to requests."""

    db: Database
    settings: Settings

    @classmethod
    def of(cls, resources: Resources) -> "PrivacyService":
        """Build the service from the process's resources."""
        return cls(resources.db, resources.settings)

    async def guard(self, name: EngineName, place: Place) -> Guard:
        """Return the rules of an engine at a place.

        Raises:
            NotFound: the engine does not exist.
        """
        async with self.db.snapshot() as session:
            engine = await engines.get(session, name)
        return Guard.of(config_of(engine), self.settings.privacy_defaults, place)

    async def admit(
        self, name: EngineName, place: Place, request: Request, fields: set[str]
    ) -> tuple[Request, Mapping[str, int]]:
        """Return a request with these fields masked, and how many values were, by kind.

        It runs outside any transaction, and beside the event loop: a long text takes a while.

        Raises:
            NotFound: the engine does not exist.
            InvalidArgument: the request holds what the engine refuses.
        """
        guard = await self.guard(name, place)
        if guard.is_idle:
            return request, {}
        admitted, counts = await asyncio.to_thread(_admitted, guard, request, fields)
        count(place, counts)
        return admitted, counts


def _admitted(
    guard: Guard, request: Request, fields: set[str]
) -> tuple[Request, Mapping[str, int]]:
    sent = request.model_dump(mode="json", by_alias=True, exclude_none=True, include=fields)
    found = guard.admitted(sent)
    if not found.counts:
        return request, {}
    whole = request.model_dump(mode="json", by_alias=True, exclude_none=True)
    return type(request).model_validate({**whole, **found.value}), found.counts


def count(place: Place, counts: Mapping[str, int]) -> None:
    """Count masked values for the metrics."""
    for kind, number in counts.items():
        _MASKED.labels(kind if kind in set(Kind) else _CUSTOM, place).inc(number)
