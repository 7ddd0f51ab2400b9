"""What the measurement stands on: lexemes as Postgres makes them, vectors, the corpus's scripts."""

import asyncio
import hashlib
import importlib.util
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import psycopg

from app.adapters.llm.factory import open_embedder
from app.adapters.llm.ports import Vectors
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import Settings

# As the column `terms` of memories has them.
_LEXEMES = """
select tsvector_to_array(to_tsvector(%s::regconfig,
    regexp_replace(normalize(%s, NFD), '[\\u0300-\\u036f]', '', 'g')))
"""

Lexemes = dict[tuple[str, str], frozenset[str]]
"""By text-search configuration and text."""


def script(folder: Path, name: str) -> ModuleType:
    """Load one of the scripts that turn the data set into a corpus, and score what was found."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # they import each other
    spec.loader.exec_module(module)
    return module


def lexemes(wanted: Iterable[tuple[str, str]]) -> Lexemes:
    """Return the lexemes of each pair of a configuration and a text."""
    with tempfile.TemporaryDirectory(prefix="omb-") as folder:
        Path(folder).chmod(0o755)
        with (
            EmbeddedPostgres(Settings(data_dir=Path(folder))) as postgres,
            psycopg.connect(postgres.url) as connection,
        ):
            return dict(_each(connection, list(dict.fromkeys(wanted))))


def _each(
    connection: psycopg.Connection, wanted: Sequence[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], frozenset[str]]]:
    for pair in wanted:
        row = connection.execute(_LEXEMES, pair).fetchone()
        assert row is not None
        yield pair, frozenset(row[0])


def vectors(texts: Sequence[str], cache: Path | None) -> dict[str, Vectors]:
    """Return the vector of each text, from the cache where it is there; it gets those that miss."""
    known = _cached(cache)
    names = {text: _digest(text) for text in texts}
    missing = {name: text for text, name in names.items() if name not in known}
    if missing:
        known |= dict(zip(missing, asyncio.run(_embedded([*missing.values()])), strict=True))
        if cache:
            np.savez(cache, digests=np.array(list(known)), vectors=np.stack(list(known.values())))
    return {text: known[name] for text, name in names.items()}


def _digest(text: str) -> str:
    # An array of texts takes for each as much as the longest does.
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _cached(cache: Path | None) -> dict[str, Vectors]:
    if cache is None or not cache.exists():
        return {}
    with np.load(cache) as stored:
        return dict(zip(stored["digests"].tolist(), stored["vectors"], strict=True))


async def _embedded(texts: Sequence[str]) -> Vectors:
    embedder = open_embedder(Settings())
    try:
        return await embedder.embed(texts)
    finally:
        await embedder.close()
