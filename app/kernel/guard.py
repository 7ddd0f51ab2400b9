"""Says whether a transaction is open in the present task, so that no model is called inside one.

A connection held across a model call of thirty seconds is how such a service dies under load.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from app.kernel.auth import NO_CONDITIONS, Conditions


@dataclass(frozen=True)
class OpenTransaction:
    """For whom a transaction is open: a caller, None for none, and what it is confined to."""

    caller: str | None
    conditions: Conditions


_open: ContextVar[OpenTransaction | None] = ContextVar("transaction_open", default=None)


@contextmanager
def transaction_open(
    conditions: Conditions = NO_CONDITIONS, caller: str | None = None
) -> Iterator[None]:
    """Mark the block as running inside a transaction that is confined to conditions.

    Raises:
        RuntimeError: a transaction is open already; transactions do not nest.
    """
    if _open.get() is not None:
        raise RuntimeError("A transaction is already open in this task.")
    token = _open.set(OpenTransaction(caller, conditions))
    try:
        yield
    finally:
        _open.reset(token)


def refuse_inside_transaction(what: str) -> None:
    """Stop the caller if a transaction is open.

    Raises:
        RuntimeError: a transaction is open; the message names `what`.
    """
    if _open.get() is not None:
        raise RuntimeError(f"{what} must not run while a transaction is open.")


def open_transaction() -> OpenTransaction | None:
    """Return the transaction that is open in the present task. For tests."""
    return _open.get()
