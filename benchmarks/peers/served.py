"""Our server, whole, with the vectors of `texts` in place of a model's.

It is opened as `memory-bank serve` opens it, with its worker. Unless a server has the vectors, the
embedder is replaced, so that all systems are given the same vectors at the same cost.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from typing_extensions import override

from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.llm.ports import Vectors
from app.adapters.logs import configure_logs
from app.process.serving import run, serving
from app.process.start import open_process
from app.process.worker import working
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.peers.texts import DIMENSIONS, vector_of


class TableEmbedder(ManagedEmbedder):
    """Knows the vector of every text."""

    model_id = "peers/1"
    dimensions = DIMENSIONS
    lexical_only = False

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

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([vector_of(text) for text in texts])


async def _serve() -> None:
    settings = Settings()
    configure_logs(settings)
    async with open_process(settings) as process:
        resources = process.resources
        if settings.embedder is not EmbedderChoice.HTTP:
            resources = replace(resources, embedder=TableEmbedder())
        async with working(resources), serving(settings, resources) as (port, task):
            sys.stdout.write(json.dumps({"port": port}) + "\n")
            sys.stdout.flush()
            await task


if __name__ == "__main__":
    run(_serve)
