"""Namespaces whose pieces have vectors, as the API tests use them."""

import httpx
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.llm.providers.embed_hash import HashEmbedder
from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder
from tests.support.bank import Json, ok
from tests.support.embedding import NewEmbedder
from tests.support.tasks import MEMORY, NAMESPACE

LOCAL = MiniLmEmbedder.model_id
CANARY = "canary-5e1b77ad"
OWN = NewEmbedder.model_id
HASH = HashEmbedder.model_id
REMOTE = "http:bge-m3"
OTHER = f"{MEMORY}/namespaces/other"
FACT = "The physician prescribed penicillin for her sore throat."
QUESTION = "Which antibiotic medicine did our doctor recommend?"
FILLING = [
    "Blue paint dries slowly on damp wood.",
    "Trains to the coast leave every hour.",
    "He sold his guitar to buy a bicycle.",
    "Tomatoes need sunshine and patient gardeners.",
]


async def query(client: httpx.AsyncClient, question: str, path: str = NAMESPACE) -> Json:
    """Ask, of the one piece that fits best."""
    body = {"query": question, "topK": 1, "model": "local"}
    return ok(await client.post(f"{path}:query", json=body))


async def vectors(database: Database) -> list[tuple[str, int]]:
    """Return how many vectors there are by each model."""
    statement = "select model_id, count(*) from task_vectors group by model_id order by 1"
    async with database.snapshot() as session:
        return [(row[0], row[1]) for row in await session.execute(text(statement))]


async def operations(client: httpx.AsyncClient) -> list[Json]:
    """Return the operations that embed namespaces."""
    found: list[Json] = ok(await client.get("/operations")).get("operations", [])
    return [one for one in found if "EmbedNamespace" in one["metadata"]["@type"]]
