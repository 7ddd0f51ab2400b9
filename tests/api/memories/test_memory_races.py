"""Changes of one memory at once: none is lost, none is applied twice; each makes one revision."""

import asyncio

import httpx

from app.adapters.db.session import Database
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow, RevisionRow
from tests.support.bank import count, history, id_of, listed, ok
from tests.support.operations import create_memory, path_of


async def test_updates_at_once_queue_up(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    answers = await asyncio.gather(
        *(client.patch(path, json={"fact": str(number)}) for number in range(6))
    )
    facts = {ok(answer)["response"]["fact"] for answer in answers}
    revisions = await history(client, path)
    assert {one["fact"] for one in revisions} == facts | {"x"}
    assert len(revisions) == 7
    assert await listed(client) == [revisions[0]["fact"]]


async def test_of_several_deletions_at_once_one_finds_the_memory(
    client: httpx.AsyncClient,
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    answers = await asyncio.gather(*(client.delete(path) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 404, 404, 404]
    assert len(await history(client, path)) == 2


async def test_everything_at_once_leaves_one_consistent_memory(
    client: httpx.AsyncClient, database: Database
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    target = {"targetRevisionId": id_of((await history(client, path))[0])}
    purge = {"filter": 'fact=~".*"', "force": True}
    answers = await asyncio.gather(
        client.patch(path, json={"fact": "y"}),
        client.delete(path),
        client.post(f"{path}:rollback", json=target),
        client.post("/memories:purge", json=purge),
        client.patch(path, json={"displayName": "d"}),
        client.post(f"{path}:rollback", json=target),
    )
    assert {answer.status_code for answer in answers} <= {200, 404, 409}
    newest, *_ = revisions = await history(client, path)
    facts = await listed(client)
    assert facts == ([] if newest["action"] == "DELETED" else [newest["fact"]])
    rows = await count(database, MemoryRow, MemoryVectorRow, RevisionRow)
    assert rows == (1, len(facts), len(revisions))


async def test_an_erasure_at_once_with_a_rollback_leaves_all_or_nothing(
    client: httpx.AsyncClient, database: Database
) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    target = {"targetRevisionId": id_of((await history(client, path))[0])}
    erased, rolled = await asyncio.gather(
        client.delete(path, params={"permanent": True}),
        client.post(f"{path}:rollback", json=target),
    )
    assert erased.status_code == 200
    assert rolled.status_code in {200, 404}
    assert await count(database, MemoryRow, MemoryVectorRow, RevisionRow) == (0, 0, 0)
