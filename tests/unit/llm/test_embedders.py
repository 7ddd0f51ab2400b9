"""Every embedder of this process keeps the promises of the port."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest
from typing_extensions import override

from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.llm.ports import Vectors
from app.adapters.llm.providers.embed_hash import HashEmbedder
from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder
from app.kernel.guard import transaction_open
from tests.support.scripted_models import ScriptedEmbedder

TEXTS = [
    "I prefer green tea over coffee.",
    "hi",
    "",
    " \n\t ",
    "The user works as a nurse in Lisbon and cycles to the hospital every morning. " * 20,
    "אני אוהב תה 🍵👩‍👩‍👧‍👦",
    "私は緑茶が好きです。",
    "\x00\ufffd\u202e\U0010ffff",
    "🎉",
    "a" * 20_000,
]


@pytest.fixture(scope="session", params=["minilm", "hash", "scripted"])
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[ManagedEmbedder]:
    made: dict[str, ManagedEmbedder] = {
        "minilm": MiniLmEmbedder(2),
        "hash": HashEmbedder(2),
        "scripted": ScriptedEmbedder(),
    }
    chosen = made[request.param]
    await chosen.warm()
    yield chosen
    await chosen.close()


async def test_vectors_are_of_unit_length(embedder: ManagedEmbedder) -> None:
    vectors = await embedder.embed(TEXTS)

    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


async def test_order_is_kept_and_a_batch_equals_single_texts(embedder: ManagedEmbedder) -> None:
    texts = [f"{text} {number}" for number in range(7) for text in TEXTS[:7]]

    together = await embedder.embed(texts)

    alone = np.concatenate([await embedder.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)


async def test_a_repeated_text_is_at_no_distance(embedder: ManagedEmbedder) -> None:
    first, *_, last = await embedder.embed([TEXTS[0], *TEXTS, TEXTS[0]])

    assert np.linalg.norm(first - last) < 1e-6


async def test_different_texts_are_apart(embedder: ManagedEmbedder) -> None:
    first, second = await embedder.embed(["I prefer green tea.", "The moon is far away."])

    assert np.linalg.norm(first - second) > 0.5


async def test_no_texts_make_no_vectors(embedder: ManagedEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)


async def test_embedding_inside_a_transaction_is_refused(embedder: ManagedEmbedder) -> None:
    with transaction_open(), pytest.raises(RuntimeError, match="Embedding must not run"):
        await embedder.embed(["hi"])


async def test_concurrent_calls_do_not_mix(embedder: ManagedEmbedder) -> None:
    lists = [[f"note {call} of {number}" for number in range(call)] for call in range(0, 40, 3)]

    found = await asyncio.gather(*(embedder.embed(texts) for texts in lists))

    for texts, vectors in zip(lists, found, strict=True):
        np.testing.assert_allclose(vectors, await embedder.embed(texts), atol=1e-6)


async def test_a_warm_embedder_is_ready(embedder: ManagedEmbedder) -> None:
    await embedder.warm()

    assert embedder.ready


async def test_the_event_loop_runs_on_while_embedding() -> None:
    embedder = HashEmbedder(1)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await embedder.embed(["word " * 3_000] * 16)
    ticking.cancel()
    await embedder.close()

    assert ticks > 10


async def test_a_short_call_is_served_between_the_portions_of_a_long_one() -> None:
    embedder = HashEmbedder(1)

    long = asyncio.create_task(embedder.embed(["some words to hash " * 20] * 800))
    await asyncio.sleep(0)
    await embedder.embed(["short"])

    assert not long.done()
    await long
    await embedder.close()


class _Noting(HashEmbedder):
    """Notes how many texts it computes at a time."""

    def __init__(self) -> None:
        super().__init__(1)
        self.portions: list[int] = []

    @override
    def _compute(self, texts: Sequence[str]) -> Vectors:
        self.portions.append(len(texts))
        return super()._compute(texts)


@pytest.mark.parametrize(
    ("texts", "portions"),
    [
        (["short"] * 20, [8, 8, 4]),
        (["long" * 100] * 5, [3, 2]),
        (["very long" * 1_000, "short", "short"], [1, 2]),
        ([], []),
    ],
)
async def test_a_short_call_waits_for_few_texts_or_little_text(
    texts: list[str], portions: list[int]
) -> None:
    embedder = _Noting()
    await embedder.embed(texts)
    await embedder.close()
    assert embedder.portions == portions


def test_hashing_is_the_same_in_every_process() -> None:
    [vector] = HashEmbedder(1)._compute(["Crème brûlée"])

    assert np.flatnonzero(vector)[:5].tolist() == [49, 53, 54, 78, 102]
    np.testing.assert_array_equal(vector, HashEmbedder(1)._compute(["CREME  BRULEE!"])[0])


async def test_hashing_finds_shared_words_and_their_parts() -> None:
    embedder = HashEmbedder(1)
    asked, near, far = await embedder.embed(
        ["Which tea does she drink?", "She is drinking green tea.", "Lisbon is sunny."]
    )
    await embedder.close()

    assert np.linalg.norm(asked - near) < np.linalg.norm(asked - far) - 0.2


async def test_a_script_places_texts_at_a_distance() -> None:
    embedder = ScriptedEmbedder(16)
    embedder.place("I like tea", near="I love tea", distance=0.2)
    embedder.place("the same", near="I like tea", distance=0)

    like, love, same = await embedder.embed(["I like tea", "I love tea", "the same"])

    assert np.linalg.norm(like - love) == pytest.approx(0.2, abs=1e-5)
    assert np.linalg.norm(like - same) == pytest.approx(0, abs=1e-5)
    assert embedder.calls == [["I like tea", "I love tea", "the same"]]


async def test_a_script_can_fail() -> None:
    embedder = ScriptedEmbedder()
    embedder.failure = ConnectionError("away")

    with pytest.raises(ConnectionError, match="away"):
        await embedder.embed(["hi"])
