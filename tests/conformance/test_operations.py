"""Operations, as clients and plain HTTP see them.

Source: wire specification, section 4.
"""

from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, Client, facts, last_part, missing, to_its_end


def _start(bank: Bank, *texts: str) -> Any:
    """Start a generation without waiting for it."""
    return bank.memories.generate(
        name=bank.name,
        direct_memories_source=facts(*texts),
        scope=USER,
        config={"wait_for_completion": False},
    )


def test_the_operation_of_a_memory_is_read_by_its_name(bank: Bank) -> None:
    operation = bank.memories.create(
        name=bank.name, fact="f", scope=USER, config={"wait_for_completion": False}
    )
    found = bank.memories._get_memory_operation(operation_name=operation.name)
    assert found == operation
    assert found.response == bank.get(found.response.name)


def test_the_operation_of_an_engine_is_read_by_its_name(
    vertex: Client, http: httpx.Client, engine: str
) -> None:
    name = http.patch(engine, json={"displayName": "x"}).json()["name"]
    found = vertex.agent_engines._get_agent_operation(operation_name=name)
    assert found.done is True
    assert found.response.display_name == "x"
    assert found.metadata["@type"].endswith(".UpdateReasoningEngineOperationMetadata")


def test_a_short_operation_name_gets_the_clients_project(bank: Bank) -> None:
    operation = bank.memories.create(name=bank.name, fact="f", scope=USER)
    short = operation.name.partition("/locations/")[2].partition("/")[2]
    assert bank.memories._get_memory_operation(operation_name=short).name == operation.name


def test_an_operation_is_also_found_under_its_memory(bank: Bank, http: httpx.Client) -> None:
    operation = bank.memories.create(name=bank.name, fact="f", scope=USER)
    under = f"{operation.response.name}/operations/{last_part(operation.name)}"
    assert http.get(under).json()["name"] == operation.name


def test_the_operation_of_a_deletion_is_named_under_its_memory(
    bank: Bank, http: httpx.Client
) -> None:
    memory = bank.create("f")
    operation = bank.memories.delete(name=memory.name)
    assert operation.name.startswith(f"{memory.name}/operations/")
    assert bank.memories._get_memory_operation(operation_name=operation.name).done
    under_engine = f"{bank.name}/operations/{last_part(operation.name)}"
    assert http.get(under_engine).json()["name"] == operation.name


def test_the_operation_of_a_memory_that_is_gone_is_still_read(
    bank: Bank, http: httpx.Client
) -> None:
    operation = bank.memories.create(name=bank.name, fact="f", scope=USER)
    http.delete(operation.response.name, params={"permanent": "true"})
    found = bank.memories._get_memory_operation(operation_name=operation.name)
    assert found.done is True
    assert found.response.name == operation.response.name
    assert found.response.fact is None


def test_an_unknown_operation_is_missing(bank: Bank) -> None:
    with missing():
        bank.memories._get_memory_operation(operation_name=f"{bank.name}/operations/404")


def test_an_operation_belongs_to_its_engine(bank: Bank, vertex: Client) -> None:
    operation = bank.memories.create(name=bank.name, fact="f", scope=USER)
    other = vertex.agent_engines.create().api_resource.name
    with missing():
        bank.memories._get_memory_operation(
            operation_name=f"{other}/operations/{last_part(operation.name)}"
        )


def test_a_running_generation_ends(bank: Bank, http: httpx.Client) -> None:
    operation = _start(bank, "I live in Zurich")
    ended = to_its_end(http, operation.name)
    assert ended["name"] == operation.name
    assert len(ended["response"]["generatedMemories"]) == 1


def test_generations_of_one_scope_run_one_after_another(bank: Bank, http: httpx.Client) -> None:
    started = [_start(bank, "I live in Zurich") for _ in range(5)]
    ended = [to_its_end(http, operation.name) for operation in started]
    found = [one["response"]["generatedMemories"][0]["action"] for one in ended]
    assert found == ["CREATED", *["UPDATED"] * 4]
    assert bank.listed_facts() == ["I live in Zurich"]


def test_operations_are_listed_newest_first(bank: Bank, http: httpx.Client) -> None:
    made = [bank.memories.create(name=bank.name, fact="f", scope=USER).name for _ in range(3)]
    path = f"{bank.name}/operations"
    names = [one["name"] for one in http.get(path).json()["operations"]]
    assert names[:3] == [*reversed(made)]
    first = http.get(path, params={"pageSize": 2}).json()
    assert [one["name"] for one in first["operations"]] == names[:2]
    second = http.get(path, params={"pageToken": first["nextPageToken"]}).json()
    assert [one["name"] for one in second["operations"]] == names[2:]


def test_a_done_operation_is_not_cancelled_any_more(bank: Bank, http: httpx.Client) -> None:
    operation = bank.memories.create(name=bank.name, fact="f", scope=USER)
    assert http.post(f"{operation.name}:cancel").json() == {}
    assert bank.memories._get_memory_operation(operation_name=operation.name) == operation


def test_a_done_operation_is_deleted_without_its_effect(bank: Bank, http: httpx.Client) -> None:
    operation = bank.memories.create(name=bank.name, fact="f", scope=USER)
    assert http.delete(operation.name).json() == {}
    with missing():
        bank.memories._get_memory_operation(operation_name=operation.name)
    assert bank.get(operation.response.name).fact == "f"


@pytest.mark.parametrize("timeout", ["soon", "10"])
def test_a_bad_timeout_of_a_wait_is_refused(bank: Bank, http: httpx.Client, timeout: str) -> None:
    operation = bank.memories.create(name=bank.name, fact="f", scope=USER)
    answer = http.post(f"{operation.name}:wait", params={"timeout": timeout})
    assert answer.status_code == 400
    assert "timeout" in answer.json()["error"]["message"]


def test_a_request_id_replays_the_first_answer(bank: Bank, http: httpx.Client) -> None:
    path, body = f"{bank.name}/memories", {"fact": "f", "scope": USER}
    first = http.post(path, params={"requestId": "r1"}, json=body).json()
    again = http.post(path, headers={"Idempotency-Key": "r1"}, json=body).json()
    assert again == first
    assert len(bank.listed()) == 1
    other = http.post(path, params={"requestId": "r1"}, json={**body, "fact": "g"})
    assert other.status_code == 409
