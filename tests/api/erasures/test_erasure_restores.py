"""A restored backup brings nobody back: the list of erasures is applied to it."""

import json
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import FailedPrecondition, InvalidArgument, NotFound
from app.memory.erasures.logic import ERASURE_LIST
from app.memory.erasures.services.erasures import read_lines
from app.platform.operations.services.runner import Runner
from app.process.commands.erasures import RestoredEngine, listed, repeated
from tests.support.archives import export
from tests.support.bank import ENGINE, ENGINE_URL, ok
from tests.support.generation import said, start
from tests.support.ingestion import IDLE, ingest
from tests.support.keys import make_key
from tests.support.operations import create_memory
from tests.support.person import CANARY, PERSON, erase
from tests.support.restores import GZIP
from tests.support.rows import rows_of
from tests.support.sessions import append, new_path

SCOPE = {"user_id": PERSON}
LINE = {
    "certificateId": "er_1",
    "engine": "projects/default/locations/local/reasoningEngines/1",
    "subject": "hmac-sha256:00",
    "keyId": "0123456789abcdef",
    "includeSessions": True,
    "time": "2026-01-15T12:00:00Z",
}


async def _fill(client: httpx.AsyncClient) -> None:
    await create_memory(client, f"I like {CANARY}.", {**SCOPE, "app": "x"})
    await ingest(client, f"I see {CANARY}.", scope=SCOPE, **IDLE)
    await append(client, await new_path(client, userId=PERSON), f"I say {CANARY}.")
    await create_memory(client, "I am somebody else.", {"user_id": "other-8"})


async def _restore(client: httpx.AsyncClient, database: Database) -> None:
    """Bring back what a backup from before the erasure has."""
    async with database.transaction() as session:
        await session.execute(text("delete from erasures"))
    await _fill(client)


async def test_what_a_restore_brings_back_is_erased_again(
    client: httpx.AsyncClient, runner: Runner, resources: Resources, database: Database
) -> None:
    """After a restore and the list of erasures, nobody is there who was erased."""
    await _fill(client)
    certificate = await erase(client, runner, SCOPE)
    kept = await listed(resources)
    assert CANARY not in kept
    assert PERSON not in kept
    (line,) = read_lines(kept)
    assert (line.certificate_id, line.subject) == (
        certificate["certificateId"],
        certificate["subject"],
    )
    appended = (resources.settings.data_dir / ERASURE_LIST).read_text().splitlines()
    assert json.loads(appended[-1]) == json.loads(kept)
    await _restore(client, database)
    assert await rows_of(database, CANARY, PERSON)
    # The file of a service may have a line twice.
    assert await repeated(resources, read_lines(kept * 2)) == 1
    assert await rows_of(database, CANARY, PERSON) == {}
    assert len(await rows_of(database, "other-8")) > 1
    assert await listed(resources) == kept
    await _fill(client)
    assert await repeated(resources, read_lines(kept)) == 0
    assert await rows_of(database, CANARY)


async def test_a_person_of_whom_only_work_or_a_key_came_back_is_erased_again(
    client: httpx.AsyncClient,
    runner: Runner,
    resources: Resources,
    database: Database,
    clock: FixedClock,
) -> None:
    """Work that waits, or a key, may be all that a backup has of a person."""
    await create_memory(client, f"I like {CANARY}.", SCOPE)
    await erase(client, runner, SCOPE)
    kept = await listed(resources)

    async def work() -> None:
        await start(client, said(f"I like {CANARY}."), scope=SCOPE)

    async def key() -> None:
        bound = {"user_id": [PERSON, "other-8"]}
        await make_key(database, clock.now(), scope_conditions=bound)

    for bring_back in (work, key):
        async with database.transaction() as session:
            await session.execute(text("delete from erasures"))
        await bring_back()
        assert await repeated(resources, read_lines(kept)) == 1
        await runner.run_pending()
        assert await rows_of(database, CANARY, PERSON) == {}


async def test_an_erasure_that_finds_nobody_is_known_from_then_on(
    client: httpx.AsyncClient, runner: Runner, resources: Resources, database: Database
) -> None:
    await erase(client, runner, SCOPE)
    kept = await listed(resources)
    async with database.transaction() as session:
        await session.execute(text("delete from erasures"))
    assert await repeated(resources, read_lines(kept)) == 0
    assert await listed(resources) == kept


async def test_whom_an_archive_brings_back_is_erased_again_if_erased_since(
    client: httpx.AsyncClient, runner: Runner, resources: Resources, database: Database
) -> None:
    await _fill(client)
    archive = await export(client)
    await erase(client, runner, SCOPE)
    lines = read_lines(await listed(resources))
    made = ok(await client.post(ENGINE_URL.rpartition("/")[0], json={}))["response"]["name"]
    restored = f"http://test/v1beta1/{made}:restore"
    ok(await client.post(restored, content=archive, headers=GZIP))
    assert await rows_of(database, CANARY)
    engine_id = int(made.rpartition("/")[2])
    earlier = RestoredEngine(engine_id, ENGINE, lines[0].time + timedelta(hours=2))
    assert await earlier.erase_again(resources, lines) == 0
    assert await rows_of(database, CANARY)
    since = RestoredEngine(engine_id, ENGINE, lines[0].time)
    assert await since.erase_again(resources, lines) == 1
    assert await rows_of(database, CANARY, PERSON) == {}
    assert await since.erase_again(resources, lines) == 0
    with pytest.raises(NotFound):
        await RestoredEngine(77, ENGINE, lines[0].time).erase_again(resources, lines)


async def test_an_erasure_in_an_engine_younger_than_the_backup_is_only_recorded(
    client: httpx.AsyncClient,
    runner: Runner,
    resources: Resources,
    database: Database,
    clock: FixedClock,
) -> None:
    await erase(client, runner, SCOPE)
    line = json.loads(await listed(resources))
    kept = json.dumps({**line, "engine": line["engine"].replace("Engines/1", "Engines/77")})
    async with database.transaction() as session:
        await session.execute(text("delete from erasures"))
    await make_key(database, clock.now(), scope_conditions={"user_id": [PERSON]})
    assert await repeated(resources, read_lines(kept)) == 0
    assert json.loads(await listed(resources)) == json.loads(kept)


async def test_a_list_of_another_key_is_refused(resources: Resources) -> None:
    with pytest.raises(FailedPrecondition, match="MEMORY_BANK_PSEUDONYM_KEY"):
        await repeated(resources, read_lines(json.dumps(LINE)))


@pytest.mark.parametrize("line", ["x", "{}", json.dumps({**LINE, "engine": "nowhere"})])
def test_a_line_of_something_else_is_refused(line: str) -> None:
    with pytest.raises(InvalidArgument, match="line 2"):
        read_lines(f"{json.dumps(LINE)}\n{line}\n")
