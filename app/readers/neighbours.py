"""Finds the pieces of a namespace that are nearest to a question, by the model that it names.

A question is embedded only where the namespace has vectors of that model; no transaction is open
meanwhile. Whatever keeps the model from it, words still find pieces.
"""

import asyncio
from datetime import datetime

import structlog

from app.core.errors import Reason, ServiceError
from app.core.names import NamespaceName
from app.documents.chunking import Piece
from app.llm.ports import Vectors
from app.memories.embedding import EngineEmbedding
from app.readers import lookups
from app.resources import Resources
from app.tasks import vectors
from app.tasks.embedding import embedder_of
from app.tasks.tables import NamespaceRow

log = structlog.get_logger()

_NEAREST = 200
"""Pieces of which the distance counts: as many as a reader is ever shown."""


async def find_near(
    resources: Resources, name: NamespaceName, row: NamespaceRow, query: str, now: datetime
) -> list[Piece]:
    """Return the nearest pieces, the nearest first; none, where there are no vectors."""
    embedder = embedder_of(resources.embedders, row)
    if embedder is None:
        return []
    async with resources.db.snapshot() as session:
        if not await vectors.has_any(session, name, embedder.model_id, now):
            return []
    vector = await _embedded(resources, embedder.model_id, query)
    if vector is None:
        return []
    async with resources.db.snapshot() as session:
        near = (embedder.model_id, vector)
        found = await vectors.list_nearest(session, name, near, now, _NEAREST)
        pieces = await lookups.get_pieces(session, name, now, [one.key for one in found])
    at = {(piece.ordinal, piece.chunk.n): piece for piece in pieces}
    places = [(one.ordinal, one.key[1]) for one in found]
    return [at[place] for place in places if place in at]


async def _embedded(resources: Resources, model_id: str, query: str) -> Vectors | None:
    embedding = EngineEmbedding.of(resources)
    try:
        async with asyncio.timeout(embedding.query_seconds):
            found: Vectors = (await embedding.embedded(model_id, [query]))[0]
    except TimeoutError:
        trouble = Reason.MODEL_TIMEOUT
    except ServiceError as error:
        trouble = error.reason
    else:
        return found
    log.warning("task_query.not_embedded", model_id=model_id, reason=trouble)
    return None
