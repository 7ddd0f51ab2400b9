"""Ready means that a create and a search would work: what a restored database lacks is told."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from sqlalchemy import text

from app.adapters.db import migrate, schema
from app.adapters.db.engine import open_blocking_engine
from app.adapters.db.migrate import SchemaError
from app.adapters.postgres.programs import find_binaries, postgres_program
from app.adapters.resources import Resources
from app.kernel.errors import Reason
from app.memory.reembedding.service import Backlog
from app.platform.access.services.access import AccessService
from app.platform.engines.services.engines import EngineService
from app.process.metadata import metadata
from app.process.worker import make_runner
from app.settings.settings import Settings
from migrations.needed import VECTOR_TABLES, needed
from scripts.make_schema import PLACE, document
from tests.conftest import ADMIN_KEY
from tests.schema.conftest import database_beside, service_on
from tests.support.bank import ok
from tests.support.commands import command, sentence
from tests.support.errors import refusal
from tests.support.operations import USER
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.tasks import store, text_output

_KEY = "foreign key fk_memory_vectors_memories of memory_vectors"
_READY = "http://test/readyz"
_MODEL = ScriptedEmbedder.model_id
_VECTORS = b"select count(*) from memory_vectors union all select count(*) from task_vectors"
_COLUMNS = b"""
    select attrelid::regclass::text, attname::text, attstorage::text from pg_attribute
    where attrelid in ('memory_vectors'::regclass, 'task_vectors'::regclass) and attnum > 0
    order by 1, 2
"""


async def _fill(resources: Resources, client: httpx.AsyncClient) -> None:
    """Store a memory, and an artifact whose pieces have vectors."""
    await AccessService(resources.db, resources.clock).ensure_first_key(ADMIN_KEY)
    await EngineService.of(resources).ensure_first()
    body = {"scope": USER, "fact": "I like tea."}
    ok(await client.post("/memories", params={"memoryId": "tea"}, json=body))
    ok(await store(client, text_output("Tomatoes need sunshine."), embeddingModel=_MODEL))
    await make_runner(resources).run_pending()


def _tool(name: str, *arguments: str) -> str:
    command = [str(postgres_program(find_binaries(), name)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _restore(dump: Path, url: str) -> None:
    """Restore a dump where the extension cannot be created: what needs it fails, the rest is made.

    So goes a restore on a server without pgvector, or by a user who may not create it.
    """
    listed = _tool("pg_restore", "--list", str(dump)).splitlines()
    kept = dump.with_suffix(".list")
    kept.write_text("\n".join(line for line in listed if " EXTENSION " not in line))
    _tool("pg_restore", f"--use-list={kept}", f"--dbname={url}", str(dump))


@pytest.fixture
def source_url(database_url: str) -> Iterator[str]:
    with database_beside(database_url, "source") as url:
        migrate.upgrade(url)
        yield url


def test_what_is_needed_is_what_the_migrations_make(database_url: str) -> None:
    with open_blocking_engine(database_url).connect() as connection:
        made = document(connection)
    assert PLACE.read_text("utf-8") == made, "run `make schema`"
    assert {one.name for one in needed() if one.kind == "table"} == metadata.tables.keys()
    assert VECTOR_TABLES == ("memory_vectors", "task_vectors")
    migrate.check(database_url)


@pytest.mark.parametrize(
    ("statement", "lacking"),
    [
        ("drop table engine_totals", "table engine_totals"),
        ("drop index ix_memories_scope", "index ix_memories_scope of memories"),
        ("drop trigger total_insert on memories", "trigger total_insert of memories"),
        ("alter table memories disable trigger total_insert", "trigger total_insert of memories"),
        ("alter table engines drop column labels", "column labels jsonb of engines"),
        ("alter table memory_vectors drop constraint fk_memory_vectors_memories", _KEY),
        (
            "alter table memory_vectors alter vector type vector",
            "column vector halfvec of memory_vectors",
        ),
        (
            """
            alter table memory_vectors drop constraint fk_memory_vectors_memories,
                add constraint fk_memory_vectors_memories foreign key (engine_id, memory_id)
                references memories on delete cascade not valid
            """,
            _KEY,
        ),
        ("alter table memory_vectors disable trigger all", _KEY),
        (
            "update pg_extension set extversion = '0.6.2' where extname = 'vector'",
            "extension vector",
        ),
        (
            """
            drop function total_memories_insert cascade;
            create trigger total_insert after insert on memories
                for each statement execute function total_memories_delete()
            """,
            "function total_memories_insert()",
        ),
    ],
)
def test_each_kind_of_thing_that_is_missing_is_named(
    database_url: str, statement: str, lacking: str
) -> None:
    with open_blocking_engine(database_url).connect() as connection:
        assert schema.missing(connection.execute(schema.look())) == []
        connection.execute(text(statement))
        found = schema.missing(connection.execute(schema.look()))
        connection.rollback()
    assert [str(one) for one in found] == [lacking]


async def test_what_is_missing_is_told_by_probes_start_and_migrate(
    source_url: str, settings: Settings
) -> None:
    lacking = "table engine_totals, index ix_memories_scope of memories, "
    lacking += "trigger total_insert of memories"
    with psycopg.connect(source_url) as connection:
        connection.execute(b"drop trigger total_insert on memories; drop table engine_totals")
        connection.execute(b"drop index ix_memories_scope")
    for look in (migrate.check, migrate.upgrade):
        with pytest.raises(
            SchemaError, match=f"it lacks {lacking}; `memory-bank check` .* Restore its"
        ):
            look(source_url)
    async with service_on(source_url, settings) as (_, client):
        ready = await client.get(_READY)
    assert refusal(ready) == (503, "UNAVAILABLE", Reason.NOT_READY)
    told = ready.json()["error"]["details"][0]["metadata"]
    assert told["schema"] == f"incomplete ({lacking})"


async def test_a_database_restored_without_the_extension_is_refused_and_mended(
    database_url: str, source_url: str, settings: Settings, tmp_path: Path
) -> None:
    async with service_on(source_url, settings) as (resources, client):
        await _fill(resources, client)
    with psycopg.connect(source_url) as connection:
        before, columns = (connection.execute(asked).fetchall() for asked in (_VECTORS, _COLUMNS))
    assert before == [(1,), (1,)]
    dump = tmp_path / "dump"
    _tool("pg_dump", "--format=custom", f"--file={dump}", source_url)
    with database_beside(database_url, "restored") as url:
        _restore(dump, url)
        _is_refused(url)
        mended = command("migrate", "--recreate-vectors", database_url=url)
        assert (mended.returncode, mended.stderr) == (0, "")
        assert "Recreated: memory_vectors, task_vectors." in mended.stdout
        migrate.check(url)
        async with service_on(url, settings) as (resources, client):
            ok(await client.get(_READY))
            await Backlog.of(resources).run()
            await make_runner(resources).run_pending()
            asked = {"scope": USER, "similaritySearchParams": {"searchQuery": "tea"}}
            found = ok(await client.post("/memories:retrieve", json=asked))["retrievedMemories"]
            assert [one["memory"]["fact"] for one in found] == ["I like tea."]
            ok(await client.post("/memories", json={"scope": USER, "fact": "I like milk."}))
        with psycopg.connect(url) as connection:
            assert connection.execute(_VECTORS).fetchall() == [(2,), (1,)]
            assert connection.execute(_COLUMNS).fetchall() == columns
        assert migrate.upgrade(url, recreates_vectors=True) == []
        with psycopg.connect(url) as connection:
            assert connection.execute(_VECTORS).fetchall() == [(2,), (1,)]


def _is_refused(url: str) -> None:
    """Start and migrate say what is missing, and how to mend it; nothing is a traceback."""
    assert "lacks the `vector` extension" in sentence("serve", database_url=url)
    with psycopg.connect(url) as connection:
        connection.execute(b"create extension vector")
    for start in ("serve", "migrate"):
        told = sentence(start, database_url=url)
        assert "lacks table memory_vectors, table task_vectors" in told
        assert "`memory-bank migrate --recreate-vectors`" in told
