"""Results that are kept off the prompt: told by reference, as strict as what they are made of."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.audit import events
from tests.support.bank import ENGINE, GONE, Json, ok
from tests.support.bank import refusal as status_of
from tests.support.errors import refusal
from tests.support.model_server import ModelServer
from tests.support.readers import (
    FACT,
    FAR,
    NEAR,
    QUESTION,
    Gate,
    answered,
    asked,
    kept_in,
    query,
    summarised,
    summarize,
)
from tests.support.tasks import ARTIFACT, NAMESPACE, names, store, stored, text_output, upload

ANSWER = "It costs 42 coins."


async def _content(client: httpx.AsyncClient, answer: Json, name: str = "answer") -> str:
    return (await client.get(f"{kept_in(answer)}/artifacts/{name}/content")).text


async def test_only_its_reference_is_told(client: httpx.AsyncClient, server: ModelServer) -> None:
    ok(await store(client, text_output(FACT, name="a"), text_output("Tea.", name="b")))
    server.will(answered(ANSWER, 1), summarised("A kettle."))
    for name, ask in (("answer", query), ("summary", summarize)):
        answer = await ask(client, offPrompt=True)
        found = ok(answer)
        assert not [one for one in (ANSWER, "A kettle.", FACT) if one in answer.text]
        assert not {"answer", "summary"} & found.keys()
        reference = found["reference"]
        sources = [{"namespace": "n", "name": one} for one in ("a", "b")]
        assert reference["derivedFrom"] == sources
        assert reference["artifacts"][0]["name"] == name
        assert len(found["promptText"]) <= 400
        assert reference["namespace"] in found["promptText"]
        artifact = ok(await client.get(f"{kept_in(found)}/artifacts/{name}"))
        assert (artifact["depth"], artifact["derivedFrom"]) == (1, sources)
        said = ANSWER if name == "answer" else "A kettle."
        assert await _content(client, found, name) == said
        (event, *_) = await events(client)
        assert event["resource"] == f"{ENGINE}/{kept_in(found).removeprefix('/')}"


async def test_the_same_again_is_what_there_is_and_costs_nothing(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    server.will(answered(ANSWER, 1))
    first = ok(await query(client, offPrompt=True))
    again = ok(await query(client, offPrompt=True))
    assert (again["reused"], again["reference"]) == (True, first["reference"])
    assert "reused" not in first
    assert again["usage"] == {"calls": 0, "inputTokenCount": 0, "outputTokenCount": 0}
    assert len(server.seen) == 1
    server.always(answered("Other.", 1))
    for other in ({"model": FAR}, {"topK": 1}, {"answerTokens": 100}, {"query": "What else?"}):
        assert "reused" not in ok(await query(client, **{"offPrompt": True, **other})), other
    server.always(summarised("Other."))
    ok(await summarize(client, offPrompt=True))
    assert "reused" not in ok(await summarize(client, offPrompt=True, instructions="Briefly."))
    assert ok(await summarize(client, offPrompt=True))["reused"] is True


async def test_the_same_at_the_same_time_is_one(
    client: httpx.AsyncClient, server: ModelServer, database: Database
) -> None:
    ok(await store(client, text_output(FACT)))
    server.always(answered(ANSWER, 1))
    found = await asyncio.gather(*(query(client, offPrompt=True) for _ in range(4)))
    assert len({ok(one)["reference"]["namespace"] for one in found}) == 1
    assert [ok(one).get("reused") for one in found].count(None) == 1
    assert (await stored(database))["task_namespaces"] == 2


@pytest.mark.parametrize("change", ["more", "replaced", "deleted", "looser", "result deleted"])
async def test_after_a_change_it_is_made_anew(
    client: httpx.AsyncClient, server: ModelServer, change: str
) -> None:
    ok(await store(client, text_output(FACT, name="a"), text_output("Tea.", name="b")))
    server.always(answered(ANSWER, 1))
    first = ok(await query(client, offPrompt=True))
    match change:
        case "more":
            ok(await store(client, text_output("Milk.")))
        case "replaced":
            ok(await upload(client, b"Other.", media_type="text/plain", headers={"If-Match": "*"}))
        case "deleted":
            ok(await client.delete(ARTIFACT))
            kept = ok(await client.get(f"{kept_in(first)}/artifacts/answer"))
            assert kept["sourceDeleted"] is True
        case "looser":
            ok(await client.patch(NAMESPACE, json={"localOnly": True}))
        case _:
            ok(await client.delete(kept_in(first)))
    again = ok(await query(client, offPrompt=True))
    assert "reused" not in again
    assert again["reference"]["namespace"] != first["reference"]["namespace"]
    assert len(server.seen) == 2


async def test_it_is_as_strict_as_what_it_is_made_of(
    client: httpx.AsyncClient, server: ModelServer, clock: FixedClock
) -> None:
    strict: Json = {
        "userId": "42",
        "sensitive": True,
        "localOnly": True,
        "allowedModels": [NEAR, "builtin"],
    }
    ok(await store(client, text_output("Tea."), ttl="7200s", **strict))
    ok(await store(client, text_output(FACT), ttl="3600s"))
    server.always(answered(ANSWER, 1))
    clock.advance(timedelta(seconds=600))
    kept = kept_in(ok(await query(client, offPrompt=True)))
    found = ok(await client.get(kept))
    assert {key: found[key] for key in strict} == strict
    # When the first of what it was made of goes.
    assert found["expireTime"] == "2026-01-15T13:00:00Z"
    refused = await query(client, kept, model=FAR)
    assert refusal(refused) == (403, "PERMISSION_DENIED", Reason.MODEL_NOT_ALLOWED)
    clock.advance(timedelta(seconds=3_000))
    assert status_of(await client.get(kept)) == GONE


async def test_by_default_it_lives_no_longer_than_others(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT), ttl="864000s"))
    server.will(answered(ANSWER, 1))
    found = ok(await query(client, offPrompt=True))
    assert found["reference"]["expireTime"] == "2026-01-16T12:00:00Z"


async def test_after_three_derivations_there_is_no_fourth(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    server.always(answered(f"{FACT} Indeed.", 1))
    path = NAMESPACE
    for _ in range(3):
        path = kept_in(ok(await query(client, path, offPrompt=True)))
    wanted = (409, "ABORTED", Reason.DERIVATION_TOO_DEEP)
    assert refusal(await query(client, path, offPrompt=True)) == wanted
    assert refusal(await summarize(client, path, offPrompt=True)) == wanted
    assert len(server.seen) == 3
    # In the prompt, nothing is derived.
    assert ok(await query(client, path))["answer"] == f"{FACT} Indeed."


_MEANWHILE: dict[str, tuple[str, str, Any]] = {
    "deleted": ("DELETE", NAMESPACE, None),
    "an artifact deleted": ("DELETE", ARTIFACT, None),
    "made stricter": ("PATCH", NAMESPACE, {"sensitive": True}),
}


@pytest.mark.parametrize("change", _MEANWHILE)
async def test_of_what_changes_meanwhile_nothing_is_kept(
    client: httpx.AsyncClient, server: ModelServer, database: Database, change: str
) -> None:
    ok(await store(client, text_output(FACT, name="a"), text_output("Tea.")))
    gate = Gate(answered(ANSWER, 1))
    server.will(gate)
    answer = asyncio.create_task(query(client, offPrompt=True))
    await asked(server)
    method, path, body = _MEANWHILE[change]
    # It waits for nothing: no transaction is open while a model is asked.
    ok(await client.request(method, path, json=body))
    before = await stored(database)
    gate.open()
    assert refusal(await answer) == (409, "ABORTED", Reason.CONCURRENT_CHANGE)
    assert await stored(database) == before


async def test_an_id_is_for_one_request(client: httpx.AsyncClient, server: ModelServer) -> None:
    ok(await store(client, text_output(FACT)))
    server.always(answered(ANSWER, 1))
    once = {"params": {"requestId": "r"}}
    first = ok(await query(client, offPrompt=True, **once))
    again = ok(await query(client, offPrompt=True, **once))
    assert again["reference"] == first["reference"]
    other = await query(client, offPrompt=True, query="What else?", **once)
    wanted = (409, "ALREADY_EXISTS", Reason.REQUEST_ID_REUSED)
    assert refusal(other) == wanted
    headers = {"Idempotency-Key": "r"}
    other = await client.post(f"{NAMESPACE}:summarize", json={}, headers=headers)
    assert refusal(other) == wanted
    assert len(server.seen) == 1


async def test_a_request_that_failed_can_be_made_again_by_its_id(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    server.will("{Sure.", "{Sure.", answered(ANSWER, 1))
    once = {"params": {"requestId": "r"}}
    assert (await query(client, **once)).status_code == 502
    assert ok(await query(client, **once))["answer"] == ANSWER


async def test_each_request_is_in_the_audit_log_once(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    ok(await store(client, text_output(FACT)))
    server.will(answered(ANSWER, 1), "{Sure.", "{Sure.", answered(ANSWER, 1))
    ok(await query(client, params={"requestId": "r"}))
    assert (await query(client, offPrompt=True)).status_code == 502
    ok(await query(client, offPrompt=True))
    ok(await query(client, offPrompt=True))
    ok(await query(client, model="builtin"))
    found = [one["result"] for one in await events(client) if one["method"] == "queryNamespace"]
    assert found == ["OK", "OK", "OK", "UNAVAILABLE", "OK"]
    assert not [one for one in (FACT, ANSWER, QUESTION) if one in str(await events(client))]


class TestFull:
    """A service whose engines may hold few bytes of artifacts."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_artifact_bytes": 1_000})

    async def test_no_model_is_asked_for_what_has_no_room(
        self, client: httpx.AsyncClient, server: ModelServer, database: Database
    ) -> None:
        ok(await store(client, text_output(FACT + "x" * (1_000 - len(FACT)))))
        before = await stored(database)
        for ask in (query, summarize):
            answer = await ask(client, offPrompt=True)
            assert refusal(answer) == (429, "RESOURCE_EXHAUSTED", Reason.QUOTA_EXHAUSTED)
        assert server.seen == []
        assert await stored(database) == before
        server.will(answered(ANSWER, 1))
        assert ok(await query(client))["answer"] == ANSWER

    async def test_what_has_too_little_is_not_kept(
        self, client: httpx.AsyncClient, server: ModelServer, database: Database
    ) -> None:
        ok(await store(client, text_output(FACT + "x" * (990 - len(FACT)))))
        before = await stored(database)
        server.will(answered(ANSWER, 1))
        answer = await query(client, offPrompt=True)
        assert refusal(answer) == (429, "RESOURCE_EXHAUSTED", Reason.QUOTA_EXHAUSTED)
        assert ANSWER not in answer.text
        assert await stored(database) == before


class TestOnlyJson:
    """A service that stores JSON alone."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_storable": ["json"]})

    async def test_results_are_not_kept_where_texts_are_not(
        self, client: httpx.AsyncClient, server: ModelServer
    ) -> None:
        ok(await store(client, {"kind": "json", "json": {"fact": FACT}, "name": "a"}))
        for ask in (query, summarize):
            answer = await ask(client, offPrompt=True)
            wanted = (400, "INVALID_ARGUMENT", Reason.UNSUPPORTED_ARTIFACT_TYPE)
            assert refusal(answer) == wanted
        assert server.seen == []
        assert await names(client) == ["a"]
        server.will(answered(ANSWER, 1))
        assert ok(await query(client))["answer"] == ANSWER
