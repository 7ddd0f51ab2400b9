"""Policies of tools, of their activities, and about the readers of what is stored under them."""

from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.bank import Json, configure, field_of, ok
from tests.support.errors import refusal
from tests.support.readers import FACT, query, summarize
from tests.support.tasks import MEMORY, NAMESPACE, process, store, stored, text_output

POLICY = f"{MEMORY}/toolPolicies/web"
CANARY = "canary-zqb81f66c2"
DENIED = (403, "PERMISSION_DENIED", Reason.ACTIVITY_DENIED)
NOT_ALLOWED = (403, "PERMISSION_DENIED", Reason.READER_NOT_ALLOWED)


async def _set(client: httpx.AsyncClient, **policy: Any) -> Json:
    return ok(await client.put(POLICY, json=policy))


async def _namespace(client: httpx.AsyncClient, answer: httpx.Response) -> Json:
    """Return the namespace in which an output was stored."""
    return ok(await client.get(f"{MEMORY}/namespaces/{ok(answer)['reference']['namespace']}"))


async def test_an_activity_overrides_the_fields_that_it_has(client: httpx.AsyncClient) -> None:
    activities: dict[str, Json] = {
        "fetch": {"offPrompt": True, "ttl": "60s"},
        "count": {"maxInlineTokens": 5},
        "open": {"sensitive": False},
    }
    made = await _set(
        client, offPrompt="auto", maxInlineTokens=1, ttl="600s", activities=activities
    )
    assert made["activities"] == {
        name: {"deny": False, **fields} for name, fields in activities.items()
    }
    assert made == ok(await client.get(POLICY))
    assert ok(await client.get(f"{MEMORY}/toolPolicies"))["toolPolicies"] == [made]
    long = text_output("12345678")
    kept = ok(await process(client, long))
    assert kept["reference"]["expireTime"] == "2026-01-15T12:01:00Z"
    assert ok(await process(client, long, activity="count"))["disposition"] == "inline"
    other = ok(await process(client, long, activity="other"))
    assert other["reference"]["expireTime"] == "2026-01-15T12:10:00Z"
    assert ok(await process(client, text_output("1"), activity="other"))["disposition"] == "inline"


async def test_a_sensitive_activity_cannot_be_loosened_by_requests(
    client: httpx.AsyncClient,
) -> None:
    activities = {"fetch": {"sensitive": True}, "open": {"sensitive": False}}
    await _set(client, activities=activities)
    answer = await process(client, text_output("a"), sensitive=False, offPrompt=False)
    assert (await _namespace(client, answer))["sensitive"]
    assert ok(await process(client, text_output("a"), activity="open"))["disposition"] == "inline"
    tightened = await process(client, text_output("a"), activity="open", sensitive=True)
    assert (await _namespace(client, tightened))["sensitive"]
    await _set(client, sensitive=True, activities=activities)
    assert ok(await process(client, text_output("a"), activity="open"))["disposition"] == "inline"
    assert ok(await process(client, text_output("a"), activity="x"))["disposition"] == "stored"


@pytest.mark.parametrize("output", [{"text": CANARY}, {"kind": "info", "text": CANARY}])
async def test_a_denied_activity_stores_and_repeats_nothing(
    client: httpx.AsyncClient, database: Database, output: Json
) -> None:
    once = {"requestId": "r"}
    path = f"{MEMORY}:processOutput"
    body = {"tool": "web", "activity": "drop-it", "output": {"kind": "text", **output}}
    first = ok(await client.post(path, json=body, params=once))
    fields = {"artifacts": [text_output("b")], "tool": "web", "activity": "drop-it"}
    of_store: dict[str, Any] = {
        "url": f"{NAMESPACE}:store",
        "json": fields,
        "params": {"requestId": "2"},
    }
    stored_before = ok(await client.post(**of_store))
    await _set(client, activities={"drop-it": {"deny": True}})
    answer = await client.post(path, json={**body, "offPrompt": True})
    assert refusal(answer) == DENIED
    error = answer.json()["error"]
    assert error["message"] == (
        "activity: must be one that toolPolicies/web does not deny. Nothing was stored."
    )
    assert error["details"][1]["fieldViolations"][0]["field"] == "activity"
    assert CANARY not in answer.text
    assert "drop-it" not in answer.text
    kept = await store(client, text_output("a"), tool="web", activity="drop-it")
    assert refusal(kept) == DENIED
    assert (await stored(database))["task_artifacts"] == 1
    # The answer to a repeated request is the one that it had.
    assert ok(await client.post(path, json=body, params=once)) == first
    assert ok(await client.post(**of_store)) == stored_before
    assert ok(await client.post(path, json={**body, "activity": "read"}))


async def test_a_denied_name_is_denied_also_where_such_names_are_masked(
    client: httpx.AsyncClient,
) -> None:
    await configure(client, privacyConfig={"rules": [{"kind": "IBAN", "action": "MASK"}]})
    await _set(client, activities={"DE89370400440532013000": {"deny": True}})
    answer = await process(client, text_output("a"), activity="DE89370400440532013000")
    assert refusal(answer) == DENIED


async def test_rules_about_readers_come_to_the_namespace(client: httpx.AsyncClient) -> None:
    await _set(
        client,
        offPrompt=True,
        allowedModels=["builtin", "desk"],
        readers=["query", "summarize"],
        activities={
            "mail": {"localOnly": True, "allowedModels": ["builtin"], "readers": ["query"]}
        },
    )
    of_tool = await _namespace(client, await process(client, text_output(FACT)))
    assert (of_tool["localOnly"], of_tool["allowedModels"]) == (False, ["builtin", "desk"])
    assert of_tool["readers"] == ["query", "summarize"]
    mail = await _namespace(client, await process(client, text_output(FACT), activity="mail"))
    assert (mail["localOnly"], mail["allowedModels"]) == (True, ["builtin"])
    assert mail["readers"] == mail["reference"]["readableWith"] == ["query"]
    both = await process(client, text_output(FACT), allowedModels=["desk", "cloud"], readers=[])
    narrowed = await _namespace(client, both)
    assert (narrowed["allowedModels"], narrowed["readers"]) == (["desk"], [])
    assert narrowed["reference"]["readableWith"] == []
    # Later outputs make the namespace stricter, and never looser.
    ok(await store(client, text_output("a"), readers=["query", "export"]))
    ok(await store(client, text_output("b"), tool="web", activity="fetch"))
    assert ok(await client.get(NAMESPACE))["readers"] == ["query"]


async def test_other_readers_are_refused(client: httpx.AsyncClient, settings: Settings) -> None:
    ok(await store(client, text_output(FACT), readers=["query"]))
    assert ok(await query(client))["answer"]
    answer = await summarize(client)
    assert refusal(answer) == NOT_ALLOWED
    assert answer.json()["error"]["details"][0]["metadata"] == {"readers": "query"}
    assert FACT not in answer.text
    (sink,) = settings.task_export_sinks
    assert refusal(await client.post(f"{NAMESPACE}:export", json={"sink": sink})) == NOT_ALLOWED
    # The rule comes before the search for a text, which may take long.
    unreadable = f"{MEMORY}/namespaces/b"
    ok(await store(client, {"kind": "blob", "data": "AA=="}, path=unreadable, readers=["query"]))
    assert refusal(await summarize(client, unreadable)) == NOT_ALLOWED
    derived = ok(await query(client, offPrompt=True))["reference"]
    assert derived["readableWith"] == ["query"]
    ok(await client.patch(NAMESPACE, json={"readers": None}))
    assert ok(await summarize(client))["summary"]


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"activities": {f"a-{number}": {} for number in range(65)}}, "activities"),
        ({"activities": {"a b": {}}}, "activities.a b.[key]"),
        ({"activities": {"x" * 129: {}}}, f"activities.{'x' * 80}.[key]"),
        ({"activities": {"fetch": {"offPrompt": "maybe"}}}, "activities.fetch.offPrompt"),
        ({"activities": {"fetch": {"allowed": True}}}, "activities.fetch"),
        ({"allowedModels": ["m"] * 51}, "allowedModels"),
        ({"readers": ["tell"]}, "readers[0]"),
    ],
)
async def test_a_policy_has_bounds(client: httpx.AsyncClient, policy: Json, field: str) -> None:
    assert field_of(await client.put(POLICY, json=policy)) == field
    assert refusal(await client.get(POLICY))[0] == 404


@pytest.fixture
def settings(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    sinks = {"out": tmp_path_factory.mktemp("out")}
    return settings.model_copy(update={"task_export_sinks": sinks})
