"""The readers that the settings name: opened as they are said to be, or told why not."""

from typing import Any

import pytest
from pydantic import BaseModel, SecretStr, ValidationError

from app.adapters.llm.factory import open_readers
from app.adapters.llm.names import ModelSetupError
from app.adapters.llm.ports import Meter, Prompt
from app.kernel.errors import ServiceError
from app.settings.described import refusals
from app.settings.providers import PROVIDERS
from app.settings.settings import Settings
from app.settings.surface_settings import ReaderModel
from tests.support.model_server import ModelServer, model_server


class _Output(BaseModel):
    said: str


def _settings(name: str = "one", **reader: Any) -> Settings:
    said = {"model": "openai:any", "locality": "remote", **reader}
    return Settings(task_readers={name: ReaderModel(**said)}, model_max_attempts=1)


async def test_without_any_there_is_nothing_to_open() -> None:
    readers = open_readers(Settings())
    assert readers.by_name == {}
    await readers.close()


async def test_they_come_in_their_order_as_they_are_said_to_be() -> None:
    models = {
        "z": ReaderModel(model="ollama:llama3", locality="local", max_input_tokens=32_000),
        "a": ReaderModel(model="openai:gpt-5", locality="remote", key=SecretStr("k")),
        "m": ReaderModel(model="openai:own", locality="local", base_url="http://localhost:1/v1"),
    }
    readers = open_readers(Settings(task_readers=models))
    found = [(one.name, one.is_local, one.model.model_id) for one in readers.by_name.values()]
    assert found == [
        ("z", True, "ollama:llama3"),
        ("a", False, "openai:gpt-5"),
        ("m", True, "openai:own"),
    ]
    windows = [one.model.max_input_tokens for one in readers.by_name.values()]
    assert windows == [32_000, 8_192, 8_192]
    await readers.close()


@pytest.mark.parametrize(
    ("name", "reader", "says"),
    [
        ("builtin", {}, "at 'builtin', has the name of the reader that needs no model"),
        ("builtin:extractive", {}, "has the name of the reader that needs no model"),
        ("one", {"model": "any"}, "at 'one', must be one of openai:"),
        ("one", {"model": "openai:"}, "; got 'openai:'."),
        ("one", {"model": "anthropic:any", "base_url": "http://x"}, "only openai:... and ollama"),
        ("one", {"locality": "local"}, "is local, and openai:any without an address is not"),
        ("one", {"model": "google:any", "locality": "local"}, "without an address is not"),
        (
            "one",
            {"base_url": "http://x", "reads": ["image/*"], "max_input_tokens": 3_199},
            "max_input_tokens must be at least 3,200; got 3,199.",
        ),
    ],
)
def test_what_is_wrong_with_one_is_told(name: str, reader: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelSetupError, match="MEMORY_BANK_TASK_READERS") as told:
        open_readers(_settings(name, **reader))
    assert says in str(told.value)


@pytest.mark.parametrize(
    "reader",
    [
        {"locality": "nowhere"},
        {"max_input_tokens": 999},
        {"window": 1},
        {"model": ""},
        {"base_url": "localhost:1"},
        {"key": "sk-\u2019a"},
        {"reads": ["audio/*"]},
        {"reads": "image/*"},
    ],
)
def test_what_no_reader_can_be_is_no_setting(reader: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _settings(**reader)


def test_files_that_no_reader_takes_are_told_by_the_words_of_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = '{"one": {"model": "ollama:any", "locality": "local", "reads": ["audio/*"]}}'
    monkeypatch.setenv("MEMORY_BANK_TASK_READERS", text)
    with pytest.raises(ValidationError) as wrong:
        Settings()
    (told,) = refusals(wrong.value)
    assert told == "MEMORY_BANK_TASK_READERS: one.reads[0] must be image/*."


async def test_images_fit_into_half_of_a_window() -> None:
    takes = {"model": "ollama:any", "locality": "local", "reads": ["image/*"]}
    models = {
        "none": ReaderModel(model="ollama:any", locality="local"),
        "one": ReaderModel(**takes, max_input_tokens=3_200),
        "two": ReaderModel(**takes),
        "many": ReaderModel(**takes, max_input_tokens=64_000),
    }
    readers = open_readers(Settings(task_readers=models))
    assert [one.max_images for one in readers.by_name.values()] == [0, 1, 2, 20]
    await readers.close()


def test_the_setting_is_read_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"one": {"model": "ollama:any", "locality": "local", "key": "secret-key"}}'
    monkeypatch.setenv("MEMORY_BANK_TASK_READERS", text)
    settings = Settings()
    assert settings.task_readers["one"].locality == "local"
    assert "secret-key" not in repr(settings)


async def _asked(server: ModelServer, settings: Settings) -> str:
    """Return with which key a server is asked."""
    server.reset()
    server.will({"said": "Yes."})
    readers = open_readers(settings)
    meter = Meter()
    answer = await readers.by_name["one"].model.ask(Prompt("Say.", "Yes?"), _Output, meter)
    await readers.close()
    assert (answer.said, meter.total.calls) == ("Yes.", 1)
    return server.seen[0].headers.get("authorization", "")


async def test_one_has_its_own_key_and_learns_no_other() -> None:
    with model_server() as server, model_server() as other:
        own = _settings(base_url=server.url, key=SecretStr("own"))
        # What writes memories is asked elsewhere, with another key.
        main = {"model": "openai:main", "model_base_url": other.url, "model_key": SecretStr("main")}
        assert await _asked(server, own.model_copy(update=main)) == "Bearer own"
        without = _settings(base_url=server.url).model_copy(update=main)
        assert "main" not in await _asked(server, without)
        assert other.seen == []


_VARIABLES = {
    f"{name}:any": (provider.address_variable, provider.key_variables[0])
    for name, provider in PROVIDERS.items()
}


def _unproxied(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "locality"),
    [("ollama:any", "local"), *((model, "remote") for model in _VARIABLES)],
)
async def test_no_variable_says_where_one_is(
    monkeypatch: pytest.MonkeyPatch, model: str, locality: str
) -> None:
    _unproxied(monkeypatch)
    # Nobody serves at that address, so that nothing leaves the machine of the test.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with model_server() as server:
        address, key = _VARIABLES[model]
        monkeypatch.setenv(address, server.url)
        monkeypatch.setenv(key, "secret")
        with pytest.raises(ServiceError):
            await _asked(server, _settings(model=model, locality=locality))
        assert server.seen == []


@pytest.mark.parametrize(("locality", "learns"), [("local", False), ("remote", True)])
async def test_a_local_one_learns_no_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, locality: str, *, learns: bool
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    with model_server() as server:
        own = _settings(model="ollama:any", locality=locality, base_url=server.url)
        assert ("secret" in await _asked(server, own)) == learns


async def test_a_local_one_is_asked_past_the_proxies_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _unproxied(monkeypatch)
    with model_server() as server, model_server() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        await _asked(server, _settings(locality="local", base_url=server.url))
        assert (len(server.seen), proxy.seen) == (1, [])
