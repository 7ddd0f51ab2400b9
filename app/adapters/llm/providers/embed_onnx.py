"""An embedder with a model of the operator: a folder with an ONNX graph and a tokenizer.

model_id `onnx:<digest>`: a digest of the files and of the settings that change a vector. All files
are read on opening, since an invalid file must stop the start; nothing is ever fetched.
"""

import json
from collections.abc import Sequence
from hashlib import file_digest, sha256
from pathlib import Path

from typing_extensions import override

from app.adapters.llm.names import ModelSetupError
from app.adapters.llm.ports import Prefixes, Vectors
from app.adapters.llm.threaded import ThreadedEmbedder
from app.settings.embedding_settings import EmbeddingSettings

_GRAPH, _TOKENIZER = "model.onnx", "tokenizer.json"
# Exporters put the weights here if a graph is too large for one file.
_WEIGHTS = ("model.onnx_data", "model.onnx.data")
_SETTING = "MEMORY_BANK_EMBEDDER_FOLDER"
_EXPECTED = f"a folder with {_GRAPH} and {_TOKENIZER}"
_DIGEST_CHARS = 16


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, sha256).hexdigest()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelSetupError(
            f"{_SETTING} must be {_EXPECTED}; {path} cannot be read: {reason}."
        ) from error


class OnnxEmbedder(ThreadedEmbedder):
    """An embedder with the operator's model. Slow to construct: it loads the model.

    Raises:
        ModelSetupError: the files in the configured folder are missing or invalid.
    """

    lexical_only = False

    def __init__(self, settings: EmbeddingSettings) -> None:
        super().__init__(settings.embedder_threads)
        # Imported only if there is such a model: it takes longer than the rest of the start.
        from app.adapters.llm.onnx_folder import FolderModel  # noqa: PLC0415 - as above

        if settings.embedder_folder is None:
            raise ModelSetupError(f"The embedder onnx needs {_SETTING}, {_EXPECTED}.")
        folder = settings.embedder_folder.absolute()
        graph, tokenizer = folder / _GRAPH, folder / _TOKENIZER
        weights = [folder / name for name in _WEIGHTS if (folder / name).exists()]
        digests = [_digest(path) for path in (graph, tokenizer, *weights)]
        pooling, most = settings.embedder_pooling, settings.embedder_max_tokens
        self._model = FolderModel(graph, tokenizer, pooling, most)
        self.dimensions = self._model.dimensions
        self.prefixes = Prefixes(settings.embedder_query_prefix, settings.embedder_text_prefix)
        self.covers = settings.embedder_languages
        parts = json.dumps([*digests, pooling, most, self.prefixes.text])
        self.model_id = f"onnx:{sha256(parts.encode()).hexdigest()[:_DIGEST_CHARS]}"

    @override
    def _compute(self, texts: Sequence[str]) -> Vectors:
        return self._model.vectors(texts)
