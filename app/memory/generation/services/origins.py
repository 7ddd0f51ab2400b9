"""Source session of a generation, in the engine of the memories or in another engine.

The other engine has to be in the same project and location, and the caller must have access to it.
Otherwise the session is reported as not found.
"""

from dataclasses import dataclass
from datetime import datetime

from app.adapters.db.session import Session, note, reaches_engine
from app.kernel.errors import NotFound
from app.kernel.names import SessionName
from app.memory.generation.schemas import VertexSessionSource
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow, name_of
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow


@dataclass(frozen=True)
class SourceSession:
    """A session that is the source of a generation.

    Attributes:
        engine: the engine of the session.
        is_elsewhere: True if this engine is not the engine of the memories.
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
    """Find the session for a caller; reading another engine is also noted in the audit log.

    Raises:
        FailedPrecondition, InvalidArgument, NotFound: as in `find`.
    """
    origin = await find(session, target, source, now)
    if origin.is_elsewhere:
        note(session, resource=str(origin.name.engine), read=str(origin.name))
    return origin


async def _other(session: Session, target: EngineRow, name: SessionName) -> EngineRow:
    """Return the other engine in a session's name, unless the caller has no access to it.

    Each engine is read by a separate statement, since they are on different nodes of a cluster.
    """
    is_near = name.engine.parent == name_of(target).parent
    if not is_near or not reaches_engine(session, name.engine.engine):
        raise NotFound.of(name)
    try:
        return await engines.get(session, name.engine)
    except NotFound:
        raise NotFound.of(name) from None
