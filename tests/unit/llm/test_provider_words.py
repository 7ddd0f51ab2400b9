"""What a provider says of a failure: shown to who asked, without the prompt and without keys."""

import json
from typing import Any

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from app.adapters.llm.factory import open_embedder
from app.adapters.llm.http import open_client
from app.adapters.llm.names import ModelName
from app.adapters.llm.ports import Meter, Prompt, Question
from app.adapters.llm.provider import RequestFailed
from app.adapters.llm.providers.text import open_channel
from app.adapters.llm.words import MAX_CHARS, ProviderRequest, read
from app.kernel.errors import FailedPrecondition, Reason, Unavailable
from app.settings.settings import OutputMode, Settings
from tests.support.model_server import Behaviour, ModelServer
from tests.unit.llm.conftest import PROMPT, Likes, Open, failure

KEY = "sk-proj-abcdefghijklmnop"
WRONG_KEY = {
    "message": f"Incorrect API key provided: {KEY[:8]}****mnop. Find yours in the console.",
    "type": "invalid_request_error",
    "param": None,
    "code": "invalid_api_key",
}
NO_MODEL = {
    "message": "The model `small-2024-07-18-preview` does not exist.",
    "type": "not_found_error",
    "code": 404,
}
PAGE = b"""<!DOCTYPE html><html><head><title>Sign in</title><style>b {color: red}</style></head>
<body><h1>Welcome &amp; hello</h1><script>var key = 1;</script></body></html>"""
REQUEST = ProviderRequest([PROMPT.text], [KEY], "small")


def error(status: int, said: Any) -> Behaviour:
    return Behaviour(status=status, body=json.dumps({"error": said}).encode())


async def test_a_wrong_key_is_told_with_its_setting_and_without_the_key(
    server: ModelServer, opened: Open
) -> None:
    server.always(error(401, WRONG_KEY))

    with capture_logs() as logs:
        failed = await failure(opened(model_key=KEY))

    assert (type(failed), failed.reason) == (FailedPrecondition, Reason.MODEL_REFUSED)
    assert failed.message == (
        "The provider of openai:small refuses the request with HTTP 401; see"
        " MEMORY_BANK_MODEL_KEY. It says: Incorrect API key provided: [...] Find yours in the"
        " console."
    )
    (line,) = [log for log in logs if log["event"] == "model.called"]
    told = (line["http_status"], line["provider_code"], line["provider_type"])
    assert told == (401, "invalid_api_key", "invalid_request_error")
    assert "Find yours" not in str(logs)


async def test_an_unknown_model_is_named_with_its_setting(
    server: ModelServer, opened: Open
) -> None:
    server.always(error(404, NO_MODEL))

    failed = await failure(opened(model="openai:small-2024-07-18-preview"))

    assert "of openai:small-2024-07-18-preview refuses" in failed.message
    assert "HTTP 404; see MEMORY_BANK_MODEL." in failed.message
    assert failed.message.endswith("It says: The model `small-2024-07-18-preview` does not exist.")


@pytest.mark.parametrize(("status", "kind"), [(404, FailedPrecondition), (200, Unavailable)])
async def test_a_page_is_told_by_its_text(
    server: ModelServer, opened: Open, status: int, kind: type[Exception]
) -> None:
    server.always(Behaviour(status=status, body=PAGE))

    failed = await failure(opened(model_max_attempts=1))

    assert isinstance(failed, kind)
    assert "see MEMORY_BANK_MODEL." in failed.message
    assert failed.message.endswith("It sends a page: Sign in: Welcome & hello")


async def test_what_it_repeats_of_the_prompt_is_cut(server: ModelServer, opened: Open) -> None:
    private = 'user: "My PIN is 4711,\nnever tell it to anyone."'
    repeated = f"Cannot read {private!r} or {json.dumps(private)} here. {'why ' * 200}"
    server.always(error(400, {"message": repeated}))

    with capture_logs() as logs, pytest.raises(FailedPrecondition) as failed:
        await opened().ask(Prompt("Extract.", private), Likes, Meter())

    said = failed.value.message.partition("It says: ")[2]
    assert said.startswith("Cannot read ")
    assert not [part for part in ("4711", "never", "anyone") if part in said]
    assert len(said) == MAX_CHARS
    assert "4711" not in str(logs)


async def test_an_embedding_server_that_refuses_is_told_alike(server: ModelServer) -> None:
    server.always(error(401, WRONG_KEY))
    given = {"embedder": "http", "embedding_model": "bge", "embedding_base_url": server.url}
    embedder = open_embedder(Settings.model_validate(given | {"embedding_key": KEY}))

    with pytest.raises(FailedPrecondition) as failed:
        await embedder.embed(["I keep bees."])
    await embedder.close()

    assert "of http:bge refuses the request with HTTP 401" in failed.value.message
    assert "see MEMORY_BANK_EMBEDDING_KEY. It says: Incorrect API key" in failed.value.message
    assert "mnop" not in failed.value.message


@pytest.mark.parametrize(
    ("name", "body", "told"),
    [
        (
            "anthropic:claude-haiku-4-5",
            {"type": "error", "error": {"type": "authentication_error", "message": "No x."}},
            ("No x.", None, "authentication_error"),
        ),
        (
            "google:gemini-2.5-flash",
            {"error": {"code": 401, "message": "No x.", "status": "UNAUTHENTICATED"}},
            ("No x.", "UNAUTHENTICATED", None),
        ),
        ("openai:gpt-5-mini", {"error": WRONG_KEY | {"message": "No x."}}, None),
        ("ollama:qwen3", {"error": "No x."}, ("No x.", None, None)),
    ],
)
async def test_each_vendor_s_words_are_read_from_its_reply(
    server: ModelServer, name: str, body: Any, told: tuple[str, str | None, str | None] | None
) -> None:
    server.always(Behaviour(status=401, body=json.dumps(body).encode()))
    client = open_client(60, 10_000, is_direct=True)
    key = SecretStr(KEY)
    channel = open_channel(ModelName.parse(name, "test"), server.url, key, client, Settings())

    with pytest.raises(RequestFailed) as failed:
        await channel.send(Question(PROMPT, Likes), OutputMode.PROMPT, channel.limit)
    await client.aclose()

    words = failed.value.words
    expected = told or ("No x.", "invalid_api_key", "invalid_request_error")
    assert failed.value.status == 401
    assert (words.message, words.code, words.kind) == expected


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"Bad: {KEY}", "Bad: [...]"),
        ("Bad: sk-1234abcd!", "Bad: [...]!"),
        ("Bad: abcd****wxyz", "Bad: [...]"),
        ("Bad: 9f86d081884c7d659a2feaa0c55ad015", "Bad: [...]"),
        ("See https://platform.example.com/account/api-keys", None),
        ("a\x00b\ud800\n c", "ab c"),
        ("", ""),
        ("x" * 300, "x" * 199 + "\u2026"),
    ],
)
def test_a_message_has_no_key_and_no_sign_that_cannot_be_seen(said: str, shown: str | None) -> None:
    assert read(json.dumps({"message": said}).encode(), REQUEST).message == (shown or said)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b"[" * 5_000, b'{"error": {"message": ["a", 1]}}', b"[]", b"{}", b"7",
     b'[{"error": {"message": 7, "code": [1], "type": {"a": "b"}}}]', b"<html", b"\x00" * 100,
     b'{"errors": []}', b'{"error": null, "errors": [null]}'],
)  # fmt: skip
def test_whatever_comes_is_read(body: bytes) -> None:
    words = read(body, REQUEST)

    assert len(words.message) <= MAX_CHARS
    assert (words.code, words.kind) == (None, None)


@pytest.mark.parametrize("code", ["what the user said", "x" * 65, "", None, {"a": 1}])
def test_a_code_that_is_no_name_is_not_logged(code: object) -> None:
    assert read(json.dumps({"error": {"code": code, "type": code}}).encode(), REQUEST).code is None
