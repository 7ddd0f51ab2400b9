"""States and kinds of operations, and the `@type` of their messages."""

from datetime import timedelta
from enum import StrEnum
from typing import Final, Literal

_TYPES = "type.googleapis.com/google.cloud.aiplatform.v1beta1."
_EMPTY_TYPE = "type.googleapis.com/google.protobuf.Empty"
EMPTY = {"@type": _EMPTY_TYPE}

Answered = Literal[
    "BatchCreateMemoriesResponse",
    "BatchRetryOperationsResponse",
    "Empty",
    "EraseScopeResponse",
    "GenerateMemoriesResponse",
    "ImportMemoriesResponse",
    "IngestEventsResponse",
    "Memory",
    "PurgeMemoriesResponse",
    "ReasoningEngine",
    "ReembedReasoningEngineResponse",
    "RegenerateSummaryResponse",
    "RollbackMemoryResponse",
    "ScanPrivacyResponse",
    "Session",
    "SummarizeSessionResponse",
    "UndoOperationResponse",
]
"""The messages that operations return; each is in `answers` of the feature that makes it."""

# Kinds named by the statements of leases.
INGEST: Final = "ingestion.ingest"
"""Processes a stream's events; while it waits, it is the timer. Each stream has one."""
SUMMARIZE: Final = "sessions.summarize"
"""Makes the due summaries of a session and policy; each policy has at most one."""

SOON = timedelta(seconds=5)
"""Longest time between polls by workers that are notified of new operations."""

BATCH_RETRY: Final = "operations.batchRetry"
"""Retries failed operations."""
ERASE_SCOPE: Final = "engines.eraseScope"
"""Erases all data of a scope, but not this operation itself."""
SCAN_PRIVACY: Final = "engines.scanPrivacy"
"""Counts or masks sensitive values; masked values cannot be restored."""


class OperationState(StrEnum):
    """The states of an operation; only the first two are not final."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """True if the operation has ended."""
        return self not in {OperationState.PENDING, OperationState.RUNNING}


def type_url(name: Answered) -> str:
    """Return the `@type` of an operation's response."""
    return _EMPTY_TYPE if name == "Empty" else _TYPES + name


def metadata_url(method: str) -> str:
    """Return the `@type` of the metadata of a method's operations."""
    return f"{_TYPES}{method}OperationMetadata"
