"""Refusals of the ledger."""

from app.kernel.errors import Aborted, AlreadyExists, Reason
from app.kernel.names import MemoryName


def id_taken(name: MemoryName) -> AlreadyExists:
    """Return the error of an id that is in use."""
    return AlreadyExists(
        f"{name} exists, or was deleted and can still be recovered; use another memoryId.",
        Reason.ID_TAKEN,
    )


def not_deleted(name: MemoryName) -> AlreadyExists:
    """Return the error of a live memory that was to be brought back."""
    return AlreadyExists(f"{name} is not deleted.", Reason.NOT_DELETED)


def changed_meanwhile() -> Aborted:
    """Return the error of a concurrent change."""
    return Aborted("A memory was changed meanwhile; retry.", Reason.CONCURRENT_CHANGE)
