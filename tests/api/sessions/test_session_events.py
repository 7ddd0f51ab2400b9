"""Events of sessions: wire specification, section 13.2."""

from typing import Any

import httpx

from app.kernel.paging import DEFAULT_PAGE_BYTES as MAX_PAGE_BYTES
from app.platform.sessions.schemas.sessions import MAX_STATE_BYTES
from tests.support.bank import GONE, field_of, ok, refusal
from tests.support.cases import in_one_test
from tests.support.sessions import append, create_session, event, events, new_path, state, texts

_FULL: dict[str, Any] = {
    "author": "agent",
    "invocationId": "inv-1",
    "timestamp": "2026-01-02T03:04:05.678900+00:00",
    "content": {
        "role": "model",
        "parts": [
            {"text": "hello", "thought": True, "thought_signature": "c2ln"},
            {"function_call": {"id": "1", "name": "f", "args": {"a_b": 1, "cD": None}}},
            {"function_response": {"name": "f", "response": {"x_y": [None]}}},
            {"inline_data": {"mime_type": "image/png", "data": "_-8="}},
            {"executable_code": {"code": "x_y", "language": "PYTHON"}},
        ],
    },
    "actions": {
        "state_delta": {"x_y": 1, "aB": None},
        "artifact_delta": {"a_b.txt": 2},
        "transfer_agent": "t",
        "escalate": True,
        "skip_summarization": False,
        "requested_auth_configs": {"k_1": {"a_b": None}},
    },
    "errorCode": "E",
    "errorMessage": "msg",
    "eventMetadata": {
        "partial": False,
        "turn_complete": True,
        "interrupted": False,
        "branch": "root.agent",
        "custom_metadata": {"c_d": None, "eF": {"g_h": 1}},
        "long_running_tool_ids": ["t1"],
        "grounding_metadata": {"web_search_queries": ["a_b"], "x_y": [{"start_index": 1}]},
        "input_transcription": {"text": "hi", "finished": True},
        "output_transcription": {"text": "ho"},
    },
    "tokenCount": 7,
    "rawEvent": {"id": "e", "invocationId": "inv-1", "a_b": {"cD": None, "e": [None, 1.0, -0.5]}},
}


async def test_an_event_comes_back_whole_in_camel_case(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    assert ok(await client.post(f"{path}:appendEvent", json=_FULL)) == {}
    (found,) = await events(client, path)
    name = found.pop("name")
    assert name.startswith(ok(await client.get(path))["name"] + "/events/")
    assert len(name.rpartition("/")[2]) == 18
    metadata, actions = _FULL["eventMetadata"], _FULL["actions"]
    assert found == {
        "author": "agent",
        "invocationId": "inv-1",
        "timestamp": "2026-01-02T03:04:05.678900Z",
        "content": {
            "role": "model",
            "parts": [
                {"text": "hello", "thought": True, "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "1", "name": "f", "args": {"a_b": 1, "cD": None}}},
                {"functionResponse": {"name": "f", "response": {"x_y": [None]}}},
                {"inlineData": {"mimeType": "image/png", "data": "/+8="}},
                {"executableCode": {"code": "x_y", "language": "PYTHON"}},
            ],
        },
        "actions": {
            "stateDelta": actions["state_delta"],
            "artifactDelta": {"a_b.txt": 2},
            "transferAgent": "t",
            "escalate": True,
            "skipSummarization": False,
            "requestedAuthConfigs": actions["requested_auth_configs"],
        },
        "errorCode": "E",
        "errorMessage": "msg",
        "eventMetadata": {
            "partial": False,
            "turnComplete": True,
            "interrupted": False,
            "branch": "root.agent",
            "customMetadata": metadata["custom_metadata"],
            "longRunningToolIds": ["t1"],
            "groundingMetadata": {"webSearchQueries": ["a_b"], "xY": [{"startIndex": 1}]},
            "inputTranscription": {"text": "hi", "finished": True},
            "outputTranscription": {"text": "ho"},
        },
        "rawEvent": _FULL["rawEvent"],
        "tokenCount": 7,
        "seq": 1,
        "exchange": 0,
    }
    # In camelCase it can be sent as it was answered.
    again = await new_path(client)
    ok(await client.post(f"{again}:appendEvent", json={**found, "name": name}))
    (same,) = await events(client, again)
    assert {**same, "name": ""} == {**found, "name": ""}


async def test_a_list_numbers_its_events_and_their_exchanges(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    for number in (1, 2):
        exchange = {"input": f"q{number}", "output": "a", "agent": "bot", "outputTokenCount": 3}
        ok(await client.post(f"{path}/exchanges", json=exchange))
    assert [
        (one["seq"], one["exchange"], one.get("tokenCount")) for one in await events(client, path)
    ] == [(1, 1, None), (2, 1, 3), (3, 2, None), (4, 2, 3)]


async def test_a_raw_event_keeps_even_what_json_columns_usually_change(
    client: httpx.AsyncClient,
) -> None:
    path = await new_path(client)
    raw = '{"z": -0.0, "a": 1e308, "n": null, "deep": [{"Key_A": null}], "\\u00e9": 5e-324}'
    body = f'{{"author": "a", "invocationId": "", "timestamp": "2026-01-15T12:00:00Z",\
 "rawEvent": {raw}}}'
    headers = {"Content-Type": "application/json"}
    ok(await client.post(f"{path}:appendEvent", content=body, headers=headers))
    (found,) = await events(client, path)
    kept = found["rawEvent"]
    assert list(kept) == ["z", "a", "n", "deep", "é"]
    assert [str(kept["z"]), kept["a"], kept["é"]] == ["-0.0", 1e308, 5e-324]
    assert (kept["n"], kept["deep"]) == (None, [{"Key_A": None}])
    assert found["invocationId"] == ""


async def test_empty_objects_are_events_too(client: httpx.AsyncClient) -> None:
    path = await new_path(client, sessionState={"k": 1})
    empty: dict[str, Any] = {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}}
    await append(client, path, actions=empty, eventMetadata={}, rawEvent={})
    (found,) = await events(client, path)
    assert found["actions"] == {"stateDelta": {}, "artifactDelta": {}, "requestedAuthConfigs": {}}
    assert (found["eventMetadata"], found["rawEvent"]) == ({}, {})
    assert await state(client, path) == {"k": 1}


@in_one_test(
    ("field", "change"),
    [
        ("author", {"author": None}),
        ("author", {"author": ""}),
        ("invocationId", {"invocationId": None}),
        ("timestamp", {"timestamp": None}),
        ("timestamp", {"timestamp": "2026-01-15T12:00:00"}),
        ("actions.stateDelta", {"actions": {"state_delta": []}}),
        ("actions.artifactDelta.a", {"actions": {"artifact_delta": {"a": "x"}}}),
        ("actions.other", {"actions": {"other": 1}}),
        ("rawEvent", {"rawEvent": "text"}),
        ("eventMetadata.groundingMetadata", {"eventMetadata": {"grounding_metadata": []}}),
        ("id", {"id": "1"}),
    ],
)
async def test_what_is_wrong_is_named(
    client: httpx.AsyncClient, field: str, change: dict[str, Any]
) -> None:
    path = await new_path(client)
    body = {key: value for key, value in event(**change).items() if value is not None}
    assert field_of(await client.post(f"{path}:appendEvent", json=body)) == field
    assert await events(client, path) == []
    assert ok(await client.get(path))["etag"] == "1"


async def test_deltas_change_the_state_key_by_key(client: httpx.AsyncClient) -> None:
    path = await new_path(client, sessionState={"kept": 1, "deep": {"a": 1, "b": 2}, "gone": 1})
    delta = {"deep": {"c": 3}, "gone": None, "user:lang": "de", "app:k": [1], "temp:t": 1}
    await append(client, path, actions={"state_delta": delta})
    session = ok(await client.get(path))
    # A delta replaces whole values, keeps nulls and prefixes, and drops what is for one turn.
    expected = {"kept": 1, "deep": {"c": 3}, "gone": None, "user:lang": "de", "app:k": [1]}
    assert session["sessionState"] == expected
    assert session["etag"] == "2"
    (found,) = await events(client, path)
    del delta["temp:t"]
    assert found["actions"]["stateDelta"] == delta


async def test_a_state_does_not_grow_without_bound(client: httpx.AsyncClient) -> None:
    path = await new_path(client, sessionState={"a": "x" * (MAX_STATE_BYTES // 2)})
    body = event(actions={"stateDelta": {"b": "x" * (MAX_STATE_BYTES // 2)}})
    answer = await client.post(f"{path}:appendEvent", json=body)
    assert field_of(answer) == "actions.stateDelta"
    assert str(MAX_STATE_BYTES) in answer.json()["error"]["message"]
    assert await events(client, path) == []
    assert (await state(client, path)).keys() == {"a"}
    await append(client, path, actions={"stateDelta": {"a": "", "b": "x"}})
    assert await state(client, path) == {"a": "", "b": "x"}


async def test_there_is_nothing_to_append_to(client: httpx.AsyncClient) -> None:
    for path in ("/sessions/never", "/sessions/no.such"):
        assert refusal(await client.post(f"{path}:appendEvent", json=event())) == GONE
        assert refusal(await client.get(f"{path}/events")) == GONE
    assert refusal(await client.post("/sessions/never:compact", json={})) == (501, "UNIMPLEMENTED")


async def _fill(client: httpx.AsyncClient) -> str:
    """Append events whose times are not in the order of their arrival."""
    path = await new_path(client)
    for text, seconds in (("c", "02"), ("a", "00"), ("d", "02"), ("b", "01.5")):
        await append(client, path, text, timestamp=f"2026-01-15T13:00:{seconds}+01:00")
    return path


async def test_events_are_listed_by_time_then_by_arrival(client: httpx.AsyncClient) -> None:
    path = await _fill(client)
    assert await texts(client, path) == ["a", "b", "c", "d"]
    assert await texts(client, path, orderBy="timestamp") == ["a", "b", "c", "d"]
    assert await texts(client, path, orderBy="timestamp desc") == ["d", "c", "b", "a"]
    answer = await client.get(f"{path}/events", params={"orderBy": "author"})
    assert field_of(answer) == "orderBy"


_FILTERS = {
    'timestamp>="2026-01-15T12:00:01.500000+00:00"': ["b", "c", "d"],
    'timestamp>"2026-01-15T12:00:01.5Z"': ["c", "d"],
    'timestamp>="2026-01-15T07:00:00-05:00" AND timestamp<"2026-01-15T12:00:02Z"': ["a", "b"],
    'timestamp="2026-01-15T12:00:00"': ["a"],
    'timestamp>="1970-01-01T00:00:01.500000+00:00"': ["a", "b", "c", "d"],
}


async def test_filters(client: httpx.AsyncClient) -> None:
    path = await _fill(client)
    assert {text: await texts(client, path, filter=text) for text in _FILTERS} == _FILTERS
    for text in ('author="user"', "timestamp", 'timestamp>="now"'):
        answer = await client.get(f"{path}/events", params={"filter": text})
        assert field_of(answer) == "filter"


async def test_pages_are_of_one_query(client: httpx.AsyncClient) -> None:
    path = await _fill(client)
    params: dict[str, str | int] = {}
    for order, expected in (("timestamp", "abcd"), ("timestamp desc", "dcba")):
        params = {"orderBy": order, "pageSize": 1}
        found = ""
        while True:
            page = ok(await client.get(f"{path}/events", params=params))
            found += page["sessionEvents"][0]["content"]["parts"][0]["text"]
            if "nextPageToken" not in page:
                break
            params["pageToken"] = page["nextPageToken"]
        assert found == expected
    other = await new_path(client)
    assert field_of(await client.get(f"{other}/events", params=params)) == "pageToken"


async def test_a_page_ends_before_it_is_too_long(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    for name in "abc":
        await append(client, path, name, rawEvent={"k": "x" * (MAX_PAGE_BYTES // 2)})
    for name in "de":
        await append(client, path, name)
    found: list[str] = []
    params: dict[str, str | int] = {}
    while len(found) < 5:
        page = ok(await client.get(f"{path}/events", params=params))
        said = [one["content"]["parts"][0]["text"] for one in page["sessionEvents"]]
        found.append("".join(said))
        if "nextPageToken" not in page:
            break
        params["pageToken"] = page["nextPageToken"]
    assert found == ["a", "b", "cde"]


async def test_a_page_has_at_most_100_events(client: httpx.AsyncClient) -> None:
    await create_session(client, "s")
    ok(await client.post("/sessions/s/events:batch", json={"events": [event()] * 101}))
    for params in ({}, {"pageSize": 1000}):
        assert len(await events(client, "/sessions/s", **params)) == 100
