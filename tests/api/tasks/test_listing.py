"""What lists of namespaces say of what is in these: little of each, and the sums of all."""

from datetime import timedelta
from typing import Any

import httpx

from app.kernel.clock import FixedClock
from tests.support.bank import Json, ok
from tests.support.tasks import MEMORY, NAMESPACE, store, text_output


async def listed(client: httpx.AsyncClient) -> dict[str, Json]:
    """Return the references of the namespaces, by their names."""
    found = ok(await client.get(f"{MEMORY}/namespaces"))["namespaces"]
    return {one["reference"]["namespace"]: one["reference"] for one in found}


def places(reference: dict[str, Any]) -> list[str]:
    return [one["name"] for one in reference["artifacts"]]


async def test_a_list_names_few_artifacts_of_each_and_tells_the_sums_of_all(
    client: httpx.AsyncClient,
) -> None:
    numbered = [text_output(f"text {n}", name=f"a{n}") for n in range(103)]
    ok(await store(client, *numbered))
    other = f"{MEMORY}/namespaces/other"
    ok(await store(client, text_output("only", name="one"), path=other))
    found = await listed(client)
    assert places(found["n"]) == [f"a{n}" for n in range(10)]
    assert places(found["other"]) == ["one"]
    whole = ok(await client.get(NAMESPACE))["reference"]
    assert places(whole) == [f"a{n}" for n in range(100)]
    assert whole["artifacts"][:10] == found["n"]["artifacts"]
    assert {**whole, "artifacts": []} == {**found["n"], "artifacts": []}
    assert (whole["count"], whole["totalBytes"]) == (103, str(10 * 6 + 90 * 7 + 3 * 8))


async def test_what_has_expired_is_in_no_list_and_no_sum(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    ok(await store(client, text_output("soon", name="a"), ttl="60s"))
    ok(await store(client, text_output("later", name="b"), ttl="600s"))
    clock.advance(timedelta(seconds=61))
    found = (await listed(client))["n"]
    assert (places(found), found["count"], found["totalBytes"]) == (["b"], 1, "5")


async def test_of_what_was_derived_few_sources_are_listed(client: httpx.AsyncClient) -> None:
    ok(await store(client, *[text_output(f"Fact number {n}.", name=f"a{n}") for n in range(12)]))
    made = ok(await client.post(f"{NAMESPACE}:summarize", json={"offPrompt": True}))
    result = made["reference"]["namespace"]
    sources = [{"namespace": "n", "name": f"a{n}"} for n in range(12)]
    alone = ok(await client.get(f"{MEMORY}/namespaces/{result}"))
    assert alone["reference"]["derivedFrom"] == sources
    assert (await listed(client))[result]["derivedFrom"] == sources[:10]
