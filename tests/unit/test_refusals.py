"""A setting that is refused is told in the service's own words, and never with a secret."""

import json
import re

import pytest
from pydantic import ValidationError

from app.settings.described import refusals, variable
from app.settings.settings import Settings

_SECRET = "sk-0123456789-secret"
_WRONG = ["", "abc", "-1", "0", "1.5", "nan", "9" * 40, "[]", "{}", "[1]", '{"a": 1}', '{"a": {}}']
_OWN_WORDS = re.compile(r"must (?:be|have|name|not)\b|need")
_OF_PYDANTIC = re.compile(r"Input|Value error|valid|instance|character\b")


def _said(name: str, value: object) -> list[str]:
    try:
        Settings.model_validate({name: value})
    except ValidationError as error:
        return refusals(error)
    return []


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("port", "abc", "MEMORY_BANK_PORT must be a whole number; got abc."),
        ("port", "99999", "MEMORY_BANK_PORT must be at most 65,535; got 99999."),
        ("processes", "1.5", "MEMORY_BANK_PROCESSES must be a whole number; got 1.5."),
        ("model_timeout_seconds", "0", "MEMORY_BANK_MODEL_TIMEOUT_SECONDS must be greater than 0;"),
        ("session_ttl_seconds", "inf", "MEMORY_BANK_SESSION_TTL_SECONDS must be a finite number;"),
        ("console", "maybe", "MEMORY_BANK_CONSOLE must be true or false; got maybe."),
        (
            "embedder",
            "foo",
            "MEMORY_BANK_EMBEDDER must be auto, minilm, http, onnx or hash; got",
        ),
        ("mcp_engine", "x", "MEMORY_BANK_MCP_ENGINE must be the id of an engine, such as 1; got x"),
        ("jwt_audience", "[x", "MEMORY_BANK_JWT_AUDIENCE must be JSON; got [x."),
        ("trusted_proxies", ["a"], "MEMORY_BANK_TRUSTED_PROXIES: [0] must be an address or a net"),
        ("jwt_algorithms", [], "MEMORY_BANK_JWT_ALGORITHMS must have a length of at least 1."),
        ("task_storable", ["x"], "MEMORY_BANK_TASK_STORABLE: [0] must be text, json or blob; got"),
        ("tuning", {"idle_seconds": "x"}, "MEMORY_BANK_TUNING: idle_seconds must be a number; got"),
        (
            "model_prices",
            {"a": {"input": -1, "output": 1}},
            "MEMORY_BANK_MODEL_PRICES: a.input",
        ),
        ("privacy_defaults", {"x": 1}, "MEMORY_BANK_PRIVACY_DEFAULTS: x must be left out: there"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_wanted(name: str, value: object, sentence: str) -> None:
    (said,) = _said(name, value)
    assert said.startswith(sentence)


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_no_words_of_a_library_are_shown(name: str) -> None:
    parsed = [json.loads(text) for text in _WRONG if text[:1] in {"[", "{"}]
    for value in (*_WRONG, *parsed):
        for said in _said(name, value):
            assert said.startswith((variable(name), "MEMORY_BANK_", "Tokens also need")), said
            assert _OWN_WORDS.search(said), said
            assert not _OF_PYDANTIC.search(said.replace(str(value), "")), said
            assert "\n" not in said
            assert len(said) < 400


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("admin_key", _SECRET[:9]),
        ("pseudonym_key", _SECRET),
        ("model_key", [_SECRET]),
        ("task_readers", {"a": {"key": _SECRET}}),
        ("task_readers", {"a": {"model": "m", "locality": _SECRET, "key": _SECRET}}),
        ("task_readers", {"a": {"model": "m", "locality": "local", "key": 7, "api_key": _SECRET}}),
        ("task_readers", {"a": _SECRET}),
        ("task_readers", _SECRET),
        ("public_url", f"ftp://user:{_SECRET}@host"),
        ("model_prices", {"a": {"input": f"https://user:{_SECRET}@host", "output": 1}}),
    ],
)
def test_no_secret_is_shown(name: str, value: object) -> None:
    said = _said(name, value)
    assert said
    assert _SECRET[:9] not in "".join(said)


def test_every_fault_is_told_once_and_none_twice() -> None:
    with pytest.raises(ValidationError) as raised:
        Settings(port="x", processes=0)
    assert refusals(raised.value) == [
        "MEMORY_BANK_PORT must be a whole number; got x.",
        "MEMORY_BANK_PROCESSES must be at least 1; got 0.",
    ]
