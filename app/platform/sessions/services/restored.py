"""The check at the end of a restore: the numbers of each session match its events."""

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.errors import InvalidArgument, Reason
from app.platform.engines.store.tables import EngineRow
from app.platform.sessions.store import restored


async def check(_: Resources, session: Session, engine: EngineRow) -> None:
    """Check the numbers of an engine's sessions.

    Raises:
        InvalidArgument: the numbers of a session differ from its events.
    """
    wrong = await restored.find_miscounted(session, engine.engine_id)
    if wrong is not None:
        message = f"sessions/{wrong}: lastSeq and exchanges must agree with its last event."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
