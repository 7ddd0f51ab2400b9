"""Which model a bank gets, what each vendor's reads, and what stops the start."""

import sys

import pytest

from app.adapters.llm.factory import open_models
from app.adapters.llm.models import TextModels
from app.adapters.llm.names import ModelSetupError
from app.adapters.llm.ports import Attachment, Meter, Prompt
from app.settings.providers import PROVIDERS
from app.settings.settings import Settings
from tests.support.model_server import ModelServer
from tests.support.scripted_models import ScriptedTextModel
from tests.unit.llm.conftest import PROMPT, Likes, Open

VARIABLES = [
    name
    for provider in PROVIDERS.values()
    for name in (*provider.key_variables, provider.address_variable)
]
FULL = "projects/p/locations/l/publishers/google/models/gemini-2.5-flash"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def settings(**given: object) -> Settings:
    return Settings.model_validate(given)


def image(uri: str | None = None, kind: str = "image/png") -> Attachment:
    return Attachment(kind, b"\x89PNG" if uri is None else None, uri)


def test_without_settings_there_is_no_model() -> None:
    models = open_models(settings())

    assert models.choose(None) is None
    assert models.choose(FULL) is None


def test_a_banks_model_is_found_by_its_name_or_its_last_segment() -> None:
    default, first, second = (ScriptedTextModel([], model_id=f"scripted:{n}") for n in range(3))
    models = TextModels(default, {FULL: first, "gemini-2.5-pro": second})

    assert models.choose(FULL) is first
    assert models.choose(FULL.replace("flash", "pro")) is second
    assert models.choose("gemini-2.5-pro") is second
    assert models.choose("gemini-2.5-flash") is default
    assert models.choose(None) is default
    assert TextModels(None, {"a": first}).choose("b") is None


async def test_aliases_of_one_model_share_it(server: ModelServer) -> None:
    aliases = {"a": "openai:small", "b": "openai:small", "c": "openai:large"}
    models = open_models(
        settings(model="openai:small", model_base_url=server.url, model_aliases=aliases)
    )

    small, large = models.choose(None), models.choose("x/c")
    assert models.choose("a") is models.choose("b") is small
    assert small is not None
    assert large is not None
    await small.ask(PROMPT, Likes, Meter())
    await large.ask(PROMPT, Likes, Meter())
    await models.close()

    assert [seen.body["model"] for seen in server.seen] == ["small", "large"]
    assert (small.model_id, large.model_id) == ("openai:small", "openai:large")


@pytest.mark.parametrize(
    "name",
    ["openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "google:gemini-2.5-flash", "ollama:qwen3"],
)
async def test_every_vendor_can_be_named(name: str) -> None:
    models = open_models(settings(model=name, model_key="a-key", model_max_input_tokens=9_000))
    model = models.choose(None)

    assert model is not None
    assert (model.model_id, model.max_input_tokens) == (name, 9_000)
    await models.close()


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("OPENAI_API_KEY", "openai:gpt-5-mini"),
        ("ANTHROPIC_API_KEY", "anthropic:claude-haiku-4-5"),
        ("GOOGLE_API_KEY", "google:gemini-2.5-flash"),
    ],
)
def test_a_key_may_be_in_the_vendors_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, name: str
) -> None:
    monkeypatch.setenv(variable, "a-key")

    assert open_models(settings(model=name)).choose(None) is not None


@pytest.mark.parametrize("name", ["openai:x", "anthropic:x", "google:x"])
def test_a_vendor_without_a_key_stops_the_start(name: str) -> None:
    with pytest.raises(ModelSetupError, match=f"The model {name} needs an API key") as failed:
        open_models(settings(model=name))

    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("name", "module"), [("anthropic:x", "anthropic"), ("google:x", "google.genai.types")]
)
def test_a_vendor_without_its_packages_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(ModelSetupError, match=rf"{name} needs packages .*: make -C /\S+ vendors$"):
        open_models(settings(model=name, model_key="k"))


@pytest.mark.parametrize("name", ["gpt-5-mini", "openai", "openai:", "nobody:x", ":x", "openai: "])
def test_a_wrong_name_stops_the_start(name: str) -> None:
    with pytest.raises(ModelSetupError, match=r"MEMORY_BANK_MODEL must be one of .*; got"):
        open_models(settings(model=name))
    with pytest.raises(ModelSetupError, match="MEMORY_BANK_MODEL_ALIASES"):
        open_models(settings(model_aliases={"a": name}))


def test_an_address_that_the_vendor_does_not_take_stops_the_start() -> None:
    with pytest.raises(ModelSetupError, match=r"openai:\.\.\. and ollama:\.\.\. alone"):
        open_models(settings(model="google:x", model_key="k", model_base_url="http://a/v1"))


@pytest.mark.parametrize("name", ["openai:small", "ollama:small"])
async def test_a_server_of_ones_own_needs_no_key_and_gets_no_vendors(
    server: ModelServer, opened: Open, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-vendors-key")

    await opened(model=name).ask(PROMPT, Likes, Meter())

    assert "a-vendors-key" not in str(server.seen[0].headers)


async def test_a_server_of_ones_own_gets_its_key(server: ModelServer, opened: Open) -> None:
    await opened(model_key="its-key").ask(PROMPT, Likes, Meter())

    assert server.seen[0].headers["authorization"] == "Bearer its-key"


def test_a_key_goes_to_the_provider_it_is_meant_for_alone() -> None:
    with pytest.raises(ModelSetupError, match="anthropic:x needs an API key"):
        open_models(settings(model="openai:x", model_key="k", model_aliases={"a": "anthropic:x"}))


@pytest.mark.parametrize("name", ["openai:x", "anthropic:x", "google:x"])
def test_vendors_read_images_and_documents(name: str) -> None:
    model = open_models(settings(model=name, model_key="k")).choose(None)
    assert model is not None

    assert model.reads(image())
    assert model.reads(image(kind="application/pdf"))
    assert model.reads(image("https://example.com/a.png"))
    assert model.reads(image("http://example.com/a.png")) == (name != "google:x")
    assert not model.reads(image(kind="audio/mpeg"))
    assert not model.reads(image("https://example.com/a.pdf", "application/pdf"))
    for uri in ("file:///etc/passwd", "ftp://a/b.png", "data:image/png;base64,", "gs://a/b", ""):
        assert not model.reads(image(uri))


async def test_a_server_of_ones_own_reads_what_the_settings_say(
    server: ModelServer, opened: Open
) -> None:
    assert not opened().reads(image())
    model = opened(model_media_types=["image/*"])
    assert model.reads(image(kind="IMAGE/PNG"))
    assert not model.reads(image(kind="application/pdf"))
    # It would fetch from its own network.
    assert not model.reads(image("http://169.254.169.254/a.png"))

    await model.ask(Prompt("Look.", "user: see", (image(),)), Likes, Meter())

    text, file = server.seen[0].body["messages"][1]["content"]
    assert text == {"type": "text", "text": "user: see"}
    assert file["image_url"]["url"] == "data:image/png;base64,iVBORw=="


def test_the_scripted_model_reads_what_it_is_told() -> None:
    model = ScriptedTextModel([], media_types=["image/png"])

    assert model.reads(image())
    assert not model.reads(image(kind="image/gif"))


async def test_a_script_ends_fails_or_is_a_function() -> None:
    model = ScriptedTextModel([Likes(facts=["a"]), ConnectionError("away")], delay_seconds=0.01)
    meter = Meter()
    assert (await model.ask(PROMPT, Likes, meter)).facts == ["a"]
    with pytest.raises(ConnectionError):
        await model.ask(PROMPT, Likes, meter)
    with pytest.raises(RuntimeError, match="ends after 2 replies"):
        await model.ask(PROMPT, Likes, meter)
    assert meter.by_model["scripted:1"].milliseconds == 20

    echoing = ScriptedTextModel(lambda asked: {"facts": [asked.prompt.text]})
    assert (await echoing.ask(PROMPT, Likes, meter)).facts == [PROMPT.text]
    assert echoing.prompts == [PROMPT]
