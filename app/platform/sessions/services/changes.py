"""Changes of a session's events, each within its caller's transaction, and their listeners.

`Registry.event_listeners` are called with the transaction's session and an `Appended` after an
append that answers the user; the exchange is then complete. `Registry.event_erasers` are called
with an `ErasedEvent`. The session's row is locked at that time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.adapters.db.session import Session
from app.adapters.resources import EventListener
from app.kernel.names import SessionName
from app.platform.engines.store.tables import EngineRow
from app.platform.sessions.logic.event_text import ExchangePlace


@dataclass(frozen=True)
class Appended:
    """A session after an append with an answer.

    Attributes:
        memory_policy: the policy in the session's row; None: the engine's policy applies.
        last_seq: the number of the newest event.
        place: the place of the newest event; its `complete` is the last complete exchange.
    """

    engine: EngineRow
    session_id: str
    user_id: str
    memory_policy: Mapping[str, Any] | None
    last_seq: int
    place: ExchangePlace
    cleared_seq: int
    cleared_exchange: int
    now: datetime


@dataclass(frozen=True)
class ErasedEvent:
    """An event whose content has been erased, named by its number in the session."""

    engine: EngineRow
    name: SessionName
    seq: int
    now: datetime


async def notify(
    listeners: Iterable[EventListener], session: Session, change: Appended | ErasedEvent
) -> None:
    """Call all listeners in order; an exception from one rolls the transaction back."""
    for listener in listeners:
        await listener(session, change)
