"""Prometheus metrics of the process. Labels name routes and kinds, never resources."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

import structlog
from fastapi import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, Histogram, generate_latest

from app.adapters.metrics import of_all
from app.kernel.clock import Clock
from app.kernel.errors import describe
from app.kernel.permissions import Permission
from app.kernel.reads import read_primary_only
from app.web.auth import METRICS_PATH
from app.web.demands import Demand
from app.web.routing import Router

log = structlog.get_logger()
router = Router(
    demands={
        "getMetrics": Demand(Permission.METRICS_GET),
    },
)

REQUEST_SECONDS = Histogram(
    "memory_bank_request_seconds",
    "Duration of HTTP requests.",
    ["method", "route", "status"],
)
_READ_TIME = of_all(
    Gauge,
    "memory_bank_gauges_read_timestamp_seconds",
    "Time of the last reading of a source's gauges from the database, in seconds since 1970.",
    ["source"],
)
_UP = of_all(
    Gauge,
    "memory_bank_database_up",
    "1 if the database has just answered, else 0; its gauges then keep their values.",
)
DATABASE = "database"
"""The source that only checks the connection to the database."""
_INTERVAL = timedelta(seconds=5)
_WAIT_SECONDS = 3.0
"""Longest wait for the database; scrapers commonly give up after ten seconds."""

Refresher = Callable[[], Awaitable[None]]
"""A function that sets the gauges of one source from the database."""


class GaugeRefresh:
    """The refresh of database gauges; after a failed or slow one, `_READ_TIME` shows their age."""

    def __init__(
        self,
        clock: Clock,
        refreshers: Mapping[str, Refresher],
        wait_seconds: float = _WAIT_SECONDS,
    ) -> None:
        self._clock = clock
        self._refreshers = refreshers
        self._wait_seconds = wait_seconds
        self._running: dict[str, asyncio.Task[None]] = {}
        self._last: datetime | None = None
        self._has_answered = False

    async def refresh(self) -> None:
        """Start the readings that are due; return after they complete, or after a short wait."""
        # Gauges describe the primary, even if a standby answers other requests.
        read_primary_only()
        now = self._clock.now()
        if self._last is None or abs(now - self._last) >= _INTERVAL:
            self._last = now
            for source in [name for name in self._refreshers if name not in self._running]:
                self._running[source] = asyncio.create_task(self._read(source))
        if self._running:
            # Not cancelled on a timeout, since this would also close the connection.
            await asyncio.wait(self._running.values(), timeout=self._wait_seconds)
        _UP.set(self._has_answered and DATABASE not in self._running)

    async def _read(self, source: str) -> None:
        try:
            await self._refreshers[source]()
        except Exception as error:  # noqa: BLE001 - the other metrics matter even more now
            self._note(source, is_read=False)
            log.warning("metrics.refresh_failed", source=source, error=describe(error))
        else:
            self._note(source, is_read=True)
            _READ_TIME.labels(source).set(self._clock.now().timestamp())
        finally:
            del self._running[source]

    def _note(self, source: str, *, is_read: bool) -> None:
        if source == DATABASE:
            self._has_answered = is_read


@router.get(
    METRICS_PATH,
    summary="Prometheus metrics",
    operation_id="getMetrics",
    tags=["service"],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def get_metrics(request: Request) -> Response:
    """Return the metrics in the Prometheus text format, of all processes that serve this port."""
    gauges: GaugeRefresh = request.app.state.gauges
    await gauges.refresh()
    # In a thread: the metrics of several processes are read from their files.
    text = await asyncio.to_thread(generate_latest, request.app.state.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
