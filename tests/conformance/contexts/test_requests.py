"""What a context may be asked for: waiting, forms, policies, ETags; and what is refused unread."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from tests.conformance.contexts.conftest import Begin
from tests.support import forks
from tests.support.bank import Json, ok
from tests.support.contexts import detail, ranges, said
from tests.support.dialogues import NOW, Dialogue, Stub, check_partition, numbered, verbatim
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.official import PARENT, Client

BY_THREE: dict[str, Any] = {"strategy": "every_n"}
STRATEGIES: list[dict[str, Any]] = [
    {"strategy": "none"},
    {"strategy": "inclusive"},
    {"strategy": "window", "window": 2},
    BY_THREE,
    {**BY_THREE, "refresh": "whole"},
    {"strategy": "abstraction_inclusive", "cap": 3},
    {"strategy": "fully_abstracted", "cap": 3},
    {"strategy": "agent_summary", "tokenLimit": 1_400},
]


@pytest.fixture(scope="module")
def told(vertex: Client, http: httpx.Client, engine: str) -> Dialogue:
    """Seven exchanges, without a policy."""
    found = Dialogue.begin(vertex, http, engine)
    found.exchanges(1, 7)
    return found


@pytest.mark.parametrize("policy", STRATEGIES, ids=str)
def test_a_session_of_the_official_client_works_with_every_strategy(
    told: Dialogue, stub: Stub, policy: Json
) -> None:
    found = told.settled(policy=policy)
    check_partition(found)
    assert found["policy"] == policy
    assert (found["lastSeq"], found["tokens"]["counter"]) == (14, "chars4")
    tokens = found["tokens"]
    sent = sum(-(-len(one["content"]) // 4) for one in found["messages"])
    # Between the summaries of a list, each separator is counted by itself.
    assert sent <= tokens["total"] <= sent + len(found["coverage"]["summarised"])
    shown = [one["source"]["seq"] for one in found["messages"] if one["source"]["kind"] == "event"]
    assert shown == verbatim(found)
    del stub


def test_the_latest_context_waits_for_no_model(begin: Begin, stub: Stub) -> None:
    stub.fails()
    talk = begin()
    talk.exchanges(1, 3)
    stub.works()
    first = talk.context(policy=BY_THREE)
    assert (first["summaryState"], verbatim(first)) == ("pending", [1, 2, 3, 4, 5, 6])
    second = talk.settled(policy=BY_THREE)
    assert verbatim(second) == []
    assert talk.context(policy=BY_THREE) == second


def test_waiting_ends_with_its_time(begin: Begin, stub: Stub) -> None:
    stub.fails()
    talk = begin()
    talk.exchanges(1, 3)
    found = talk.context(policy=BY_THREE, consistency="wait", waitTimeout="0.001s")
    assert found["summaryState"] in {"pending", "failed"}
    assert verbatim(found) == [1, 2, 3, 4, 5, 6]
    stub.works()
    while talk.context(policy=BY_THREE, consistency="wait")["summaryState"] != "current":
        pass


def test_the_same_state_gives_the_same_bytes(told: Dialogue, http: httpx.Client) -> None:
    asked = {"systemPrompt": "You help.", "policy": {"strategy": "window", "window": 3}}
    first, second = told.ask(**asked), told.ask(**asked)
    assert first.content == second.content
    etag = first.headers["ETag"]
    assert second.headers["ETag"] == etag
    same = http.post(f"{told.name}:context", json=asked, headers={"If-None-Match": etag})
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", etag)
    other = http.post(
        f"{told.name}:context",
        json={**asked, "systemPrompt": "You do not."},
        headers={"If-None-Match": etag},
    )
    assert other.status_code == 200


def test_what_comes_later_leaves_the_beginning_as_it_is(begin: Begin) -> None:
    talk = begin(**BY_THREE)
    talk.exchanges(1, 4)
    before = talk.settled(systemPrompt="You help.")["messages"]
    talk.exchanges(5, 5)
    assert talk.settled(systemPrompt="You help.")["messages"][: len(before)] == before
    as_of = talk.context(systemPrompt="You help.", asOfSeq=8)
    assert as_of["messages"] == before


def test_the_policy_of_the_call_comes_before_the_sessions_and_the_engines(
    vertex: Client, http: httpx.Client, stub: Stub
) -> None:
    policy = {"strategy": "window", "window": 1}
    config = {"contextSpec": {"memoryBankConfig": {"memoryPolicy": policy}}}
    made = ok(http.post(f"{PARENT}/reasoningEngines", json=config))
    talk = Dialogue.begin(vertex, http, made["response"]["name"])
    talk.exchanges(1, 3)
    assert ranges(talk.context()["coverage"]["verbatim"]) == [(5, 6)]
    talk.follow({"strategy": "window", "window": 2})
    assert ranges(talk.context()["coverage"]["verbatim"]) == [(3, 6)]
    found = talk.context(policy={"strategy": "inclusive"})
    assert ranges(found["coverage"]["verbatim"]) == [(1, 6)]
    ok(http.patch(talk.name, params={"updateMask": "memoryPolicy"}, json={}))
    assert ranges(talk.context()["coverage"]["verbatim"]) == [(5, 6)]
    assert stub.calls == []


def _tool_talk(begin: Begin) -> Dialogue:
    talk = begin()
    call = {"function_call": {"id": "c1", "name": "find_seat", "args": {"row": 12}}}
    result = {"function_response": {"id": "c1", "name": "find_seat", "response": {"free": "A"}}}
    for author, role, part in (
        ("user", "user", {"text": "Is a seat free in row 12?"}),
        ("agent", "model", call),
        ("agent", "user", result),
        ("agent", "model", {"text": "12A is."}),
    ):
        talk.vertex.agent_engines.sessions.events.append(
            name=talk.name,
            author=author,
            invocation_id="i",
            timestamp=NOW,
            config={"content": {"role": role, "parts": [part]}},
        )
    return talk


def test_openai_takes_the_messages_as_they_are(begin: Begin) -> None:
    asked = {"systemPrompt": "You help.", "pendingMessage": "Book it.", "format": "openai"}
    found = _tool_talk(begin).context(**asked)
    function = {"name": "find_seat", "arguments": '{"row":12}'}
    assert found["messages"] == [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Is a seat free in row 12?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"free":"A"}'},
        {"role": "assistant", "content": "12A is."},
        {"role": "user", "content": "Book it."},
    ]
    kinds = [one["kind"] for one in found["sources"]]
    assert kinds == ["system", *["event"] * 4, "pending"]


def test_gemini_takes_the_contents_as_they_are(begin: Begin) -> None:
    asked = {"systemPrompt": "You help.", "pendingMessage": "Book it.", "format": "gemini"}
    found = _tool_talk(begin).context(**asked)
    told = {"id": "c1", "name": "find_seat"}
    assert found["systemInstruction"] == {"parts": [{"text": "You help."}]}
    assert found["contents"] == [
        {"role": "user", "parts": [{"text": "Is a seat free in row 12?"}]},
        {"role": "model", "parts": [{"functionCall": {**told, "args": {"row": 12}}}]},
        {"role": "user", "parts": [{"functionResponse": {**told, "response": {"free": "A"}}}]},
        {"role": "model", "parts": [{"text": "12A is."}]},
        {"role": "user", "parts": [{"text": "Book it."}]},
    ]


def test_declared_tokens_are_counted(begin: Begin, http: httpx.Client) -> None:
    talk = begin()
    events = [said("user", "Short.", tokenCount=70), said("agent", "Shorter.")]
    ok(http.post(f"{talk.name}/events:batch", json={"events": events}))
    policy = {"strategy": "inclusive", "counter": "declared"}
    found = talk.context(policy=policy)
    assert (found["tokens"]["events"], found["tokens"]["counter"]) == (72, "declared")
    assert talk.context()["tokens"]["events"] == 4


def test_facts_of_the_bank_are_included_under_the_same_budget(
    begin: Begin, vertex: Client, engine: str
) -> None:
    talk = begin()
    talk.exchange("Where shall I sit?", "At the window?")
    fact = "I like to sit at the window."
    vertex.agent_engines.memories.create(name=engine, fact=fact, scope={"user_id": "123"})
    asked = {"includeMemories": {"query": "auto", "topK": 3}, "tokenLimit": 1_000}
    found = talk.context(**asked)
    (memory,) = [one for one in found["messages"] if one["source"]["kind"] == "memory"]
    assert fact in memory["content"]
    tokens = found["tokens"]
    assert tokens["memories"] > 0
    assert tokens["total"] == tokens["events"] + tokens["memories"]
    # They are the first that there is no room for.
    tight = talk.context(**{**asked, "tokenLimit": tokens["total"] - 1})
    assert (tight["tokens"]["memories"], verbatim(tight)) == (0, [1, 2])


BAD_POLICIES: list[tuple[dict[str, Any], str]] = [
    ({"strategy": "all"}, "strategy"),
    ({**BY_THREE, "every": 0}, "every"),
    ({**BY_THREE, "template": "Summarise."}, "template"),
    ({**BY_THREE, "template": "{chat_transcript} {else}"}, "template"),
    ({**BY_THREE, "summaryModel": "nobody"}, "summaryModel"),
    ({**BY_THREE, "counter": "no_such_base"}, "counter"),
]


@pytest.mark.parametrize(("policy", "field"), BAD_POLICIES, ids=str)
def test_a_policy_is_refused_by_its_field_wherever_it_is_given(
    begin: Begin, http: httpx.Client, engine: str, stub: Stub, policy: Json, field: str
) -> None:
    talk = begin()
    talk.exchanges(1, 3)
    config = {"contextSpec": {"memoryBankConfig": {"memoryPolicy": policy}}}
    asked = [
        (f"policy.{field}", talk.ask(policy=policy)),
        (f"memoryPolicy.{field}", http.patch(talk.name, json={"memoryPolicy": policy})),
        (
            f"memoryPolicy.{field}",
            http.post(f"{engine}/sessions", json={"userId": "1", "memoryPolicy": policy}),
        ),
        (
            f"contextSpec.memoryBankConfig.memoryPolicy.{field}",
            http.post(f"{PARENT}/reasoningEngines", json=config),
        ),
    ]
    for named, answer in asked:
        assert refusal(answer) == BAD_FIELD, answer.text
        assert list(violations(answer)) == [named]
    assert stub.calls == []


def test_a_budget_that_is_too_small_is_refused_with_its_numbers(begin: Begin, stub: Stub) -> None:
    talk = begin(**BY_THREE)
    talk.exchanges(1, 2)
    asked = {
        "systemPrompt": "s" * 400,
        "pendingMessage": "p" * 40,
        "tokenLimit": 119,
        "reserveOutputTokens": 10,
    }
    answer = talk.ask(**asked)
    assert (answer.status_code, detail(answer)["reason"]) == (400, "BUDGET_TOO_SMALL")
    assert answer.json()["error"]["status"] == "INVALID_ARGUMENT"
    assert all(number in answer.json()["error"]["message"] for number in ("110", "119", "10"))
    assert detail(answer)["metadata"]["needed"] == "110"
    assert talk.context(**{**asked, "tokenLimit": 120})["tokens"]["total"] == 110
    limitless = talk.ask(policy={"strategy": "agent_summary"})
    assert list(violations(limitless)) == ["tokenLimit"]
    assert stub.calls == []


def test_to_compact_is_not_known_here(told: Dialogue, http: httpx.Client) -> None:
    answer = http.post(f"{told.name}:compact", json={})
    assert (answer.status_code, answer.json()["error"]["status"]) == (501, "UNIMPLEMENTED")


def test_x3_the_same_appends_at_once_are_done_once(begin: Begin, http: httpx.Client) -> None:
    talk = begin()

    def append(number: int) -> Json:
        path = f"{talk.name}:appendEvent"
        event = said("user", numbered(number)[0])
        return ok(http.post(path, json=event, params={"requestId": f"event-{number}"}))

    with ThreadPoolExecutor(20) as threads:
        list(threads.map(append, [*range(10)] * 20))
    found = talk.context()
    assert found["lastSeq"] == 10
    assert verbatim(found) == list(range(1, 11))
    assert {one["content"] for one in found["messages"]} == {numbered(n)[0] for n in range(10)}


def test_an_append_that_expects_another_last_event_is_told_of_it(
    begin: Begin, http: httpx.Client
) -> None:
    talk = begin()
    talk.exchanges(1, 1)
    body = {"events": [said("user", "More.")], "expectedLastSeq": 1}
    answer = http.post(f"{talk.name}/events:batch", json=body)
    assert (answer.status_code, detail(answer)["reason"]) == (409, "SEQUENCE_CONFLICT")
    assert detail(answer)["metadata"]["lastSeq"] == "2"
    ok(http.post(f"{talk.name}/events:batch", json={**body, "expectedLastSeq": 2}))


def test_an_erased_event_leaves_prompts_and_summaries(
    begin: Begin, http: httpx.Client, stub: Stub
) -> None:
    talk = begin(**BY_THREE)
    talk.exchanges(1, 4)
    talk.settled()
    (gone,) = [one for one in talk.stored() if numbered(2)[1] == one.content.parts[0].text]
    ok(http.delete(gone.name))
    (stale,) = talk.summaries("stale")
    assert "text" not in stale
    found = talk.settled()
    check_partition(found)
    assert verbatim(found) == [7, 8]
    assert numbered(2)[0] in stub.texts[-1]
    assert numbered(2)[1] not in stub.texts[-1]


def test_the_command_tells_costs_and_the_benchmark_draws_them(tmp_path: Path) -> None:
    plot = tmp_path / "costs.svg"
    policies = (
        "inclusive",
        "abstraction_inclusive:framing=false",
        "fully_abstracted:framing=false",
    )
    options = [part for policy in policies for part in ("--strategy", policy)]
    done = forks.run(["-m", "app.process.cli", "costs", *options], os.environ)
    assert done.returncode == 0
    drawing = [sys.executable, "-m", "benchmarks.costs", "--svg", str(plot)]
    subprocess.run(drawing, check=True)
    for figure in ("58,500", "39,840", "37,840", "0.11700", "0.07968", "0.07568"):
        plain = figure.replace(",", "")
        short = figure.rstrip("0") if "." in figure else figure
        assert any(one in done.stdout for one in (figure, plain, short)), done.stdout
    drawn = ET.parse(plot).getroot()
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}polyline"))) >= 3


@pytest.mark.parametrize(
    "policy",
    [
        *STRATEGIES,
        {**BY_THREE, "every": 2, "keepRecent": 1},
        {"strategy": "abstraction_inclusive", "cap": 2, "maxAbstractions": 2},
        {"strategy": "agent_summary", "tokenLimit": 1_400, "lowWater": 0.5},
    ],
    ids=str,
)
def test_a_context_as_of_an_event_is_the_one_of_then(begin: Begin, policy: Json) -> None:
    talk = begin()
    then = {}
    for number in range(1, 13):
        talk.exchanges(number, number)
        then[2 * number] = talk.settled(policy=policy)
    for seq, context in then.items():
        assert talk.context(policy=policy, asOfSeq=seq) == context
