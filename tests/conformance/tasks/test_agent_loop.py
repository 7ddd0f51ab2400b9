"""X7: a whole run of an agent, and who of all that took part in it has seen what was kept off.

A tool returns a page of 73,874 tokens. It has a fact, which the agent is to find, and a secret,
which it must not see: that is saved to a file by a reader. Source: design of task memory, 5.6.
"""

import base64
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.conformance.tasks.mistakes import mistakes
from tests.support.agent_loop import Agent, Tool
from tests.support.bank import Json, ok
from tests.support.model_server import Behaviour, Called
from tests.support.official import to_its_end
from tests.support.reading_models import finder, prompt_of
from tests.support.task_desk import READER, Desk, Models, Service, shown, texts_of, tokens_in
from tests.support.task_texts import TOKENS, long_text

FACT = "The greenhouse opens with the code 7-4-1-9."
_PLACE = re.compile(r"memory=(\S+) namespace=([^\s;]+)")
_SEQ = re.compile(r"^\[(\d+)\]", re.MULTILINE)
_REFUSED = range(400, 500)
_FETCH: Json = {
    "type": "function",
    "function": {
        "name": "fetch_page",
        "description": "Fetches a page.",
        "parameters": {"type": "object", "properties": {"url": {"type": "string"}}},
    },
}


def _main(body: Mapping[str, Any]) -> Json | str | Called:
    """Answer as the main model: the agent by the state of its talk, the service by its schema."""
    if not body.get("tools"):
        return _for_service(body)
    last = body["messages"][-1]
    text = str(last["content"])
    if last["role"] == "user" and "page" in text:
        return Called("fetch_page", {"url": "https://example.org/greenhouse"})
    if text.startswith("{"):
        found = json.loads(text)
        (place,) = found["citations"]
        return f"{found['answer']} [{place['artifact']}, {place['start']} to {place['end']}]"
    return "It is saved." if text.endswith("saved.") else _reading(body)


def _reading(body: Mapping[str, Any]) -> Called:
    """Have what was referred to last queried; what is not to be seen, stored and then saved."""
    asked = next(one["content"] for one in body["messages"][::-1] if one["role"] == "user")
    memory, namespace = _places(body)[-1]
    where = {"memory": memory, "namespace": namespace}
    is_kept_off = "key" in asked
    if is_kept_off and body["messages"][-1]["role"] == "tool":
        return Called("export_task_memory", where)
    return Called("query_task_memory", {**where, "query": asked, "off_prompt": is_kept_off})


def _places(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return memory and namespace of all that the prompt refers to."""
    texts = [str(one["content"]) for one in body["messages"] if one["role"] == "tool"]
    return [found for text in texts for found in _PLACE.findall(text)]


def _for_service(body: Mapping[str, Any]) -> Json:
    """Write memories and summaries of all that they are asked to be made of."""
    asked = set(body["response_format"]["json_schema"]["schema"]["properties"])
    text = prompt_of(body)
    answers: dict[str, Json] = {
        "summary": {"summary": text[-2_000:]},
        "facts": {"facts": []},
        "verdicts": {"verdicts": []},
        "seqs": {"text": text[-2_000:], "seqs": [*map(int, _SEQ.findall(text))]},
    }
    return next(answers[one] for one in answers if one in asked)


@dataclass(frozen=True)
class Run:
    """What has become of a run: its results, and what each has seen of it."""

    agent: Agent
    page: str
    secret: str
    answers: list[str]
    content: str
    files: list[str]
    seen: Mapping[str, str]


@pytest.fixture(scope="module")
def secret() -> str:
    return f"canary-{secrets.token_hex(12)}"


@pytest.fixture(scope="module")
def run(service: Service, admin: httpx.Client, all_models: Models, secret: str) -> Iterator[Run]:
    """Run the agent, ask for all that there is then, and make every mistake."""
    all_models.reset()
    desk = Desk.of(service, admin)
    answers_of: list[str] = []

    def note(answer: httpx.Response) -> None:
        answer.read()
        answers_of.append(shown(answer))

    with desk.holding(roles=["user"]) as client:
        client.event_hooks = {"response": [note]}
        yield _run(desk, client, all_models, secret, answers_of)


def _run(
    desk: Desk, client: httpx.Client, models: Models, secret: str, answers_of: list[str]
) -> Run:
    hidden = f"The gardener's key is {secret}."
    page = long_text(TOKENS, f"{FACT} {hidden}")
    fetch = Tool(_FETCH, lambda _: {"kind": "text", "text": page})
    find_fact, find_key = finder(re.compile(FACT)), finder(re.compile(re.escape(hidden)))
    models.main.always(_main)
    models.reader.always(
        lambda body: (find_key if "key" in prompt_of(body)[:200] else find_fact)(body)
    )
    agent = Agent(client, desk.engine, _session(desk, client), models.main.url, {fetch.name: fetch})
    answers = [
        agent.answer("Look into the page: with which code does the greenhouse open?"),
        agent.answer("What is the gardener's key? I must not see it: save it to a file."),
    ]
    contexts = _contexts(desk, client, agent.session)
    models.reader.always(Behaviour(f"No JSON, but {secret}."))
    namespace = desk.namespace(_places({"messages": agent.messages})[0][1])
    errors = _mistakes(desk, namespace, secret, models)
    content = desk.http.get(f"{namespace}/artifacts/artifact-1/content").text
    audit = desk.http.get(f"{desk.service.live.url}/v1/auditEvents").text
    return Run(
        agent,
        page,
        secret,
        answers,
        content,
        [(desk.service.sink / one).read_text() for one in agent.exported],
        {
            "main model": texts_of(models.main),
            "embedding endpoint": texts_of(models.embedding),
            "reader": texts_of(models.reader),
            "logs": desk.service.lines,
            "metrics": desk.http.get(f"{desk.service.live.url}/metrics").text,
            "audit": audit,
            "errors": "\n".join(errors),
            "agent": "\n".join(answers_of),
            "contexts": contexts,
        },
    )


def _session(desk: Desk, client: httpx.Client) -> str:
    """Begin a session of which the oldest turns are summarised soon."""
    body = {"userId": "42", "memoryPolicy": {"strategy": "every_n", "every": 1}}
    made: str = ok(client.post(f"{desk.engine}/sessions", json=body))["response"]["name"]
    return made


def _contexts(desk: Desk, client: httpx.Client, session: str) -> str:
    """Return what is made of the session: contexts, summaries, passages and memories."""
    wait = {"consistency": "wait", "waitTimeout": "20s"}
    found = [
        client.post(f"{session}:context", json={"policy": {"strategy": "inclusive"}}),
        client.post(f"{session}:context", json=wait),
        client.get(f"{session}/summaries"),
        client.get(f"{session}/events"),
        client.post(f"{session}:recall", json={"query": "the gardener's key"}),
        client.post(f"{session}:recall", json={"query": "gardener", "mode": "summary"}),
    ]
    assert [one.status_code for one in found] == [200] * len(found), [one.text for one in found]
    assert found[1].json()["summaryState"] == "current"
    source = {"vertexSessionSource": {"session": session}, "scope": {"user_id": "42"}}
    operation = ok(client.post(f"{desk.engine}/memories:generate", json=source))["name"]
    to_its_end(desk.http, operation)
    memory = {"fact": "I have a greenhouse.", "scope": {"user_id": "42"}}
    ok(client.post(f"{desk.engine}/memories", json=memory))
    return "\n".join(one.text for one in found)


def _mistakes(desk: Desk, namespace: str, secret: str, models: Models) -> list[str]:
    """Send all that is wrong with the secret in it; return what is answered."""
    sent = mistakes(desk.engine, namespace, secret)
    answers = {name: desk.http.send(desk.http.build_request(**one)) for name, one in sent.items()}
    taken = {name: one.text for name, one in answers.items() if one.status_code not in _REFUSED}
    assert taken == {}
    found = [f"{name}: {shown(one)}" for name, one in answers.items()]
    error = json.dumps({"error": {"message": secret, "type": secret, "code": secret}}).encode()
    question = {"query": "What is the gardener's key?", "model": READER}
    for behaviour in (
        Behaviour({"answer": {secret: secret}, secret: 1}),
        *(Behaviour(status=status, body=error) for status in (400, 401, 429, 500, 503)),
        Behaviour(body=error),
        Behaviour(secret * 10, sent_part=0.5),
    ):
        models.reader.always(behaviour)
        answer = desk.http.post(f"{namespace}:query", json=question)
        assert answer.status_code >= 400, answer.text
        found.append(shown(answer))
    return found


def test_the_agent_finds_the_fact_and_where_it_stands(run: Run) -> None:
    found = re.fullmatch(r"(.*) \[artifact-1, (\d+) to (\d+)\]", run.answers[0])
    assert found is not None
    answer, begin, end = found.groups()
    assert answer == FACT
    place = run.page.index(FACT)
    assert int(begin) <= place
    assert place + len(FACT) <= int(end)
    assert tokens_in(len(run.page)) == 73_874


def test_its_prompt_has_a_reference_in_place_of_the_page(run: Run) -> None:
    outputs = [str(one["content"]) for one in run.agent.messages if one["role"] == "tool"]
    assert all(len(one) <= 400 for one in outputs)
    assert "fetch_page" in outputs[0]
    assert run.page[:40] not in run.seen["main model"]
    assert run.page[:40] not in run.seen["agent"]
    assert "kept off prompt" in run.seen["contexts"]
    assert "artifactRef" in run.seen["contexts"]


def test_the_file_has_what_the_agent_was_not_shown(run: Run) -> None:
    assert run.answers[1] == "It is saved."
    assert run.files == [f"The gardener's key is {run.secret}."]
    assert "answer" not in run.agent.results[1]


@pytest.mark.parametrize(
    "place",
    ["main model", "embedding endpoint", "logs", "metrics", "audit", "errors", "agent", "contexts"],
)
def test_who_must_not_see_the_secret_has_not(run: Run, place: str) -> None:
    seen, secret = run.seen[place], run.secret.encode()
    assert len(seen) > 100
    marks = [secret.decode(), secret.hex(), base64.b64encode(secret).decode().rstrip("=")]
    assert [mark for mark in marks if mark in seen] == []


def test_the_reader_the_content_and_the_file_have_it(run: Run) -> None:
    assert run.secret in run.seen["reader"]
    assert run.content == run.page
    assert run.secret in run.page
    assert all(run.secret in one for one in run.files)
    assert "greenhouse" in run.seen["embedding endpoint"]
