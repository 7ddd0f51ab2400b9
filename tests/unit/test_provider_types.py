"""Keys and addresses of providers as people paste them: mended, or refused with the place."""

import pytest
import typer
from pydantic import ValidationError

from app.adapters.terminal import MISUSED, read_settings
from app.settings.described import refusals
from app.settings.settings import Settings

_KEYS = ("model_key", "embedding_key", "embedding_previous_key")
_ALIASES = {"b": "ollama:b", "c": "anthropic:c", "d": "google:d"}
_ADDRESSES = ("model_base_url", "embedding_base_url", "embedding_previous_base_url")


def _refused(**given: str) -> str:
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate(given)
    (sentence,) = refusals(refused.value)
    return sentence


@pytest.mark.parametrize("name", _KEYS)
@pytest.mark.parametrize(
    "pasted",
    ["sk-a\n", "sk-a\r\n", "sk-a\r", '"sk-a"', "'sk-a'\n", "\u201csk-a\u201d", " sk-a\t",
     "\ufeffsk-a", "sk-a\u200b", "sk-a"],
)  # fmt: skip
def test_what_is_pasted_around_a_key_is_dropped(name: str, pasted: str) -> None:
    key = getattr(Settings.model_validate({name: pasted}), name)
    assert key.get_secret_value() == "sk-a"


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("sk-\u2019secret", "U+2019 (right single quotation mark) as character 4"),
        ('"sk-\nsecret"', "U+000A (a line end) as character 5"),
        ("sk-secre\r\nt", "U+000D (a line end) as character 9"),
        ("sk\x00secret", "U+0000 (a control character) as character 3"),
        ("secr\u00e9t", "U+00E9 (latin small letter e with acute) as character 5"),
    ],
)
def test_a_key_that_cannot_be_sent_is_refused_with_the_place(pasted: str, said: str) -> None:
    sentence = _refused(model_key=pasted)
    assert sentence.startswith("MEMORY_BANK_MODEL_KEY must have printable ASCII characters alone;")
    assert said in sentence
    assert "secr" not in sentence


def test_keys_in_variables_of_providers_are_treated_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)
    variables = {"OPENAI_API_KEY": '"sk-a"\r\n', "ANTHROPIC_API_KEY": " sk-b\n"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("app.adapters.terminal.environment", lambda: variables)
    read_settings()
    assert variables == {"OPENAI_API_KEY": "sk-a", "ANTHROPIC_API_KEY": "sk-b"}

    variables["GEMINI_API_KEY"] = "se\u201ccret"
    with pytest.raises(typer.Exit) as ended:
        read_settings()
    assert ended.value.exit_code == MISUSED
    said = capsys.readouterr().err
    assert said.startswith("GEMINI_API_KEY must have printable ASCII characters alone; got U+201C")
    assert "cret" not in said


def test_addresses_in_variables_of_providers_are_treated_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)
    query = "https://a/openai/deployments/g?api-version=1"
    variables = {
        "OPENAI_BASE_URL": f'"{query.replace("?", "/chat/completions?")}"\n',
        "OLLAMA_BASE_URL": " http://a:11434/v1/ ",
        "ANTHROPIC_BASE_URL": "https://a/v1/messages",
        "GOOGLE_GEMINI_BASE_URL": " ",
    }
    monkeypatch.setattr("app.adapters.terminal.environment", lambda: variables)
    read_settings(model="openai:a", model_aliases=_ALIASES)
    assert variables == {
        "OPENAI_BASE_URL": query,
        "OLLAMA_BASE_URL": "http://a:11434/v1",
        "ANTHROPIC_BASE_URL": "https://a/v1",
    }

    for name, given, said in (
        ("OPENAI_BASE_URL", "localhost:8080/v1?key=cret", "must be an address with its http://"),
        ("GOOGLE_GEMINI_BASE_URL", "http://a?key=cret", "must be an address without a query."),
    ):
        variables[name] = given
        with pytest.raises(typer.Exit) as ended:
            read_settings(model="openai:a", model_aliases=_ALIASES)
        assert ended.value.exit_code == MISUSED
        error = capsys.readouterr().err
        assert error.startswith(f"{name} {said}")
        assert "cret" not in error
        variables[name] = ""


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"model": "anthropic:a"},
        {"model": "openai:a", "model_base_url": "http://a/v1"},
        {"model_aliases": {"small": "google:a"}},
    ],
)
def test_addresses_of_providers_that_are_not_in_use_may_be_anything(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, object]
) -> None:
    monkeypatch.setattr("app.adapters.terminal.configure_logs", lambda _: None)
    variables = {"OLLAMA_BASE_URL": "localhost:11434", "OPENAI_BASE_URL": "  "}
    monkeypatch.setattr("app.adapters.terminal.environment", lambda: variables)

    read_settings(**given)

    assert variables == {"OLLAMA_BASE_URL": "localhost:11434", "OPENAI_BASE_URL": "  "}


@pytest.mark.parametrize("name", _ADDRESSES)
@pytest.mark.parametrize(
    ("pasted", "address"),
    [
        ("http://a:80/v1/", "http://a:80/v1"),
        (' "http://a/v1"\n', "http://a/v1"),
        ("http://a/v1/chat/completions", "http://a/v1"),
        ("https://a/v1/embeddings/", "https://a/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://a/openai/deployments/g?api-version=1", "https://a/openai/deployments/g?api-version=1"),
        ("https://a/d/g/chat/completions?api-version=1&b=2", "https://a/d/g?api-version=1&b=2"),
    ],
)  # fmt: skip
def test_an_address_is_taken_up_to_its_base(name: str, pasted: str, address: str) -> None:
    assert getattr(Settings.model_validate({name: pasted}), name) == address


@pytest.mark.parametrize(
    "pasted",
    ["localhost:8080/v1", "a/v1", "ftp://a/v1", "http://", "http:///v1", "http://a:b/v1",
     "http://a b/v1", "http://a/v1#top", "http://a/v1?x=1 2", "http://a\n/v1"],
)  # fmt: skip
def test_what_is_no_address_is_refused_at_the_start(pasted: str) -> None:
    sentence = _refused(model_base_url=pasted)
    assert "MODEL_BASE_URL must be an address with its http:// or https://, such as" in sentence
