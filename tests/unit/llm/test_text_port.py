"""The scripted text model and the real one keep the same promises."""

import asyncio
import json
from collections.abc import Callable
from threading import current_thread, main_thread
from typing import Self

import pytest
from pydantic import BaseModel, Field, PrivateAttr
from typing_extensions import override

from app.adapters.llm.ports import Meter, Prompt, TextModel
from app.kernel.errors import BadGateway, Reason
from app.kernel.guard import transaction_open
from app.kernel.wire.model_entries import EntriesReply, ModelEntry, ModelText, TextReply
from tests.support.model_server import ModelServer
from tests.support.scripted_models import ScriptedTextModel
from tests.unit.llm.conftest import PROMPT, TEA, Likes, Open

Scripted = Callable[..., TextModel]
WHOLE = json.dumps(TEA)


@pytest.fixture(params=["scripted", "native", "tool", "prompt"])
def saying(request: pytest.FixtureRequest, server: ModelServer, opened: Open) -> Scripted:
    """Return a model that gives these replies."""

    def build(*replies: dict[str, object] | str) -> TextModel:
        if request.param == "scripted":
            return ScriptedTextModel(replies)
        server.will(*replies)
        return opened(model_output=request.param)

    return build


def calls(meter: Meter) -> int:
    return meter.total.calls


@pytest.mark.parametrize(
    "reply",
    [
        TEA,
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Of course! {{This}} is it: {WHOLE} Anything else?",
        f'<think>Maybe {{"facts": ["coffee"]}}?</think>\n\n{WHOLE}',
        f'Hm, {{"facts": ["coffee"]}}? </think>{WHOLE}',
        json.dumps(WHOLE),
        f"[{WHOLE}]",
        json.dumps({"name": "answer", "arguments": TEA}),
        json.dumps({"name": "answer", "parameters": WHOLE}),
        '{"facts": ["coffee"]} No, wait: ' + WHOLE,
        '{"facts": ["likes tea"], "sure": true}',
        {"facts": ["likes tea"], "more": {"deep": [1]}, "id": None},
        {"facts": ["likes tea"], "sure": None},
        {"Facts": ["likes tea"], "SURE": True},
        {"answer": TEA},
        {"result": {"answer": WHOLE}},
        {"type": "object", "properties": TEA},
        '{"facts": ["likes tea",],}',
        '{"facts": [ // all\n"likes tea"]}',
        "{'facts': ['likes tea'], 'sure': True}",
        '{"facts": ["likes tea"]',
        '{"facts": ["likes tea"], "n": %s}' % ("1" * 5_000),
    ],
)
async def test_the_structure_is_found_in_what_is_said(
    saying: Scripted, reply: dict[str, object] | str
) -> None:
    meter = Meter()

    found = await saying(reply).ask(PROMPT, Likes, meter)

    assert found == Likes(facts=["likes tea"])
    assert calls(meter) == 1


INVALID: list[dict[str, object] | str] = [
    '{"facts": ["likes tea"], "n": %s}' % ("[" * 900 + "]" * 900),
    {},
    "",
    "I would rather not.",
    {"facts": "likes tea"},
    {"sure": False},
    {"facts": None},
    {"facts": ["likes tea", None]},
    {"facts": [None] * 1_000},
    '{"name": "answer", "arguments": "%s"}' % ("[" * 5_000),
    Likes.model_json_schema(),
    {"type": "object", "properties": {"facts": {"type": "array"}}},
    '{"facts": ["likes tea", "lik',
    '{"facts": ["likes tea"], "sure": ',
    '[{"facts": ["likes tea"]}, {"fac',
    '[{"facts": ["likes tea"]}, {"facts": ["likes milk"]}]',
    "<think>I never come to an end",
    '{"facts":' * 2_000,
    "{" * 5_000,
    "[" * 5_000,
]


@pytest.mark.parametrize("reply", INVALID)
async def test_an_invalid_answer_is_asked_for_once_more(
    saying: Scripted, reply: dict[str, object] | str
) -> None:
    meter = Meter()

    found = await saying(reply, TEA).ask(PROMPT, Likes, meter)

    assert found == Likes(facts=["likes tea"])
    assert calls(meter) == 2


class Fact(ModelEntry):
    text: str
    topics: list[str] = Field(default=["other"])


class Facts(EntriesReply):
    facts: list[Fact]


class Texts(BaseModel):
    facts: list[Fact]


async def test_what_is_too_much_or_null_further_in_is_passed_over(saying: Scripted) -> None:
    tea = {"text": "likes tea", "topics": None, "confidence": 0.9}
    milk = {"text": "likes milk", "topics": ["drinks"]}
    meter = Meter()

    found = await saying({"facts": [tea, milk], "why": "said"}).ask(PROMPT, Facts, meter)

    assert found.facts == [
        Fact(text="likes tea"),
        Fact(text="likes milk", topics=["drinks"]),
    ]
    assert calls(meter) == 1


async def test_the_fault_that_the_model_is_told_is_short(server: ModelServer, opened: Open) -> None:
    server.will({"facts": [{"text": None}] * 100})
    server.always({"facts": []})

    await opened().ask(PROMPT, Texts, Meter())

    told = server.seen[1].body["messages"][-1]["content"].removeprefix(PROMPT.text)
    assert "facts.0.text: Input should be a valid string" in told
    assert len(told) < 700


class Threaded(BaseModel):
    facts: list[str]
    _main: bool = PrivateAttr(default_factory=lambda: current_thread() is main_thread())


@pytest.mark.parametrize(("count", "is_main"), [(1, True), (70_000, False)])
async def test_a_long_answer_is_read_aside(saying: Scripted, count: int, *, is_main: bool) -> None:
    found = await saying({"facts": ["a" * count]}).ask(PROMPT, Threaded, Meter())

    assert found._main == is_main


async def test_an_answer_that_is_invalid_twice_is_a_failure(saying: Scripted) -> None:
    meter = Meter()
    model = saying({"facts": "secret"}, {"facts": "secret"}, TEA)

    with pytest.raises(BadGateway) as failed:
        await model.ask(PROMPT, Likes, meter)

    assert failed.value.reason is Reason.MODEL_OUTPUT_INVALID
    assert "secret" not in str(failed.value.as_http_body())
    assert failed.value.__cause__ is None
    assert calls(meter) == 2


async def test_asking_inside_a_transaction_is_refused(saying: Scripted) -> None:
    model = saying(TEA)

    with transaction_open(), pytest.raises(RuntimeError, match="Asking a model must not run"):
        await model.ask(PROMPT, Likes, Meter())


async def test_tokens_are_counted(saying: Scripted) -> None:
    meter = Meter()
    model = saying(TEA, {"facts": ["a longer answer than the other"]})

    await model.ask(PROMPT, Likes, meter)
    first = meter.total
    await model.ask(Prompt(PROMPT.instructions, "word " * 100), Likes, meter)
    second = meter.total

    assert list(meter.by_model) == [model.model_id]
    assert 0 < first.output_tokens < second.output_tokens - first.output_tokens
    assert 0 < first.input_tokens < second.input_tokens - first.input_tokens


async def test_the_event_loop_runs_on_while_a_model_is_asked(saying: Scripted) -> None:
    turns: list[str] = []

    async def ask() -> None:
        await model.ask(PROMPT, Likes, Meter())
        turns.append("answered")

    async def other() -> None:
        turns.append("other")

    model = saying(TEA)
    await asyncio.gather(ask(), other())

    assert turns == ["other", "answered"]


class Nested(BaseModel):
    properties: dict[str, str]
    name: str
    arguments: list[str]


async def test_fields_may_be_called_as_those_of_schemas_and_calls(saying: Scripted) -> None:
    answer = {"properties": {"type": "object"}, "name": "n", "arguments": ["a"]}

    found = await saying(answer).ask(PROMPT, Nested, Meter())

    assert found.model_dump() == answer


class Short(TextReply):
    summary: ModelText

    @classmethod
    @override
    def of_prose(cls, text: str) -> Self:
        return cls(summary=text)


@pytest.mark.parametrize(
    ("reply", "summary"),
    [
        ("Summary number 1.", "Summary number 1."),
        ("  Ada met Bob.\n\nThey ate {cake}.  ", "Ada met Bob.\n\nThey ate {cake}."),
        ("```\nAda met Bob.\n```", "Ada met Bob."),
        ("```markdown\nAda met Bob.\n```", "Ada met Bob."),
        ("<think>What {is} it?</think>\nAda met Bob.", "Ada met Bob."),
        ('"Ada met Bob."', "Ada met Bob."),
        ("[Ada] met Bob.", "[Ada] met Bob."),
        ('Of course: {"summary": "Ada met Bob."}', "Ada met Bob."),
        ({"summary": "Ada met Bob."}, "Ada met Bob."),
        ({"summary": {"summary": "Ada met Bob."}}, "Ada met Bob."),
        ("{'summary': 'Ada met\nBob.'}", "Ada met\nBob."),
    ],
)
async def test_prose_is_taken_where_one_text_is_asked_for(
    saying: Scripted, reply: dict[str, object] | str, summary: str
) -> None:
    meter = Meter()

    assert await saying(reply).ask(PROMPT, Short, meter) == Short(summary=summary)
    assert calls(meter) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "``````",
        "```\n```",
        "<think>Ada met Bob.",
        "null",
        "[]",
        '["Ada met Bob.", "They ate."]',
        "{Ada} met Bob.",
        '{"summary": "Ada met',
        'Of course: {"summary": "Ada met',
        '```json\n{"summary": "Ada met\n```',
        Short.model_json_schema(),
        "\x00",
    ],
)
async def test_what_is_no_prose_is_asked_for_once_more(
    saying: Scripted, reply: dict[str, object] | str
) -> None:
    meter = Meter()

    found = await saying(reply, "Ada met Bob.").ask(PROMPT, Short, meter)

    assert found == Short(summary="Ada met Bob.")
    assert calls(meter) == 2
