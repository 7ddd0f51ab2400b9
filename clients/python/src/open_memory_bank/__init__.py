"""A client of Open Memory Bank: memories, sessions, contexts and task memory of AI agents."""

from open_memory_bank._async.client import AsyncClient
from open_memory_bank._async.operations import AsyncOperation
from open_memory_bank._async.paging import AsyncItems
from open_memory_bank._page import Page
from open_memory_bank._sync.client import Client
from open_memory_bank._sync.operations import Operation
from open_memory_bank._sync.paging import Items
from open_memory_bank.errors import (
    Aborted,
    AlreadyExists,
    ApiError,
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    MemoryBankError,
    NotFound,
    OperationFailed,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
    Unreachable,
    WaitTimeout,
)

__all__ = [
    "Aborted",
    "AlreadyExists",
    "ApiError",
    "AsyncClient",
    "AsyncItems",
    "AsyncOperation",
    "Cancelled",
    "Client",
    "DeadlineExceeded",
    "FailedPrecondition",
    "Internal",
    "InvalidArgument",
    "Items",
    "MemoryBankError",
    "NotFound",
    "Operation",
    "OperationFailed",
    "Page",
    "PermissionDenied",
    "ResourceExhausted",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "Unreachable",
    "WaitTimeout",
]
