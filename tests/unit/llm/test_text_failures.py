"""What a text model does about a provider that is slow, full, broken or against it."""

import asyncio
import json
import time
from datetime import timedelta
from email.utils import format_datetime

import pytest
from structlog.testing import capture_logs

from app.adapters.llm.ports import Meter, Usage
from app.adapters.llm.providers.text import believed_tokens
from app.kernel.errors import (
    BadGateway,
    DeadlineExceeded,
    FailedPrecondition,
    Reason,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from tests.conftest import START
from tests.support.model_server import (
    Behaviour,
    ModelServer,
    cut_off,
    fenced,
    huge,
    slow,
    status,
)
from tests.unit.llm.conftest import PROMPT, TEA, Likes, Open, failure

pytestmark = pytest.mark.alone

PACKED = {"Content-Encoding": "gzip"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon; what is looked at is that it is tried, and how often."""
    monkeypatch.setattr("app.adapters.llm.provider.FIRST_DELAY_SECONDS", 0.02)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "trouble",
    [
        status(500),
        status(503),
        status(529),
        status(408),
        status(504),
        status(429),
        status(429, retry_after="0"),
        cut_off(TEA),
        cut_off(TEA, is_chunked=True),
        Behaviour(body=b"<html>A gateway.</html>"),
        Behaviour(body=b"{}"),
        Behaviour(body=b'{"choices": []}'),
        Behaviour(body=b'{"choices": [{"message": 7}]}'),
        Behaviour(body=b"[]"),
        Behaviour(status=502, headers=PACKED, body=b"\x1f\x8b" + b"0" * 50),
        Behaviour(status=502, body=b"a" * 10_000_000),
    ],
)
async def test_what_may_pass_is_tried_again(
    server: ModelServer, opened: Open, trouble: Behaviour
) -> None:
    server.will(trouble, trouble)
    meter = Meter()

    found = await opened().ask(PROMPT, Likes, meter)

    assert found.facts == ["likes tea"]
    assert (len(server.seen), meter.total.calls) == (3, 3)


async def test_failed_calls_are_counted_without_tokens(server: ModelServer, opened: Open) -> None:
    server.will(status(500))
    meter = Meter()

    await opened().ask(PROMPT, Likes, meter)

    spent = meter.by_model["openai:small"]
    assert (spent.calls, spent.input_tokens) == (2, server.seen[1].prompt_tokens)


async def test_a_connection_that_is_refused_is_tried_again_and_counted(opened: Open) -> None:
    meter = Meter()
    model = opened(model_base_url="http://127.0.0.1:1/v1", model_max_attempts=2)

    failed = await failure(model, meter)

    assert (type(failed), failed.reason) == (Unavailable, Reason.MODEL_UNAVAILABLE)
    assert meter.total.calls == 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("trouble", "kind", "reason", "http"),
    [
        (status(500), Unavailable, Reason.MODEL_UNAVAILABLE, "500"),
        (cut_off(TEA), Unavailable, Reason.MODEL_UNAVAILABLE, None),
        (status(429), ResourceExhausted, Reason.MODEL_RATE_LIMITED, "429"),
    ],
)
async def test_trying_has_an_end(
    server: ModelServer,
    opened: Open,
    trouble: Behaviour,
    kind: type[ServiceError],
    reason: Reason,
    http: str | None,
) -> None:
    server.always(trouble)

    failed = await failure(opened(model_max_attempts=3))

    assert (type(failed), failed.reason) == (kind, reason)
    assert failed.metadata.get("httpStatus") == http
    assert len(server.seen) == 3


@pytest.mark.parametrize("code", [301, 401, 403, 404, 413, 451])
async def test_a_refusal_is_final_and_says_its_status(
    server: ModelServer, opened: Open, code: int
) -> None:
    server.always(status(code))

    failed = await failure(opened())

    assert (type(failed), failed.reason) == (FailedPrecondition, Reason.MODEL_REFUSED)
    assert failed.metadata == {"httpStatus": str(code)}
    assert len(server.seen) == 1


@pytest.mark.parametrize("is_date", [False, True])
async def test_the_wait_that_is_asked_for_is_kept(
    server: ModelServer, opened: Open, *, is_date: bool
) -> None:
    then = format_datetime(START + timedelta(seconds=1), usegmt=True)
    headers = {"Retry-After": then, "Date": format_datetime(START, usegmt=True)}
    server.will(
        Behaviour(status=429, headers=headers if is_date else {"Retry-After": "1"}, body=b"{}")
    )
    began = time.monotonic()

    await opened().ask(PROMPT, Likes, Meter())

    assert 1 <= time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        (429, ResourceExhausted, Reason.MODEL_RATE_LIMITED),
        (503, Unavailable, Reason.MODEL_UNAVAILABLE),
    ],
)
async def test_a_wait_beyond_the_deadline_is_not_begun(
    server: ModelServer, opened: Open, code: int, kind: type[ServiceError], reason: Reason
) -> None:
    server.always(status(code, retry_after="61"))
    began = time.monotonic()

    failed = await failure(opened())

    assert (type(failed), failed.reason) == (kind, reason)
    assert failed.retry_after_seconds == 61
    assert len(server.seen) == 1
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("asked", ["soon", "-5", "nan", "inf", "Wed, 99 Foo 2026"])
async def test_a_wait_that_cannot_be_read_is_none(
    server: ModelServer, opened: Open, asked: str
) -> None:
    server.will(status(429, retry_after=asked))

    assert (await opened().ask(PROMPT, Likes, Meter())).facts


async def test_no_answer_within_the_deadline_is_a_failure(
    server: ModelServer, opened: Open
) -> None:
    server.always(slow(30, TEA))
    meter = Meter()
    began = time.monotonic()

    failed = await failure(opened(model_timeout_seconds=0.6), meter)

    assert (type(failed), failed.reason) == (DeadlineExceeded, Reason.MODEL_TIMEOUT)
    assert time.monotonic() - began < 2
    assert len(server.seen) == meter.total.calls == 1
    assert meter.total.milliseconds >= 550


async def test_a_request_may_take_all_of_the_time(server: ModelServer, opened: Open) -> None:
    server.always(slow(0.8, TEA))

    found = await opened(model_timeout_seconds=1).ask(PROMPT, Likes, Meter())

    assert found.facts == ["likes tea"]
    assert len(server.seen) == 1


async def test_the_repair_has_no_deadline_of_its_own(server: ModelServer, opened: Open) -> None:
    server.will(slow(0.4, {}))
    server.always(slow(30, TEA))
    began = time.monotonic()

    failed = await failure(opened(model_timeout_seconds=0.7))

    assert failed.reason is Reason.MODEL_TIMEOUT
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_reply_of_10_megabytes_is_not_read(
    server: ModelServer, opened: Open, *, is_chunked: bool
) -> None:
    server.always(huge(10_000_000, is_chunked=is_chunked))

    failed = await failure(opened())

    assert (type(failed), failed.reason) == (BadGateway, Reason.MODEL_OUTPUT_INVALID)
    assert "longer than the service reads" in failed.message
    assert len(server.seen) == 1


async def test_a_packed_reply_is_not_unpacked(server: ModelServer, opened: Open) -> None:
    server.always(Behaviour(headers=PACKED, body=b"\x1f\x8b" + b"0" * 50))

    failed = await failure(opened())

    assert failed.reason is Reason.MODEL_OUTPUT_INVALID
    assert "compressed" in failed.message
    assert server.seen[0].headers["accept-encoding"] == "identity"
    assert len(server.seen) == 1


async def test_requests_to_one_provider_at_once_are_bounded(
    server: ModelServer, opened: Open
) -> None:
    server.always(slow(0.05, TEA))
    model = opened(model_concurrency=2)

    await asyncio.gather(*(model.ask(PROMPT, Likes, Meter()) for _ in range(8)))

    assert server.most_at_once == 2


async def test_waiting_for_a_place_counts_to_the_deadline(
    server: ModelServer, opened: Open
) -> None:
    server.always(slow(30, TEA))
    model = opened(model_concurrency=1, model_timeout_seconds=0.5, model_max_attempts=1)
    began = time.monotonic()

    outcomes = await asyncio.gather(
        *(model.ask(PROMPT, Likes, Meter()) for _ in range(3)), return_exceptions=True
    )

    assert {type(one) for one in outcomes} == {DeadlineExceeded}
    assert time.monotonic() - began < 1.4


async def test_the_repair_says_what_was_wrong_and_follows_the_prompt(
    server: ModelServer, opened: Open
) -> None:
    server.will({"facts": "tea"})

    await opened().ask(PROMPT, Likes, Meter())

    first, second = (seen.body["messages"][-1]["content"] for seen in server.seen)
    assert first == PROMPT.text
    assert second.startswith(PROMPT.text + "\n\nYour last answer was invalid: facts:")


async def test_usage_that_is_not_reported_is_estimated(server: ModelServer, opened: Open) -> None:
    server.always(Behaviour(TEA, reports_usage=False))
    meter = Meter()

    await opened().ask(PROMPT, Likes, meter)

    spent = meter.by_model["openai:small"]
    assert spent.output_tokens == -(-len('{"facts": ["likes tea"]}') // 4)
    assert spent.input_tokens > (len(PROMPT.instructions) + len(PROMPT.text)) // 4


async def test_usage_that_is_reported_is_taken(server: ModelServer, opened: Open) -> None:
    server.always(fenced(TEA))
    meter = Meter()

    await opened().ask(PROMPT, Likes, meter)

    spent = meter.by_model["openai:small"]
    assert spent.input_tokens == server.prompt_tokens
    assert Usage(1, spent.input_tokens, spent.output_tokens, spent.milliseconds) == spent


async def test_usage_that_cannot_be_is_bounded(server: ModelServer, opened: Open) -> None:
    usage = {"prompt_tokens": 10**20, "completion_tokens": 3, "total_tokens": 10**20 + 3}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": '{"facts": []}'},
        "finish_reason": "stop",
    }
    reply = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [choice],
        "usage": usage,
    }
    server.always(Behaviour(body=json.dumps(reply).encode()))
    meter = Meter()

    await opened().ask(PROMPT, Likes, meter)

    assert meter.total.input_tokens == 1_000_000_000
    assert meter.total.output_tokens == 3
    assert believed_tokens(-5) == 0


async def test_each_call_is_logged_without_text(server: ModelServer, opened: Open) -> None:
    server.will(status(500))
    with capture_logs() as logs:
        await opened().ask(PROMPT, Likes, Meter())

    lines = [log for log in logs if log["event"] == "model.called"]
    assert [line["outcome"] for line in lines] == ["failed", "answered"]
    assert lines[1]["model"] == "openai:small"
    assert lines[1]["input_tokens"] > 0
    assert "tea" not in str(logs)
