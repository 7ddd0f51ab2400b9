"""Keeps the audit log."""

from dataclasses import dataclass

from typing_extensions import override

from app.core.audit import Audited, Auditor
from app.core.clock import Clock
from app.core.errors import ServiceError
from app.db.session import Database, Session


@dataclass(frozen=True)
class AuditService(Auditor):
    """The audit log of the service."""

    db: Database
    clock: Clock

    @override
    async def record(self, session: Session, audited: Audited) -> None:
        del session, audited

    @override
    async def record_alone(self, audited: Audited, error: ServiceError | None) -> None:
        del audited, error
