"""Reads are told of where the settings want it, and only there."""

import httpx
import pytest

from app.adapters.db.session import Database
from app.settings.settings import Settings
from tests.support.audit import exported, results, stored
from tests.support.bank import ENGINE, ENGINE_URL, ok
from tests.support.operations import USER, create_memory, path_of


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """Settings that want reads to be told of, unless the test says otherwise."""
    wanted = getattr(request, "param", True)
    return settings.model_copy(update={"audit_reads": wanted})


async def _read(client: httpx.AsyncClient, path: str) -> None:
    ok(await client.get(path))
    ok(await client.get("/memories"))
    ok(await client.post("/memories:retrieve", json={"scope": USER}))
    assert (await client.get("/memories/none")).status_code == 404


@pytest.mark.parametrize("settings", [False], indirect=True)
async def test_reads_leave_nothing_by_default(
    client: httpx.AsyncClient, database: Database
) -> None:
    assert Settings().audit_reads is False
    await _read(client, path_of((await create_memory(client, "I like tea."))["name"]))
    assert await results(database) == [("createMemory", "OK", None)]


async def test_reads_are_told_of_where_that_is_wanted(
    client: httpx.AsyncClient, database: Database
) -> None:
    name = (await create_memory(client, "I like tea."))["name"]
    await _read(client, path_of(name))
    assert await results(database) == [
        ("createMemory", "OK", None),
        ("getMemory", "OK", None),
        ("listMemories", "OK", None),
        ("retrieveMemories", "OK", None),
        ("getMemory", "NOT_FOUND", "RESOURCE_NOT_FOUND"),
    ]
    resources = [row.resource for row in await stored(database)]
    assert resources == [name, name, ENGINE, ENGINE, f"{ENGINE}/memories/none"]


async def test_the_reading_of_the_log_is_in_the_log(
    client: httpx.AsyncClient, database: Database
) -> None:
    ok(await client.get("/auditEvents"))
    await exported(client, f"{ENGINE_URL}/auditEvents")
    assert await results(database) == [
        ("listAuditEvents", "OK", None),
        ("exportAuditEvents", "OK", None),
    ]
