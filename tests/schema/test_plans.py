"""Reads of a scope stay as cheap in a bank of a hundred thousand memories as in a small one.

The statements are those that the service sends, taken on their way and explained.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import event

from app.adapters.db import migrate
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.access.services.access import AccessService
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY, START
from tests.support.keys import make_key
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.seeding import DIMENSIONS, ENGINES, MEMORIES, SCOPES, seed

ENGINE = "http://test/v1/reasoningEngines/7"
SCOPE = {"user_id": "42"}
_TABLES = {"memories", "memory_vectors", "memory_revisions", "revision_labels"}

Statement = tuple[str, dict[str, Any] | list[Any]]


@pytest.fixture(scope="module")
def url(seeded_database_url: str) -> str:
    migrate.upgrade(seeded_database_url)
    took = seed(seeded_database_url, START.isoformat(), ScriptedEmbedder.model_id)
    print(f"seeded {ENGINES * SCOPES * MEMORIES} memories in {took:.1f} s")
    return seeded_database_url


@asynccontextmanager
async def serving(
    url: str, settings: Settings, conditions: dict[str, list[str]] | None = None
) -> AsyncIterator[tuple[httpx.AsyncClient, Database]]:
    database = Database(open_engine(url, settings))
    clock, embedder = FixedClock(START), ScriptedEmbedder(DIMENSIONS)
    await AccessService(database, clock).ensure_first_key(ADMIN_KEY)
    app = create_app(Resources(settings, clock, database, url, embedder))
    key = ADMIN_KEY
    if conditions is not None:
        key = await make_key(database, START, "admin", scope_conditions=conditions)
    headers = {"Authorization": f"Bearer {key}"}
    transport = httpx.ASGITransport(app=app)
    try:
        async with httpx.AsyncClient(transport=transport, headers=headers) as client:
            yield client, database
    finally:
        await database.close()


def statements_sent(database: Database) -> list[Statement]:
    """Return the list to which every statement is added from now on, a hot one, too."""
    found: list[Statement] = []

    def note(*arguments: Any) -> None:
        found.append((arguments[2], arguments[3]))

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    run = database.server.direct.run

    async def noting(statement: bytes, values: Any, options: Sequence[bytes] = ()) -> Any:
        found.append((statement.decode(), values))
        return await run(statement, values, options)

    database.server.direct.run = noting  # type: ignore[method-assign]  # put in between
    return found


async def statements_of(
    url: str,
    settings: Settings,
    request: tuple[str, str, dict[str, Any]],
    conditions: dict[str, list[str]] | None = None,
) -> tuple[list[Statement], dict[str, Any]]:
    """Send a request; return the statements on memories that it led to, and its answer."""
    method, path, content = request
    path = path.format(memory=a_memory(url))
    async with serving(url, settings, conditions) as (client, database):
        found = statements_sent(database)
        if method == "POST":
            answer = await client.post(ENGINE + path, json=content)
        else:
            answer = await client.get(ENGINE + path, params=content)
    assert answer.status_code == 200, answer.text
    read = [one for one in found if "memor" in one[0] and not one[0].startswith("INSERT")]
    return read, answer.json()


def a_memory(url: str) -> str:
    statement = b"select memory_id from memories where engine_id = 7 order by memory_id limit 1"
    with psycopg.connect(url) as connection:
        ((found,),) = connection.execute(statement).fetchall()
    return str(found)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def explained(url: str, statement: Statement) -> dict[str, Any]:
    """Run a statement once more and return its plan, with what it read."""
    text, values = statement
    # Hot statements number their values.
    cursor_type = psycopg.RawCursor if isinstance(values, list) else psycopg.Cursor
    with psycopg.connect(url) as connection, cursor_type(connection) as cursor:
        explain = "explain (analyze, buffers, format json) " + text
        (row,) = cursor.execute(explain.encode(), values).fetchall()
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def explained_for_any_values(url: str, statement: Statement) -> dict[str, Any]:
    """Return the plan that a prepared statement may get once it has run a few times."""
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return f"${numbers.setdefault(found[1], len(numbers) + 1)}"

    text = re.sub(r"%\((\w+)\)s", numbered, statement[0]).replace("%%", "%")
    with psycopg.connect(url) as connection:
        explain = f"explain (generic_plan, format json) {text}"
        (row,) = connection.execute(explain.encode()).fetchall()
    plan: dict[str, Any] = row[0][0]["Plan"]
    return plan


def indexes(plan: dict[str, Any]) -> set[str]:
    """Return the indexes that a plan uses; none of the tables may be read whole."""
    for node in nodes(plan):
        assert node["Node Type"] != "Seq Scan" or node["Relation Name"] not in _TABLES, plan
    return {node["Index Name"] for node in nodes(plan) if "Index Name" in node}


SIMILAR = {"scope": SCOPE, "similaritySearchParams": {"searchQuery": "What do I like?"}}
BIN = {"showDeleted": "true", "filter": "delete_time:*", "orderBy": "delete_time desc"}
# A long page is read twice: the sizes of its rows, then the rows that fit.
CASES: dict[str, tuple[tuple[str, str, dict[str, Any]], set[str], int]] = {
    "similarity": (
        ("POST", "/memories:retrieve", SIMILAR),
        {"ix_memory_vectors_scope", "ix_memories_scope"},
        320,
    ),
    "newest": (("POST", "/memories:retrieve", {"scope": SCOPE}), {"ix_memories_scope"}, 240),
    "list": (("GET", "/memories", {"pageSize": "50"}), {"ix_memories_create_time"}, 150),
    "list ascending": (
        ("GET", "/memories", {"pageSize": "50", "orderBy": "update_time"}),
        {"ix_memories_update_time"},
        150,
    ),
    "list of a scope": (
        ("GET", "/memories", {"filter": 'scope="{\\"user_id\\": \\"42\\"}"'}),
        {"ix_memories_scope"},
        240,
    ),
    "list of deleted": (
        ("GET", "/memories", {**BIN, "pageSize": "50"}),
        {"ix_memories_delete_time"},
        400,
    ),
    "get": (("GET", "/memories/{memory}", {}), {"pk_memories"}, 10),
    "revisions": (
        ("GET", "/memories/{memory}/revisions", {}),
        {"uq_memory_revisions_engine_id_memory_id_version"},
        25,
    ),
    "revisions by label": (
        ("GET", "/memories/-/revisions", {"filter": 'labels.run="42"', "pageSize": "50"}),
        {"pk_revision_labels"},
        1_800,
    ),
    # Its key is that of all revisions and its value, too, but hardly any has both in one label.
    "revisions by a rare label": (
        ("GET", "/memories/-/revisions", {"filter": 'labels.run="all"', "pageSize": "50"}),
        {"pk_revision_labels"},
        900,
    ),
    "revisions of all": (
        ("GET", "/memories/-/revisions", {"pageSize": "50"}),
        {"ix_memory_revisions_time"},
        480,
    ),
    "revisions of a user": (
        ("GET", "/memories/-/revisions", {"filter": 'scope.user_id="42"', "pageSize": "50"}),
        {"ix_memories_scope_parts"},
        1_150,
    ),
    "revisions of an operation": (
        ("GET", "/memories/-/revisions", {"filter": 'operation="1"', "pageSize": "50"}),
        {"ix_memory_revisions_operation"},
        20,
    ),
    "labels": (("GET", "/memories/-/revisions:listLabels", {}), {"pk_revision_labels"}, 60),
    "labels of a key": (
        ("GET", "/memories/-/revisions:listLabels", {"key": "run", "pageSize": "50"}),
        {"pk_revision_labels"},
        900,
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_read_uses_its_index(url: str, settings: Settings, case: str) -> None:
    request, wanted, most = CASES[case]
    statements, answer = await statements_of(url, settings, request)
    assert answer
    used: set[str] = set()
    used_for_any: set[str] = set()
    read = 0
    for statement in statements:
        plan = explained(url, statement)
        read += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        used |= indexes(plan)
        used_for_any |= indexes(explained_for_any_values(url, statement))
    print(f"{case}: {read} buffers by {', '.join(sorted(used))}")
    assert used & wanted
    assert used_for_any & wanted
    assert read <= most


BOUND = {"user_id": ["42"]}
SEVERAL = {"user_id": ["17", "42"], "app": ["none"]}
PARTS, OF_SCOPE = "ix_memories_scope_parts", "ix_memories_scope"
OF_MEMORY = "uq_memory_revisions_engine_id_memory_id_version"
# Of each user there are as many memories in every other engine.
BOUND_CASES: dict[str, tuple[tuple[str, str, dict[str, Any]], set[str], int]] = {
    "similarity": (CASES["similarity"][0], {OF_SCOPE}, 320),
    "newest": (CASES["newest"][0], {OF_SCOPE}, 240),
    "list": (("GET", "/memories", {"pageSize": "100"}), {PARTS}, 1_200),
    "list of nothing": (("GET", "/memories", {"filter": 'fact="none"'}), {PARTS}, 1_200),
    "get": (CASES["get"][0], {"pk_memories"}, 20),
    "revisions of all": (("GET", "/memories/-/revisions", {}), {PARTS, OF_MEMORY}, 2_000),
    "count": (("POST", "/memories:purge", {"filter": 'fact!="none"'}), {PARTS}, 1_200),
}


@pytest.mark.parametrize("case", BOUND_CASES)
async def test_a_read_by_a_bound_key_does_not_walk_over_what_is_of_others(
    url: str, settings: Settings, case: str
) -> None:
    request, wanted, most = BOUND_CASES[case]
    for conditions in (BOUND, SEVERAL):
        if case == "get" and conditions is SEVERAL:
            continue
        found = {"user_id": [owner_of_a_memory(url)]} if case == "get" else conditions
        statements, _ = await statements_of(url, settings, request, found)
        plans = [explained(url, statement) for statement in statements]
        used = set().union(*map(indexes, plans))
        read = sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans)
        print(f"{case}: {read} buffers by {', '.join(sorted(used))}")
        if conditions is BOUND:
            assert wanted <= used
        assert read <= most


def owner_of_a_memory(url: str) -> str:
    statement = b"select scope ->> 'user_id' from memories where engine_id = 7 and memory_id = %s"
    with psycopg.connect(url) as connection:
        ((found,),) = connection.execute(statement, [a_memory(url)]).fetchall()
    return str(found)
