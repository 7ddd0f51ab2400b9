"""Imports every table, so that migrations and the drift test see the whole schema."""

from app.adapters.db.base import Base
from app.artifacts.tasks.store import tables as tasks
from app.conversation.summaries.store import tables as summaries
from app.memory.ingestion.store import tables as ingestion
from app.memory.memories.store import tables as memories
from app.memory.retrieval.store import tables as retrieval
from app.platform.access.store import tables as access
from app.platform.audit.store import tables as audit
from app.platform.engines.store import tables as engines
from app.platform.limits.store import tables as limits
from app.platform.operations.store import tables as operations
from app.platform.sessions.store import tables as sessions
from app.platform.usage.store import tables as usage

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
