"""A deterministic embedder for tests: unrelated unless the test says how near two texts are."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from typing_extensions import override

from app.core.guard import refuse_inside_transaction
from app.llm.managed import ManagedEmbedder
from app.llm.ports import Vectors


class ScriptedEmbedder(ManagedEmbedder):
    """Gives every text a direction of its own, about 1.4 away from any other.

    embedder = ScriptedEmbedder()
    embedder.place("I like tea", near="I love tea", distance=0.2)
    """

    model_id = "scripted/1"
    lexical_only = False

    def __init__(self, dimensions: int = 384) -> None:
        self.dimensions = dimensions
        self.calls: list[list[str]] = []
        """The texts of every call so far."""
        self.failure: Exception | None = None
        """Raised by every call while it is set."""
        self._placed: dict[str, Vectors] = {}

    @property
    @override
    def ready(self) -> bool:
        return True

    @override
    async def warm(self) -> None:
        pass

    @override
    async def close(self) -> None:
        pass

    def place(self, text: str, *, near: str, distance: float) -> None:
        """Put `text` at a Euclidean distance (0 to 2) from `near`, in a direction of its own."""
        anchor, own = self._vector(near), _direction(text, self.dimensions)
        aside = own - (own @ anchor) * anchor
        along = 1 - distance**2 / 2
        across = (1 - along**2) ** 0.5 / np.linalg.norm(aside)
        self._placed[text] = (along * anchor + across * aside).astype(np.float32)

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        refuse_inside_transaction("Embedding")
        self.calls.append(list(texts))
        if self.failure is not None:
            raise self.failure
        empty = np.empty((0, self.dimensions), np.float32)
        return np.stack([self._vector(text) for text in texts]) if texts else empty

    def _vector(self, text: str) -> Vectors:
        placed = self._placed.get(text)
        return _direction(text, self.dimensions) if placed is None else placed


def _direction(text: str, dimensions: int) -> Vectors:
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    vector = np.random.default_rng(seed).standard_normal(dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)
