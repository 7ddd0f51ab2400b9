"""Ids that another process has made at the same moment: a request gets others, and succeeds.

The clock stands still, so that the next ids of a bucket are known, and their rows can be there.
"""

from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.kernel.ids import bucket_of, new_id
from app.kernel.scopes import bucket_of_user
from app.platform.audit.store.tables import AuditEventRow
from tests.support.bank import Json, listed, ok
from tests.support.errors import refusal
from tests.support.generation import said
from tests.support.operations import USER, create_memory, path_of
from tests.support.sessions import create_session

_KEYS = {
    "operations": "operation_id",
    "memory_revisions": "revision_id",
    "sessions": "session_id",
}
_A_FEW, _ALL = 2, 60


async def _take(database: Database, clock: FixedClock, table: str, number: int) -> None:
    """Insert copies of a row of a table under the next ids of the user's bucket."""
    made = new_id(clock.now(), bucket_of_user("42"))
    taken: list[int] = []
    while len(taken) < number:
        last = taken[-1] if taken else made
        after = last + 1_024
        if after % 100_000 >= 97 * 1_024:
            after = (last // 100_000 + 1) * 100_000 + bucket_of(made)
        taken.append(after)
    more = "'version', 1000 + place" if table == "memory_revisions" else "'version', 1"
    async with database.transaction() as session:
        await session.execute(
            text(
                f"insert into {table} select (jsonb_populate_record(null::{table}, to_jsonb(old) ||"
                f" jsonb_build_object('{_KEYS[table]}', id, {more}))).*"
                f" from (select * from {table} limit 1) old,"
                " unnest(cast(:taken as bigint[])) with ordinality as ids (id, place)"
            ),
            {"taken": taken},
        )


def _asked(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    body = {"fact": "I like coffee.", "scope": USER}
    return {
        "create": lambda: client.post("/memories", json=body),
        "create once": lambda: client.post("/memories?requestId=one", json=body),
        "create some": lambda: client.post(
            "/memories:batchCreate", json={"requests": [{"memory": body}, {"memory": body}]}
        ),
        "import": lambda: client.post(
            "/memories:import",
            content=b'{"fact": "I like coffee.", "scope": {"user_id": "42"}}\n',
            headers={"Content-Type": "application/x-ndjson"},
        ),
        "update": lambda: client.patch(f"{path}?requestId=two", json={"fact": "I like coffee."}),
        "delete": lambda: client.delete(path),
        "generate": lambda: client.post("/memories:generate", json={**said("tea"), "scope": USER}),
        "session": lambda: client.post("/sessions", json={"userId": "42"}),
    }


@pytest.mark.parametrize(
    ("step", "table"),
    [
        *(("create", table) for table in ("operations", "memory_revisions")),
        *(("create once", table) for table in ("operations", "memory_revisions")),
        *(("create some", table) for table in ("operations", "memory_revisions")),
        *(("import", table) for table in ("operations", "memory_revisions")),
        *(("update", table) for table in ("operations", "memory_revisions")),
        ("delete", "operations"),
        ("generate", "operations"),
        ("session", "operations"),
        ("session", "sessions"),
    ],
)
async def test_a_request_whose_ids_are_taken_gets_others(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, step: str, table: str
) -> None:
    path = path_of((await create_memory(client, "I like tea."))["name"])
    await create_session(client)
    await _take(database, clock, table, _A_FEW)
    before = await _audited(database)
    answer = ok(await _asked(client, path)[step]())
    assert await _audited(database) == before + 1
    if "name" in answer:
        operation = ok(await client.get(path_of(answer["name"])))
        assert operation["name"] == answer["name"]
    if "create" in step or step == "import":
        made = 2 if step == "create some" else 1
        assert sorted(await listed(client)) == [*["I like coffee."] * made, "I like tea."]


@pytest.mark.parametrize("step", ["create", "create once", "update"])
async def test_a_request_whose_ids_are_always_taken_changes_nothing(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, step: str
) -> None:
    memory: Json = await create_memory(client, "I like tea.")
    await _take(database, clock, "operations", _ALL)
    answer = await _asked(client, path_of(memory["name"]))[step]()
    assert refusal(answer) == (409, "ABORTED", Reason.CONCURRENT_CHANGE)
    assert await listed(client) == ["I like tea."]


@pytest.mark.parametrize("path", ["/memories?memoryId=mine", "/sessions?sessionId=mine"])
async def test_a_chosen_id_that_is_taken_is_refused(client: httpx.AsyncClient, path: str) -> None:
    body = {"fact": "tea", "scope": {"user_id": "42"}} if "memoryId" in path else {"userId": "42"}
    ok(await client.post(path, json=body))
    answer = await client.post(path, json=body)
    assert refusal(answer) == (409, "ALREADY_EXISTS", Reason.ID_TAKEN)


async def _audited(database: Database) -> int:
    async with database.snapshot() as session:
        statement = select(func.count()).select_from(AuditEventRow)
        count: int = (await session.execute(statement)).scalar_one()
    return count
