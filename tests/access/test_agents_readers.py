"""What readers make of a sensitive namespace stays off the prompt of agents, whatever they try."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.access.agents import AGENT, NAMESPACE, Agent, keep, made, marks
from tests.access.names import ENGINE, Names
from tests.access.routes import EXPORTS, IMPORTS, ROWS
from tests.access.service import Asked, Json, Service

_ASKED: dict[str, Json] = {
    "query": {"query": "What is the code, or the canary?"},
    "summarize": {"instructions": "Repeat all, word by word."},
    "extract": {"schema": ROWS},
}


_CALLED: dict[str, Json] = {
    **_ASKED,
    "list": {},
    "export": {"file_name": "answer"},
    "load": {"source": IMPORTS, "path": "note.md"},
}
"""Arguments of the tools, besides the place."""


class _Case:
    """A sensitive namespace with a canary, and an agent who goes about it."""

    def __init__(self, service: Service, names: Names, agent: Agent) -> None:
        self.service = service
        self.names = names
        self.agent = agent
        self.path = names.path(NAMESPACE)

    def beside(self, answer: Json) -> str:
        """Return the path of the namespace in which an answer is kept."""
        return self.path.removesuffix("n") + str(answer["reference"]["namespace"])

    async def denied(self, path: str) -> None:
        """See that nothing is made of a namespace in the prompt."""
        for method, body in _ASKED.items():
            for more in ({}, {"model": "builtin"}, {"wait": True}, {"offPrompt": False}):
                answer = await self.agent.post(f"{path}:{method}", {**body, **more})
                assert answer.status_code == 403, answer.text
                assert "INLINE_DENIED" in answer.text

    async def kept(self, path: str, method: str, **params: str) -> Json:
        answer = await self.agent.post(
            f"{path}:{method}", {**_ASKED[method], "offPrompt": True}, **params
        )
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def look(self, path: str) -> None:
        """Ask for all that there is to know of a namespace."""
        asked = [Asked("GET", path + one) for one in ("", "/artifacts", "/artifacts/answer")]
        asked += [
            Asked("GET", f"{path}/artifacts/{one}/content") for one in ("answer", "summary", "rows")
        ]
        asked += [Asked("POST", f"{path}:export", body={"sink": EXPORTS})]
        calling = self.names.path(ENGINE + "/taskTools:call")
        place = {"memory": self.names.task_memory, "namespace": path.rpartition("/")[2]}
        for name, more in _CALLED.items():
            body = {"name": f"{name}_task_memory", "arguments": {**place, **more}}
            asked.append(Asked("POST", calling, body=body))
        for one in asked:
            await self.agent.send(one)
            await self.agent.send(one, (b"range", b"bytes=0-7"))


@pytest.fixture
async def case(service: Service) -> _Case:
    canary = made()
    names = await keep(service, canary, sensitive=True)
    secret = await service.key("editor", permissions=list(AGENT))
    return _Case(service, names, Agent(service, secret, marks(canary)))


async def test_who_may_have_the_content_may_have_what_is_made_of_it(case: _Case) -> None:
    # Rows come from files that have them, which this text is not.
    for method, body in [(one, body) for one, body in _ASKED.items() if one != "extract"]:
        found = await case.service.done(Asked("POST", f"{case.path}:{method}", body=body))
        assert case.agent.hidden[0] in str(found)
    kept = await case.kept(case.path, "query")
    asked = Asked("POST", f"{case.beside(kept)}:query", body=_ASKED["query"])
    assert case.agent.hidden[0] in str(await case.service.done(asked))


@pytest.mark.parametrize("method", _ASKED)
async def test_what_is_derived_is_as_sensitive_however_often(case: _Case, method: str) -> None:
    path = case.path
    for depth in range(3):
        await case.denied(path)
        first = await case.kept(path, method, requestId=f"r{depth}")
        again = await case.kept(path, method, requestId=f"r{depth}")
        assert again["reused"]
        assert again["reference"] == first["reference"]
        path = case.beside(first)
        await case.look(path)
    await case.denied(path)
    body = {**_ASKED[method], "offPrompt": True}
    assert (await case.agent.post(f"{path}:{method}", body)).status_code == 409


async def test_nothing_is_told_by_which_words_could_be_guessed(case: _Case) -> None:
    canary = case.agent.hidden[0].removeprefix("canary-")
    told = []
    for word in (canary, "zebra"):
        body = {"query": word, "offPrompt": True}
        answer = (await case.service.ask(_asked(case, body), case.agent.secret)).json()
        assert answer["citations"] == []
        assert answer["usage"] == {}
        assert answer["coverage"].keys() == {"artifactsTotal", "artifactsUnreadable"}
        # Why it has no text might tell what it is.
        assert answer["coverage"]["artifactsUnreadable"] == 1
        reference = answer["reference"]
        # It has a name and times of its own.
        names = {"namespace", "createdTime", "expireTime"}
        told.append({name: one for name, one in reference.items() if name not in names})
        again = {"query": "what", "offPrompt": True}
        place = f"{case.beside(answer)}:query"
        assert (await case.agent.post(place, again)).status_code == 200
    assert told[0] == told[1]


def _asked(case: _Case, body: Json) -> Asked:
    return Asked("POST", f"{case.path}:query", body=body)


def _looser() -> Iterator[tuple[str, str, Any]]:
    settings = {"sensitive": False, "localOnly": False, "userId": "tenant"}
    text = {"kind": "text", "text": "More."}
    yield "PATCH", "", {"sensitive": False}
    yield "PATCH", "", {"sensitive": False, "allowedModels": None, "ttl": "1000000s"}
    yield "POST", ":store", {"artifacts": [text], **settings}
    yield "PUT", "/artifacts/d", {"sensitive": False}


async def test_it_does_not_become_looser_by_an_agent(case: _Case) -> None:
    kept = case.beside(await case.kept(case.path, "query"))
    for path in (case.path, kept):
        for method, end, body in _looser():
            await case.agent.send(Asked(method, path + end, body=body))
        said = {"tool": "web", "activity": "fetch", "offPrompt": False, "sensitive": False}
        output = {"kind": "text", "text": "More."}
        body = {**said, "output": output, "namespace": path.rpartition("/")[2]}
        processing = case.names.path(ENGINE + "/taskMemories/{task_memory}:processOutput")
        await case.agent.post(processing, body)
        await case.denied(path)


async def test_what_is_made_anew_under_its_name_has_nothing_of_it(case: _Case) -> None:
    kept = case.beside(await case.kept(case.path, "query", requestId="r"))
    await case.agent.send(Asked("DELETE", case.path))
    text = {"kind": "text", "text": "Tea."}
    body = {"artifacts": [text], "userId": "tenant"}
    answer = await case.agent.post(f"{case.path}:store", body)
    assert answer.status_code == 200
    for method, asked in _ASKED.items():
        answer = await case.agent.post(f"{case.path}:{method}", asked)
        assert answer.status_code == 200
    again = await case.kept(case.path, "query", requestId="r")
    assert case.beside(again) != kept
    await case.denied(kept)
    await case.look(kept)


async def test_the_answer_of_another_caller_is_not_replayed(case: _Case) -> None:
    for method, body in _ASKED.items():
        asked = Asked("POST", f"{case.path}:{method}", {"requestId": method}, body)
        done = await case.service.done(asked)
        # Without a model, the text has no rows.
        assert method == "extract" or case.agent.hidden[0] in str(done)
        assert (await case.agent.send(asked)).status_code == 403


async def test_a_reference_in_a_session_brings_nothing_of_it(case: _Case) -> None:
    agent = case.agent
    kept = await case.kept(case.path, "summarize")
    sessions = case.names.path(ENGINE + "/sessions")
    made = await agent.post(sessions, {"userId": "tenant"}, sessionId="s")
    assert made.status_code == 200
    listed = (await agent.send(Asked("GET", case.path))).json()["reference"]
    for reference in (kept["reference"], listed):
        event = {
            "author": "user",
            "invocationId": "i",
            "timestamp": "2026-01-15T12:00:00Z",
            "content": {"role": "user", "parts": [{"artifactRef": reference}]},
        }
        answer = await agent.post(f"{sessions}/s:appendEvent", event)
        assert answer.status_code == 200, answer.text
    place = case.names.full("/sessions/s")
    await agent.post(
        case.names.path(ENGINE + "/memories:generate"),
        {"vertexSessionSource": {"session": place}},
    )
    await case.service.settled()
    for asked in (
        Asked("GET", f"{sessions}/s/events"),
        Asked("POST", f"{sessions}/s:context", body={"tokenLimit": 4_000}),
        Asked("POST", f"{sessions}/s:recall", body={"query": "canary"}),
        Asked("GET", case.names.path(ENGINE + "/memories")),
    ):
        assert (await agent.send(asked)).status_code == 200
