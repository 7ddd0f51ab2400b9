"""The end of a restore: streams are counted again."""

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.memory.ingestion.store import restored
from app.platform.engines.store.tables import EngineRow


async def complete(_: Resources, session: Session, engine: EngineRow) -> None:
    """Count the waiting events of an engine's streams again."""
    await restored.count_again(session, engine.engine_id)
