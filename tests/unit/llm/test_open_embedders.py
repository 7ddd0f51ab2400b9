"""Several embedders are open: that of the settings, and those that engines may still use."""

import numpy as np
import pytest

from app.adapters.llm.embedders import Embedders
from app.adapters.llm.factory import embedders_with, open_embedders
from app.adapters.llm.names import ModelSetupError
from app.adapters.llm.ports import Prefixes
from app.settings.settings import Settings
from tests.support.model_server import ModelServer
from tests.support.scripted_models import ScriptedEmbedder

_MINILM, _FP32, _HASH = "all-MiniLM-L6-v2/int8", "all-MiniLM-L6-v2/fp32", "hash-384/1"


def settings(server: ModelServer, **given: object) -> Settings:
    values = {
        "embedder": "http",
        "embedding_base_url": server.url,
        "embedding_model": "next",
        "embedding_key": "the-key",
    }
    return Settings.model_validate(values | given)


async def test_what_needs_no_server_is_always_open(server: ModelServer) -> None:
    found = open_embedders(settings(server))

    assert found.current.model_id == "http:next"
    for model_id in (_MINILM, _FP32, _HASH, "http:next"):
        embedder = found.by_id.get(model_id)
        assert embedder is not None
        assert embedder.model_id == model_id
    assert found.by_id.get("http:former") is None
    assert found.by_words.model_id == _HASH
    await found.close()


async def test_a_successor_computes_the_vectors_of_a_former_model(server: ModelServer) -> None:
    found = open_embedders(settings(server))
    former, successor = found.by_id[_FP32], found.by_id[_MINILM]

    vectors = await former.embed(["Tea is good."])

    assert (former.is_local, former.dimensions, successor.ready) == (True, 384, True)
    np.testing.assert_array_equal(vectors, await successor.embed(["Tea is good."]))
    await found.close()


async def test_a_model_is_open_once(server: ModelServer) -> None:
    found = open_embedders(settings(server, embedder="hash"))

    assert found.by_id.get(_HASH) is found.current is found.by_words
    await found.close()


@pytest.mark.parametrize("key", [None, "own-key"])
async def test_the_former_model_is_asked_at_the_same_address(
    server: ModelServer, key: str | None
) -> None:
    found = open_embedders(
        settings(server, embedding_previous_model="former", embedding_previous_key=key)
    )
    former = found.by_id.get("http:former")
    assert former is not None
    await former.embed(["a"])
    await found.close()

    assert server.seen[0].body["model"] == "former"
    assert server.seen[0].headers["authorization"] == f"Bearer {key or 'the-key'}"


async def test_another_address_is_not_told_the_key(server: ModelServer) -> None:
    former = {
        "embedding_previous_model": "former",
        "embedding_previous_revision": "1",
        "embedding_previous_base_url": server.url,
    }
    found = open_embedders(settings(server, embedding_base_url="http://127.0.0.1:9/v1", **former))
    embedder = found.by_id.get("http:former@1")
    assert embedder is not None
    await embedder.embed(["a"])
    await found.close()

    assert "authorization" not in server.seen[0].headers


async def test_a_former_model_keeps_its_prefixes(server: ModelServer) -> None:
    given = {"embedding_previous_model": "former", "embedding_previous_query_prefix": "query: "}
    now = {"embedder_query_prefix": "q ", "embedder_text_prefix": "t "}
    plain = open_embedders(settings(server, **given))
    found = open_embedders(settings(server, **given, **now, embedding_previous_text_prefix="p: "))
    former = next(one for one in found.by_id if one.startswith("http:former"))

    # A prefix of texts makes another model; one of queries does not.
    assert plain.current.model_id == "http:next"
    assert plain.by_id.get("http:former") is not None
    assert found.current.model_id not in {"http:next", "http:former"}
    assert former != "http:former"
    assert found.current.prefixes == Prefixes("q ", "t ")
    embedder = found.by_id.get(former)
    assert embedder is not None
    assert embedder.prefixes == Prefixes("query: ", "p: ")
    await plain.close()
    await found.close()


@pytest.mark.parametrize("url", [None])
def test_a_former_model_without_an_address_says_what_it_needs(
    server: ModelServer, url: str | None
) -> None:
    given = {
        "embedder": "hash",
        "embedding_base_url": None,
        "embedding_previous_model": "former",
        "embedding_previous_base_url": url,
    }
    with pytest.raises(ModelSetupError, match="MEMORY_BANK_EMBEDDING_PREVIOUS_BASE_URL"):
        open_embedders(settings(server, **given))


def test_what_serves_an_engine_is_remembered_as_it_was_last_read() -> None:
    found = embedders_with(ScriptedEmbedder())

    assert found.seen(1) is None
    assert found.serving(1, None) == "scripted/1"
    assert found.seen(1) is None
    assert found.serving(1, "former") == "former"
    assert found.serving(1, "next") == "next"
    assert found.seen(1) == "next"
    assert found.serving(1, None) == "scripted/1"
    assert found.seen(1) is None


def test_no_more_engines_are_remembered_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.adapters.llm.embedders.MAX_ENGINES", 2)
    found = Embedders(ScriptedEmbedder())
    for engine_id in (1, 2, 1, 3):
        found.serving(engine_id, "a")

    assert [found.seen(engine_id) for engine_id in (1, 2, 3)] == ["a", None, "a"]
