"""Usage of models, recorded as generations do."""

from datetime import datetime

from app.adapters.db.session import Database
from app.adapters.llm.ports import Meter, Usage
from app.platform.usage import store
from app.settings.settings import Settings

GENERATE = "generation.generate"
MINI, LOCAL = "openai:gpt-5-mini", "ollama:llama3"


async def record(
    database: Database,
    settings: Settings,
    now: datetime,
    engine_id: int = 1,
    kind: str = GENERATE,
    **spent: Usage,
) -> None:
    """Record what models spent, `mini=` and `local=`, in a transaction of its own."""
    names = {"mini": MINI, "local": LOCAL}
    meter = Meter({names[name]: usage for name, usage in spent.items()})
    async with database.transaction() as session:
        await store.record(session, engine_id, now, meter, settings.model_prices, kind)
