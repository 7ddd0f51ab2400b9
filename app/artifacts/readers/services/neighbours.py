"""Vector search for the chunks of a namespace nearest to a question, with the namespace's model.

The question is embedded outside any transaction, and only if the namespace has vectors of that
model. If the model fails, the search by words still works.
"""

import asyncio

import structlog

from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.artifacts.readers.services.open_namespace import OpenNamespace, reading
from app.artifacts.readers.store import lookups
from app.artifacts.tasks.services.embedding import embedder_of
from app.artifacts.tasks.store import vectors
from app.kernel.errors import Reason, ServiceError
from app.language.chunking import Piece
from app.memory.memories.services.embedding import EngineEmbedding

log = structlog.get_logger()

_NEAREST = 200
"""Number of nearest chunks to rank: the maximum that a reader is shown."""


async def find_near(resources: Resources, opened: OpenNamespace, query: str) -> list[Piece]:
    """Return the nearest chunks, nearest first; empty if there are no vectors.

    Raises:
        Aborted: the namespace has changed since it was opened.
    """
    embedder = embedder_of(resources.embedders, opened.row)
    if embedder is None:
        return []
    async with reading(resources, opened) as (session, texts):
        if not await vectors.has_any(session, opened.name, embedder.model_id, texts.now):
            return []
    vector = await _embed_query(resources, embedder.model_id, query)
    if vector is None:
        return []
    async with reading(resources, opened) as (session, texts):
        nearest = await vectors.list_nearest(
            session, opened.name, embedder.model_id, vector, texts.now, _NEAREST
        )
        pieces = await lookups.get_pieces(session, texts, list(nearest))
    at = {(piece.ordinal, piece.chunk.n): piece for piece in pieces}
    places = [(ordinal, n) for (_, n), ordinal in nearest.items()]
    return [at[place] for place in places if place in at]


async def _embed_query(resources: Resources, model_id: str, query: str) -> Vectors | None:
    embedding = EngineEmbedding.of(resources)
    try:
        async with asyncio.timeout(embedding.query_seconds):
            return await embedding.embedded_query(model_id, query)
    except TimeoutError:
        trouble = Reason.MODEL_TIMEOUT
    except ServiceError as error:
        trouble = error.reason
    log.warning("task_query.not_embedded", model_id=model_id, reason=trouble)
    return None
