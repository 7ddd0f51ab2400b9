"""Deleted memories by keys that are bound to scopes."""

import httpx

from tests.support.bank import GONE, Json, ok, refusal
from tests.support.bound import SCOPES, Bound, assert_alike, facts

BIN = {"showDeleted": "true", "filter": "delete_time:*", "orderBy": "delete_time desc"}
SHOWN = {"showDeleted": "true"}
PURGED: Json = {"filter": 'fact:"About"', "force": True}


async def test_the_bin_has_what_the_key_sees_and_gives_no_more_back(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    ok(await bank.post("/memories:purge", json=PURGED))
    found: list[Json] = []
    token: str | None = ""
    while token is not None:
        params: dict[str, str | int] = {**BIN, "pageSize": 1, "pageToken": token}
        page = ok(await bound.client.get("/memories", params=params))
        found += page["memories"]
        token = page.get("nextPageToken")
    assert {one["fact"] for one in found} == {f"About {one}." for one in bound.kind.memories}
    missing = await bound.client.get("/memories/nothing", params=SHOWN)
    lost = await bound.client.post("/memories/nothing:undelete")
    assert refusal(missing) == refusal(lost) == GONE
    for memory_id in bound.kind.hidden:
        path = f"/memories/{memory_id}"
        foreign = await bound.client.get(path, params=SHOWN)
        assert_alike(foreign, missing, f"/{memory_id} ", "/nothing ")
        foreign = await bound.client.post(f"{path}:undelete")
        assert_alike(foreign, lost, f"/{memory_id} ", "/nothing ")
    for memory_id in bound.kind.memories:
        assert ok(await bound.client.get(f"/memories/{memory_id}", params=SHOWN))["deleteTime"]
        ok(await bound.client.post(f"/memories/{memory_id}:undelete"))
    assert await facts(bank) == [one for one in SCOPES if one in bound.kind.memories]


async def test_samples_of_a_count_stay_within_the_scopes(
    bound: Bound, bank: httpx.AsyncClient
) -> None:
    body = {"filter": 'fact:"About"', "sampleSize": 100}
    done = ok(await bound.client.post("/memories:purge", json=body))["response"]
    shown = {one["fact"] for one in done["samples"]}
    assert shown == {f"About {one}." for one in bound.kind.memories}
    assert done["purgeCount"] == len(shown)
    # Nor does who sees less read them in the operation of who sees more.
    whole = ok(await bank.post("/memories:purge", json=body))
    path = whole["name"].partition("/reasoningEngines/1")[2]
    assert len(whole["response"]["samples"]) == len(SCOPES)
    assert refusal(await bound.client.get(path)) == GONE
