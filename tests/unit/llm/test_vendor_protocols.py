"""Replies of weak models and refusals, in the protocols of Anthropic and Google.

The rows of `test_text_refusals.py` and `test_reply_rows.py`, as far as they apply.
"""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import SecretStr

from app.adapters.llm.http import open_client
from app.adapters.llm.names import ModelName
from app.adapters.llm.ports import Attachment, Meter, Prompt
from app.adapters.llm.provider import Provider, ProviderTarget
from app.adapters.llm.providers.remote import RemoteTextModel
from app.adapters.llm.providers.text import open_channel
from app.kernel.errors import BadGateway
from app.kernel.wire.model_entries import EntryTally
from app.memory.generation.logic.replies import Facts
from app.settings.settings import Settings
from tests.support.model_server import Behaviour, Json, ModelServer, refusal
from tests.unit.llm.conftest import PROMPT, TEA, Likes, failure

KEY = SecretStr("a-key")
ANTHROPIC, GOOGLE = "anthropic:claude-haiku-4-5", "google:gemini-2.5-flash"


def anthropic(text: str, stop: str = "end_turn") -> Behaviour:
    reply = {
        "id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": text}], "stop_reason": stop, "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }  # fmt: skip
    return Behaviour(body=json.dumps(reply).encode())


def google(text: str, stop: str = "STOP") -> Behaviour:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": stop}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
    reply = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-flash"}
    return Behaviour(body=json.dumps(reply).encode())


VENDORS = {ANTHROPIC: anthropic, GOOGLE: google}
Vendor = Callable[..., RemoteTextModel]
Judge = Callable[[Json], Behaviour | None]


def unless(is_taken: Callable[[Json], object], otherwise: Behaviour) -> Judge:
    return lambda body: None if is_taken(body) else otherwise


@pytest.fixture
async def vendor(server: ModelServer) -> AsyncIterator[Vendor]:
    """Opens a vendor's model at the server, in its own protocol; it answers `TEA`."""
    client = open_client(60, 100_000, is_direct=True)
    settings = Settings.model_validate({"model_max_attempts": 1})

    def build(name: str, query: str = "") -> RemoteTextModel:
        server.always(VENDORS[name](json.dumps(TEA)))
        address = server.url.removesuffix("/v1") + query
        channel = open_channel(ModelName.parse(name, "test"), address, KEY, client, settings)
        target = ProviderTarget(name, "MODEL", "KEY", "ADDRESS", "LENGTH")
        return RemoteTextModel(target, channel, Provider(settings), settings)

    yield build
    await client.aclose()


def vendors_mode(body: Any) -> str:
    config = body.get("generationConfig", {})
    is_native = "output_config" in body or "output_format" in body or "responseMimeType" in config
    return "native" if is_native else "tool" if body.get("tools") else "prompt"


@pytest.mark.parametrize("name", VENDORS)
async def test_a_vendors_words_lead_to_the_next_way(
    server: ModelServer, vendor: Vendor, name: str
) -> None:
    model = vendor(name)
    words = "Function calling and JSON mode are not enabled for this model"
    server.judge = unless(lambda body: vendors_mode(body) == "prompt", refusal(404, words))

    assert (await model.ask(PROMPT, Likes, Meter())).facts == ["likes tea"]
    assert [vendors_mode(seen.body) for seen in server.seen] == ["native", "tool", "prompt"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            ANTHROPIC,
            "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens",
        ),
        (
            GOOGLE,
            "maxOutputTokens is 8192, but the range is from 1 (inclusive) to 4097 (exclusive)",
        ),
    ],
)
async def test_a_vendors_limit_is_kept_to(
    server: ModelServer, vendor: Vendor, name: str, words: str
) -> None:
    def limit(body: Any) -> int:
        given = body.get("max_tokens") or body["generationConfig"]["maxOutputTokens"]
        return int(given)

    model = vendor(name)
    server.judge = unless(lambda body: limit(body) <= 4_096, refusal(400, words))

    for _ in range(2):
        assert (await model.ask(PROMPT, Likes, Meter())).facts == ["likes tea"]
    assert [limit(seen.body) for seen in server.seen] == [8_192, 4_096, 4_096]


@pytest.mark.parametrize(
    ("name", "stop", "said"),
    [
        (ANTHROPIC, "max_tokens", "was cut off at its longest"),
        (ANTHROPIC, "refusal", "was a refusal to answer"),
        (GOOGLE, "MAX_TOKENS", "was cut off at its longest"),
        (GOOGLE, "SAFETY", "was stopped by the content filter"),
    ],
)
async def test_the_end_of_a_vendors_answer_is_told(
    server: ModelServer, vendor: Vendor, name: str, stop: str, said: str
) -> None:
    model = vendor(name)
    server.always(VENDORS[name]('{"facts": ["like', stop))

    assert said in (await failure(model)).message


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "Out of memory."}}', "It says: Out of memory."),
        (b"<html><title>Sign in</title></html>", "It sends a page: Sign in"),
        (b'data: {"type": "ping"}\n\n', "It sends a stream of events"),
    ],
)
async def test_a_vendors_reply_that_is_none_is_told(
    server: ModelServer, vendor: Vendor, name: str, body: bytes, said: str
) -> None:
    model = vendor(name)
    server.always(Behaviour(body=body))

    assert said in (await failure(model)).message


ONE: Json = {"fact": "I like tea.", "quote": "like tea", "line": 0, "topics": ["A"]}
TWO: Json = {**ONE, "fact": "I have a dog.", "quote": "a dog", "line": 2}
BOTH = [ONE["fact"], TWO["fact"]]


def facts(*entries: Any) -> str:
    return json.dumps({"facts": list(entries)})


ROWS: dict[str, tuple[str, list[str]]] = {
    "two objects": (f"{facts(ONE)}\n{facts(TWO)}", BOTH),
    "an answer, then none": (f"{facts(ONE, TWO)}\n{facts()}", BOTH),
    "JSON lines": (f"{json.dumps(ONE)}\n{json.dumps(TWO)}", BOTH),
    "a bare list": (json.dumps([ONE, TWO]), BOTH),
    "wrapped": (json.dumps({"answer": {"facts": [ONE, TWO]}}), BOTH),
    "a schema with values": (json.dumps({"properties": {"facts": [ONE, TWO]}}), BOTH),
    "names in capitals": (json.dumps({"Facts": [ONE, TWO]}), BOTH),
    "null": ('{"facts": null}', []),
    "an entry without a quote": (facts(ONE, {"fact": "No quote."}, TWO), BOTH),
    "topics as text, line as null": (facts({**ONE, "topics": "A", "line": None}, TWO), BOTH),
    "a trailing comma": (facts(ONE, TWO).removesuffix("]}") + ",]}", BOTH),
    "a raw line end": (facts(ONE).replace("like tea.", "like\ntea."), ["I like\ntea."]),
    "a comment": (facts(ONE, TWO).replace("[{", "[ // all\n{"), BOTH),
    "single quotes": (repr({"facts": [ONE, TWO]}), BOTH),
    "a fence": (f"Here:\n```json\n{facts(ONE, TWO)}\n```", BOTH),
}


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("row", ROWS)
async def test_a_vendors_reply_is_read_whatever_its_form(
    server: ModelServer, vendor: Vendor, name: str, row: str
) -> None:
    model, (reply, expected) = vendor(name), ROWS[row]
    server.always(VENDORS[name](reply))

    found = await model.ask(PROMPT, Facts, Meter())

    assert [one.fact for one in found.facts] == expected
    assert len(server.seen) == 1


@pytest.mark.parametrize(("name", "stop"), [(ANTHROPIC, "max_tokens"), (GOOGLE, "MAX_TOKENS")])
async def test_a_vendors_reply_that_was_cut_off_keeps_its_whole_entries(
    server: ModelServer, vendor: Vendor, name: str, stop: str
) -> None:
    model = vendor(name)
    server.always(VENDORS[name](facts(ONE, TWO)[:-20], stop))

    found = await model.ask(PROMPT, Facts, Meter())

    assert [one.fact for one in found.facts] == BOTH[:1]
    assert "was cut off at its longest" in found.cut
    assert found.tallies == {"facts": EntryTally(sound=1, unreadable=1)}


@pytest.mark.parametrize("name", VENDORS)
async def test_a_vendors_reply_of_which_nothing_is_usable_is_asked_for_once_more(
    server: ModelServer, vendor: Vendor, name: str
) -> None:
    model = vendor(name)
    server.always(VENDORS[name](facts({"fact": "No quote."})))

    with pytest.raises(BadGateway, match="also when asked again"):
        await model.ask(PROMPT, Facts, Meter())
    assert len(server.seen) == 2


def _parts(name: str, *parts: Json) -> Behaviour:
    """Return an answer that has these parts in place of one text."""
    made = json.loads(VENDORS[name]("").body or b"")
    if name == ANTHROPIC:
        made["content"] = parts
    else:
        made["candidates"][0]["content"]["parts"] = parts
    return Behaviour(body=json.dumps(made).encode())


CALLS: dict[str, Callable[[Json], Json]] = {
    ANTHROPIC: lambda said: {"type": "tool_use", "id": "t", "name": "answer", "input": said},
    GOOGLE: lambda said: {"functionCall": {"name": "answer", "args": said}},
}
THOUGHTS: dict[str, Callable[[str], Json]] = {
    ANTHROPIC: lambda said: {"type": "thinking", "thinking": said, "signature": "s"},
    GOOGLE: lambda said: {"text": said, "thought": True},
}


@pytest.mark.parametrize("name", VENDORS)
async def test_all_calls_of_a_vendors_tool_count(
    server: ModelServer, vendor: Vendor, name: str
) -> None:
    model = vendor(name)
    server.judge = unless(
        lambda body: vendors_mode(body) == "tool", refusal(400, "No JSON schema here.")
    )
    server.always(_parts(name, *(CALLS[name]({"facts": [one]}) for one in (ONE, TWO))))

    found = await model.ask(PROMPT, Facts, Meter())

    assert [one.fact for one in found.facts] == BOTH


@pytest.mark.parametrize("name", VENDORS)
async def test_a_vendors_thoughts_are_read_where_there_is_no_answer(
    server: ModelServer, vendor: Vendor, name: str
) -> None:
    model = vendor(name)
    thought = THOUGHTS[name](facts(ONE))

    server.will(_parts(name, thought))
    alone = await model.ask(PROMPT, Facts, Meter())
    answer = {"type": "text", "text": facts(TWO)} if name == ANTHROPIC else {"text": facts(TWO)}
    server.will(_parts(name, thought, answer))
    beside = await model.ask(PROMPT, Facts, Meter())

    assert [one.fact for one in (*alone.facts, *beside.facts)] == BOTH


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize(
    ("code", "words", "ways"),
    [
        (404, "Tools and schemas are not supported here.", ["native", "tool", "prompt"]),
        (500, "Failed to parse grammar", ["native", "tool", "prompt"]),
        (401, "Your key may not use tools.", ["native"]),
        (404, "No such model.", ["native"]),
    ],
)
async def test_words_of_a_vendor_about_the_way_of_asking_lead_to_the_next(
    server: ModelServer, vendor: Vendor, name: str, code: int, words: str, ways: list[str]
) -> None:
    model = vendor(name)
    server.always(refusal(code, words))

    await failure(model)

    assert [vendors_mode(seen.body) for seen in server.seen] == ways


async def test_images_are_sent_in_the_parts_of_each_vendor(
    server: ModelServer, vendor: Vendor
) -> None:
    files = (Attachment("image/png", b"\xff\xfea"), Attachment("image/webp", b"\xff\xfeb"))
    for name in VENDORS:
        await vendor(name).ask(Prompt("Say.", "Look.", files), Likes, Meter())

    of_anthropic, of_google = (seen.body for seen in server.seen)
    text, *images = of_anthropic["messages"][0]["content"]
    sources = [image["source"] for image in images]
    assert text["text"] == "Look."
    assert {source["type"] for source in sources} == {"base64"}
    assert [(one["media_type"], one["data"]) for one in sources] == [
        ("image/png", "//5h"),
        ("image/webp", "//5i"),
    ]
    text, *images = of_google["contents"][0]["parts"]
    blobs = [image["inlineData"] for image in images]
    assert text["text"] == "Look."
    # In the alphabet of base64 for addresses.
    assert [(one["mime_type"], one["data"]) for one in blobs] == [
        ("image/png", "__5h"),
        ("image/webp", "__5i"),
    ]


async def test_the_query_of_anthropics_address_is_sent_every_time(
    server: ModelServer, vendor: Vendor
) -> None:
    await vendor(ANTHROPIC, "?api-version=1").ask(PROMPT, Likes, Meter())

    (seen,) = server.seen
    assert (seen.path, seen.query) == ("/v1/messages", {"api-version": "1"})
