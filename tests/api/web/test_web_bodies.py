"""What is taken as a body, and how the rest is refused."""

import json
import threading

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from app.kernel.errors import Reason
from app.settings.settings import Settings
from app.web.body import read_json
from tests.support.asgi import ADMIN, Answer, Sent, call
from tests.support.bank import Json
from tests.support.cases import in_one_test
from tests.support.engines import COLLECTION, FIRST
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.operations import create_memory, path_of

_NOT_JSON = (400, "INVALID_ARGUMENT", Reason.BODY_NOT_JSON)
_TOO_LARGE = (413, "RESOURCE_EXHAUSTED", Reason.BODY_TOO_LARGE)
_NOT_DECLARED = (415, "INVALID_ARGUMENT", Reason.CONTENT_TYPE_NOT_JSON)
_MEMORY = b'{"fact": "I like tea.", "scope": {"user_id": "42"}}'


async def _post(
    client: httpx.AsyncClient, content: bytes, content_type: str | None = "application/json"
) -> httpx.Response:
    headers = {} if content_type is None else {"content-type": content_type}
    return await client.post("/memories", content=content, headers=headers)


@in_one_test(
    ("content", "said"),
    [
        (b"{", "is not JSON: "),
        (b"hello", "is not JSON: "),
        (b'{"fact": "a",}', "is not JSON: "),
        (b"{'fact': 'a'}", "is not JSON: "),
        (b'{"fact": "a"} {}', "is not JSON: "),
        (b" \n ", "is not JSON: "),
        (b"\xef\xbb\xbf" + _MEMORY, "is not JSON: "),
        (b"[]", "must be a JSON object."),
        (b'[{"fact": "a"}]', "must be a JSON object."),
        (b'"text"', "must be a JSON object."),
        (b"null", "must be a JSON object."),
        (b"17", "must be a JSON object."),
        (b'{"fact": "\xff"}', "must be UTF-8."),
        (b'{"fact": "\xed\xa0\x80"}', "must be UTF-8."),
        (_MEMORY.decode().encode("utf-16"), "must be UTF-8."),
        (b'{"ttl": NaN}', "holds NaN, which is not JSON."),
        (b'{"metadata": {"k": {"doubleValue": -Infinity}}}', "holds -Infinity, which is not JSON."),
        (b'{"metadata": {"k": {"doubleValue": 1e999}}}', "out of range"),
        (b'{"metadata": {"k": {"doubleValue": -1e309}}}', "out of range"),
        (b'{"a": 1' + b"0" * 5_000 + b"}", "a number that is too long"),
        (rb'{"fact": "a\u0000b"}', "U+0000"),
        (rb'{"scope": {"a\u0000b": "v"}}', "U+0000"),
        (rb'{"fact": "\ud800"}', "half of a surrogate pair"),
        (rb'{"fact": "\udc00\ud800"}', "half of a surrogate pair"),
        (rb'{"\udfff": 1}', "half of a surrogate pair"),
        (b'{"a": ' + b"[" * 101 + b"]" * 101 + b"}", "nested deeper than 100"),
        (b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested deeper than 100"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "nested deeper than 100"),
    ],
)
async def test_a_body_that_is_no_object_of_json_is_refused(
    client: httpx.AsyncClient, content: bytes, said: str
) -> None:
    answer = await _post(client, content)
    assert refusal(answer) == _NOT_JSON
    assert said in answer.json()["error"]["message"]
    assert (await client.get("/memories")).json() == {"memories": []}


async def test_broken_json_is_placed(client: httpx.AsyncClient) -> None:
    answer = await _post(client, b'{\n  "fact" "a"\n}')
    assert answer.json()["error"]["message"].endswith("at line 2, column 10.")


async def test_a_pair_of_surrogates_is_a_character(client: httpx.AsyncClient) -> None:
    answer = await _post(client, rb'{"fact": "\ud83d\ude00", "scope": {"user_id": "42"}}')
    assert answer.json()["response"]["fact"] == "😀"


@in_one_test(
    "content_type",
    [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/json;charset=UTF-16",
        "application/problem+json",
        "text/x+json",
        "",
        None,
    ],
)
async def test_json_may_be_declared_in_several_ways_or_not_at_all(
    client: httpx.AsyncClient, content_type: str | None
) -> None:
    answer = await _post(client, _MEMORY, content_type)
    assert answer.status_code == 200, answer.text


@in_one_test(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "json",
        "text/plain; application/json",
    ],
)
async def test_a_body_that_is_declared_as_something_else_is_refused(
    client: httpx.AsyncClient, content_type: str
) -> None:
    assert refusal(await _post(client, _MEMORY, content_type)) == _NOT_DECLARED


async def test_a_request_without_a_body_may_declare_anything(client: httpx.AsyncClient) -> None:
    for content_type in ("text/plain", "multipart/form-data; boundary=x"):
        headers = {"content-type": content_type}
        assert (await client.get(FIRST, headers=headers)).status_code == 200
        assert (await client.post(COLLECTION, headers=headers)).status_code == 200


@in_one_test(
    "path",
    ["/memories", "/memories/m:rollback", "/memories:retrieve", "/memories:generate",
     "/memories:purge"],
)  # fmt: skip
async def test_a_body_that_is_needed_is_asked_for(client: httpx.AsyncClient, path: str) -> None:
    for content in (b"", b"{}"):
        headers = {"content-type": "application/json"}
        answer = await client.post(path, content=content, headers=headers)
        assert refusal(answer) == BAD_FIELD
        assert violations(answer)


async def test_a_body_where_none_is_read_must_still_be_json(client: httpx.AsyncClient) -> None:
    answer = await client.request("GET", FIRST, content=b"hello")
    assert refusal(answer) == _NOT_JSON


async def test_the_longest_body_is_taken_and_one_byte_more_is_not(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    room = settings.max_body_bytes - len(_MEMORY)
    assert (await _post(client, _MEMORY + b" " * room)).status_code == 200
    answer = await _post(client, _MEMORY + b" " * (room + 1))
    assert refusal(answer) == _TOO_LARGE
    assert str(settings.max_body_bytes) in answer.json()["error"]["message"]


def _with_values(number: int) -> bytes:
    content = {"data": {"v": [{"k": 0}] * number}, "schemaId": "s"}
    return json.dumps({"scope": {"user_id": "42"}, "structuredContent": content}).encode()


async def test_a_body_has_at_most_so_many_values(client: httpx.AsyncClient) -> None:
    # Few bytes each, but seconds of work together.
    assert "structuredContent" in violations(await _post(client, _with_values(33_300)))
    answer = await _post(client, _with_values(33_400))
    assert refusal(answer) == _NOT_JSON
    assert "100000 keys and values" in answer.json()["error"]["message"]


async def test_a_long_body_is_checked_beside_the_event_loop(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[bool] = []

    def noting(body: bytes, content_type: str | None) -> Json:
        threads.append(threading.current_thread() is threading.main_thread())
        return read_json(body, content_type)

    monkeypatch.setattr("app.web.body.read_json", noting)
    assert (await _post(client, _MEMORY)).status_code == 200
    assert (await _post(client, _MEMORY + b" " * 300_000)).status_code == 200
    assert refusal(await _post(client, b"{" + b" " * 300_000)) == _NOT_JSON
    assert threads == [True, False, False]


async def test_a_body_is_kept_no_longer_than_its_request(app: FastAPI) -> None:
    """A connection that has ended keeps the scope of its last request for a while."""
    scopes: list[Scope] = []

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(scope)
        await app(scope, receive, send)

    for body in (_MEMORY, b'{"x": 1}'):
        await call(noting, Sent("POST", b"/v1/reasoningEngines/1/memories", body=body))
        assert "json" not in scopes[-1]["state"]
    assert "caller" in scopes[-1]["state"]


async def test_a_long_body_is_taken_and_refused_as_any(client: httpx.AsyncClient) -> None:
    memory: Json = {"fact": "s3cret", "scope": {"user_id": "42"}, "context": "é" * 9_000}
    long: Json = {**memory, "display_name": "d", "description": "x" * 4_000, "metadata": {}}
    for number in range(10):
        long["metadata"][str(number)] = {"stringValue": "v" * 4_000}
    body = json.dumps(long).encode()
    assert len(body) > 90_000
    created = (await _post(client, body)).json()["response"]
    assert (created["displayName"], created["metadata"]) == ("d", long["metadata"])
    for wrong, field in (({"factt": 1}, "factt"), ({"ttl": "x"}, "ttl"), ({"scope": {}}, "scope")):
        answer = await _post(client, json.dumps({**long, **wrong}).encode())
        assert refusal(answer) == BAD_FIELD
        assert list(violations(answer)) == [field]
        assert "s3cret" not in answer.text


async def _declared(app: FastAPI, length: bytes, body: bytes = _MEMORY) -> Answer:
    headers = [ADMIN, (b"content-length", length)]
    return await call(app, Sent("POST", b"/v1/reasoningEngines/1/memories", b"", headers, body))


async def test_a_length_is_believed_when_it_is_too_large(app: FastAPI) -> None:
    answer = await _declared(app, b"9" * 30, b"")
    assert (answer.status, answer.reason) == (413, Reason.BODY_TOO_LARGE)


@in_one_test("length", [b"-1", b"x", b"\xb2", b"", b"1e9"])
async def test_a_length_that_is_none_is_not_believed(app: FastAPI, length: bytes) -> None:
    assert (await _declared(app, length)).status == 200


async def test_a_body_without_a_length_is_counted(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    async def chunks() -> object:
        for _ in range(settings.max_body_bytes // 2**20 + 1):
            yield b" " * 2**20

    answer = await client.post("/memories", content=chunks())  # type: ignore[arg-type]
    assert refusal(answer) == _TOO_LARGE


async def test_the_extremes_of_numbers_come_back(client: httpx.AsyncClient) -> None:
    metadata = {
        "largest": {"doubleValue": 1.7976931348623157e308},
        "least": {"doubleValue": 5e-324},
        "zero": {"doubleValue": 0.0},
        "negative": {"doubleValue": -1e308},
    }
    data = {"null": None, "nulls": [None, {"a": None}], "long": 10**400, "real": -5e-324, "": ""}
    memory = await create_memory(
        client, "x", metadata=metadata, structuredContent={"data": data, "schemaId": "s"}
    )
    assert memory["metadata"] == metadata
    assert memory["structuredContent"]["data"] == data
    assert (await client.get(path_of(memory["name"]))).json() == memory


async def test_the_deepest_body_comes_back(client: httpx.AsyncClient) -> None:
    deep: object = "bottom"
    for _ in range(96):
        deep = [deep]
    content = {"data": {"k": deep}, "schemaId": "s"}
    memory = await create_memory(client, "x", structuredContent=content)
    assert memory["structuredContent"] == content
    listed = await client.get("/memories")
    assert json.loads(listed.text)["memories"] == [memory]
