"""`memory-bank check`: a whole database passes, and each kind of damage is named."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from app.adapters.db import migrate
from app.adapters.db.schema import wanted_revision
from app.adapters.resources import Resources
from app.kernel.checks import QUICK, CheckName, Level
from app.kernel.errors import FailedPrecondition, NotFound
from app.platform.access.services.access import AccessService
from app.platform.checking.logic import MAX_NAMES
from app.platform.checking.service import CheckOptions
from app.platform.engines.services.engines import EngineService
from app.process.on_database import check_database
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.schema.conftest import database_beside, service_on
from tests.support.bank import ok
from tests.support.commands import command
from tests.support.sessions import append, create_session
from tests.support.tasks import store, text_output

_SOURCE = "checked"
_FACT = "I take my tea with lemon."
_NAMES = ("tea", "milk", "gone", "older", "twice", "bare", "short", "elsewhere", "digest", "late")
_ODD = {"user_id": 'a "quoted" \\ back\tslash\n', "ü": "\x7f é 漢 🍋", "Z": "z", "a": "\x01"}
_ENGINE = "reasoningEngines/1"
_FULL = CheckOptions(is_full=True)


@pytest.fixture(scope="module")
async def filled_url(database_url: str, settings: Settings) -> AsyncIterator[str]:
    """A database with something of all that the checks read, which nobody uses."""
    with database_beside(database_url, _SOURCE) as url:
        migrate.upgrade(url)
        async with service_on(url, settings) as (resources, client):
            await _fill(resources, client)
        yield url


async def _fill(resources: Resources, client: httpx.AsyncClient) -> None:
    await AccessService(resources.db, resources.clock).ensure_first_key(ADMIN_KEY)
    await EngineService.of(resources).ensure_first()
    for name in _NAMES:
        body = {"scope": _ODD if name == "milk" else {"user_id": "42"}, "fact": _FACT}
        ok(await client.post("/memories", params={"memoryId": name}, json=body))
    for name in ("tea", "older", "twice"):
        ok(await client.patch(f"/memories/{name}", json={"fact": f"{_FACT} Always."}))
    ok(await client.delete("/memories/gone"))
    await create_session(client, "talk")
    for text in ("hello", "again"):
        await append(client, "/sessions/talk", text)
    artifacts = [text_output(f"Tomatoes need sunshine {name}.", name=name) for name in "ab"]
    ok(await store(client, *artifacts))
    await make_runner(resources).run_pending()


@contextmanager
def _damaged(url: str, *statements: str) -> Iterator[str]:
    """Copy the database and run statements on the copy."""
    with database_beside(url, "damaged", _SOURCE) as copy:
        with psycopg.connect(copy) as connection:
            for statement in statements:
                connection.execute(statement.encode())
        yield copy


async def test_a_whole_database_passes(filled_url: str, settings: Settings) -> None:
    examined: list[int] = []
    report = await check_database(settings, filled_url, _FULL, examined.append)
    assert report.is_whole, "\n".join(report.lines())
    assert [outcome.state for outcome in report.outcomes] == ["passed"] * len(CheckName)
    assert sum(examined) == len(_NAMES) + 3
    quick = await check_database(settings, filled_url, CheckOptions(is_quick=True))
    assert quick.named().keys() == QUICK


_DAMAGE = """
update memory_revisions set fact = 'x' where memory_id = 'tea' and version = 2;
update memories set version = 1 where memory_id = 'older';
update memory_revisions set action = 'UPDATED' where action = 'DELETED';
alter table memory_revisions drop constraint uq_memory_revisions_engine_id_memory_id_version;
update memory_revisions set version = 1 where memory_id = 'twice';
delete from memory_vectors where memory_id = 'bare';
insert into memory_vectors
    select engine_id, 'gone', model_id, scope_hash, null, vector from memory_vectors
    where memory_id = 'milk';
update memory_vectors set vector = '[1,0]' where memory_id = 'short';
update memory_vectors set scope_hash = 'x' where memory_id = 'elsewhere';
update memories set scope_hash = 'x' where memory_id = 'digest';
update memory_vectors set scope_hash = 'x' where memory_id = 'digest';
insert into engine_totals (engine_id, backend, memories, sessions, events, bytes)
    values (1, 1, 0, 0, 1, 0);
update session_events set seq = 3 where seq = 2;
update task_pages set data = 'Tomatoes need sunshine ?.'
    where content_id in (select content_id from task_artifacts where name = 'a');
delete from task_pages
    where content_id in (select content_id from task_artifacts where name = 'b');
alter table memory_vectors disable trigger all;
update memory_vectors set memory_id = 'lost' where memory_id = 'late';
alter table memory_vectors enable trigger all;
insert into unembedded_memories values (1, 'late');
create or replace function total_memories_insert() returns trigger language plpgsql
    as $$ begin return null; end $$;
"""
_MEMORIES = f"{_ENGINE}/memories"
_ARTIFACTS = f"{_ENGINE}/taskMemories/tools/namespaces/n/artifacts"
_FOUND = {
    "objects": {
        "missing, invalid, disabled or of another text": [
            "index uq_memory_revisions_engine_id_memory_id_version of memory_revisions",
            "text of function total_memories_insert()",
        ]
    },
    "orphans": {"memory_vectors without its row of memories": [f"{_ENGINE}/memory_vectors/lost"]},
    "newest revision": {
        "its newest revision has other content": [f"{_MEMORIES}/tea"],
        "its newest revision is newer than the memory": [f"{_MEMORIES}/older"],
        "the action of its newest revision contradicts whether it is deleted": [
            f"{_MEMORIES}/gone"
        ],
        "no revision of its version: it has expired, or revisions were off": [f"{_MEMORIES}/twice"],
    },
    "versions": {"two revisions have one version": [f"{_MEMORIES}/twice"]},
    "vectors": {
        "has no vector by the serving model, and does not wait for one": [f"{_MEMORIES}/bare"],
        "is deleted, and has a vector": [f"{_MEMORIES}/gone"],
        "has a vector of another length than its model": [f"{_MEMORIES}/short"],
        "has a vector of another scope": [f"{_MEMORIES}/elsewhere"],
    },
    "totals": {
        "the total of events differs from what is counted anew": [f"{_ENGINE} (3, counted 2)"]
    },
    "scope hash": {"its digest is not that of its scope": [f"{_MEMORIES}/digest"]},
    "sessions": {
        "its events are not numbered from 1 to its last number without a gap": [
            f"{_ENGINE}/sessions/talk"
        ]
    },
    "artifacts": {
        "its digest is not that of its pages": [f"{_ARTIFACTS}/a", f"{_ARTIFACTS}/b"],
        "its pages have another length than the artifact": [f"{_ARTIFACTS}/b"],
    },
}
"""What the damage above is told as: problems with their names, by check."""


async def test_each_kind_of_damage_is_named(filled_url: str, settings: Settings) -> None:
    with _damaged(filled_url, _DAMAGE) as url:
        report = await check_database(settings, url, _FULL)
    found = {
        str(outcome.check): {one.problem: list(one.names) for one in outcome.findings}
        for outcome in report.outcomes
        if outcome.level is Level.FAILED
    }
    assert found == _FOUND


def test_the_command_names_all_damage_and_no_text(filled_url: str) -> None:
    statements = (
        "drop table memory_vectors",
        "drop trigger total_insert on memories",
        "drop index ix_memories_scope",
        "update memory_revisions set fact = 'A secret.' where memory_id = 'tea' and version = 2",
    )
    with _damaged(filled_url, *statements) as url:
        told = command("check", "--engine", "1", database_url=url)
    assert (told.returncode, told.stderr) == (1, "")
    for name in (
        "table memory_vectors",
        "trigger total_insert of memories",
        "index ix_memories_scope of memories",
        f"its newest revision has other content: {_MEMORIES}/tea",
    ):
        assert name in told.stdout
    assert re.search(r"vectors +skipped +what it reads is missing", told.stdout)
    last = told.stdout.splitlines()[-1]
    assert last == "The database is not whole: objects, newest revision failed."
    assert "secret" not in told.stdout
    assert _FACT not in told.stdout


def test_the_command_passes_a_whole_database(filled_url: str) -> None:
    told = command("check", "--json", database_url=filled_url)
    assert (told.returncode, told.stderr) == (0, "")
    answer = json.loads(told.stdout)
    assert answer["isWhole"]
    assert [(one["number"], one["name"]) for one in answer["checks"]] == [
        (number, str(name)) for number, name in enumerate(CheckName, 1)
    ]
    assert answer["checks"][1] == {
        "number": 2,
        "name": "schema revision",
        "state": "PASSED",
        "findings": [{"level": "NOTE", "problem": wanted_revision(), "count": 1, "names": []}],
    }


def test_what_cannot_be_checked_has_a_status_of_its_own(tmp_path: Path) -> None:
    both = command("check", "--quick", "--full")
    nothing = command("check", "--data-dir", str(tmp_path))
    assert [ended.returncode for ended in (both, nothing)] == [2, 2]
    assert nothing.stderr == f"There is no database in {tmp_path}.\n"


async def test_a_database_of_another_release_is_named(filled_url: str, settings: Settings) -> None:
    with _damaged(filled_url, "update alembic_version set version_num = 'later'") as url:
        report = await check_database(settings, url, CheckOptions(is_quick=True))
    (found,) = report.named()[CheckName.REVISION].findings
    assert found.level is Level.FAILED
    assert found.problem == f"the schema must be {wanted_revision()}; got later"


async def test_many_names_are_cut(filled_url: str, settings: Settings) -> None:
    statement = (
        "insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics,"
        " metadata, memory_type, create_time, update_time)"
        " select 1, 'm' || n, 1, '{}', 'x', 'x', '[]', '{}', 'x', now(), now()"
        " from generate_series(1, 12000) as n"
    )
    with _damaged(filled_url, statement) as url:
        report = await check_database(settings, url)
    (found,) = report.named()[CheckName.VECTORS].findings
    assert (found.count, len(found.names)) == (12_000, MAX_NAMES)
    noted = report.named()[CheckName.NEWEST].findings
    assert [(one.level, one.count) for one in noted] == [(Level.NOTE, 12_000)]
    assert report.named()[CheckName.NEWEST].state == "passed"


async def test_revisions_removed_between_others_are_a_warning(
    filled_url: str, settings: Settings
) -> None:
    statements = (
        "update memory_revisions set version = 4 where memory_id = 'tea' and version = 2",
        "update memories set version = 4 where memory_id = 'tea'",
    )
    with _damaged(filled_url, *statements) as url:
        report = await check_database(settings, url)
    assert report.is_whole
    (found,) = report.named()[CheckName.VERSIONS].findings
    assert (found.level, found.names) == (Level.WARNING, (f"{_MEMORIES}/tea",))


async def test_after_a_restore_leases_and_rates_end(filled_url: str, settings: Settings) -> None:
    options = CheckOptions(after_restore=True)
    operation = (
        "update operations set state = 'RUNNING', owner = 'w', lease_until = now() - interval '1 h'"
        " where ctid in (select ctid from operations limit 1)"
    )
    bucket = "insert into rate_buckets values ('k', 0, 0, now())"
    beat = (
        "insert into processes (process_id, kind, host, pid, release, schema, start_time,"
        " beat_time, running) values ('p', 'API', 'h', 1, '1', 's', now(), now(), 0)"
    )
    with _damaged(filled_url, operation, bucket) as url:
        before = await check_database(settings, url)
        assert before.named()[CheckName.OPERATIONS].level is Level.WARNING
        assert (await check_database(settings, url, options)).is_whole
        after = await check_database(settings, url)
        assert after.named()[CheckName.OPERATIONS].level is Level.NOTE
        with psycopg.connect(url) as connection:
            assert connection.execute(b"select count(*) from rate_buckets").fetchone() == (0,)
            connection.execute(beat.encode())
        with pytest.raises(FailedPrecondition, match="by 1 of the service"):
            await check_database(settings, url, options)


async def test_only_the_engine_that_is_named_is_checked(
    filled_url: str, settings: Settings
) -> None:
    with _damaged(filled_url, "delete from memory_vectors") as url:
        whole = "insert into engines select 2, project, location, null, null, '{}', null, null, 1,"
        whole += " now(), now() from engines"
        with psycopg.connect(url) as connection:
            connection.execute(whole.encode())
        assert (await check_database(settings, url, CheckOptions(engine_id=2))).is_whole
        assert not (await check_database(settings, url, CheckOptions(engine_id=1))).is_whole
        with pytest.raises(NotFound):
            await check_database(settings, url, CheckOptions(engine_id=3))


async def test_what_the_next_sweep_removes_is_counted(filled_url: str, settings: Settings) -> None:
    statements = (
        "update memories set recover_until = now() - interval '1 h' where memory_id = 'gone'",
        "update memory_revisions set expire_time = now() where memory_id = 'gone'",
        "update sessions set expire_time = now()",
    )
    with _damaged(filled_url, *statements) as url:
        report = await check_database(settings, url, CheckOptions(is_quick=True))
    assert report.is_whole
    found = report.named()[CheckName.CONSEQUENCES].findings
    assert {one.problem.partition(",")[0]: one.count for one in found} == {
        "deleted memories past their recovery": 1,
        "expired revisions": 2,
        "expired sessions": 1,
    }
