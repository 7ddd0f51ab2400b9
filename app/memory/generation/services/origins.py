"""The session that a generation reads: one of the engine that it writes to, or of another.

The other engine lies in the same project and location, and within the reach of the caller. For all
else, the session is as one that does not exist.
"""

from dataclasses import dataclass
from datetime import datetime

from app.adapters.db.session import Session, note, reaches_engine
from app.kernel.errors import NotFound
from app.kernel.names import SessionName
from app.memory.generation.schemas import VertexSessionSource
from app.platform.engines.store import repository as engines
from app.platform.engines.store.rows import name_of
from app.platform.engines.store.tables import EngineRow
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow


@dataclass(frozen=True)
class SourceSession:
    """A session that is the source of a generation.

    Attributes:
        engine: the engine of the session.
        is_elsewhere: True if that is not the engine of the memories.
    """

    name: SessionName
    engine: EngineRow
    row: SessionRow
    is_elsewhere: bool


async def find(
    session: Session, target: EngineRow, source: VertexSessionSource, now: datetime
) -> SourceSession:
    """Return the session of a source; `target` is the engine of the memories.

    Raises:
        FailedPrecondition: the engine of the session is being restored.
        InvalidArgument: the name is invalid.
        NotFound: the session does not exist for the caller.
    """
    own = name_of(target)
    name = source.name_beside(own)
    is_elsewhere = name.engine != own
    engine = await _other(session, target, name) if is_elsewhere else target
    return SourceSession(name, engine, await sessions.get(session, name, now), is_elsewhere)


async def admit(
    session: Session, target: EngineRow, source: VertexSessionSource, now: datetime
) -> SourceSession:
    """Find the session for a caller; the audit log tells of a read in another engine there, too.

    Raises:
        FailedPrecondition, InvalidArgument, NotFound: as in `find`.
    """
    origin = await find(session, target, source, now)
    if origin.is_elsewhere:
        note(session, resource=str(origin.name.engine), read=str(origin.name))
    return origin


async def _other(session: Session, target: EngineRow, name: SessionName) -> EngineRow:
    """Return the other engine that a session's name names, unless it is out of reach.

    Each engine is read by a statement of its own: on a cluster, they lie on different nodes.
    """
    is_near = name.engine.parent == name_of(target).parent
    if not is_near or not reaches_engine(session, name.engine.engine):
        raise NotFound.of(name)
    try:
        return await engines.get(session, name.engine)
    except NotFound:
        raise NotFound.of(name) from None
