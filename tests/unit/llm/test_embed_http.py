"""The embedder over HTTP: batches, order, lengths, and servers that send something else."""

import json
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.llm.factory import open_embedder
from app.adapters.llm.names import ModelSetupError
from app.kernel.errors import BadGateway, FailedPrecondition, Reason, ServiceError, Unavailable
from app.kernel.guard import transaction_open
from app.settings.settings import Settings
from tests.support.model_server import (
    Behaviour,
    Json,
    ModelServer,
    cut_off,
    packed,
    refusal,
    slow,
    status,
)


def settings(server: ModelServer, **given: object) -> Settings:
    values = {
        "embedder": "http",
        "embedding_base_url": server.url,
        "embedding_model": "bge-m3",
        "embedding_cache_entries": 0,
    }
    return Settings.model_validate(values | given)


@pytest.fixture
async def embedder(server: ModelServer) -> AsyncIterator[ManagedEmbedder]:
    found = open_embedder(settings(server, embedding_key="a-key", model_max_attempts=2))
    yield found
    await found.close()


def rows(*vectors: Sequence[float], indexes: Sequence[int] | None = None) -> Behaviour:
    numbers = range(len(vectors)) if indexes is None else indexes
    data = [
        {"index": index, "embedding": vector}
        for index, vector in zip(numbers, vectors, strict=True)
    ]
    return Behaviour(body=json.dumps({"data": data}).encode())


def packed_rows(*vectors: str) -> Behaviour:
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return Behaviour(body=json.dumps({"data": data}).encode())


async def test_it_is_ready_when_it_was_asked_once_whatever_came_of_it(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    server.will(status(503), status(503))
    with pytest.raises(Unavailable):
        await embedder.warm()
    assert (embedder.ready, embedder.dimensions) == (True, 0)

    await embedder.warm()

    assert (embedder.ready, embedder.dimensions) == (True, 8)


async def test_it_is_ready_when_it_has_answered(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    assert (embedder.ready, embedder.dimensions, embedder.lexical_only) == (False, 0, False)

    await embedder.warm()
    await embedder.warm()

    assert (embedder.ready, embedder.dimensions) == (True, 8)
    assert embedder.model_id == "http:bge-m3"
    assert len(server.seen) == 1


async def test_it_asks_for_base64_with_its_key(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    await embedder.embed(["one", ""])

    seen = server.seen[0]
    assert seen.body == {"model": "bge-m3", "input": ["one", " "], "encoding_format": "base64"}
    assert seen.headers["authorization"] == "Bearer a-key"
    assert seen.path == "/v1/embeddings"


async def test_vectors_are_the_same_in_both_forms(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    vectors = ([3.0, -4.0, 0.5], [0.1, 0.2, 0.3])
    server.will(rows(*vectors), packed_rows(*map(packed, vectors)))

    found = [await embedder.embed(["one", "two"]) for _ in range(2)]

    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def forms(server: ModelServer) -> list[str]:
    return [seen.body["encoding_format"] for seen in server.seen]


def takes_numbers_alone(server: ModelServer, refused: Behaviour) -> None:
    def judge(body: Json) -> Behaviour | None:
        return refused if body["encoding_format"] != "float" else None

    server.judge = judge


@pytest.mark.parametrize(
    "refused",
    [
        status(400),
        refusal(422, "Unprocessable."),
        refusal(500, "encoding_format: Input should be 'float'"),
        refusal(403, "This server has no base64."),
    ],
)
async def test_a_server_without_base64_is_asked_for_numbers_from_then_on(
    server: ModelServer, embedder: ManagedEmbedder, refused: Behaviour
) -> None:
    takes_numbers_alone(server, refused)

    for text in ("one", "two"):
        assert (await embedder.embed([text])).shape == (1, 8)

    assert forms(server) == ["base64", "float", "float"]


async def test_numbers_are_tried_again_after_a_failure_that_may_pass(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    failures = [status(503)]

    def judge(body: Json) -> Behaviour | None:
        if body["encoding_format"] != "float":
            return status(400)
        return failures.pop() if failures else None

    server.judge = judge

    for text in ("one", "two"):
        assert (await embedder.embed([text])).shape == (1, 8)

    assert forms(server) == ["base64", "float", "base64", "float", "float"]


async def test_words_about_the_form_count_at_any_time(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    await embedder.warm()
    takes_numbers_alone(server, refusal(400, "Unknown encoding_format."))

    assert (await embedder.embed(["one"])).shape == (1, 8)

    assert forms(server) == ["base64", "base64", "float"]


async def test_a_refusal_for_another_cause_changes_no_form(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    server.will(*[refusal(400, "No such model.")] * 3)

    for _ in range(2):
        with pytest.raises(FailedPrecondition, match="No such model"):
            await embedder.embed(["one"])
    await embedder.embed(["one"])

    assert forms(server) == ["base64", "float", "base64", "base64"]


async def test_vectors_are_unit_vectors_in_order_over_batches(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    texts = [f"text {number}" for number in range(50)]

    together = await embedder.embed(texts)

    assert [len(seen.body["input"]) for seen in server.seen] == [16, 16, 16, 2]
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    alone = np.concatenate([await embedder.embed([text]) for text in texts[:20]])
    np.testing.assert_allclose(together[:20], alone, atol=1e-6)


async def test_of_several_batches_only_the_one_that_failed_is_asked_for_again(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    server.will({}, status(503), {}, {})

    found = await embedder.embed([f"text {number}" for number in range(40)])

    assert found.shape == (40, 8)
    assert [len(seen.body["input"]) for seen in server.seen] == [16, 16, 16, 8]


async def test_a_partial_answer_to_one_batch_is_a_failure_of_all(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    server.will({}, rows(*([1.0] * 8 for _ in range(15))))

    with pytest.raises(BadGateway, match="one vector for each of 16 texts"):
        await embedder.embed([f"text {number}" for number in range(40)])


async def test_a_failure_keeps_nothing_of_it(server: ModelServer) -> None:
    embedder = open_embedder(settings(server, embedding_cache_entries=10, model_max_attempts=1))
    server.will(status(503))
    with pytest.raises(Unavailable):
        await embedder.embed(["a"])
    for _ in range(2):
        assert (await embedder.embed(["a"])).shape == (1, 8)
    await embedder.close()

    assert len(server.seen) == 2


async def test_a_revision_makes_another_model_of_the_same_name(server: ModelServer) -> None:
    embedder = open_embedder(settings(server, embedding_revision="2"))
    await embedder.warm()
    await embedder.close()

    assert embedder.model_id == "http:bge-m3@2"
    assert server.seen[0].body["model"] == "bge-m3"


async def test_no_texts_make_no_call(server: ModelServer, embedder: ManagedEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 0)
    assert server.seen == []


async def test_a_long_text_is_cut(server: ModelServer, embedder: ManagedEmbedder) -> None:
    await embedder.embed(["a" * 100_000])

    assert len(server.seen[0].body["input"][0]) == 8_000


@pytest.mark.parametrize("trouble", [status(500), status(429), cut_off({})])
async def test_what_may_pass_is_tried_again(
    server: ModelServer, embedder: ManagedEmbedder, trouble: Behaviour
) -> None:
    server.will(trouble)

    assert (await embedder.embed(["a"])).shape == (1, 8)


@pytest.mark.parametrize(
    "reply",
    [
        rows([1.0, 0.0]),
        rows([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]),
        rows([1.0, 0.0], [1.0, 0.0], indexes=[0, 0]),
        rows([1.0, 0.0], [1.0, 0.0], indexes=[0, 2]),
        rows([1.0, 0.0], [1.0, 0.0], indexes=[-1, 0]),
        rows([1.0, 0.0], [float("nan"), 0.0]),
        rows([1.0, 0.0], [float("-inf"), 0.0]),
        rows([1.0, 0.0], [1.0]),
        rows([1.0, 0.0], [0.0, 0.0]),
        rows([1.0, 0.0], [1e400, 0.0]),
        rows([], []),
        Behaviour(body=b"{}"),
        Behaviour(body=b"no JSON"),
        Behaviour(body=b"<html>Welcome</html>"),
        Behaviour(body=b'{"data": [{"index": 0, "embedding": [1.0, 0.0]}'),
        Behaviour(body=b'{"data": null}'),
        Behaviour(body=b'{"data": [{"index": 0, "embedding": "AAAA"}]}'),
        packed_rows("AAAA", "AAAA"),
        packed_rows("AAAAAA==", "no base64"),
        packed_rows("", ""),
        packed_rows(packed([1, 0]), packed([1])),
        packed_rows(packed([1, 0]), packed([float("nan"), 0])),
        Behaviour(body=b"a" * 3_000_000),
    ],
)
async def test_what_are_no_vectors_is_a_failure(
    server: ModelServer, embedder: ManagedEmbedder, reply: Behaviour
) -> None:
    server.always(reply)

    with pytest.raises(BadGateway) as failed:
        await embedder.embed(["secret one", "secret two"])

    assert failed.value.reason is Reason.MODEL_OUTPUT_INVALID
    assert "secret" not in str(failed.value.as_http_body())


async def test_a_model_that_changes_its_length_is_a_failure(
    server: ModelServer, embedder: ManagedEmbedder
) -> None:
    await embedder.warm()
    server.always(rows([1.0, 0.0]))

    with pytest.raises(BadGateway, match="2 dimensions after 8"):
        await embedder.embed(["a"])


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [(status(401), FailedPrecondition), (status(503), Unavailable)],
)
async def test_trying_has_an_end(
    server: ModelServer,
    embedder: ManagedEmbedder,
    trouble: Behaviour,
    kind: type[ServiceError],
) -> None:
    server.always(trouble)

    with pytest.raises(kind):
        await embedder.embed(["a"])
    assert len(server.seen) == (1 if kind is FailedPrecondition else 2)


async def test_it_has_a_deadline(server: ModelServer) -> None:
    server.always(slow(30, {}))
    embedder = open_embedder(settings(server, model_timeout_seconds=0.3, model_max_attempts=1))

    with pytest.raises(ServiceError) as failed:
        await embedder.embed(["a"])
    await embedder.close()

    assert failed.value.reason is Reason.MODEL_TIMEOUT


async def test_a_server_that_is_spared_is_not_waited_for_long(server: ModelServer) -> None:
    server.always(status(500))
    given = {"model_max_attempts": 1, "model_breaker_failures": 1}
    for seconds, calls in ((0.3, 2), (20, 3)):
        embedder = open_embedder(settings(server, model_breaker_seconds=seconds, **given))
        for _ in range(2):
            with pytest.raises(Unavailable):
                await embedder.embed(["a"])
        await embedder.close()

        assert len(server.seen) == calls


async def test_many_vectors_are_read_aside(server: ModelServer) -> None:
    embedder = open_embedder(settings(server))
    server.always(rows(*([1 / 3] * 3_000 for _ in range(16))))

    found = await embedder.embed([f"text {number}" for number in range(16)])
    await embedder.close()

    assert found.shape == (16, 3_000)


async def test_it_is_refused_inside_a_transaction(embedder: ManagedEmbedder) -> None:
    with transaction_open(), pytest.raises(RuntimeError, match="Embedding must not run"):
        await embedder.embed(["hi"])


@pytest.mark.parametrize("missing", ["embedding_base_url", "embedding_model"])
def test_without_an_address_or_a_model_it_says_what_it_needs(
    server: ModelServer, missing: str
) -> None:
    with pytest.raises(ModelSetupError, match="MEMORY_BANK_EMBEDDING_BASE_URL and"):
        open_embedder(settings(server, **{missing: None}))
