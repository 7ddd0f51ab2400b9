"""Changes of a session's events, each within its caller's transaction, and who is told of them.

`Registry.event_listeners` are called with the transaction's session and an `Appended`, once the
events are in, where one of them answers its user: their exchange is complete, if it was not so
before. `Registry.event_erasers` are called with an `Erased`. The session's row is locked then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.adapters.db.session import Session
from app.adapters.resources import EventListener
from app.kernel.names import SessionName
from app.platform.engines.store.tables import EngineRow
from app.platform.sessions.logic.spoken import Place


@dataclass(frozen=True)
class Appended:
    """A session once events have been appended, among them an answer.

    Attributes:
        memory_policy: as the session's row has it; None: that of the engine holds.
        last_seq: of the newest event.
        place: of the newest event; its `complete` is the last complete exchange.
    """

    engine: EngineRow
    session_id: str
    user_id: str
    memory_policy: Mapping[str, Any] | None
    last_seq: int
    place: Place
    cleared_seq: int
    cleared_exchange: int
    now: datetime


@dataclass(frozen=True)
class Erased:
    """An event whose content has been erased, by its number in its session."""

    engine: EngineRow
    name: SessionName
    seq: int
    now: datetime


async def tell(
    listeners: Iterable[EventListener], session: Session, change: Appended | Erased
) -> None:
    """Call all of them, one after the other; what one raises ends the transaction."""
    for listener in listeners:
        await listener(session, change)
