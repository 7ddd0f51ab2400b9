"""The loaded all-MiniLM-L6-v2: tokenizer, weights and session. Importing it is expensive.

`scripts/minilm_graph.py` makes its files from the weights as they were published.
"""

from pathlib import Path

from tokenizers import Tokenizer
from typing_extensions import override

from app.adapters.llm.onnx_encoder import OnnxEncoder, Tokens, open_session
from app.adapters.llm.ports import Vectors

FOLDER = Path(__file__).with_name("minilm").resolve()
"""The files that `scripts/minilm_graph.py` writes."""
GRAPH = FOLDER / "int8.onnx"
"""The network; its weights lie beside it in `int8.bin`."""
TOKENIZER = FOLDER / "tokenizer.json"
HIDDEN = 384
MAX_TOKENS = 256
"""Source: the weights' sentence_bert_config.json. Overrides the 128 of tokenizer.json."""


class MiniLm(OnnxEncoder):
    """The model with int8 weights; its network pools and normalises by itself."""

    def __init__(self) -> None:
        super().__init__(Tokenizer.from_file(str(TOKENIZER)), MAX_TOKENS, HIDDEN)
        self._session = open_session(GRAPH, FOLDER)

    @override
    def _run(self, ids: Tokens, mask: Tokens) -> Vectors:
        vectors: Vectors = self._session.run(["vectors"], {"ids": ids, "mask": mask})[0]
        return vectors
