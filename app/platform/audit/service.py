"""Use cases of the audit log: record, list, export."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import structlog
from prometheus_client import Counter
from typing_extensions import override

from app.adapters.db.lists import List, ReadRows, Slice, exported
from app.adapters.db.session import Database, Session, noted
from app.adapters.logs import RareLines
from app.adapters.resources import Resources
from app.kernel.audit import Audited, Auditor
from app.kernel.clock import Clock
from app.kernel.errors import Reason, ServiceError, Unavailable, describe
from app.kernel.names import SessionName
from app.kernel.paging import PageRequest
from app.platform.audit import store
from app.platform.audit.schemas import AuditEvent, ListAuditEventsResponse
from app.platform.audit.store import AuditEventRow, EventTable, NewEvent, ServiceEventRow
from app.settings.settings import Settings

log = structlog.get_logger()

_TABLES: Sequence[EventTable] = (AuditEventRow, ServiceEventRow)
"""The tables of the log: of engines, and of no engine."""

_DROPPED = Counter(
    "memory_bank_audit_events_dropped_total",
    "Audit events of reads and refusals, dropped because the database could not be written.",
)
# Refusals that hold off a flood: a row for each would let the flood in by another door. They are
# in the request metrics and in the log.
_NOT_WRITTEN = frozenset({Reason.RATE_LIMIT_EXCEEDED, Reason.TOO_MANY_AT_ONCE})


@dataclass(frozen=True)
class AuditService(Auditor):
    """The audit log of the service."""

    db: Database
    clock: Clock
    settings: Settings
    lines: RareLines = field(default_factory=RareLines)
    """The lines about events that are not recorded: while a node is away, each request has one."""

    @classmethod
    def of(cls, resources: Resources) -> "AuditService":
        """Build the service from the process's resources."""
        return cls(resources.db, resources.clock, resources.settings)

    @override
    def columns(self, audited: Audited, entries: Mapping[str, str]) -> dict[str, Any]:
        return self._event(audited, entries).columns()

    @override
    async def record(self, session: Session, audited: Audited) -> None:
        entries = noted(session)
        event = self._event(audited, entries)
        await store.insert_events(session, [event, *_of_another(event, entries)])

    def _event(self, audited: Audited, entries: Mapping[str, str]) -> NewEvent:
        completed = replace(
            audited,
            resource=entries.get("resource", audited.resource),
            engine_id=int(entries["engine"]) if "engine" in entries else audited.engine_id,
        )
        return NewEvent(
            completed,
            self.clock.now(),
            operation=entries.get("operation"),
            replayed="replayed" in entries,
        )

    @override
    async def record_alone(self, audited: Audited, error: ServiceError | None) -> None:
        """Record as the port defines. A failure here is logged and does not change the answer."""
        if error is not None and error.reason in _NOT_WRITTEN:
            return
        if self.db.is_primary_away:
            _DROPPED.inc()
            return
        if isinstance(error, Unavailable) and error.reason is Reason.DATABASE_UNAVAILABLE:
            # Not tried: the caller would wait twice for an unavailable database.
            self._log_lost(audited, reason=error.reason)
            return
        try:
            async with self.db.transaction() as session:
                event = NewEvent(audited, self.clock.now(), error)
                await store.insert_events(session, [event])
        except Exception as failure:  # noqa: BLE001 - as the docstring has it
            self._log_lost(audited, error=describe(failure))

    def _log_lost(self, audited: Audited, **cause: str) -> None:
        """Log an event that is not recorded, once a minute for each cause, and count it."""
        _DROPPED.inc()
        left_out = self.lines.due(tuple(cause.values()))
        if left_out is not None:
            # Not `exception`: see `describe`.
            log.error("audit.not_recorded", method=audited.method, left_out=left_out, **cause)

    async def list_events(
        self, engine_id: int | None, filter_text: str | None, page: PageRequest
    ) -> ListAuditEventsResponse:
        """Return a page of an engine's events, newest first; None: of all engines."""
        asked = [
            events.filtered_page(page, self.settings, filter_text, engine=engine_id)
            for events in _lists(engine_id)
        ]
        rows, token = asked[0].cut(await self._read(engine_id, asked))
        return ListAuditEventsResponse(
            audit_events=[AuditEvent.from_row(row) for row in rows], next_page_token=token
        )

    async def export(
        self, engine_id: int | None, filter_text: str | None
    ) -> AsyncIterator[Sequence[AuditEvent]]:
        """Yield the present events in small batches, oldest first."""
        now = self.clock.now()
        first = [events.export(self.settings, filter_text, now) for events in _lists(engine_id)]

        async def read(page: Slice) -> ReadRows[AuditEventRow | ServiceEventRow]:
            return await self._read(engine_id, [replace(one, after=page.after) for one in first])

        async for rows in exported(first[0], read):
            yield [AuditEvent.from_row(row) for row in rows]

    async def _read(
        self, engine_id: int | None, pages: Sequence[Slice]
    ) -> ReadRows[AuditEventRow | ServiceEventRow]:
        of_engines, of_none = pages
        if engine_id is None:
            read = partial(store.read_all_events, of_engines=of_engines, of_none=of_none)
            return await self.db.read_all(read)
        async with self.db.snapshot() as session:
            return await store.read_events(session, engine_id, of_engines)


def _lists(engine_id: int | None) -> Sequence[List]:
    return [store.events(table, has_engines=engine_id is None) for table in _TABLES]


def _of_another(event: NewEvent, entries: Mapping[str, str]) -> list[NewEvent]:
    if "read" not in entries:
        return []
    engine_id = SessionName.parse(entries["read"]).engine.engine
    return [
        replace(
            event, audited=replace(event.audited, resource=entries["read"], engine_id=engine_id)
        )
    ]
