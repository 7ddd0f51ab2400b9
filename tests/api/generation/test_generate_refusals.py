"""Requests that a generation refuses at once: wire specification, sections 4.2, 8.1 and 15."""

import httpx

from app.platform.operations.services.runner import Runner
from tests.support.bank import GONE, Json, field_of, ok, refusal
from tests.support.generation import given, said
from tests.support.operations import USER

SCOPED: Json = {"scope": USER, **given("x")}
_BAD: list[tuple[Json, str]] = [
    # Exactly one source.
    ({"scope": USER}, "body"),
    ({"scope": USER, **given("x"), **said("y")}, "body"),
    ({"scope": USER, **said("x"), "vertexSessionSource": {"session": "s"}}, "body"),
    # The scope is required, and is a scope.
    (given("x"), "body"),
    ({**given("x"), "scope": {}}, "scope"),
    ({**given("x"), "scope": {"user_id": "*"}}, "scope"),
    ({**given("x"), "scope": {str(n): "x" for n in range(6)}}, "scope"),
    # At most five facts, each one a fact.
    ({"scope": USER, **given(*"abcdef")}, "directMemoriesSource.directMemories"),
    ({"scope": USER, **given()}, "directMemoriesSource.directMemories"),
    ({"scope": USER, **given("")}, "directMemoriesSource.directMemories[0].fact"),
    ({"scope": USER, **given("x" * 10_001)}, "directMemoriesSource.directMemories[0].fact"),
    (
        {"scope": USER, **given("x", topics=[{"managedMemoryTopic": "OTHER"}])},
        "directMemoriesSource.directMemories[0].topics[0].managedMemoryTopic",
    ),
    # A conversation has events with contents.
    ({"scope": USER, "directContentsSource": {}}, "directContentsSource.events"),
    (
        {"scope": USER, "directContentsSource": {"events": [{}]}},
        "directContentsSource.events[0].content",
    ),
    (
        {
            "scope": USER,
            "directContentsSource": {"events": [{"content": {"parts": [{"text": 1}]}}]},
        },
        "directContentsSource.events[0].content.parts[0].text",
    ),
    # Options.
    ({**SCOPED, "timeZone": "Mars/Olympus"}, "timeZone"),
    ({**SCOPED, "timeZone": ""}, "timeZone"),
    ({**SCOPED, "timeZone": "../etc/passwd"}, "timeZone"),
    ({**SCOPED, "metadataMergeStrategy": "OTHER"}, "metadataMergeStrategy"),
    ({**SCOPED, "metadata": {"k": {}}}, "metadata.k"),
    ({**SCOPED, "allowedTopics": [{}]}, "allowedTopics[0]"),
    ({**SCOPED, "revisionLabels": {"k" * 65: "v"}}, "revisionLabels"),
    ({**SCOPED, "revisionTtl": "0s"}, "revisionTtl"),
    ({**SCOPED, "revisionExpireTime": "2020-01-01T00:00:00Z"}, "revisionExpireTime"),
    ({**SCOPED, "revisionTtl": "60s", "revisionExpireTime": "2126-01-01T00:00:00Z"}, "body"),
    ({**SCOPED, "unknown": 1}, "unknown"),
]


async def test_a_wrong_request_is_refused_by_its_field(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for body, named in _BAD:
        answer = await client.post("/memories:generate", json=body)
        assert answer.status_code == 400, str(body)[:200]
        assert (str(body)[:200], field_of(answer)) == (str(body)[:200], named)
    assert await runner.run_pending() == 0
    assert ok(await client.get("/operations"))["operations"] == []


async def test_what_is_not_there_is_404(client: httpx.AsyncClient) -> None:
    body = {"vertexSessionSource": {"session": "reasoningEngines/1/sessions/9"}}
    assert refusal(await client.post("/memories:generate", json=body)) == GONE
    url = "http://test/v1/reasoningEngines/2/memories:generate"
    assert refusal(await client.post(url, json=SCOPED)) == GONE


async def test_a_fact_of_blanks_is_refused(client: httpx.AsyncClient) -> None:
    body = {"scope": USER, **given("   ", "\t")}
    answer = await client.post("/memories:generate", json=body)
    assert field_of(answer) == "directMemoriesSource.directMemories[0].fact"
