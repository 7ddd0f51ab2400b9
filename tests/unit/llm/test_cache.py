"""The cache asks for each text once, holds no more than it may, and hides nothing."""

import numpy as np
import pytest

from app.adapters.llm.embedders import CachedEmbedder
from app.kernel.guard import transaction_open
from tests.support.scripted_models import ScriptedEmbedder


@pytest.fixture
def inner() -> ScriptedEmbedder:
    return ScriptedEmbedder(8)


async def test_only_unseen_texts_reach_the_embedder(inner: ScriptedEmbedder) -> None:
    cached = CachedEmbedder(inner, 10)

    first = await cached.embed(["a", "b", "a"])
    second = await cached.embed(["c", "b", "a"])

    assert inner.calls == [["a", "b"], ["c"]]
    np.testing.assert_array_equal(first, await inner.embed(["a", "b", "a"]))
    np.testing.assert_array_equal(second, await inner.embed(["c", "b", "a"]))


async def test_the_least_recently_used_goes_first(inner: ScriptedEmbedder) -> None:
    cached = CachedEmbedder(inner, 2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed([text])

    assert inner.calls == [["a"], ["b"], ["c"], ["b"]]


@pytest.mark.parametrize("entries", [0, 2])
async def test_a_call_longer_than_the_cache_is_answered(
    inner: ScriptedEmbedder, entries: int
) -> None:
    texts = list("abcdea")

    found = await CachedEmbedder(inner, entries).embed(texts)

    np.testing.assert_array_equal(found, await inner.embed(texts))


async def test_changing_an_answer_does_not_change_the_next(inner: ScriptedEmbedder) -> None:
    cached = CachedEmbedder(inner, 10)
    for _ in range(2):
        vectors = await cached.embed(["a"])
        np.testing.assert_array_equal(vectors, await inner.embed(["a"]))
        vectors[:] = 0


async def test_no_texts_make_no_vectors_and_no_call(inner: ScriptedEmbedder) -> None:
    assert (await CachedEmbedder(inner, 10).embed([])).shape == (0, 8)
    assert inner.calls == []


async def test_a_kept_text_is_refused_inside_a_transaction_too(inner: ScriptedEmbedder) -> None:
    cached = CachedEmbedder(inner, 10)
    await cached.embed(["a"])

    with transaction_open(), pytest.raises(RuntimeError, match="transaction"):
        await cached.embed(["a"])


async def test_a_failure_keeps_nothing(inner: ScriptedEmbedder) -> None:
    cached = CachedEmbedder(inner, 10)
    inner.failure = ConnectionError("away")
    with pytest.raises(ConnectionError):
        await cached.embed(["a"])

    inner.failure = None
    assert (await cached.embed(["a"])).shape == (1, 8)
