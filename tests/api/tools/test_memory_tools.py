"""Memory as a tool, for any model that calls functions."""

import json

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.tools import SCOPE, call, made, while_working

FOUR = ["search_memories", "remember", "forget_memory", "recall_conversation"]


async def test_there_are_four_tools_in_each_format(client: httpx.AsyncClient) -> None:
    specs = (await client.get("memoryToolSpecs")).json()
    assert [tool["function"]["name"] for tool in specs["openai"]] == FOUR
    assert [tool["name"] for tool in specs["gemini"]] == FOUR
    assert [tool["name"] for tool in specs["anthropic"]] == FOUR
    # The application says whose memories, not the model.
    assert '"scope"' not in json.dumps(specs)
    assert specs["gemini"][0]["parameters"]["type"] == "OBJECT"
    assert "additionalProperties" not in json.dumps(specs["gemini"])
    assert specs["openai"][0]["function"]["parameters"]["additionalProperties"] is False


async def test_fewer_formats_tools_and_parameters_can_be_asked_for(
    client: httpx.AsyncClient,
) -> None:
    query = {"format": "anthropic", "tools": "recall_conversation, update_memory", "session": "s"}
    specs = (await client.get("memoryToolSpecs", params=query)).json()
    assert specs.keys() == {"anthropic"}
    names = [tool["name"] for tool in specs["anthropic"]]
    assert names == ["recall_conversation", "update_memory"]
    assert "session" not in specs["anthropic"][0]["input_schema"]["properties"]


@pytest.mark.parametrize(
    ("query", "field"), [({"format": "x"}, "format"), ({"tools": "x"}, "tools")]
)
async def test_an_unknown_format_or_tool_is_named(
    client: httpx.AsyncClient, query: dict[str, str], field: str
) -> None:
    answer = await client.get("memoryToolSpecs", params=query)
    assert refusal(answer) == (400, "INVALID_ARGUMENT", "FIELD_INVALID")
    assert answer.json()["error"]["message"].startswith(f"{field}: must be ")


async def test_specs_of_an_engine_that_is_not_there(client: httpx.AsyncClient) -> None:
    answer = await client.get("../99/memoryToolSpecs")
    assert refusal(answer) == (404, "NOT_FOUND", "RESOURCE_NOT_FOUND")


async def test_a_key_sees_and_uses_what_its_role_may(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    memory = await made(client, "I like tea.")
    async with client_with(app, await make_key(database, clock.now(), "viewer")) as viewer:
        specs = (await viewer.get("memoryToolSpecs", params={"format": "anthropic"})).json()
        names = [tool["name"] for tool in specs["anthropic"]]
        assert names == ["search_memories", "recall_conversation"]
        for name in ("forget_memory", "nothing"):
            answer = await call(viewer, name, {"ids": [memory]})
            assert refusal(answer) == (404, "NOT_FOUND", "TOOL_UNKNOWN")
            assert "search_memories" in answer.json()["error"]["message"]
        found = (await call(viewer, "search_memories", {"query": "tea"})).json()
        assert memory in found["text"]


async def test_arguments_may_be_text_as_openai_sends_it(client: httpx.AsyncClient) -> None:
    memory = await made(client, "I like tea.")
    answer = (await call(client, "search_memories", '{"query": "tea"}')).json()
    assert answer["isError"] is False
    assert answer["text"] == f"1. I like tea. (id {memory}, 2026-01-15)"
    assert answer["result"]["memories"][0]["id"] == memory
    assert answer["tokens"] == -(-len(answer["text"]) // 4)


@pytest.mark.parametrize(
    "arguments", ["{", "[]", "tea", {"q": [3]}, {"scope": SCOPE, "query": "x"}]
)
async def test_wrong_arguments_are_told_to_the_model(
    client: httpx.AsyncClient, arguments: object
) -> None:
    answer = await call(client, "search_memories", arguments)
    assert answer.status_code == 200
    assert answer.json()["isError"] is True
    assert "result" not in answer.json()


async def test_the_scope_is_asked_for_and_must_be_within_reach(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    asked = {"name": "list_memories"}
    answer = await client.post("./memoryTools:call", json=asked)
    assert refusal(answer) == (400, "INVALID_ARGUMENT", "FIELD_INVALID")
    key = await make_key(database, clock.now(), "editor", scope_conditions={"user_id": ["42"]})
    await made(client, "I like tea.")
    await made(client, "I like coffee.", user="43")
    async with client_with(app, key) as bound:
        listed = (await bound.post("./memoryTools:call", json=asked)).json()
        assert [memory["fact"] for memory in listed["result"]["memories"]] == ["I like tea."]
        foreign = await bound.post("./memoryTools:call", json={**asked, "scope": {"user_id": "43"}})
        assert refusal(foreign) == (403, "PERMISSION_DENIED", "SCOPE_OUT_OF_REACH")


async def test_a_memory_of_another_scope_is_not_there_also_for_an_administrator(
    client: httpx.AsyncClient,
) -> None:
    foreign = await made(client, "I like coffee.", user="43")
    # As if it had never been, word for word.
    absent = f"{int(foreign) + 1}"
    for name, arguments in (
        ("memory_history", {"id": "ID"}),
        ("update_memory", {"id": "ID", "fact": "I like tea."}),
        ("forget_memory", {"ids": ["ID"]}),
        ("restore_memory", {"id": "ID"}),
    ):
        texts = []
        for memory in (foreign, absent):
            sent = json.dumps(arguments).replace("ID", memory)
            answer = (await call(client, name, sent)).json()
            assert answer["isError"] is True
            texts.append(answer["text"].replace(memory, "ID"))
        assert texts == ["memories/ID does not exist."] * 2
    assert (await client.get(f"memories/{foreign}")).json()["fact"] == "I like coffee."


@pytest.mark.parametrize("memory", ["..", ".", "a/b", "x:rollback", "-", "%2e%2e", "é", "x" * 128])
async def test_what_is_no_id_reaches_nothing(client: httpx.AsyncClient, memory: str) -> None:
    for arguments in ({"id": memory}, {"id": memory, "fact": "x"}):
        name = "update_memory" if "fact" in arguments else "memory_history"
        answer = (await call(client, name, arguments)).json()
        assert answer["isError"] is True
        assert "does not exist." in answer["text"]


async def test_facts_are_remembered_once(client: httpx.AsyncClient, runner: Runner) -> None:
    facts = {"facts": ["I like tea."]}
    first = (await while_working(runner, call(client, "remember", facts))).json()
    [memory] = first["result"]["memories"]
    assert (memory["action"], memory["fact"]) == ("CREATED", "I like tea.")
    assert first["text"] == f"Stored: I like tea. (id {memory['id']})"
    again = (await while_working(runner, call(client, "remember", facts))).json()
    assert again["result"]["memories"] == [
        {"id": memory["id"], "action": "ALREADY_KNOWN", "fact": "I like tea."}
    ]
    assert len((await client.get("memories")).json()["memories"]) == 1


async def test_a_repeated_call_is_done_once(client: httpx.AsyncClient, runner: Runner) -> None:
    facts, again = {"facts": ["I like tea."]}, {"Idempotency-Key": "once"}
    client.headers.update(again)
    first = (await while_working(runner, call(client, "remember", facts))).json()
    second = (await while_working(runner, call(client, "remember", facts))).json()
    assert second["result"]["operation"] == first["result"]["operation"]


async def test_forgetting_by_a_query_names_candidates_and_forgets_nothing(
    client: httpx.AsyncClient,
) -> None:
    memory = await made(client, "I like tea.")
    asked = (await call(client, "forget_memory", {"query": "tea"})).json()
    assert [one["id"] for one in asked["result"]["candidates"]] == [memory]
    assert asked["text"].endswith("Nothing is forgotten yet. Call again with ids.")
    assert (await client.get(f"memories/{memory}")).status_code == 200


async def test_one_wrong_id_leaves_all_memories(client: httpx.AsyncClient) -> None:
    memory = await made(client, "I like tea.")
    answer = (await call(client, "forget_memory", {"ids": [memory, "1"]})).json()
    assert answer["text"] == "memories/1 does not exist."
    assert (await client.get(f"memories/{memory}")).status_code == 200


async def test_what_was_forgotten_or_changed_is_restored(client: httpx.AsyncClient) -> None:
    memory = await made(client, "I like tea.")
    await call(client, "update_memory", {"id": memory, "fact": "I like coffee."})
    forgotten = (await call(client, "forget_memory", {"ids": [memory]})).json()
    assert forgotten["result"]["forgotten"] == [{"id": memory, "fact": "I like coffee."}]
    assert forgotten["result"]["recover_until"] == "2026-01-17T12:00:00Z"
    history = (await call(client, "memory_history", {"id": memory})).json()["result"]
    assert [one["action"] for one in history["revisions"]] == ["DELETED", "UPDATED", "CREATED"]
    assert history["revisions"][1]["words_added"] == ["coffee."]
    assert history["revisions"][1]["words_removed"] == ["tea."]
    back = (await call(client, "restore_memory", {"id": memory})).json()
    assert back["result"] == {"fact": "I like coffee."}
    # Of a living memory: the text before the present one.
    back = (await call(client, "restore_memory", {"id": memory})).json()
    assert back["result"] == {"fact": "I like tea."}
    chosen = {"id": memory, "revision": history["revisions"][1]["id"]}
    back = (await call(client, "restore_memory", chosen)).json()
    assert back["result"] == {"fact": "I like coffee."}


async def test_nothing_found_tells_whether_anything_is_stored(client: httpx.AsyncClient) -> None:
    empty = (await call(client, "search_memories", {"query": "tea"})).json()
    assert empty["result"] == {"memories": [], "scope_is_empty": True}
    await made(client, "I like tea.")
    topics = {"query": "tea", "topics": ["USER_PREFERENCES", "work"]}
    far = (await call(client, "search_memories", topics)).json()
    assert far["result"] == {"memories": [], "scope_is_empty": False}
    assert "list_memories" in far["text"]


async def test_what_is_surely_unrelated_is_left_out_and_counted(client: httpx.AsyncClient) -> None:
    await made(client, "I like green tea.")
    await made(client, "My bicycle is red.")
    found = (await call(client, "search_memories", {"query": "green tea"})).json()
    assert [one["fact"] for one in found["result"]["memories"]] == ["I like green tea."]
    assert found["result"]["omitted"] == 1
    assert "1 more are not near enough" in found["text"]
    general = (await call(client, "search_memories", {"query": "everything"})).json()
    assert len(general["result"]["memories"]) == 2
    assert "omitted" not in general["result"]


async def test_a_list_goes_on_page_by_page(client: httpx.AsyncClient) -> None:
    for number in range(3):
        await made(client, f"I like tea {number}.")
    first = (await call(client, "list_memories", {"limit": 2})).json()["result"]
    token = first["next_page_token"]
    rest = (await call(client, "list_memories", {"limit": 2, "page_token": token})).json()["result"]
    ids = [memory["id"] for memory in (*first["memories"], *rest["memories"])]
    assert len(ids) == len(set(ids)) == 3
    assert "next_page_token" not in rest
    later = {"changed_since": "2026-01-16"}
    assert (await call(client, "list_memories", later)).json()["result"]["memories"] == []


async def test_a_conversation_is_recalled_for_its_user_alone(client: httpx.AsyncClient) -> None:
    for user, session in (("42", "mine"), ("43", "theirs")):
        await client.post("sessions", params={"sessionId": session}, json={"userId": user})
        exchange = {"input": f"The parcel of {user} is green.", "output": "Noted."}
        await client.post(f"sessions/{session}/exchanges", json=exchange)
    asked = {"query": "parcel"}
    found = (await call(client, "recall_conversation", asked, session="mine")).json()
    assert found["result"]["passages"][0]["text"] == "The parcel of 42 is green."
    assert "(session mine, event 1)" in found["text"]
    chosen = (await call(client, "recall_conversation", {**asked, "session": "mine"})).json()
    assert chosen["result"] == found["result"]
    late = (
        await call(client, "recall_conversation", asked, session="mine", excludeRecent=9)
    ).json()
    assert late["result"] == {"passages": []}
    for session in ("theirs", "-", "nothing"):
        foreign = (await call(client, "recall_conversation", {**asked, "session": session})).json()
        assert foreign["text"] == f"sessions/{session} does not exist."
    everywhere = (await call(client, "recall_conversation", asked)).json()
    assert {one["session"] for one in everywhere["result"]["passages"]} == {"mine"}
    assert "(session mine, event 1, 2026-01-15)" in everywhere["text"]
    nobody = (await call(client, "recall_conversation", asked, scope={"team": "a"})).json()
    assert "user_id" in nobody["text"]


async def test_the_audit_names_the_tool_and_the_method(client: httpx.AsyncClient) -> None:
    memory = await made(client, "I like tea.")
    await call(client, "forget_memory", {"ids": [memory]})
    query = {"filter": 'method="deleteMemory"'}
    [event] = (await client.get("auditEvents", params=query)).json()["auditEvents"]
    assert event["surface"] == "tools/forget_memory"


async def test_what_a_model_cannot_mend_is_an_error_of_the_request(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    key = await make_key(database, clock.now(), permissions=["memories.retrieve"], engines=["1"])
    async with client_with(app, key) as bound:
        assert (await call(bound, "search_memories", {"query": "tea"})).status_code == 200
        foreign = await bound.post("../2/memoryTools:call", json={"name": "search_memories"})
        assert refusal(foreign) == (404, "NOT_FOUND", "RESOURCE_NOT_FOUND")
