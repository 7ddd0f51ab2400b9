"""Imports every table, so that migrations and the drift test see the whole schema."""

from app.access import tables as access
from app.audit import tables as audit
from app.db.base import Base
from app.engines import tables as engines
from app.ingestion import tables as ingestion
from app.limits import tables as limits
from app.memories import tables as memories
from app.operations import tables as operations
from app.retrieval import tables as retrieval
from app.sessions import tables as sessions
from app.summaries import tables as summaries
from app.tasks import tables as tasks
from app.usage import tables as usage

metadata = Base.metadata

__all__ = [
    "access",
    "audit",
    "engines",
    "ingestion",
    "limits",
    "memories",
    "metadata",
    "operations",
    "retrieval",
    "sessions",
    "summaries",
    "tasks",
    "usage",
]
