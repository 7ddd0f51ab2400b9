"""Batches and imports by keys that are bound to scopes."""

import json
from typing import Any

import httpx

from tests.support.bank import GONE, Json, listed, ok, refusal
from tests.support.bound import Bound
from tests.support.operations import path_of

_MINE, _THEIRS = {"user_id": "42"}, {"user_id": "7"}


def _new(fact: str, scope: dict[str, str], **fields: Any) -> Json:
    return {"memory": {"fact": fact, "scope": scope}, **fields}


async def _batch(client: httpx.AsyncClient, *requests: Json, **fields: Any) -> httpx.Response:
    return await client.post("/memories:batchCreate", json={"requests": requests, **fields})


async def _import(client: httpx.AsyncClient, *lines: Json) -> Json:
    body = "\n".join(map(json.dumps, lines))
    headers = {"content-type": "application/x-ndjson"}
    return ok(await client.post("/memories:import", content=body, headers=headers))


async def test_one_foreign_scope_refuses_an_atomic_batch(mine: httpx.AsyncClient) -> None:
    before = await listed(mine)
    answer = await _batch(mine, _new("a", _MINE), _new("b", _THEIRS))
    assert refusal(answer) == GONE
    assert await listed(mine) == before


async def test_a_foreign_scope_is_its_own_error_in_another(
    mine: httpx.AsyncClient, bank: httpx.AsyncClient
) -> None:
    before = len(await listed(bank))
    app = {**_MINE, "app": "z"}
    requests = [_new("a", _MINE, memoryId="a"), _new("b", _THEIRS), _new("c", app)]
    operation = ok(await _batch(mine, *requests, atomic=False))
    assert [one["fact"] for one in operation["response"]["memories"]] == ["a", "c"]
    assert [one.get("error", {}).get("code") for one in operation["response"]["results"]] == [
        *(None, 5, None)
    ]
    assert ok(await mine.get(path_of(operation["name"]))) == operation
    assert len(await listed(bank)) == before + 2
    # As the batch left it, also when it has changed.
    ok(await mine.patch("/memories/a", json={"fact": "changed"}))
    assert ok(await mine.get(path_of(operation["name"]))) == operation


async def test_a_batch_is_seen_by_who_sees_all_its_scopes(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    operation = ok(await _batch(bank, _new("a", _MINE), _new("b", {"user_id": "43"})))
    answer = await bound.client.get(path_of(operation["name"]))
    is_seen = set(bound.kind.conditions.get("user_id", ())) >= {"42", "43"}
    assert answer.status_code == (200 if is_seen and "app" not in bound.kind.conditions else 404)


async def test_a_foreign_id_is_taken_and_nothing_is_told_of_it(mine: httpx.AsyncClient) -> None:
    taken = _new("x", _MINE, memoryId="theirs")
    operation = ok(await _batch(mine, taken, _new("y", _MINE), atomic=False))
    assert [one["fact"] for one in operation["response"]["memories"]] == ["y"]
    assert "About theirs" not in json.dumps(operation)


async def test_an_import_passes_over_foreign_scopes_and_ids(
    mine: httpx.AsyncClient, bank: httpx.AsyncClient
) -> None:
    before = len(await listed(bank))
    same = {"fact": "About theirs.", "scope": _THEIRS, "memoryId": "theirs"}
    lines = [
        {"fact": "a", "scope": _MINE},
        {"fact": "b", "scope": _THEIRS},
        same,
        {**same, "scope": _MINE},
        {"fact": "About mine.", "scope": _MINE, "memoryId": "mine"},
    ]
    answer = await _import(mine, *lines)
    assert (answer["imported"], answer["existing"], answer["failed"]) == (1, 1, 3)
    assert [one["error"]["code"] for one in answer["errors"]] == [5, 5, 6]
    assert len(await listed(bank)) == before + 1
    assert ok(await mine.get(path_of(answer["operation"])))["response"]["imported"] == 1
    assert (await _import(bank, *lines))["existing"] == 2


async def test_an_import_of_many_chunks_is_its_callers(mine: httpx.AsyncClient) -> None:
    lines = [{"fact": f"Fact {n}.", "scope": _MINE} for n in range(501)]
    answer = await _import(mine, *lines)
    assert ok(await mine.get(path_of(answer["operation"])))["response"]["imported"] == 501
