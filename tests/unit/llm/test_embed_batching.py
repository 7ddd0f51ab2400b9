"""Callers of the same moment share a request for vectors, and nothing else."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import numpy as np
import pytest

from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.llm.factory import choose_embedder
from app.adapters.llm.ports import Vectors
from app.kernel.errors import FailedPrecondition, Reason, ServiceError
from app.settings.settings import Settings
from tests.support.model_server import Behaviour, Json, ModelServer, refusal, slow, status

pytestmark = pytest.mark.alone

Open = Callable[..., ManagedEmbedder]


@pytest.fixture
async def opened(server: ModelServer) -> AsyncIterator[Open]:
    """Opens an embedder of the server, which has answered once."""
    found: list[ManagedEmbedder] = []

    def build(**given: object) -> ManagedEmbedder:
        address = {"embedding_base_url": server.url, "embedding_model": "shared"}
        settings = {"embedder": "http", "model_max_attempts": 1} | address | given
        found.append(choose_embedder(Settings.model_validate(settings)))
        return found[-1]

    yield build
    for embedder in found:
        await embedder.close()


def at_once(embedder: ManagedEmbedder, texts: Sequence[str]) -> list[asyncio.Task[Vectors]]:
    """Start a caller for each text."""
    return [asyncio.create_task(embedder.embed([text])) for text in texts]


def sizes(server: ModelServer) -> list[int]:
    return [len(seen.body["input"]) for seen in server.seen]


async def asked(server: ModelServer, requests: int) -> None:
    """Wait until the server has so many requests."""
    while len(server.seen) < requests:  # noqa: ASYNC110 - the server runs in a thread
        await asyncio.sleep(0.005)


TEXTS = [f"text {number}" for number in range(20)]


async def test_texts_of_the_same_moment_are_sent_together(
    server: ModelServer, opened: Open
) -> None:
    embedder = opened()

    found = await asyncio.gather(*at_once(embedder, TEXTS))

    # No more than the server takes.
    assert sorted(sizes(server)) == [4, 16]
    server.reset()
    alone = [await embedder.embed([text]) for text in TEXTS]
    assert sizes(server) == [1] * len(TEXTS)
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate(alone))


async def test_texts_that_arrive_during_a_request_are_sent_together(
    server: ModelServer, opened: Open
) -> None:
    embedder = opened()
    server.will(slow(0.5, {}))
    [first] = at_once(embedder, ["first"])
    await asked(server, 1)

    found = []
    for text in TEXTS[:5]:
        found += at_once(embedder, [text])
        await asyncio.sleep(0)
    await asyncio.gather(first, *found)

    assert sizes(server) == [1, 5]


async def test_a_caller_may_have_several_texts(server: ModelServer, opened: Open) -> None:
    embedder = opened()
    parts = [TEXTS[:1], TEXTS[1:10], TEXTS[10:16], TEXTS[16:]]

    found = await asyncio.gather(*(embedder.embed(part) for part in parts))

    assert [len(vectors) for vectors in found] == [1, 9, 6, 4]
    assert sorted(sizes(server)) == [4, 16]
    np.testing.assert_array_equal(np.concatenate(found), await embedder.embed(TEXTS))


async def test_long_texts_share_no_request(server: ModelServer, opened: Open) -> None:
    embedder = opened()
    texts = ["first", *("long " * 300 for _ in range(4)), "very long " * 400, "short"]

    found = await asyncio.gather(*at_once(embedder, texts))

    assert all(sum(map(len, seen.body["input"])) <= 4_000 for seen in server.seen)
    np.testing.assert_array_equal(np.concatenate(found), await embedder.embed(texts))


async def test_a_long_request_holds_up_no_other(server: ModelServer, opened: Open) -> None:
    embedder = opened()
    server.will(slow(60, {}))
    [held] = at_once(embedder, ["held"])
    await asked(server, 1)

    vectors = await embedder.embed(["free"])

    assert (vectors.shape, held.done()) == ((1, 8), False)
    held.cancel()


def refuses(server: ModelServer, refused: Behaviour) -> None:
    """Let the server refuse each request that has `poison` among its texts."""

    def judge(body: Json) -> Behaviour | None:
        return refused if "poison" in body["input"] else None

    server.judge = judge


@pytest.mark.parametrize("code", [400, 413, 429, 500, 503])
async def test_the_text_of_one_caller_fails_no_other(
    server: ModelServer, opened: Open, code: int
) -> None:
    embedder = opened()
    refuses(server, refusal(code, "It says no."))

    *found, failed = await asyncio.gather(
        *at_once(embedder, [*TEXTS[:8], "poison"]), return_exceptions=True
    )

    assert isinstance(failed, ServiceError)
    assert "It says no." in failed.message
    assert [len(vectors) for vectors in found if not isinstance(vectors, BaseException)] == [1] * 8


async def test_a_text_with_which_the_server_hangs_fails_no_other(
    server: ModelServer, opened: Open
) -> None:
    embedder = opened(model_timeout_seconds=1)
    refuses(server, slow(60, {}))

    *found, failed = await asyncio.gather(
        *at_once(embedder, [*TEXTS[:4], "poison"]), return_exceptions=True
    )

    assert isinstance(failed, ServiceError)
    assert failed.reason is Reason.MODEL_TIMEOUT
    assert [len(vectors) for vectors in found if not isinstance(vectors, BaseException)] == [1] * 4


async def test_after_a_failure_fewer_texts_share_a_request_until_some_succeed(
    server: ModelServer, opened: Open
) -> None:
    embedder = opened()
    server.judge = lambda body: status(503) if len(body["input"]) == 8 else None
    await asyncio.gather(*at_once(embedder, TEXTS[:8]))
    assert sizes(server) == [8, *[1] * 8]
    most = []

    for _ in range(3):
        server.reset()
        await asyncio.gather(*at_once(embedder, TEXTS[:17]))
        most.append(max(sizes(server)))

    assert most == [4, 8, 10]


async def test_a_caller_that_is_cancelled_cancels_no_other(
    server: ModelServer, opened: Open
) -> None:
    embedder = opened()
    server.will(slow(0.5, {}))
    first, second, third = at_once(embedder, TEXTS[:3])
    await asked(server, 1)

    second.cancel()

    assert [len(await task) for task in (first, third)] == [1, 1]
    assert sizes(server) == [3]


async def test_a_shared_request_that_nobody_awaits_is_cancelled(
    server: ModelServer, opened: Open
) -> None:
    embedder = opened(model_concurrency=2)
    server.will(slow(60, {}))
    callers = at_once(embedder, TEXTS[:3])
    await asked(server, 1)

    for task in callers:
        task.cancel()

    # Otherwise they would hold a place each.
    for text in TEXTS[:4]:
        assert len(await embedder.embed([text])) == 1


async def test_while_the_server_is_spared_each_caller_learns_of_it_once(
    server: ModelServer, opened: Open
) -> None:
    embedder = opened(model_breaker_failures=1, model_breaker_seconds=60)
    server.always(status(503))
    with pytest.raises(ServiceError):
        await embedder.embed(["a"])

    found = await asyncio.gather(*at_once(embedder, TEXTS), return_exceptions=True)

    assert all(isinstance(error, ServiceError) for error in found)
    assert len(server.seen) == 1


async def test_a_refused_key_is_told_to_each_caller(server: ModelServer, opened: Open) -> None:
    embedder = opened()
    server.always(status(401))

    found = await asyncio.gather(*at_once(embedder, TEXTS[:4]), return_exceptions=True)

    assert all(isinstance(error, FailedPrecondition) for error in found)
