"""How a provider that keeps failing is spared, who tries whether it is back, and who waits."""

import asyncio
import time

import httpx2
import pytest

from app.adapters.llm.ports import Meter, TextModel
from app.adapters.llm.provider import Breaker, Provider, ProviderTarget, RequestFailed
from app.kernel.errors import DeadlineExceeded, Reason, Unavailable
from app.settings.settings import Settings
from tests.support.model_server import ModelServer, slow, status
from tests.unit.llm.conftest import PROMPT, TEA, Likes, Open, failure

pytestmark = pytest.mark.alone

TARGET = ProviderTarget("a", "b", "c", "d", "e")


def asked(model: TextModel) -> asyncio.Task[Likes]:
    """Ask, without waiting for the answer."""
    return asyncio.create_task(model.ask(PROMPT, Likes, Meter()))


@pytest.fixture
def spared(opened: Open) -> Open:
    """Opens a model whose provider is spared after one failure, by default for 0.3 seconds."""

    def build(**given: object) -> TextModel:
        values = {"model_breaker_failures": 1, "model_breaker_seconds": 0.3}
        return opened(**{"model_max_attempts": 1} | values | given)

    return build


async def test_a_provider_that_keeps_failing_is_not_asked_for_a_while(
    server: ModelServer, spared: Open
) -> None:
    server.always(status(500))
    model = spared(model_breaker_failures=3, model_breaker_seconds=70)
    for _ in range(3):
        await failure(model)
    began = time.monotonic()

    refused = await failure(model)

    # Longer than it may wait: said at once.
    assert time.monotonic() - began < 1
    assert (type(refused), refused.reason) == (Unavailable, Reason.MODEL_UNAVAILABLE)
    assert refused.retry_after_seconds is not None
    assert 60 < refused.retry_after_seconds <= 70
    assert len(server.seen) == 3


async def test_all_wait_until_one_has_found_that_it_is_back(
    server: ModelServer, spared: Open
) -> None:
    server.will(status(500))
    server.always(slow(0.4, TEA))
    model = spared(model_concurrency=9)
    await failure(model)

    waiting = [asked(model) for _ in range(10)]
    await asyncio.sleep(0.1)
    assert len(server.seen) == 1
    await asyncio.sleep(0.35)
    # The trial is on.
    assert len(server.seen) == 2

    assert await asyncio.gather(*waiting) == [Likes(**TEA)] * 10
    assert server.most_at_once == 9


async def test_a_retry_waits_as_well(server: ModelServer, spared: Open) -> None:
    server.will(status(500))
    began = time.monotonic()

    assert (await asked(spared(model_max_attempts=2))).facts == ["likes tea"]

    assert 0.3 <= time.monotonic() - began < 1.2


async def test_a_trial_that_fails_spares_the_provider_again(
    server: ModelServer, spared: Open
) -> None:
    server.always(status(500))
    model = spared(model_timeout_seconds=0.25)
    await failure(model)
    await asyncio.sleep(0.3)
    await failure(model)
    await failure(model)

    assert len(server.seen) == 2


async def test_who_cannot_wait_for_the_next_pause_is_told_when_the_trial_fails() -> None:
    now = asyncio.get_running_loop().time
    began = now()
    breaker = Breaker(1, 0.4)
    breaker.failed("It fails.", is_trial=False)

    async def trial() -> None:
        async with breaker.admitted(began + 9) as is_trial:
            await asyncio.sleep(0.3)
            breaker.failed("It fails.", is_trial=is_trial)

    async def outcome(limit: float) -> tuple[float, str]:
        await asyncio.sleep(0.5)
        try:
            async with breaker.admitted(began + limit):
                told = ""
        except Unavailable as refused:
            told = refused.message
        return now() - began, told

    failing = asyncio.create_task(trial())
    longest, *short = await asyncio.gather(*map(outcome, (9, 0.8, 1.0)))
    await failing

    # The trial fails at 0.7 s, and the next pause ends at 1.1 s.
    for at, told in short:
        assert 0.65 < at < 0.78
        assert told == "It fails. Requests to the provider are paused for 1 second."
    assert longest[0] > 1.05
    assert longest[1] == ""


async def test_what_is_too_late_is_not_begun() -> None:
    begun = []

    async def send() -> int:
        begun.append(1)
        return 200

    provider = Provider(Settings.model_validate({}))
    with pytest.raises(DeadlineExceeded):
        await provider.call(send, asyncio.get_running_loop().time() - 1, TARGET)

    assert begun == []


async def test_a_trial_is_waited_for_until_the_deadline(server: ModelServer, spared: Open) -> None:
    server.will(status(500))
    server.always(slow(30, TEA))
    model = spared(model_timeout_seconds=0.6, model_breaker_seconds=0.1)
    await failure(model)
    await asyncio.sleep(0.1)
    trial = asked(model)
    await asyncio.sleep(0.3)
    other = asked(model)
    began = time.monotonic()
    outcomes = await asyncio.gather(trial, other, return_exceptions=True)

    # The other takes over from a trial that was too late, and has not enough time itself.
    assert [type(one) for one in outcomes] == [DeadlineExceeded, DeadlineExceeded]
    assert time.monotonic() - began < 0.9
    assert len(server.seen) == 3


async def test_who_has_no_patience_is_told(server: ModelServer) -> None:
    given = {"model_max_attempts": 1, "model_breaker_failures": 1, "model_breaker_seconds": 0.1}
    provider = Provider(Settings.model_validate(given), patience_seconds=0.2)
    deadline = asyncio.get_running_loop().time() + 10

    async def send() -> int:
        async with httpx2.AsyncClient() as client:
            found = await client.post(f"{server.url}/embeddings", json={"model": "m", "input": []})
        if not found.is_success:
            raise RequestFailed(found.status_code)
        return found.status_code

    server.will(status(500), slow(0.6, TEA))
    with pytest.raises(Unavailable):
        await provider.call(send, deadline, TARGET)
    trial = asyncio.create_task(provider.call(send, deadline, TARGET))
    await asyncio.sleep(0.2)
    began = time.monotonic()
    with pytest.raises(Unavailable) as refused:
        await provider.call(send, deadline, TARGET)

    assert refused.value.retry_after_seconds == 1
    assert 0.15 < time.monotonic() - began < 0.4
    assert await trial == 200


async def test_a_trial_that_is_cancelled_leaves_room_for_the_next(
    server: ModelServer, spared: Open
) -> None:
    server.will(status(500), slow(30, TEA))
    model = spared(model_breaker_seconds=0.1)
    await failure(model)
    await asyncio.sleep(0.1)
    trial = asked(model)
    waiting = [asked(model) for _ in range(3)]
    await asyncio.sleep(0.2)
    assert len(server.seen) == 2
    trial.cancel()

    assert await asyncio.gather(*waiting) == [Likes(**TEA)] * 3


async def test_what_was_asked_before_the_pause_does_not_end_the_trial(
    server: ModelServer, spared: Open
) -> None:
    server.will(slow(0.5, TEA), slow(0.6, TEA), status(500), slow(0.6, TEA))
    model = spared()
    before = [asked(model), asked(model)]
    await asyncio.sleep(0.1)
    await failure(model)
    others = [asked(model) for _ in range(3)]

    assert await asyncio.gather(*before) == [Likes(**TEA)] * 2
    # One of the others is the trial.
    assert [one.done() for one in others] == [False] * 3
    assert len(server.seen) == 4
    assert await asyncio.gather(*others) == [Likes(**TEA)] * 3


async def test_who_waits_keeps_no_place(server: ModelServer, spared: Open) -> None:
    server.will(status(500))
    model = spared(model_concurrency=1)
    await failure(model)
    waiting = [asked(model) for _ in range(4)]
    await asyncio.sleep(0.05)
    for one in waiting[:2]:
        one.cancel()

    assert await asyncio.gather(*waiting[2:]) == [Likes(**TEA)] * 2


async def test_who_is_cancelled_in_the_queue_keeps_no_place(
    server: ModelServer, opened: Open
) -> None:
    server.always(slow(0.2, TEA))
    model = opened(model_concurrency=1)
    queue = [asked(model) for _ in range(5)]
    await asyncio.sleep(0.1)
    # The one that is being answered, the next, and one further on.
    for one in (queue[0], queue[1], queue[3]):
        one.cancel()

    assert await asyncio.gather(*queue[2::2]) == [Likes(**TEA)] * 2
    assert (await asked(model)).facts == ["likes tea"]
    assert len(server.seen) == 4


async def test_a_late_answer_to_a_late_question_is_no_failure(
    server: ModelServer, spared: Open
) -> None:
    server.always(slow(0.4, TEA))
    model = spared(model_concurrency=1, model_timeout_seconds=0.6, model_breaker_seconds=30)
    first, second = asked(model), asked(model)

    assert (await first).facts == ["likes tea"]
    with pytest.raises(DeadlineExceeded):
        await second
    assert (await asked(model)).facts == ["likes tea"]


async def test_a_question_that_had_its_time_is_one_failure(
    server: ModelServer, spared: Open
) -> None:
    server.always(slow(30, TEA))
    model = spared(
        model_breaker_failures=2,
        model_breaker_seconds=30,
        model_timeout_seconds=0.3,
        model_max_attempts=4,
    )

    reasons = [(await failure(model)).reason for _ in range(3)]

    assert reasons == [Reason.MODEL_TIMEOUT, Reason.MODEL_TIMEOUT, Reason.MODEL_UNAVAILABLE]
    assert len(server.seen) == 2


@pytest.mark.parametrize("code", [429, 401])
async def test_a_provider_that_answers_no_is_not_spared(
    server: ModelServer, opened: Open, code: int
) -> None:
    server.always(status(code))
    model = opened(model_max_attempts=1, model_breaker_failures=2)
    for _ in range(4):
        await failure(model)

    assert len(server.seen) == 4
