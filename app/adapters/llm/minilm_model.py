"""The loaded all-MiniLM-L6-v2: tokenizer and session. Importing this module is expensive."""

from pathlib import Path

from tokenizers import Tokenizer
from typing_extensions import override

from app.adapters.llm.onnx_encoder import OnnxEncoder, Tokens, open_session
from app.adapters.llm.ports import Vectors
from app.adapters.llm.safetensors_file import Rows, find_weights

GRAPH = Path(__file__).with_name("minilm.onnx")
"""The network without its weights, written by `scripts/minilm_graph.py`."""
WEIGHTS_FILE = "model.safetensors"
"""The weights, which the graph names by this name."""
_WORDS = "embeddings.word_embeddings.weight"
HIDDEN = 384
MAX_TOKENS = 256
"""Source: the weights' sentence_bert_config.json. Overrides the 128 of tokenizer.json."""


class MiniLmModel(OnnxEncoder):
    """The model with the weights of a folder; its network pools and normalises by itself."""

    def __init__(self, folder: Path) -> None:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        super().__init__(tokenizer, MAX_TOKENS, HIDDEN)
        # The session looks for the weights beside the target of a link.
        weights = (folder / WEIGHTS_FILE).resolve()
        self._words = Rows(weights, find_weights(weights)[_WORDS])
        self._session = open_session(GRAPH.read_bytes(), weights.parent)

    @override
    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        vectors: Vectors = self._session.run(
            ["vectors"], {"words": self._words.at(ids), "mask": mask}
        )[0]
        return vectors
