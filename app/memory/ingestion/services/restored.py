"""Recount of streams at the end of a restore."""

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.memory.ingestion.store import restored
from app.platform.engines.store.tables import EngineRow


async def complete(_: Resources, session: Session, engine: EngineRow) -> None:
    """Recount the waiting events of an engine's streams."""
    await restored.count_again(session, engine.engine_id)
