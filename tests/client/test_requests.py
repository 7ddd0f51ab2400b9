"""What goes out for a call, and what is refused before it does."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from open_memory_bank import AsyncClient, Client, _calls
from open_memory_bank._requests import Engine, engine_of, metadata_value, request_of
from open_memory_bank._values import search, source

_HERE = Engine("default", "local", "1")
_PLACE = "/v1beta1/projects/default/locations/local/reasoningEngines"
_NAME = "projects/p/locations/l/reasoningEngines/1/memories/m1"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("m1", "m1"),
        (_NAME, "m1"),
        ("reasoningEngines/1/memories/m1", "m1"),
        ("a/b", "a%2Fb"),
        ("a?b#c%", "a%3Fb%23c%25"),
    ],
)
def test_an_id_or_a_name_is_one_part_of_the_path(given: str, path: str) -> None:
    request = request_of(_calls.GET_MEMORY, _HERE, {"memory": given}, {})
    assert request.path == f"{_PLACE}/1/memories/{path}"


@pytest.mark.parametrize("given", ["", ".", "..", _NAME.replace("/1/", "/2/")])
def test_an_id_that_leads_elsewhere_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"^memory must be"):
        request_of(_calls.GET_MEMORY, _HERE, {"memory": given}, {})


@pytest.mark.parametrize(
    ("given", "engine"),
    [
        ("7", Engine("default", "local", "7")),
        ("reasoningEngines/7", Engine("default", "local", "7")),
        ("projects/p/locations/l/reasoningEngines/7", Engine("p", "l", "7")),
    ],
)
def test_an_engine_is_an_id_or_a_name(given: str, engine: Engine) -> None:
    assert engine_of(given) == engine


@pytest.mark.parametrize("given", ["projects/p", _NAME, "a/b", "", ".", ".."])
def test_what_is_no_engine_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"^engine must be"):
        engine_of(given)


def test_arguments_go_where_the_operation_takes_them() -> None:
    options = {"scope": {"a": "b"}, "memory_id": "m1", "display_name": None, "ttl": "60s"}
    request = request_of(_calls.CREATE_MEMORY, _HERE, {}, options)
    assert request.query == {"memoryId": "m1"}
    body = json.loads(request.content or b"")
    assert body == {"scope": {"a": "b"}, "displayName": None, "ttl": "60s"}
    assert len(request.headers["Idempotency-Key"]) == 32


def test_the_callers_own_id_and_etag_are_headers() -> None:
    options = {"idempotency_key": "mine", "etag": "3"}
    request = request_of(_calls.DELETE_MEMORY, _HERE, {"memory": "m"}, options)
    headers = {"Idempotency-Key": "mine", "If-Match": "3", "Content-Type": "application/json"}
    assert request.headers == headers
    assert request.content == b"{}"


def test_a_read_has_no_id_of_the_request() -> None:
    request = request_of(_calls.LIST_MEMORIES, _HERE, {}, {"show_deleted": True, "filter": None})
    assert (request.headers, request.content) == ({}, None)
    assert request.query == {"showDeleted": "true"}


def test_an_argument_of_another_operation_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^getMemory takes no page_size, x\.$"):
        request_of(_calls.GET_MEMORY, _HERE, {"memory": "m"}, {"x": 1, "page_size": 2})


def test_numbers_that_are_not_json_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        request_of(_calls.CREATE_MEMORY, _HERE, {}, {"metadata": {"a": float("nan")}})


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("x", {"stringValue": "x"}),
        (1, {"doubleValue": 1}),
        (1.5, {"doubleValue": 1.5}),
        (True, {"boolValue": True}),
        ({"stringValue": "x"}, {"stringValue": "x"}),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), {"timestampValue": "2026-01-02T03:00:00Z"}),
        (
            datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))),
            {"timestampValue": "2026-01-02T01:00:00Z"},
        ),
    ],
)
def test_metadata_are_plain_or_typed(value: Any, typed: Any) -> None:
    assert metadata_value(value) == typed


def test_metadata_of_an_exchange_stay_as_they_are() -> None:
    request = request_of(_calls.CREATE_EXCHANGE, _HERE, {"session": "s"}, {"metadata": {"a": 1}})
    assert json.loads(request.content or b"") == {"metadata": {"a": 1}}


def test_short_forms_stand_for_sources() -> None:
    turns = [("user", "Hi"), ("model", "Hello")]
    events = [{"content": {"role": role, "parts": [{"text": text}]}} for role, text in turns]
    assert source(None, turns) == {"direct_contents_source": {"events": events}}
    assert source(["Hi"], None) == {"direct_contents_source": {"events": events[:1]}}
    facts = {"directMemories": [{"fact": "I am."}]}
    assert source(None, None, ["I am."]) == {"direct_memories_source": facts}
    assert source(None, None) == {}


@pytest.mark.parametrize(("texts", "facts"), [(["a"], ["b"]), ("text", None), (None, "fact")])
def test_a_source_is_one_list(texts: Any, facts: Any) -> None:
    with pytest.raises(ValueError, match="texts, turns and facts"):
        source(texts, None, facts)


def test_a_search_is_a_query_with_its_limits() -> None:
    params = {"searchQuery": "x", "topK": 3}
    wanted = {"scope": {"a": "b"}, "similarity_search_params": params}
    assert search({"scope": {"a": "b"}}, "x", 3, None) == wanted
    assert search({"scope": {}}, None, None, None) == {"scope": {}}
    with pytest.raises(ValueError, match="query"):
        search({}, None, 3, None)


def test_the_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_CLIENT_URL", "https://memory.example/base/")
    monkeypatch.setenv("MEMORY_BANK_CLIENT_KEY", "secret-word")
    with Client(engine="7") as client:
        shown = repr(client)
    engine = "projects/default/locations/local/reasoningEngines/7"
    assert shown == f"Client('https://memory.example/base', engine='{engine}')"


@pytest.mark.parametrize(
    "url",
    [
        "memory.example",
        "ftp://x",
        "http://",
        "http://a:b@x",
        "http://x:port",
        "http://x/?a=1",
        "http://x/#a",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="url must be"):
        Client(url)


@pytest.mark.parametrize("key", ["secret-word\n", "secret word", "secret-wörd"])
def test_a_key_that_no_header_holds_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match=r"^key must be") as raised:
        Client(key=key)
    assert key.strip() not in str(raised.value)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_key_in_the_clear_warns(kind: type[Client | AsyncClient]) -> None:
    with pytest.warns(UserWarning, match=r"unencrypted to memory\.example") as warned:
        kind("http://memory.example", key="k")
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.2", "http://[::1]:8", "http://localhost", "https://memory.example"]
)
def test_a_key_on_this_machine_or_encrypted_does_not_warn(url: str) -> None:
    assert Client(url, key="k").engine.endswith("/1")
