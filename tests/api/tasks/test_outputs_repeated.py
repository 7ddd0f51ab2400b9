"""Outputs sent once more under the same request id: the first answer, and nothing twice."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.bank import Json, ok
from tests.support.errors import refusal
from tests.support.tasks import MEMORY, NOTHING, stored, text_output

CANARY = "canary-6b1e90"
HEADERS = {"Idempotency-Key": "call-1"}
LISTED = {
    "kind": "list",
    "elements": [text_output("Long."), {"kind": "info", "text": f"{CANARY} written"}],
}
POLICY = f"{MEMORY}/toolPolicies/web"


async def send(client: httpx.AsyncClient, output: Json, **fields: Any) -> httpx.Response:
    body = {"tool": "web", "activity": "fetch", "output": output, **fields}
    return await client.post(f"{MEMORY}:processOutput", json=body, headers=HEADERS)


def is_replayed(answer: httpx.Response) -> bool:
    return bool(answer.headers.get("Idempotent-Replayed") == "true")


async def kept(database: Database) -> str:
    """Return all that is kept of requests."""
    async with database.snapshot() as session:
        found = await session.execute(text("select request_ids::text from request_ids"))
        return " ".join(found.scalars())


@pytest.mark.parametrize(
    "output",
    [
        text_output(f"Short {CANARY}."),
        text_output(" "),
        {"kind": "info", "text": f"{CANARY} done"},
        {"kind": "json", "json": {"a": CANARY}},
    ],
)
async def test_what_is_for_the_prompt_is_answered_again_and_binds_the_id(
    client: httpx.AsyncClient, database: Database, output: Json
) -> None:
    first, again = [await send(client, output) for _ in range(2)]
    assert ok(first) == ok(again)
    assert (is_replayed(first), is_replayed(again)) == (False, True)
    for other in (text_output("Other."), text_output("Other.", mediaType="text/csv")):
        answer = await send(client, other)
        assert refusal(answer) == (409, "ALREADY_EXISTS", Reason.REQUEST_ID_REUSED)
        assert "Other" not in answer.text
    assert CANARY not in await kept(database)
    assert await stored(database) == NOTHING


async def test_the_first_answer_stays_when_more_is_stored_and_when_all_is_gone(
    client: httpx.AsyncClient, database: Database
) -> None:
    first = ok(await send(client, LISTED, offPrompt=True))
    assert first["passthrough"][0]["text"] == f"{CANARY} written"
    namespace = f"{MEMORY}/namespaces/{first['reference']['namespace']}"
    ok(await client.post(f"{namespace}:store", json={"artifacts": [text_output("More.")]}))
    again = await send(client, LISTED, offPrompt=True)
    assert (ok(again), is_replayed(again)) == (first, True)
    assert ok(await client.get(namespace))["reference"]["count"] == 2
    ok(await client.delete(namespace))
    again = await send(client, LISTED, offPrompt=True)
    assert (ok(again), is_replayed(again)) == (first, True)
    assert await stored(database) == NOTHING
    assert CANARY not in await kept(database)


async def test_once_forgotten_an_id_stores_into_a_namespace_of_its_own(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    fields = {"offPrompt": True, "ttl": "864000s"}
    first = ok(await send(client, text_output("First."), **fields))["reference"]
    clock.advance(timedelta(days=2))
    second = ok(await send(client, text_output("Second."), **fields))["reference"]
    assert first["namespace"] != second["namespace"]
    assert (first["count"], second["count"]) == (1, 1)


@pytest.mark.parametrize("before", [False, True])
async def test_the_first_answer_stays_when_the_policy_of_the_tool_changes(
    client: httpx.AsyncClient,
    database: Database,
    before: bool,  # noqa: FBT001 - given by the parameters of the test
) -> None:
    ok(await client.put(POLICY, json={"offPrompt": before}))
    first = ok(await send(client, text_output("Said.")))
    rows = await stored(database)
    ok(await client.put(POLICY, json={"offPrompt": not before, "sensitive": not before}))
    again = await send(client, text_output("Said."))
    assert (ok(again), is_replayed(again)) == (first, True)
    assert await stored(database) == rows
    assert first["disposition"] == ("stored" if before else "inline")
