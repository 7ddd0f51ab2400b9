"""One call erases a person: rows of every table, names in those of others, and their keys."""

from collections import Counter

import httpx
from fastapi import FastAPI
from prometheus_client import REGISTRY
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, ENGINE_URL, Json, ok, refusal
from tests.support.keys import client_with, make_key
from tests.support.operations import create_memory, path_of
from tests.support.person import CANARY, PERSON, erase, fill, positive
from tests.support.rows import dump, rows_of

SCOPE = {"user_id": PERSON}
_TRACES = {"audit_events", "api_keys"}
"""Tables whose rows stay, without the person."""
_UNCOUNTED = {"rate_buckets": 1}
"""What a dry run leaves out: the states of limits of keys that end, which are no data of theirs."""
_OWN = {"operations": 1, "erasures": 1}
"""The rows that the erasure itself adds."""


def _sizes(rows: dict[str, list[str]]) -> Counter[str]:
    return Counter({table: len(some) for table, some in rows.items()})


async def _vacuums(database: Database) -> dict[str, int]:
    """Return how often each table was vacuumed by a statement."""
    statement = text("select relname, vacuum_count from pg_stat_user_tables")
    async with database.snapshot() as session:
        rows = (await session.execute(statement)).mappings()
        return {row["relname"]: row["vacuum_count"] for row in rows}


async def _dry_run(client: httpx.AsyncClient) -> Json:
    body = {"scope": SCOPE, "validateOnly": True}
    operation = ok(await client.post(f"{ENGINE_URL}:eraseScope", json=body))
    assert operation["done"]
    assert (await client.get(path_of(operation["name"]))).status_code == 404
    counted: Json = operation["response"]
    return counted


async def test_nothing_is_left_of_a_person_and_everything_of_others(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    """After an erasure no row holds what the person said, or who they are."""
    await fill(client, app, database, clock, runner)
    before = await dump(database)
    found = _sizes(await rows_of(database, CANARY, PERSON))
    assert found.total() >= 15
    others = await rows_of(database, "Harmless", "other-8")
    counted = await _dry_run(client)
    assert await dump(database) == before
    certificate = await erase(client, runner, SCOPE)
    assert await rows_of(database, CANARY, PERSON) == {}
    after = await dump(database)
    left = await rows_of(database, "Harmless", "other-8")
    shared = _TRACES | {"operations"}
    assert {table: left[table] for table in left.keys() - shared} == {
        table: others[table] for table in others.keys() - shared
    }
    assert _sizes(left) == _sizes(others)
    gone = {
        table: len(before[table]) + _OWN.get(table, 0) - len(after[table])
        for table in before.keys() - _TRACES - {"engine_totals"}
    }
    assert positive(certificate["counts"]) == positive(gone)
    erased = positive(certificate["counts"])
    assert {**positive(counted["counts"]), **_UNCOUNTED} == erased
    assert counted["pseudonymised"]["api_keys"] == certificate["pseudonymised"]["api_keys"] == 2
    assert certificate["verified"]
    assert certificate["engine"] == ENGINE
    assert certificate["subject"].startswith("hmac-sha256:")
    await create_memory(client, "I am new here.", SCOPE)
    assert (await erase(client, runner, SCOPE))["counts"]["memories"] == 1
    assert (
        REGISTRY.get_sample_value("memory_bank_erasures_total", {"state": "SUCCEEDED"}) or 0
    ) >= 2


async def test_the_space_of_erased_rows_is_freed(
    client: httpx.AsyncClient, database: Database, runner: Runner
) -> None:
    """Dead rows keep their text until a vacuum, for which an erasure does not wait."""
    await create_memory(client, "Mine.", SCOPE)
    before = await _vacuums(database)
    certificate = await erase(client, runner, SCOPE)
    after = await _vacuums(database)
    removed = {table for table, count in certificate["counts"].items() if count}
    assert removed >= {"memories", "memory_revisions"}
    assert {table for table in after if after[table] > before[table]} == removed


async def test_keys_of_a_person_end_and_keys_of_several_lose_them(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    await fill(client, app, database, clock, runner)
    certificate = await erase(client, runner, SCOPE)
    alias = f"erased-{certificate['subject'].removeprefix('hmac-sha256:')[:12]}"
    keys = ok(await client.get("http://test/v1beta1/keys"))["keys"]
    bound = [key for key in keys if "scopeConditions" in key]
    assert {key["displayName"]: (key["scopeConditions"], "revokeTime" in key) for key in bound} == {
        alias: ({"user_id": []}, True),
        "of Harmless": ({"user_id": ["other-8"]}, False),
        "of both": ({"user_id": ["other-8"]}, False),
    }
    page = ok(await client.get("/auditEvents", params={"pageSize": 1000}))
    mine = [event for event in page["auditEvents"] if event.get("caller") == alias]
    assert mine
    assert not [event for event in mine if "address" in event]
    named = [one for one in page["auditEvents"] if one.get("resource", "").endswith(f"/{alias}")]
    assert {one["resource"].rsplit("/", 2)[1] for one in named} == {
        "memories",
        "sessions",
        "operations",
        "taskMemories",
    }


async def test_a_key_of_one_engine_ends_no_key_of_others(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    """The certificate says that such keys stay."""
    conditions = {"user_id": [PERSON]}
    for name, engines in (("here", ["1"]), ("here and there", ["1", "2"]), ("everywhere", None)):
        await make_key(
            database, clock.now(), display_name=name, engines=engines, scope_conditions=conditions
        )
    own = await make_key(database, clock.now(), "admin", engines=["1"])
    async with client_with(app, own) as limited:
        counted = await _dry_run(limited)
        certificate = await erase(limited, runner, SCOPE)
    assert counted["notCovered"] == certificate["notCovered"] == ["api_keys"]
    assert counted["pseudonymised"]["api_keys"] == certificate["pseudonymised"]["api_keys"] == 1
    keys = ok(await client.get("http://test/v1beta1/keys"))["keys"]
    spared = {key["displayName"] for key in keys if key.get("scopeConditions") == conditions}
    assert spared == {"here and there", "everywhere"}


async def test_what_other_scopes_share_with_a_person_stays_without_them(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    both = [
        {"memory": {"fact": "Mine.", "scope": SCOPE}},
        {"memory": {"fact": "Theirs.", "scope": {"user_id": "8"}}},
    ]
    shared = ok(await client.post("/memories:batchCreate", json={"requests": both}))
    await erase(client, runner, SCOPE)
    left = ok(await client.get(path_of(shared["name"])))
    (one,) = left["response"]["memories"]
    assert one["fact"] == "Theirs."
    undone = await client.post(f"{path_of(shared['name'])}:undo", json={})
    assert ok(undone)["done"] is False


async def test_sessions_are_kept_where_that_is_asked_for(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    await fill(client, app, database, clock, runner)
    certificate = await erase(client, runner, SCOPE, includeSessions=False)
    assert certificate["notCovered"] == ["sessions"]
    left = await rows_of(database, CANARY)
    assert left.keys() >= {"sessions", "session_events", "task_artifacts", "user_states"}
    assert not left.keys() & {"memories", "memory_revisions", "streams", "stream_events"}
    certificate = await erase(client, runner, {**SCOPE, "app": "x"})
    assert certificate["notCovered"] == ["sessions"]


async def test_an_erased_operation_and_memory_cannot_be_taken_back(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    made = ok(await client.post("/memories", json={"fact": "Mine.", "scope": SCOPE}))
    memory = path_of(made["response"]["name"])
    alone = [{"memory": {"fact": "Mine, too.", "scope": SCOPE}}]
    ok(await client.delete(memory))
    await erase(client, runner, SCOPE)
    assert refusal(await client.post(f"{memory}:undelete", json={}))[0] == 404
    assert refusal(await client.post(f"{path_of(made['name'])}:undo", json={}))[0] == 404
    assert ok(await client.post("/memories:batchCreate", json={"requests": alone}))["done"]


async def test_what_was_deleted_before_loses_its_name_in_the_audit_log(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    """The operations of the scope tell whose it was."""
    gone = await create_memory(client, "I am gone.", SCOPE)
    ok(await client.patch(path_of(gone["name"]), json={"fact": "I am going."}))
    ok(await client.delete(path_of(gone["name"]), params={"permanent": True}))
    other = await create_memory(client, "I stay.", {"user_id": "other-8"})
    counted = await _dry_run(client)
    certificate = await erase(client, runner, SCOPE)
    assert certificate["pseudonymised"]["audit_events"] == 3
    assert counted["pseudonymised"]["audit_events"] == 3
    page = ok(await client.get("/auditEvents", params={"pageSize": 1000}))
    assert gone["name"] not in str(page)
    assert other["name"] in str(page)
