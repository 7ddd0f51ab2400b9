"""A guard that refuses model calls while a transaction is open in the current task.

Holding a connection across a model call of thirty seconds exhausts the pool under load.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from app.kernel.auth import NO_CONDITIONS, Conditions


@dataclass(frozen=True)
class OpenTransaction:
    """The caller of an open transaction, or None, and the conditions on its rows."""

    caller: str | None
    conditions: Conditions


_open: ContextVar[OpenTransaction | None] = ContextVar("transaction_open", default=None)


@contextmanager
def transaction_open(
    conditions: Conditions = NO_CONDITIONS, caller: str | None = None
) -> Iterator[None]:
    """Mark the block as running inside a transaction restricted to conditions, the only one."""
    if _open.get() is not None:
        raise RuntimeError("A transaction is already open in this task.")
    token = _open.set(OpenTransaction(caller, conditions))
    try:
        yield
    finally:
        _open.reset(token)


def refuse_inside_transaction(what: str) -> None:
    """Raise a `RuntimeError`, which names `what`, if a transaction is open."""
    if _open.get() is not None:
        raise RuntimeError(f"{what} must not run while a transaction is open.")


def open_transaction() -> OpenTransaction | None:
    """Return the open transaction of the current task. For tests."""
    return _open.get()
