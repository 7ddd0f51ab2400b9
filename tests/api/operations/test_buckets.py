"""Ids carry the bucket of the scope to which what they name belongs."""

from functools import partial

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.kernel.ids import NO_BUCKET, bucket_of, bucket_of_hash, bucket_of_user, scope_hash
from app.memory.memories.store.tables import RevisionRow
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.store.tables import SessionEventRow
from tests.support.bank import Json, id_of, ok
from tests.support.generation import said
from tests.support.operations import create_memories, create_memory, path_of
from tests.support.sessions import append, create_session

_SCOPE = {"user_id": "7", "topic": "tea"}
_BUCKET = bucket_of_hash(scope_hash(_SCOPE))


def _bucket(name: str) -> int:
    return bucket_of(int(id_of({"name": name})))


async def test_the_bucket_is_the_first_ten_bits_of_the_digest() -> None:
    digest = scope_hash(_SCOPE)
    assert f"{bucket_of_hash(digest):010b}" == "".join(f"{byte:08b}" for byte in digest)[:10]
    assert bucket_of_user("7") == bucket_of_hash(scope_hash({"user_id": "7"}))


@pytest.mark.parametrize("request_id", [None, "one"], ids=["once", "repeatable"])
async def test_a_memory_its_revisions_and_operations_carry_that_of_its_scope(
    client: httpx.AsyncClient, database: Database, request_id: str | None
) -> None:
    """Under a chosen id, too, which itself carries nothing."""

    def once(name: str) -> dict[str, str]:
        return {} if request_id is None else {"requestId": f"{request_id}-{name}"}

    body = {"fact": "I like tea.", "scope": _SCOPE}
    answers: dict[str, Json] = {}
    for query in ({}, {"memoryId": "chosen"}):
        kind = "chosen" if query else "made"
        answers[f"create {kind}"] = ok(
            await client.post("/memories", json=body, params={**query, **once(f"create {kind}")})
        )
        name = answers[f"create {kind}"]["response"]["name"]
        path = path_of(name)
        if kind == "made":
            assert _bucket(name) == _BUCKET
        asked = {
            "patch": partial(client.patch, path, json={"fact": "Tea?"}),
            "delete": partial(client.delete, path),
            "undelete": partial(client.post, f"{path}:undelete", json={}),
        }
        for step, ask in asked.items():
            params = once(f"{step} {kind}")
            operation = ok(await ask(params=params))
            answers[f"{step} {kind}"] = operation
            if request_id is not None:
                assert ok(await ask(params=params))["name"] == operation["name"]
    for operation in answers.values():
        assert _bucket(operation["name"]) == _BUCKET
    async with database.snapshot() as session:
        revisions = (await session.execute(select(RevisionRow.revision_id))).scalars().all()
    assert [bucket_of(one) for one in revisions] == [_BUCKET] * 8


async def test_a_session_and_its_events_carry_that_of_their_user(
    client: httpx.AsyncClient, database: Database
) -> None:
    session = await create_session(client, userId="7")
    path = path_of(session["name"])
    assert _bucket(session["name"]) == bucket_of_user("7")
    await append(client, path)
    await create_session(client, "chosen", userId="8")
    await append(client, "/sessions/chosen")
    ok(await client.delete(path))
    async with database.snapshot() as read:
        operations = (await read.execute(select(OperationRow.operation_id))).scalars().all()
        events = (await read.execute(select(SessionEventRow.event_id))).scalars().all()
    assert sorted(bucket_of(int(one)) for one in operations) == sorted(
        [bucket_of_user("7"), bucket_of_user("7"), bucket_of_user("8")]
    )
    assert [bucket_of(int(one)) for one in events] == [bucket_of_user("8")]


async def test_an_operation_carries_that_of_its_scope_if_it_has_exactly_one(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    generated = ok(await client.post("/memories:generate", json={**said("tea"), "scope": _SCOPE}))
    assert _bucket(generated["name"]) == _BUCKET
    await runner.run_pending()
    body = {"fact": "a", "scope": _SCOPE}
    other = {"fact": "b", "scope": {"user_id": "8"}}
    for memories, bucket in (([body, body], _BUCKET), ([body, other], NO_BUCKET)):
        requests = {"requests": [{"memory": memory} for memory in memories]}
        answer = ok(await client.post("/memories:batchCreate", json=requests))
        assert _bucket(answer["name"]) == bucket
    purged = ok(await client.post("/memories:purge", json={"filter": 'fact="a"', "force": True}))
    assert _bucket(purged["name"]) == NO_BUCKET


async def test_a_memory_of_many_at_once_carries_that_of_its_own_scope(
    client: httpx.AsyncClient,
) -> None:
    memories = await create_memories(client, "a", "b", scope=_SCOPE)
    memories.append(await create_memory(client, "c", {"user_id": "8"}))
    assert [_bucket(memory["name"]) for memory in memories] == [
        _BUCKET,
        _BUCKET,
        bucket_of_user("8"),
    ]
