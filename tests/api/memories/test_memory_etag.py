"""Etags: issue section 2, "Memories carry an etag; If-Match (or etag in the body)"."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.support.bank import STALE, field_of, history, id_of, listed, ok, refusal
from tests.support.cases import in_one_test
from tests.support.operations import create_memory, path_of


def _body(path: str, target: str) -> dict[str, dict[str, Any]]:
    """Return the requests that change a memory, by name; each ready for `client.request`."""
    return {
        "update": {"method": "PATCH", "url": path, "json": {"fact": "z"}},
        "delete": {"method": "DELETE", "url": path},
        "erase": {"method": "DELETE", "url": path, "params": {"permanent": True}},
        "rollback": {
            "method": "POST",
            "url": f"{path}:rollback",
            "json": {"targetRevisionId": target},
        },
    }


@pytest.mark.parametrize("change", ["update", "delete", "erase", "rollback"])
async def test_a_stale_etag_is_aborted_and_changes_nothing(
    client: httpx.AsyncClient, change: str
) -> None:
    memory = await create_memory(client, "x")
    path = path_of(memory["name"])
    updated = ok(await client.patch(path, json={"fact": "y"}))["response"]
    assert (memory["etag"], updated["etag"]) != (updated["etag"], memory["etag"])
    target = id_of((await history(client, path))[-1])
    request = _body(path, target)[change]
    for header in (memory["etag"], f'"{memory["etag"]}"', "other"):
        assert refusal(await client.request(**request, headers={"If-Match": header})) == STALE
    assert await listed(client) == ["y"]
    assert len(await history(client, path)) == 2


@in_one_test("change", ["update", "delete", "erase", "rollback"])
@in_one_test("form", ["{}", '"{}"', 'W/"{}"', "*"])
async def test_the_present_etag_is_accepted(
    client: httpx.AsyncClient, change: str, form: str
) -> None:
    memory = await create_memory(client, "x")
    path = path_of(memory["name"])
    target = id_of((await history(client, path))[-1])
    header = form.format(memory["etag"])
    ok(await client.request(**_body(path, target)[change], headers={"If-Match": header}))


async def test_the_etag_of_an_update_may_be_in_the_body(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "x")
    path = path_of(memory["name"])
    first = {"fact": "y", "etag": memory["etag"]}
    assert ok(await client.patch(path, json=first))["response"]["fact"] == "y"
    assert refusal(await client.patch(path, json=first)) == STALE
    both = await client.patch(path, json=first, headers={"If-Match": "2"})
    assert field_of(both) == "etag"


async def test_every_change_gives_another_etag(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    etags = [
        ok(await client.patch(path, json=body))["response"]["etag"]
        for body in ({"fact": "y"}, {"displayName": "d"}, {"fact": "y"})
    ]
    ok(await client.delete(path))
    target = id_of((await history(client, path))[-1])
    ok(await client.post(f"{path}:rollback", json={"targetRevisionId": target}))
    etags += ["1", ok(await client.get(path))["etag"]]
    assert len(set(etags)) == 5


async def test_of_two_changes_to_one_version_one_wins(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    answers = await asyncio.gather(
        *(client.patch(path, json={"fact": f"by {n}"}, headers={"If-Match": "1"}) for n in range(4))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert len(await history(client, path)) == 2


async def test_an_empty_etag_or_several_are_refused(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, "x"))["name"])
    for header in ('""', '"1", "2"'):
        answer = await client.patch(path, json={"fact": "y"}, headers={"If-Match": header})
        assert field_of(answer) == "If-Match"
