"""What the embedder over HTTP does about a server that takes fewer or shorter texts."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from app.adapters.llm.embedders import BatchSize
from app.adapters.llm.factory import choose_embedder
from app.adapters.llm.providers.embed_http import HttpEmbedder
from app.kernel.errors import BadGateway, FailedPrecondition, Unavailable
from app.settings.settings import Settings
from tests.support.model_server import Behaviour, Json, ModelServer, refusal, status

Open = Callable[..., HttpEmbedder]
SHORT = [f"text {number}" for number in range(40)]
TOO_MANY = "batch size 16 > maximum allowed batch size 10"
TOO_LONG = "`inputs` must have less than 512 tokens. Given: 2000"


@pytest.fixture
async def opened(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    """Opens an embedder of the server; the arguments are further settings."""
    monkeypatch.setattr("app.adapters.llm.provider.FIRST_DELAY_SECONDS", 0.02)
    found: list[HttpEmbedder] = []

    def build(**given: object) -> HttpEmbedder:
        address = {"embedding_base_url": server.url, "embedding_model": "sized"}
        embedder = choose_embedder(Settings.model_validate({"embedder": "http"} | address | given))
        assert isinstance(embedder, HttpEmbedder)
        found.append(embedder)
        return embedder

    yield build
    for embedder in found:
        await embedder.close()


def takes(
    server: ModelServer, texts: int, chars: int, code: int, words: str | None = TOO_MANY
) -> None:
    """Let the server refuse more texts, or longer ones, in these words; None: in none at all."""
    refused = status(code) if words is None else refusal(code, words)

    def judge(body: Json) -> Behaviour | None:
        is_taken = len(body["input"]) <= texts and all(len(text) <= chars for text in body["input"])
        return None if is_taken else refused

    server.judge = judge


@pytest.mark.parametrize("code", [400, 413, 422, 500])
@pytest.mark.parametrize(("most", "found"), [(10, 8), (4, 4), (1, 1)])
async def test_a_batch_is_halved_until_the_server_takes_it(
    server: ModelServer, opened: Open, code: int, most: int, found: int
) -> None:
    takes(server, most, 8_000, code)
    embedder = opened()

    with capture_logs() as logs:
        vectors = await embedder.embed(SHORT)
    assert vectors.shape == (40, 8)
    assert (vectors == await opened().embed(SHORT)).all()
    count = len(server.seen)
    await embedder.embed(SHORT)

    assert embedder.takes == BatchSize(texts=found)
    assert {len(seen.body["input"]) for seen in server.seen[count:]} == {found}
    learnt = [log for log in logs if log["event"] == "embedder.takes_less"]
    assert [(log["model"], log["texts"]) for log in learnt] == [("http:sized", found)]


async def test_a_server_that_only_fails_is_tried_with_less(
    server: ModelServer, opened: Open
) -> None:
    takes(server, 4, 8_000, 500, None)
    embedder = opened()

    assert (await embedder.embed(SHORT)).shape == (40, 8)

    sizes = [len(seen.body["input"]) for seen in server.seen]
    assert sizes[:5] == [16, 16, 8, 8, 4]
    # It may have failed by chance; twice the same is none.
    assert embedder.takes == BatchSize()
    await embedder.embed(SHORT)
    assert embedder.takes.texts == 4


@pytest.mark.parametrize("texts", [["word " * 1_200], SHORT[:16]])
async def test_failures_that_pass_teach_nothing(
    server: ModelServer, opened: Open, texts: list[str]
) -> None:
    embedder = opened()
    for _ in range(2):
        server.will(status(500), status(500))
        await embedder.embed(texts)
        assert embedder.takes == BatchSize()
        await embedder.embed(texts)
        texts = ["another " * 900]


def shortened() -> float:
    name = "memory_bank_embedding_shortened_texts_total"
    return REGISTRY.get_sample_value(name, {"model": "http:sized"}) or 0


@pytest.mark.parametrize(
    ("code", "words"), [(413, TOO_LONG), (400, "This model's maximum context length is 512 tokens"),
                        (500, "input is too large to process"), (422, None), (500, None)],
)  # fmt: skip
async def test_a_text_is_shortened_to_what_the_server_takes(
    server: ModelServer, opened: Open, code: int, words: str | None
) -> None:
    takes(server, 16, 2_000, code, words)
    embedder, before = opened(), shortened()
    texts = [*SHORT[:12], "a" * 5_000, *SHORT[12:]]

    with capture_logs() as logs:
        vectors = await embedder.embed(texts)
        assert shortened() - before == 1
        if words is None and code == 500:
            await embedder.embed(texts)
    assert vectors.shape == (41, 8)
    count = len(server.seen)
    await embedder.embed(texts)

    # As many texts as before, and each at its greatest length.
    assert embedder.takes.texts == 16
    assert 2_000 * 2 / 3 < embedder.takes.chars <= 2_000
    assert [len(seen.body["input"]) for seen in server.seen[count:]] == [16, 16, 9]
    assert len([log for log in logs if log["event"] == "embedder.takes_less"]) == 1
    assert "aaaa" not in str(logs)


def takes_tokens(server: ModelServer, most: int, code: int) -> None:
    """Let the server refuse texts of more tokens, of which each word is one."""

    def judge(body: Json) -> Behaviour | None:
        longest = max(len(text.split()) for text in body["input"])
        said = f"`inputs` must have less than {most + 1} tokens. Given: {longest}"
        return refusal(code, said) if longest > most else None

    server.judge = judge


@pytest.mark.parametrize("code", [400, 413, 422, 500])
async def test_a_server_that_counts_tokens_gets_fewer_of_them(
    server: ModelServer, opened: Open, code: int
) -> None:
    takes_tokens(server, 512, code)
    embedder = opened()
    sparse, dense = "considerable " * 1_000, "a b " * 2_000

    assert (await embedder.embed([*SHORT[:8], sparse, *SHORT[8:16]])).shape == (17, 8)
    lengths = [len(text.split()) for seen in server.seen for text in seen.body["input"]]
    assert max(length for length in lengths if length <= 512) > 512 * 2 / 3
    # Of shorter words fewer characters have as many tokens.
    chars = embedder.takes.chars
    assert (await embedder.embed([dense, sparse])).shape == (2, 8)
    assert 1_024 * 2 / 3 < embedder.takes.chars <= 1_024 < chars

    count = len(server.seen)
    await embedder.embed([f"{sparse}1", f"{dense}2", *SHORT[16:]])
    assert [len(seen.body["input"]) for seen in server.seen[count:]] == [16, 10]
    assert embedder.takes.texts == 16


async def test_calls_at_once_find_the_same(server: ModelServer, opened: Open) -> None:
    takes(server, 16, 2_000, 413, TOO_LONG)
    embedder = opened()

    await asyncio.gather(*(embedder.embed(["a" * 5_000, *SHORT, "b" * 5_000]) for _ in range(3)))

    assert embedder.takes == BatchSize(texts=16, chars=1_481)


async def test_both_limits_are_found(server: ModelServer, opened: Open) -> None:
    takes(server, 3, 1_000, 413)
    embedder = opened()

    await embedder.embed(["a" * 9_000, *SHORT, "b" * 9_000])

    assert (embedder.takes.texts, 666 < embedder.takes.chars <= 1_000) == (2, True)


async def test_what_is_refused_whatever_its_size_teaches_nothing(
    server: ModelServer, opened: Open
) -> None:
    server.always(refusal(400, "The model sized is gone."))
    embedder = opened()

    with pytest.raises(FailedPrecondition, match="It says: The model sized is gone"):
        await embedder.embed(["a" * 8_000, *SHORT])

    assert embedder.takes == BatchSize()
    assert len(server.seen) < 20


@pytest.mark.parametrize("code", [401, 404, 503])
async def test_other_refusals_are_no_question_of_size(
    server: ModelServer, opened: Open, code: int
) -> None:
    server.always(refusal(code, "No."))

    with pytest.raises((FailedPrecondition, Unavailable)):
        await opened(model_max_attempts=1).embed(SHORT)

    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "Out of memory."}}', "It says: Out of memory."),
        (b'{"detail": "Out of memory."}', "It says: Out of memory."),
        (b"<html><title>Sign in</title></html>", "It sends a page: Sign in"),
        (b'data: {"data": []}\n\n', "It sends a stream of events"),
    ],
)
async def test_a_success_without_vectors_is_told_by_its_words(
    server: ModelServer, opened: Open, body: bytes, said: str
) -> None:
    server.always(Behaviour(body=body))

    with pytest.raises(BadGateway) as failed:
        await opened().embed(["I keep bees in my garden."])

    assert said in failed.value.message
    assert "bees" not in failed.value.message


async def test_the_first_cause_is_told_while_the_server_is_spared(
    server: ModelServer, opened: Open
) -> None:
    server.always(refusal(503, "Out of memory."))
    embedder = opened(model_max_attempts=1, model_breaker_failures=1, model_breaker_seconds=70)

    for words in ("keeps failing", "Requests to the provider are paused for"):
        with pytest.raises(Unavailable, match=words) as failed:
            await embedder.embed(["a"])
        assert "It says: Out of memory." in failed.value.message
    assert len(server.seen) == 1


async def test_the_query_of_an_address_is_sent_every_time(
    server: ModelServer, opened: Open
) -> None:
    address = f"{server.url}/embeddings?api-version=2024-10-21"

    await opened(embedding_base_url=address, embedding_key='"a-key"\n').embed(["a"])

    (seen,) = server.seen
    assert (seen.path, seen.query) == ("/v1/embeddings", {"api-version": "2024-10-21"})
    assert seen.headers["authorization"] == "Bearer a-key"
    assert seen.headers["api-key"] == "a-key"


async def test_an_address_without_a_server_is_told_as_such(opened: Open) -> None:
    embedder = opened(embedding_base_url="http://127.0.0.1:1/v1", model_max_attempts=1)

    with pytest.raises(Unavailable, match="cannot be reached; see MEMORY_BANK_EMBEDDING_BASE_URL"):
        await embedder.embed(["a"])


async def test_nothing_of_a_text_is_told(server: ModelServer, opened: Open) -> None:
    private = "My PIN is 4711, never tell it to anyone."
    server.always(refusal(400, f"Cannot read {json.dumps(private)}"))

    with pytest.raises(FailedPrecondition) as failed, capture_logs() as logs:
        await opened().embed([private])

    assert not [part for part in ("4711", "never", "anyone") if part in failed.value.message]
    assert "4711" not in str(logs)
