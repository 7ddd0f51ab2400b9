"""Finds the pieces of a namespace that are nearest to a question, by the model that it names.

A question is embedded only where the namespace has vectors of that model; no transaction is open
meanwhile. Whatever keeps the model from it, words still find pieces.
"""

import asyncio

import structlog

from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.artifacts.readers.services.opened import Opened, reading
from app.artifacts.readers.store import lookups
from app.artifacts.tasks.services.embedding import embedder_of
from app.artifacts.tasks.store import vectors
from app.kernel.errors import Reason, ServiceError
from app.language.chunking import Piece
from app.memory.memories.services.embedding import EngineEmbedding

log = structlog.get_logger()

_NEAREST = 200
"""Pieces of which the distance counts: as many as a reader is ever shown."""


async def find_near(resources: Resources, opened: Opened, query: str) -> list[Piece]:
    """Return the nearest pieces, the nearest first; none, where there are no vectors.

    Raises:
        Aborted: what was opened is not any more what it was.
    """
    embedder = embedder_of(resources.embedders, opened.row)
    if embedder is None:
        return []
    async with reading(resources, opened) as (session, texts):
        if not await vectors.has_any(session, opened.name, embedder.model_id, texts.now):
            return []
    vector = await _embedded(resources, embedder.model_id, query)
    if vector is None:
        return []
    async with reading(resources, opened) as (session, texts):
        near = (embedder.model_id, vector)
        found = await vectors.list_nearest(session, opened.name, near, texts.now, _NEAREST)
        pieces = await lookups.get_pieces(session, texts, [one.key for one in found])
    at = {(piece.ordinal, piece.chunk.n): piece for piece in pieces}
    places = [(one.ordinal, one.key[1]) for one in found]
    return [at[place] for place in places if place in at]


async def _embedded(resources: Resources, model_id: str, query: str) -> Vectors | None:
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
