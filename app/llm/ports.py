"""The ports through which the service asks a model, and their plain types."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""n rows of `dimensions` floats, each of unit length (Euclidean)."""


class Embedder(Protocol):
    """Turns texts into vectors whose Euclidean distance says how near their meanings are."""

    model_id: str
    """Names the model and its version; vectors of different ids never compare."""
    dimensions: int
    lexical_only: bool
    """True when the vectors know words but no meaning."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order. Does not block the event loop.

        Must not be called inside a transaction.

        Raises:
            RuntimeError: a transaction is open in this task.
        """
        ...
