"""What a text model does about a server that refuses a part of the request, and says so."""

import asyncio
import json
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from app.adapters.llm.factory import open_models
from app.adapters.llm.ports import Meter, Prompt
from app.kernel.errors import BadGateway, FailedPrecondition, Reason, Unavailable
from app.settings.settings import Settings
from tests.support.model_server import Behaviour, Json, ModelServer, refusal, slow
from tests.unit.llm.conftest import PROMPT, TEA, Likes, Open, failure

Judge = Callable[[Json], Behaviour | None]


def unless(is_taken: Callable[[Json], object], otherwise: Behaviour) -> Judge:
    return lambda body: None if is_taken(body) else otherwise


def mode_of(body: Json) -> str:
    return "native" if "response_format" in body else "tool" if "tools" in body else "prompt"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (404, "No endpoints found that support tool use."),
        (404, "response_format is not known here"),
        (403, "Structured output is not in your plan."),
        (413, "The JSON schema has too many fields"),
        (500, "jinja template: expected a user message"),
        (500, "Failed to parse grammar"),
        (500, "tools param requires --jinja flag"),
        (200, "This model does not support tools"),
    ],
)
async def test_words_about_the_way_of_asking_lead_to_the_next_way(
    server: ModelServer, opened: Open, code: int, words: str
) -> None:
    server.judge = unless(lambda body: mode_of(body) == "prompt", refusal(code, words))
    model, meter = opened(), Meter()

    for _ in range(4):
        assert (await model.ask(PROMPT, Likes, meter)).facts == ["likes tea"]

    ways = [mode_of(seen.body) for seen in server.seen]
    assert ways == ["native", "tool", "prompt"] * 3 + ["prompt"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (401, "Your key may not use tools."),
        (429, "Too many tools at the moment."),
        (404, "No such model."),
        (502, "The schema of the upstream is gone."),
    ],
)
async def test_other_refusals_lead_to_no_other_way(
    server: ModelServer, opened: Open, code: int, words: str
) -> None:
    server.always(refusal(code, words))

    await failure(opened(model_max_attempts=1))

    assert [mode_of(seen.body) for seen in server.seen] == ["native"]


async def test_the_name_of_a_model_is_no_word_about_the_way_of_asking(
    server: ModelServer, opened: Open
) -> None:
    server.always(refusal(404, "The model llama3-tool-use does not exist."))

    failed = await failure(opened(model="openai:llama3-tool-use"))

    assert [mode_of(seen.body) for seen in server.seen] == ["native"]
    assert "see MEMORY_BANK_MODEL. It says: The model llama3-tool-use" in failed.message


@pytest.mark.parametrize(
    "words", ["QueuePool limit of size 5 overflow 10 reached", "deadline exceeded", "no more room"]
)
async def test_a_failure_that_may_pass_is_tried_again(
    server: ModelServer, opened: Open, words: str
) -> None:
    server.will(refusal(500, words))

    assert (await opened().ask(PROMPT, Likes, Meter())).facts == ["likes tea"]
    assert [mode_of(seen.body) for seen in server.seen] == ["native", "native"]


async def test_where_all_ways_are_refused_the_setting_is_named(
    server: ModelServer, opened: Open
) -> None:
    server.always(refusal(500, "Failed to parse grammar"))

    failed = await failure(opened())

    assert (type(failed), len(server.seen)) == (FailedPrecondition, 3)
    assert "with HTTP 500; see MEMORY_BANK_MODEL_OUTPUT. It says: Failed to parse" in failed.message


@pytest.mark.parametrize(
    "words",
    [
        "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "litellm.BadRequestError: Error code: 400 - Please use max_completion_tokens.",
        "Unrecognized request argument supplied: max_tokens",
    ],
)
async def test_the_name_of_the_longest_answer_is_the_one_that_the_server_knows(
    server: ModelServer, opened: Open, words: str
) -> None:
    server.judge = unless(lambda body: "max_completion_tokens" in body, refusal(400, words))
    model, meter = opened(), Meter()

    with capture_logs() as logs:
        for _ in range(2):
            assert (await model.ask(PROMPT, Likes, meter)).facts == ["likes tea"]

    sent = [seen.body.get("max_completion_tokens") for seen in server.seen]
    assert sent == [None, 8_192, 8_192]
    assert all("max_tokens" not in seen.body for seen in server.seen[1:])
    assert meter.total.calls == 3
    assert len([log for log in logs if log["event"] == "model.output_limit_changed"]) == 1


async def test_an_older_server_of_a_newer_model_gets_the_older_name(
    server: ModelServer, opened: Open
) -> None:
    words = "Unrecognized request argument supplied: max_completion_tokens"
    server.judge = unless(lambda body: "max_tokens" in body, refusal(400, words))
    model = opened(model="openai:o3-mini")

    for _ in range(2):
        assert (await model.ask(PROMPT, Likes, Meter())).facts == ["likes tea"]

    assert ["max_tokens" in seen.body for seen in server.seen] == [False, True, True]


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        ("max_tokens is too large: 8192. This model takes at most 4096 completion tokens.", 4_096),
        ("max_tokens: 8192 > 4,096, which is the maximum of claude-3-haiku-20240307", 4_096),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 2048]", 2_048),
        ("maxOutputTokens is 8192, the range is from 1 (inclusive) to 2049 (exclusive).", 2_048),
    ],
)  # fmt: skip
async def test_a_limit_that_the_server_names_is_kept_to(
    server: ModelServer, opened: Open, words: str, tokens: int
) -> None:
    server.judge = unless(lambda body: body["max_tokens"] <= tokens, refusal(400, words))
    model = opened()

    for _ in range(2):
        assert (await model.ask(PROMPT, Likes, Meter())).facts == ["likes tea"]

    assert [seen.body["max_tokens"] for seen in server.seen] == [8_192, tokens, tokens]


async def test_a_context_that_is_too_short_for_one_prompt_does_not_bound_all_answers(
    server: ModelServer, opened: Open
) -> None:
    words = (
        "This model's maximum context length is 4096 tokens. However, you requested 11192 tokens"
        " (3000 in the messages, 8192 in the completion)."
    )
    server.judge = unless(lambda body: body["max_tokens"] <= 3_000, refusal(400, words))
    model = opened()

    for _ in range(2):
        assert (await model.ask(PROMPT, Likes, Meter())).facts == ["likes tea"]

    assert [seen.body["max_tokens"] for seen in server.seen] == [8_192, 1_096, 2_048]


async def test_a_slower_answer_does_not_take_back_what_was_learnt_meanwhile(
    server: ModelServer, opened: Open
) -> None:
    def judge(body: Json) -> Behaviour | None:
        if "a short one" in json.dumps(body):
            return slow(0.5, TEA)
        most = "max_tokens is too large. This model takes at most 4096 completion tokens."
        return None if body["max_tokens"] <= 4_096 else refusal(400, most)

    server.judge = judge
    model = opened()

    short = model.ask(Prompt("Read.", "a short one"), Likes, Meter())
    await asyncio.gather(short, model.ask(PROMPT, Likes, Meter()))
    await model.ask(PROMPT, Likes, Meter())

    assert server.seen[-1].body["max_tokens"] == 4_096
    assert len(server.seen) == 4


@pytest.mark.parametrize(("code", "seen"), [(400, ["native", "tool"]), (500, ["native", "native"])])
async def test_words_of_a_user_that_a_refusal_repeats_are_not_about_what_is_refused(
    server: ModelServer, opened: Open, code: int, seen: list[str]
) -> None:
    said = "My tools and schema: max_tokens 20."
    server.will(refusal(code, f"Cannot read this: {said}"))
    model = opened()

    await model.ask(Prompt("Read.", said), Likes, Meter())

    assert [mode_of(one.body) for one in server.seen] == seen
    assert {one.body["max_tokens"] for one in server.seen} == {8_192}


async def test_a_limit_of_nonsense_has_an_end(server: ModelServer, opened: Open) -> None:
    server.always(refusal(400, "max_tokens must be less than 8192, 4096, 2048, 1024, 512 or 256"))

    failed = await failure(opened(model_output="prompt"))

    assert failed.reason is Reason.MODEL_REFUSED
    assert len(server.seen) == 4


async def test_a_prompt_beyond_the_context_names_its_setting(
    server: ModelServer, opened: Open
) -> None:
    server.always(refusal(500, "The request exceeds the available context size."))

    failed = await failure(opened(model_output="prompt"))

    assert "see MEMORY_BANK_MODEL_MAX_INPUT_TOKENS." in failed.message
    assert len(server.seen) == 1


@pytest.mark.parametrize("name", ["openai:small", "ollama:small"])
async def test_the_query_of_an_address_is_sent_every_time(
    server: ModelServer, opened: Open, name: str
) -> None:
    address = f"{server.url}/chat/completions?api-version=2024-10-21&tier=a%20b"

    await opened(model=name, model_base_url=address, model_key="its-key").ask(
        PROMPT, Likes, Meter()
    )

    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.query == {"api-version": "2024-10-21", "tier": "a b"}
    assert (seen.headers["api-key"], seen.headers["authorization"]) == ("its-key", "Bearer its-key")


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai:small", "OPENAI_BASE_URL"), ("ollama:small", "OLLAMA_BASE_URL")],
)
async def test_the_query_of_an_address_of_the_environment_is_sent_as_well(
    server: ModelServer, opened: Open, monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    monkeypatch.setenv(variable, f"{server.url}?api-version=2024-10-21&tier=a%20b")
    model = opened(model=name, model_base_url=None, model_key="its-key", model_output="prompt")

    for _ in range(2):
        await model.ask(PROMPT, Likes, Meter())

    for seen in server.seen:
        assert seen.path == "/v1/chat/completions"
        assert seen.query == {"api-version": "2024-10-21", "tier": "a b"}
        assert seen.headers["api-key"] == "its-key"


async def test_a_secret_of_an_address_is_not_told(server: ModelServer, opened: Open) -> None:
    server.always(refusal(404, "No route for /v1/chat/completions?pass=hunter-two"))

    failed = await failure(opened(model_base_url=f"{server.url}?pass=hunter-two"))

    assert "No route" in failed.message
    assert "hunter" not in failed.message


EVENTS = b'data: {"choices": [{"delta": {"content": "likes tea"}}]}\n\ndata: [DONE]\n\n'
FAULT = b': wait\n\nevent: error\ndata: {"error": {"message": "Out of memory.", "code": "oom"}}\n\n'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "Out of memory.", "code": "oom"}}', "It says: Out of memory."),
        (b'{"error": "Out of memory."}', "It says: Out of memory."),
        (b'{"errors": [{"message": "Out of memory."}]}', "It says: Out of memory."),
        (b"<html><title>Sign in</title></html>", "It sends a page: Sign in"),
        (EVENTS, "It sends a stream of events, which was not requested."),
        (FAULT, "It says: Out of memory."),
    ],
)
async def test_the_first_cause_is_told_also_while_the_provider_is_spared(
    server: ModelServer, opened: Open, body: bytes, said: str
) -> None:
    model = opened(model_max_attempts=1, model_breaker_failures=2, model_breaker_seconds=70)
    server.will(Behaviour(body=body), refusal(503, "Restarting."))

    first, _, third = [await failure(model) for _ in range(3)]

    assert first.message.startswith(
        "The provider of openai:small sends no answer that can be read;"
    )
    assert (type(third), len(server.seen)) == (Unavailable, 2)
    for failed in (first, third):
        assert said in failed.message
    assert "Requests to the provider are paused for" in third.message


@pytest.mark.parametrize(
    ("code", "kind"), [(401, FailedPrecondition), ("503", Unavailable), (404, FailedPrecondition)]
)
async def test_a_status_in_the_body_of_a_success_counts(
    server: ModelServer, opened: Open, code: int | str, kind: type[Exception]
) -> None:
    body = {"error": {"message": "Upstream.", "code": code}}
    server.always(Behaviour(body=json.dumps(body).encode()))

    failed = await failure(opened(model_max_attempts=1))

    assert (type(failed), failed.metadata) == (kind, {"httpStatus": str(code)})


async def test_others_are_not_told_what_repeats_a_prompt(server: ModelServer, opened: Open) -> None:
    model = opened(model_max_attempts=1, model_breaker_failures=1, model_breaker_seconds=70)
    server.always(refusal(503, f"Cannot read {PROMPT.text} now."))

    first, second = [await failure(model) for _ in range(2)]

    assert "Cannot read" in first.message
    assert "Cannot read" not in second.message


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "reasoning_content": json.dumps(TEA)},
        {"content": None, "reasoning_content": f"So: {json.dumps(TEA)}"},
        {"content": " ", "reasoning": json.dumps(TEA)},
    ],
)
async def test_an_answer_in_the_thoughts_is_read_where_there_is_no_other(
    server: ModelServer, opened: Open, message: Json
) -> None:
    server.always(Behaviour("", message=message))

    assert (await opened().ask(PROMPT, Likes, Meter())).facts == ["likes tea"]
    assert len(server.seen) == 1


async def test_thoughts_beside_an_answer_are_none(server: ModelServer, opened: Open) -> None:
    draft = json.dumps({"facts": ["a draft"]})
    server.always(Behaviour(json.dumps(TEA), message={"reasoning_content": draft}))

    assert (await opened().ask(PROMPT, Likes, Meter())).facts == ["likes tea"]


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (Behaviour('{"facts": ["likes', finish="length"), "cut off at its longest (8,192 tokens)"),
        (Behaviour("", message={"reasoning_content": json.dumps(TEA)}, finish="length"), "cut off"),
        (Behaviour('{"facts": [', finish="model_length"), "see MEMORY_BANK_MODEL_MAX_OUTPUT"),
        (Behaviour("", finish="content_filter"), "was stopped by the content filter"),
        (Behaviour("I can't.", finish="content_filter"), "stopped by the content filter"),
        (Behaviour("", message={"content": None, "refusal": "I can't."}), "was a refusal"),
    ],
)  # fmt: skip
async def test_an_answer_that_ends_early_is_told_by_its_reason(
    server: ModelServer, opened: Open, behaviour: Behaviour, said: str
) -> None:
    server.always(behaviour)

    failed = await failure(opened())

    assert (type(failed), failed.reason) == (BadGateway, Reason.MODEL_OUTPUT_INVALID)
    assert said in failed.message
    assert "can't" not in failed.message


async def test_an_answer_that_is_whole_counts_whatever_its_end(
    server: ModelServer, opened: Open
) -> None:
    server.always(Behaviour(json.dumps(TEA), finish="length"))

    assert (await opened().ask(PROMPT, Likes, Meter())).facts == ["likes tea"]


async def test_an_address_without_a_server_is_told_as_such() -> None:
    given = {
        "model": "openai:x",
        "model_base_url": "http://127.0.0.1:1/v1",
        "model_max_attempts": 1,
    }
    models = open_models(Settings.model_validate(given))
    assert models.default is not None

    failed = await failure(models.default)
    await models.close()

    assert failed.message == (
        "The provider of openai:x cannot be reached; see MEMORY_BANK_MODEL_BASE_URL."
    )
