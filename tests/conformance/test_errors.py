"""Refusals as the client raises them, and as they lie on the wire.

Source: wire specification, section 15.
"""

from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, Client, missing, refused


def test_a_refusal_has_the_body_of_google_rpc(http: httpx.Client, engine: str) -> None:
    answer = http.get(f"{engine}/memories/404")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert (error["code"], error["status"]) == (404, "NOT_FOUND")
    assert f"{engine}/memories/404" in error["message"]
    assert isinstance(error["details"], list)


def test_a_refusal_carries_code_status_and_message(vertex: Client) -> None:
    from google.genai.errors import ClientError  # noqa: PLC0415 - as in the support module

    with pytest.raises(ClientError) as caught:
        vertex.agent_engines.get(name="reasoningEngines/404")
    error = caught.value
    assert (error.code, error.status) == (404, "NOT_FOUND")
    assert "reasoningEngines/404" in str(error.message)
    assert error.details["error"]["code"] == 404


def test_every_resource_that_is_missing_is_not_found(bank: Bank) -> None:
    memory = bank.create("f").name
    with missing():
        bank.get(f"{bank.name}/memories/404")
    with missing():
        bank.memories.revisions.get(name=f"{memory}/revisions/404")
    with missing():
        bank.memories._get_memory_operation(operation_name=f"{bank.name}/operations/404")
    with missing():
        bank.client.agent_engines.get(name="reasoningEngines/404")
    with missing():
        [*bank.memories.list(name="reasoningEngines/404")]


UNKNOWN: dict[str, tuple[str, dict[str, Any], str]] = {
    "create": ("/memories", {"fact": "f", "scope": USER, "colour": "red"}, "colour"),
    "create, nested": (
        "/memories",
        {"fact": "f", "scope": USER, "topics": [{"managed_topic": "x"}]},
        "topics[0].managed_topic",
    ),
    "create, in metadata": (
        "/memories",
        {"fact": "f", "scope": USER, "metadata": {"a": {"stringValue": "x", "b": 1}}},
        "metadata.a.b",
    ),
    "generate": (
        "/memories:generate",
        {"scope": USER, "directMemoriesSource": {"directMemories": []}, "extra": 1},
        "extra",
    ),
    "retrieve": ("/memories:retrieve", {"scope": USER, "topK": 3}, "topK"),
    "retrieve, nested": (
        "/memories:retrieve",
        {"scope": USER, "similaritySearchParams": {"search_query": "x", "limit": 3}},
        "similaritySearchParams.limit",
    ),
    "purge": ("/memories:purge", {"filter": 'fact="x"', "dryRun": True}, "dryRun"),
}


@pytest.mark.parametrize(("path", "body", "field"), UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_field_is_refused_by_name(
    http: httpx.Client, engine: str, path: str, body: dict[str, Any], field: str
) -> None:
    answer = http.post(f"{engine}{path}", json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["status"] == "INVALID_ARGUMENT"
    assert field in error["message"]
    violations = [
        one["field"] for item in error["details"] for one in item.get("fieldViolations", [])
    ]
    assert field in violations


def test_an_unknown_parameter_is_refused_by_name(http: httpx.Client, engine: str) -> None:
    answer = http.get(f"{engine}/memories", params={"pagesize": 1})
    assert answer.status_code == 400
    assert "pagesize" in answer.json()["error"]["message"]


def test_both_spellings_of_every_field_are_read(http: httpx.Client, engine: str) -> None:
    snake = {
        "fact": "f",
        "scope": {"user_id": "1", "userId": "2"},
        "display_name": "dn",
        "revision_labels": {"a_b": "x", "aB": "y"},
        "topics": [{"custom_memory_topic_label": "t"}],
        "metadata": {"a_b": {"string_value": "x"}, "aB": {"stringValue": "y"}},
    }
    camel = {
        "fact": "f",
        "scope": {"user_id": "1", "userId": "2"},
        "displayName": "dn",
        "revisionLabels": {"a_b": "x", "aB": "y"},
        "topics": [{"customMemoryTopicLabel": "t"}],
        "metadata": {"a_b": {"stringValue": "x"}, "aB": {"string_value": "y"}},
    }
    made = [
        http.post(f"{engine}/memories", json=body).json()["response"] for body in (snake, camel)
    ]
    own = {"name", "createTime", "updateTime"}
    first, second = ({k: v for k, v in one.items() if k not in own} for one in made)
    assert first == second
    assert first["displayName"] == "dn"
    assert first["metadata"] == {"a_b": {"stringValue": "x"}, "aB": {"stringValue": "y"}}


def test_parameters_of_the_query_are_read_in_both_spellings(bank: Bank, http: httpx.Client) -> None:
    bank.create("a")
    bank.create("b")
    path = f"{bank.name}/memories"
    spellings: list[dict[str, str | int]] = [
        {"pageSize": 1, "orderBy": "create_time"},
        {"page_size": 1, "order_by": "create_time"},
    ]
    for params in spellings:
        answer = http.get(path, params=params).json()
        assert [one["fact"] for one in answer["memories"]] == ["a"]


def test_an_absent_field_may_be_null(http: httpx.Client, engine: str) -> None:
    body = {"fact": "f", "scope": USER, "displayName": None, "ttl": None, "topics": None}
    assert http.post(f"{engine}/memories", json=body).status_code == 200


BODIES: dict[str, tuple[bytes, str, int]] = {
    "broken": (b'{"fact": ', "application/json", 400),
    "no object": (b"[]", "application/json", 400),
    "no json": (b"fact=f", "application/x-www-form-urlencoded", 415),
    "no utf-8": (b'{"fact": "\xff"}', "application/json", 400),
}


@pytest.mark.parametrize(("body", "kind", "code"), BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_json_object_is_refused(
    http: httpx.Client, engine: str, body: bytes, kind: str, code: int
) -> None:
    answer = http.post(f"{engine}/memories", content=body, headers={"content-type": kind})
    assert answer.status_code == code
    assert answer.json()["error"]["status"] == "INVALID_ARGUMENT"


def test_a_body_of_more_than_8_mib_is_refused(http: httpx.Client, engine: str) -> None:
    text = "x" * (8 * 1024 * 1024)
    events = [{"content": {"parts": [{"text": text}]}}]
    body = {"scope": USER, "directContentsSource": {"events": events}}
    answer = http.post(f"{engine}/memories:generate", json=body)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == 413


@pytest.mark.parametrize("path", ["nonsense", "reasoningEngines/1/nonsense", "../../x"])
def test_an_unknown_path_is_answered_in_kind(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["status"] == "NOT_FOUND"


def test_a_wrong_method_is_answered_in_kind(http: httpx.Client, engine: str) -> None:
    answer = http.put(f"{engine}/memories", json={})
    assert answer.status_code == 405
    assert answer.json()["error"]["code"] == 405
    assert answer.headers["allow"] == "GET, POST"


def test_only_200_is_a_success(bank: Bank, http: httpx.Client) -> None:
    created = http.post(f"{bank.name}/memories", json={"fact": "f", "scope": USER})
    memory = created.json()["response"]["name"]
    answers = [
        created,
        http.patch(memory, json={"fact": "g"}),
        http.delete(memory),
        http.post(f"{bank.name}/memories:purge", json={"filter": 'fact="g"', "force": True}),
        http.post(f"{bank.name}/memories:retrieve", json={"scope": USER}),
        http.delete(bank.name),
    ]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    assert all(answer.json() for answer in answers)


def test_every_answer_has_a_request_id(http: httpx.Client, engine: str) -> None:
    assert http.get(engine).headers["x-request-id"]
    assert http.get(engine, headers={"x-request-id": "mine"}).headers["x-request-id"] == "mine"


def test_the_text_of_a_refused_memory_is_not_repeated(bank: Bank) -> None:
    from google.genai.errors import ClientError  # noqa: PLC0415 - as in the support module

    with pytest.raises(ClientError) as caught:
        bank.create("my secret fact", {"user_id": "my secret scope *"})
    assert "secret" not in str(caught.value)


def test_a_key_is_needed_by_every_route(http: httpx.Client, engine: str) -> None:
    bare = httpx.Client(base_url=http.base_url)
    calls = [
        ("GET", engine),
        ("GET", f"{engine}/memories"),
        ("POST", f"{engine}/memories:retrieve"),
        ("POST", f"{engine}/memories:ingestEvents"),
        ("GET", "nonsense"),
    ]
    with bare:
        answers = [bare.request(method, path) for method, path in calls]
    assert [answer.status_code for answer in answers] == [401] * len(calls)
    assert {answer.json()["error"]["status"] for answer in answers} == {"UNAUTHENTICATED"}


def test_refusals_of_state_are_failed_preconditions(bank: Bank) -> None:
    bank.create("f")
    with refused(400, "FAILED_PRECONDITION", naming="force"):
        bank.client.agent_engines.delete(name=bank.name)
