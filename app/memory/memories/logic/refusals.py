"""Refusals of the ledger."""

from app.kernel.errors import Aborted, AlreadyExists, Reason
from app.kernel.names import MemoryName


def id_taken(name: MemoryName) -> AlreadyExists:
    """Return the error for an id that is in use."""
    return AlreadyExists(
        f"{name} exists, or was deleted and can still be recovered; use another memoryId.",
        Reason.ID_TAKEN,
    )


def not_deleted(name: MemoryName) -> AlreadyExists:
    """Return the error for the undeletion of a live memory."""
    return AlreadyExists(f"{name} is not deleted.", Reason.NOT_DELETED)


def changed_meanwhile() -> Aborted:
    """Return the error for a concurrent change."""
    return Aborted("A memory was changed meanwhile; retry.", Reason.CONCURRENT_CHANGE)
