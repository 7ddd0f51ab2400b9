"""Pages of any size, one after the other, are the whole list: each row once, in its order."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.audit import ALL_URL
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.engines import COLLECTION, create_engine
from tests.support.keys import make_key
from tests.support.operations import USER, create_memory
from tests.support.sessions import create_session, new_path
from tests.support.summaries import talk
from tests.support.tasks import MEMORY, NAMESPACE, store, text_output

ROWS = 5
BY_ONE = {"strategy": "every_n", "every": 1, "summaryModel": "builtin"}
SESSION = "/sessions/talk"
LISTS: list[tuple[str, str, Json]] = [
    (COLLECTION, "reasoningEngines", {}),
    (f"{ENGINE_URL}/operations", "operations", {}),
    (f"{ENGINE_URL}/auditEvents", "auditEvents", {}),
    (ALL_URL, "auditEvents", {}),
    ("http://test/v1/keys", "keys", {}),
    ("/memories", "memories", {}),
    ("/memories", "memories", {"orderBy": "create_time"}),
    ("/memories", "memories", {"orderBy": "update_time desc"}),
    ("/memories", "memories", {"showDeleted": True, "orderBy": "delete_time"}),
    ("/memories", "memories", {"showDeleted": True, "orderBy": "delete_time desc"}),
    ("/memories", "memories", {"showDeleted": True, "filter": "delete_time:*"}),
    ("/memories/fact-0/revisions", "memoryRevisions", {}),
    ("/memories/-/revisions", "memoryRevisions", {}),
    ("/memories/-/revisions", "memoryRevisions", {"filter": 'scope.user_id="42"'}),
    ("/memories/-/revisions:listLabels", "labels", {}),
    ("/memories/-/revisions:listLabels", "labels", {"key": "number"}),
    ("/sessions", "sessions", {}),
    ("/sessions", "sessions", {"orderBy": "update_time"}),
    (f"{SESSION}/events", "sessionEvents", {}),
    (f"{SESSION}/events", "sessionEvents", {"orderBy": "timestamp desc"}),
    (f"{SESSION}/summaries", "summaries", {}),
    ("/taskMemories", "taskMemories", {}),
    (f"{MEMORY}/namespaces", "namespaces", {}),
    (f"{NAMESPACE}/artifacts", "artifacts", {}),
    (f"{MEMORY}/toolPolicies", "toolPolicies", {}),
]


async def _fill(
    client: httpx.AsyncClient, clock: FixedClock, database: Database, runner: Runner
) -> None:
    """Make at least `ROWS` rows of each list, of which some have the same time."""
    await create_session(client, "talk", memoryPolicy=BY_ONE)
    for number in range(ROWS):
        clock.advance(timedelta(seconds=number % 2))
        await create_engine(client)
        await make_key(database, clock.now(), "viewer")
        labels = {"number": str(number), f"key-{number}": "x"}
        body = {"fact": f"Fact {number}.", "scope": USER, "revisionLabels": labels}
        answer = await client.post(f"/memories?memoryId=fact-{number}", json=body)
        ok(answer)
        deleted = {"fact": f"Old fact {number}.", "scope": USER}
        ok(await client.post(f"/memories?memoryId=old-{number}", json=deleted))
        ok(await client.delete(f"/memories/old-{number}"))
        ok(await client.patch("/memories/fact-0", json={"fact": f"Version {number}."}))
        await new_path(client)
        await talk(client, SESSION, number)
        ok(await store(client, text_output("a"), path=f"{MEMORY}/namespaces/n{number}"))
        ok(await store(client, text_output("b"), path=f"/taskMemories/m{number}/namespaces/n"))
        ok(await store(client, text_output("c")))
        ok(await client.put(f"{MEMORY}/toolPolicies/tool-{number}", json={"sensitive": True}))
    await runner.run_pending()


async def _pages(
    client: httpx.AsyncClient, path: str, rows: str, params: Mapping[str, Any], size: int
) -> list[list[Json]]:
    pages: list[list[Json]] = []
    token: str | None = ""
    while token is not None:
        query = {**params, "pageSize": size, "pageToken": token}
        page = ok(await client.get(path, params=query))
        pages.append(page[rows])
        token = page.get("nextPageToken")
    return pages


async def test_pages_of_any_size_are_the_whole_list(
    client: httpx.AsyncClient, clock: FixedClock, database: Database, runner: Runner
) -> None:
    await _fill(client, clock, database, runner)
    for path, rows, params in LISTS:
        (whole,) = await _pages(client, path, rows, params, 100)
        assert len(whole) >= ROWS, path
        for size in range(1, len(whole) + 2):
            pages = await _pages(client, path, rows, params, size)
            assert [row for page in pages for row in page] == whole, (path, size)
            assert all(len(page) == size for page in pages[:-1]), (path, size)
            assert pages[-1], (path, size)


async def test_pages_of_retrieved_memories_are_all_of_the_scope(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    for number in range(ROWS):
        clock.advance(timedelta(seconds=number % 2))
        await create_memory(client, f"Fact {number}.")

    async def retrieved(size: int, token: str) -> Json:
        params = {"pageSize": size, "pageToken": token}
        body = {"scope": USER, "simpleRetrievalParams": params}
        return ok(await client.post("/memories:retrieve", json=body))

    whole = (await retrieved(100, ""))["retrievedMemories"]
    assert len(whole) == ROWS
    for size in range(1, ROWS + 2):
        rows: list[Json] = []
        token: str | None = ""
        while token is not None:
            page = await retrieved(size, token)
            rows += page["retrievedMemories"]
            token = page.get("nextPageToken")
        assert rows == whole, size
