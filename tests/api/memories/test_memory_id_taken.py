"""A chosen id is taken as long as its memory can be read or recovered. Source: wire, 5.2."""

from datetime import timedelta

import httpx

from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.operations import USER


async def test_an_id_is_free_again_when_its_memory_is_beyond_recovery(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    body = {"fact": "I like tea.", "scope": USER}
    create = "/memories?memoryId=one"
    assert (await client.post(create, json=body)).status_code == 200
    assert await reason_of_refusal(client, create) == Reason.ID_TAKEN
    await client.delete("/memories/one")
    clock.advance(timedelta(hours=48) - timedelta(microseconds=1))
    assert await reason_of_refusal(client, create) == Reason.ID_TAKEN
    clock.advance(timedelta(microseconds=1))
    assert (await client.post(create, json=body)).status_code == 200
    revisions = (await client.get("/memories/one/revisions")).json()["memoryRevisions"]
    assert [one["action"] for one in revisions] == ["CREATED"]


async def reason_of_refusal(client: httpx.AsyncClient, path: str) -> str:
    answer = await client.post(path, json={"fact": "I like coffee.", "scope": USER})
    assert answer.status_code == 409
    return str(answer.json()["error"]["details"][0]["reason"])
