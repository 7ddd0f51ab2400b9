"""Admission of requests: values are masked or refused before any part is stored or sent."""

import asyncio
import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from prometheus_client import Counter
from pydantic import ValidationError

from app.adapters.db.session import Database
from app.adapters.inprocess import TOOL_SURFACES
from app.adapters.resources import Resources
from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName
from app.kernel.wire.base import WireModel
from app.kernel.wire.privacy_config import Kind, Place
from app.kernel.wire.violations import invalid_fields
from app.language.privacy.walk import Masked
from app.platform.engines.services.engine_cache import EngineCache
from app.platform.engines.store.tables import privacy_of
from app.platform.privacy.logic import Guard
from app.settings.settings import Settings

_MASKED = Counter(
    "memory_bank_masked_total",
    "Sensitive values that were masked, by kind and by place: how they arrived, or SCAN.",
    ["kind", "place"],
)
_BARE = str.maketrans("", "", "[]")
_CUSTOM = "CUSTOM"
"""Label of all custom patterns: operators choose their names, in any number."""

SCAN = "SCAN"
"""Label of values that a scan masks in stored data."""

Request = TypeVar("Request", bound=WireModel)


@dataclass(frozen=True)
class PrivacyService:
    """Applies the rules of engines to requests, outside transactions, in a thread."""

    db: Database
    settings: Settings
    known: EngineCache
    is_told: bool
    """True if an agent writes through a tool, and so repeats words of its user."""

    @classmethod
    def of(cls, resources: Resources) -> "PrivacyService":
        """Build the service from the process's resources."""
        known = EngineCache.of(resources)
        return cls(resources.db, resources.settings, known, resources.surface in TOOL_SURFACES)

    async def guard(self, name: EngineName, place: Place) -> Guard:
        """Return an engine's rules at a place, up to a second old, or raise NotFound."""
        engine = await self.known.read_recent(self.db, name)
        own, defaults = privacy_of(engine), self.settings.privacy_defaults
        if place is Place.DIRECT:
            return Guard.of_writes(own, defaults, is_told=self.is_told)
        return Guard.of(own, defaults, place)

    async def admit(
        self, name: EngineName, place: Place, request: Request, fields: set[str]
    ) -> tuple[Request, Mapping[str, int]]:
        """Return a request with these fields masked, and the number of masked values by kind.

        Raises:
            InvalidArgument: the request holds a value that the engine refuses.
        """
        [admitted], counts = await self.admit_all(name, place, [("", request)], fields)
        return admitted, counts

    async def admit_id(self, name: EngineName, place: Place, path: str, text: str) -> str:
        """Return a name sent in one field of a request, with masked values replaced by kinds.

        The kinds have no brackets, which such names cannot contain.
        """
        guard = await self.guard(name, place)
        if guard.is_idle:
            return text
        admission = guard.admitted(text, path)
        count(place, admission.counts)
        return admission.value.translate(_BARE)[: len(text)] if admission.counts else text

    async def admit_all(
        self,
        name: EngineName,
        place: Place,
        requests: Sequence[tuple[str, Request]],
        fields: set[str],
    ) -> tuple[list[Request], Mapping[str, int]]:
        """Return the parts of a request, given with their paths, masked as by `admit`."""
        results, counts = await self.admit_each(name, place, requests, fields)
        for result in results:
            if isinstance(result, InvalidArgument):
                raise result
        return [result for result in results if not isinstance(result, InvalidArgument)], counts

    async def admit_each(
        self,
        name: EngineName,
        place: Place,
        requests: Sequence[tuple[str, Request]],
        fields: set[str],
    ) -> tuple[list[Request | InvalidArgument], Mapping[str, int]]:
        """Return each part with these fields masked, or the error that refuses it."""
        guard = await self.guard(name, place)
        if guard.is_idle:
            return [request for _, request in requests], {}
        counts: collections.Counter[str] = collections.Counter()

        def admitted(path: str, request: Request) -> Request | InvalidArgument:
            try:
                admitted_request, masked = _admitted(guard, path, request, fields)
            except InvalidArgument as error:
                return error
            counts.update(masked)
            return admitted_request

        results = await asyncio.to_thread(lambda: [admitted(*request) for request in requests])
        count(place, counts)
        return results, counts


def _admitted(
    guard: Guard, path: str, request: Request, fields: set[str]
) -> tuple[Request, Mapping[str, int]]:
    sent = request.model_dump(mode="json", by_alias=True, exclude_unset=True, include=fields)
    admission: Masked = guard.admitted(sent, path)
    if not admission.counts:
        return request, {}
    whole: dict[str, Any] = request.sent() | admission.value
    try:
        return type(request).model_validate(whole), admission.counts
    except ValidationError as error:
        # A mask may be longer than the value that it replaces, and exceed the limit of a field.
        listed = error.errors(include_url=False, include_input=False, include_context=False)
        raise invalid_fields(listed, where=(path,) if path else ()) from None


def count(place: str, counts: Mapping[str, int]) -> None:
    """Count masked values for the metrics."""
    for kind, number in counts.items():
        _MASKED.labels(kind if kind in set(Kind) else _CUSTOM, place).inc(number)
