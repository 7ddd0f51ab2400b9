"""A service with a remote embedder and MiniLM, and a reader that shows what it is given."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.adapters.llm.embedders import Embedders
from app.adapters.llm.factory import open_embedder
from app.adapters.llm.models import ReaderHandle, Readers
from app.adapters.llm.providers.embed_hash import HashEmbedder
from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder
from app.adapters.resources import Resources
from app.settings.settings import EmbedderChoice
from tests.support.embedding import NewEmbedder
from tests.support.model_server import ModelServer
from tests.support.scripted_models import ScriptedTextModel


@pytest.fixture
async def embedder() -> NewEmbedder:
    """An embedder of this process, whose distances the test decides."""
    return NewEmbedder()


@pytest.fixture
def reader() -> ScriptedTextModel:
    return ScriptedTextModel(lambda _: {"answer": "So it is.", "citations": [1]})


@pytest.fixture
async def resources(
    resources: Resources, embedder: NewEmbedder, server: ModelServer, reader: ScriptedTextModel
) -> AsyncIterator[Resources]:
    """With a remote embedder and MiniLM beside, and a reader that shows what it is given."""
    choice = {
        "embedder": EmbedderChoice.HTTP,
        "embedding_base_url": server.url,
        "embedding_model": "bge-m3",
        "model_retry_base_seconds": 0.01,
    }
    others = [
        open_embedder(resources.settings.model_copy(update=choice)),
        MiniLmEmbedder(1),
        HashEmbedder(1),
    ]
    embedders = Embedders(embedder, others)
    readers = Readers({"local": ReaderHandle("local", reader, is_local=True)})
    yield replace(resources, readers=readers, embedders=embedders)
    await embedders.close()
