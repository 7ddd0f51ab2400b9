import httpx

from app.platform.operations.services.runner import Runner
from tests.support.operations import create_memory, generate, path_of


async def test_a_memory_lives_from_creation_to_recovery(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "I like tea.")
    path = path_of(memory["name"])
    assert (await client.get(path)).json() == memory
    updated = await client.patch(path, json={"fact": "I like coffee."})
    assert updated.json()["response"]["fact"] == "I like coffee."
    assert (await client.delete(path)).json()["done"]
    assert (await client.get(path)).status_code == 404
    revisions = (await client.get(f"{path}/revisions")).json()["memoryRevisions"]
    assert [one["action"] for one in revisions] == ["DELETED", "UPDATED", "CREATED"]
    target = revisions[-1]["name"].rpartition("/")[2]
    await client.post(f"{path}:rollback", json={"targetRevisionId": target})
    assert (await client.get(path)).json()["fact"] == "I like tea."


async def test_a_conversation_becomes_memories(client: httpx.AsyncClient, runner: Runner) -> None:
    generated = await generate(client, runner, "Hi! I live in Paris. Thanks!")
    assert [one["action"] for one in generated] == ["CREATED"]
