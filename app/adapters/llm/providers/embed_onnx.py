"""An embedder with a model of the operator: a folder with an ONNX graph and a tokenizer.

model_id `onnx:<digest>`: a digest of the files and of the settings that change a vector. All files
are read on opening, since an invalid file must stop the start; nothing is ever fetched. Importing
this module is expensive.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from typing_extensions import override

from app.adapters.llm.embedders import ThreadedEmbedder
from app.adapters.llm.names import ModelSetupError
from app.adapters.llm.onnx_encoder import OnnxEncoder, Tokens, open_session
from app.adapters.llm.ports import Prefixes, Vectors
from app.kernel.errors import BadGateway, Reason
from app.settings.model_settings import EmbeddingSettings, Pooling

_GRAPH, _TOKENIZER = "model.onnx", "tokenizer.json"
# Exporters put the weights here if a graph is too large for one file.
_WEIGHTS = ("model.onnx_data", "model.onnx.data")
_SETTING = "MEMORY_BANK_EMBEDDER_FOLDER"
_EXPECTED = f"a folder with {_GRAPH} and {_TOKENIZER}"
_DIGEST_CHARS = 16
_IDS = ("input_ids", "ids")
_MASKS = ("attention_mask", "mask")
_KINDS = ("token_type_ids",)
_STATES, _POOLED = 3, 2
"""Axes of an output with the states of all tokens, and of one with a vector per text."""
_SHOWN_CHARS = 200

_Floats = NDArray[np.floating[Any]]


class OnnxEmbedder(ThreadedEmbedder):
    """An embedder with the operator's model, loaded at once; `ModelSetupError` if invalid."""

    lexical_only = False

    def __init__(self, settings: EmbeddingSettings) -> None:
        super().__init__(settings.embedder_threads)
        if settings.embedder_folder is None:
            raise ModelSetupError(f"The embedder onnx needs {_SETTING}, {_EXPECTED}.")
        folder = settings.embedder_folder.absolute()
        graph, tokenizer = folder / _GRAPH, folder / _TOKENIZER
        weights = [folder / name for name in _WEIGHTS if (folder / name).exists()]
        digests = [_digest(path) for path in (graph, tokenizer, *weights)]
        pooling, most = settings.embedder_pooling, settings.embedder_max_tokens
        self._model = _FolderModel(graph, tokenizer, pooling, most)
        self.dimensions = self._model.dimensions
        self.prefixes = Prefixes(settings.embedder_query_prefix, settings.embedder_text_prefix)
        self.covers = settings.embedder_languages
        parts = json.dumps([*digests, pooling, most, self.prefixes.text])
        self.model_id = f"onnx:{sha256(parts.encode()).hexdigest()[:_DIGEST_CHARS]}"

    @override
    def _compute(self, texts: Sequence[str]) -> Vectors:
        return self._model.vectors(texts)


class _FolderModel(OnnxEncoder):
    """A network whose states are pooled here, or that pools them itself."""

    def __init__(self, graph: Path, tokenizer: Path, pooling: Pooling, max_tokens: int) -> None:
        form = "a tokenizer in the form of the library tokenizers"
        read = _opened(tokenizer, form, lambda: Tokenizer.from_file(str(tokenizer)))
        super().__init__(read, max_tokens)
        self._pooling = pooling
        self._session = _opened(graph, "an ONNX graph", lambda: open_session(graph, graph.parent))
        self._types = {spec.name: _NUMBERS.get(spec.type) for spec in self._session.get_inputs()}
        _check_inputs(graph, self._types)
        self._output = self._find_output(graph, read.get_vocab_size() - 1, max_tokens)

    @override
    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        output: _Floats = self._session.run([self._output], self._feeds(ids, mask))[0]
        states = output.astype(np.float32)
        pooled = states if states.ndim == _POOLED else self._pooled(states, mask)
        lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise BadGateway(
                "The embedder onnx computed a vector without direction.",
                Reason.MODEL_OUTPUT_INVALID,
            )
        vectors: Vectors = pooled / lengths
        return vectors

    def _pooled(self, states: Vectors, mask: Tokens) -> Vectors:
        if self._pooling is Pooling.CLS:
            return states[:, 0]
        # A mean and a sum point the same way.
        summed: Vectors = (states * mask[:, :, None].astype(np.float32)).sum(axis=1)
        return summed

    def _feeds(self, ids: Tokens, mask: Tokens) -> Mapping[str, NDArray[Any]]:
        named = {
            **dict.fromkeys(_IDS, ids),
            **dict.fromkeys(_MASKS, mask),
            **dict.fromkeys(_KINDS, np.zeros_like(ids)),
        }
        return {name: named[name].astype(kind) for name, kind in self._types.items()}

    def _find_output(self, graph: Path, last_id: int, max_tokens: int) -> str:
        """Return the name of the output with the states of all tokens, else with the vectors.

        The network is given as many tokens as it may be, each the last one that the tokenizer has.
        """
        ids = np.full((1, max_tokens), last_id, np.int64)
        try:
            outputs = self._session.run(None, self._feeds(ids, np.ones_like(ids)))
        except Exception as error:
            raise ModelSetupError(
                f"{graph} must take {max_tokens} tokens of a text"
                f" (MEMORY_BANK_EMBEDDER_MAX_TOKENS), and know the {last_id + 1} of the"
                f" tokenizer.json beside it: {_excerpt(error)}"
            ) from error
        names: list[str] = [output.name for output in self._session.get_outputs()]
        for axes, rows in ((_STATES, ids.shape), (_POOLED, ids.shape[:1])):
            for name, values in zip(names, outputs, strict=True):
                is_float = getattr(values, "dtype", None) in (np.float16, np.float32, np.float64)
                if is_float and values.ndim == axes and values.shape[:-1] == rows:
                    self.dimensions = int(values.shape[-1])
                    return name
        raise ModelSetupError(
            f"{graph} must have an output of floats of the form (texts, tokens, dimensions) or"
            f" (texts, dimensions); got {_listed(names)}."
        )


_NUMBERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


def _opened(path: Path, expected: str, read: Callable[[], Any]) -> Any:  # noqa: ANN401 - of libraries
    try:
        return read()
    except Exception as error:
        raise ModelSetupError(
            f"{path} must be {expected}; it cannot be read: {_excerpt(error)}"
        ) from error


def _check_inputs(path: Path, types: Mapping[str, Any]) -> None:
    is_whole = all(set(names) & types.keys() for names in (_IDS, _MASKS))
    if not is_whole or not types.keys() <= {*_IDS, *_MASKS, *_KINDS} or None in types.values():
        raise ModelSetupError(
            f"{path} must have the inputs input_ids and attention_mask of whole numbers, may have"
            f" token_type_ids, and no other; got {_listed(types)}."
        )


def _excerpt(error: Exception) -> str:
    return " ".join(str(error).split())[:_SHOWN_CHARS]


def _listed(names: Any) -> str:  # noqa: ANN401 - of any names
    return ", ".join(names) or "none"


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, sha256).hexdigest()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelSetupError(
            f"{_SETTING} must be {_EXPECTED}; {path} cannot be read: {reason}."
        ) from error
