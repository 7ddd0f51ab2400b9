"""The embedder with all-MiniLM-L6-v2: onnxruntime and tokenizers, no network.

model_id `all-MiniLM-L6-v2/int8`: the model and the precision of its weights. Change it whenever the
same text could get another vector.

A text beyond 256 tokens (about 1,000 characters of English) is cut there, as the model requires.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING

from typing_extensions import override

from app.adapters.llm.embedders import ThreadedEmbedder
from app.adapters.llm.ports import Vectors

if TYPE_CHECKING:
    from app.adapters.llm.onnx_encoder import MiniLm

_PACKAGES = ("onnxruntime", "tokenizers")


class MiniLmEmbedder(ThreadedEmbedder):
    """An embedder that knows meaning, best in English. Loads on `warm` or on first use."""

    model_id = "all-MiniLM-L6-v2/int8"
    dimensions = 384
    lexical_only = False
    covers = ("en",)

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._loading = Lock()
        self._model: MiniLm | None = None

    @classmethod
    def missing_packages(cls) -> list[str]:
        """Return the packages that it needs and that are not installed."""
        return [name for name in _PACKAGES if find_spec(name) is None]

    @property
    @override
    def ready(self) -> bool:
        return self._model is not None

    @override
    def _load(self) -> "MiniLm":
        # Imported here, as it takes longer than the rest of the start.
        from app.adapters.llm.onnx_encoder import MiniLm  # noqa: PLC0415 - costly import

        with self._loading:
            if self._model is None:
                self._model = MiniLm()
            return self._model

    @override
    def _compute(self, texts: Sequence[str]) -> Vectors:
        return self._load().vectors(texts)
