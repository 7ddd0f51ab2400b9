"""What is sent to each vendor: once, with files by value or by reference, nothing fetched."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator

import httpx2
import pytest
from pydantic import SecretStr

from app.adapters.llm.names import ModelName, ModelSetupError
from app.adapters.llm.ports import Attachment, Prompt, Question
from app.adapters.llm.provider import RequestFailed
from app.adapters.llm.providers.text import open_channel
from app.settings.providers import PROVIDERS
from app.settings.settings import OutputMode, Settings
from tests.unit.llm.conftest import Likes

KEY = SecretStr("a-key")
URI = "https://images.example.com/cat.png"
FILES = (Attachment("image/png", uri=URI), Attachment("application/pdf", b"%PDF-1.7"))
QUESTION = Question(Prompt("Look.", "user: see", FILES), Likes)
HOSTS = {
    "openai:gpt-5-mini": "api.openai.com",
    "anthropic:claude-haiku-4-5": "api.anthropic.com",
    "google:gemini-2.5-flash": "generativelanguage.googleapis.com",
}
every_vendor = pytest.mark.parametrize("name", HOSTS)
every_mode = pytest.mark.parametrize("mode", ["native", "tool", "prompt"])


class Wire:
    """Keeps the requests, and answers that there are too many."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []
        transport = httpx2.MockTransport(self._answer)
        self.client = httpx2.AsyncClient(transport=transport, timeout=60)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        error = {"error": {"message": "Too many.", "status": "RESOURCE_EXHAUSTED", "code": 429}}
        return httpx2.Response(429, json=error, headers={"Retry-After": "7"})


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    found = Wire()
    yield found
    await found.client.aclose()


def test_the_setting_names_every_provider() -> None:
    description = Settings.model_fields["model"].description
    assert description is not None
    assert [name for name in PROVIDERS if f"`{name}:" not in description] == []


def test_all_vendors_have_a_host_here() -> None:
    vendors = {name for name, provider in PROVIDERS.items() if not provider.is_local}
    assert {name.partition(":")[0] for name in HOSTS} == vendors


@every_vendor
def test_no_vendor_gets_the_key_of_another(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    model = ModelName.parse(name, "test")
    for provider, known in PROVIDERS.items():
        for variable in known.key_variables:
            if provider == model.provider:
                monkeypatch.delenv(variable, raising=False)
            else:
                monkeypatch.setenv(variable, "a-key-of-another")
    with pytest.raises(ModelSetupError, match="needs an API key"):
        open_channel(model, None, None, wire.client, Settings())


@pytest.mark.parametrize("name", ["openai:some", "ollama:some"])
@pytest.mark.parametrize("query", ["", "?api-version=1"])
async def test_no_other_server_gets_what_is_for_openai(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, name: str, query: str
) -> None:
    canary = "for-openai-alone"
    for variable in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, canary)
    own = f"X-Gateway: {canary}\nAuthorization: Bearer {canary}\nAPI-Key: {canary}\nbroken"
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", own)
    address = f"http://other.example.com/v1{query}"
    for key in (KEY, None):
        model = ModelName.parse(name, "test")
        channel = open_channel(model, address, key, wire.client, Settings())
        with pytest.raises(RequestFailed):
            await channel.send(QUESTION, OutputMode.PROMPT, channel.limit)
        sent = wire.requests[-1].headers
        assert canary not in str(list(sent.multi_items()))
        assert key is None or sent["authorization"] == f"Bearer {key.get_secret_value()}"


@every_vendor
@every_mode
async def test_one_request_goes_out_and_its_failure_is_read(
    wire: Wire, name: str, mode: str
) -> None:
    channel = open_channel(ModelName.parse(name, "test"), None, KEY, wire.client, Settings())

    with pytest.raises(RequestFailed) as failed:
        await channel.send(QUESTION, OutputMode(mode), channel.limit)

    assert (failed.value.status, failed.value.retry_after_seconds) == (429, 7)
    [request] = wire.requests
    assert request.url.host == HOSTS[name]
    body = json.loads(request.content)
    assert URI in str(body)
    assert "JVBERi0xLjc=" in str(body)
    assert "facts" in str(body)
    assert ("strict" in str(body)) == (name.startswith("openai") and mode == "native")


@every_vendor
def test_every_way_of_asking_is_known_to_the_newest_models(wire: Wire, name: str) -> None:
    channel = open_channel(ModelName.parse(name, "test"), None, KEY, wire.client, Settings())

    assert channel.modes == (OutputMode.NATIVE, OutputMode.TOOL, OutputMode.PROMPT)


def test_an_older_model_is_asked_in_a_way_it_can(wire: Wire) -> None:
    name = ModelName.parse("anthropic:claude-3-5-haiku-latest", "test")

    channel = open_channel(name, None, KEY, wire.client, Settings())

    assert channel.modes == (OutputMode.TOOL, OutputMode.PROMPT)


_PACKAGES = {"openai": "openai", "anthropic": "anthropic", "google": "google.genai"}
_PROGRAM = """
import asyncio, sys
from app.adapters.llm.factory import open_models
from app.settings.settings import Settings

async def opened(): open_models(Settings(model=sys.argv[1], model_key="a-key"))

asyncio.run(opened())
print(*sys.modules)
"""


@every_vendor
def test_a_process_with_one_model_imports_the_package_of_its_vendor_alone(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, name], check=True, capture_output=True, text=True
    )

    imported = {*_PACKAGES.values()}.intersection(done.stdout.split())
    assert imported == {_PACKAGES[name.partition(":")[0]]}
