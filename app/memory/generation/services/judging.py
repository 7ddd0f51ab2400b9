"""The learned judges of a generation without a model, for engines with the bundled embedder."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.language.extraction import OpenSentence
from app.language.heads import Heads, SentenceOdds
from app.language.merging import PairJudge
from app.memory.generation.services.neighbours import (
    NearCandidates,
    Neighbourhood,
    compared,
    is_judged,
)
from app.memory.memories.services.embedding import EngineEmbedding


@dataclass(frozen=True)
class Judges:
    """The judges for one engine; with another embedder they say nothing, and the rules decide."""

    embedding: EngineEmbedding
    engine_id: int

    async def of_sentences(
        self, sentences: Sequence[OpenSentence]
    ) -> Mapping[tuple[int, int], SentenceOdds]:
        """Return the odds of each sentence by its place; {} while the embedder gives no vectors."""
        if not sentences or not is_judged(await self.embedding.model_of(self.engine_id)):
            return {}
        texts = dict.fromkeys(text for one in sentences for text in (one.text, one.before))
        vectors = await self.embedding.vectors(self.engine_id, [*texts])
        if not vectors:
            return {}
        loaded = await asyncio.to_thread(Heads.load)
        odds = await asyncio.to_thread(
            loaded.judge,
            [(one.text, one.before) for one in sentences],
            np.stack([vectors[one.text].values for one in sentences]),
            np.stack([vectors[one.before].values for one in sentences]),
        )
        return {one.place: found for one, found in zip(sentences, odds, strict=True)}

    async def of_pairs(self, near: NearCandidates, scope: Neighbourhood) -> PairJudge | None:
        """Return the judge for candidates whose vectors are known, else None."""
        if not is_judged(near.model_id):
            return None
        loaded = await asyncio.to_thread(Heads.load)
        stored = await scope.stored_vectors(near)
        found = [near.vectors.get(compared(one)) for one in near.candidates]
        vectors = [vector for vector in found if vector is not None]
        if len(vectors) < len(found):
            return None
        around = [near.vectors.get(one.context) if one.forget else None for one in near.candidates]
        return PairJudge(loaded, vectors, around, stored)
