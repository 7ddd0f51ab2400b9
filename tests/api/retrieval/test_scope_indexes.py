"""The indexes of large scopes: made and removed by a sweep, and no more than a shortcut."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from sqlalchemy import text, true
from structlog.testing import capture_logs

from app.adapters.db.statistics import TableStatistics
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.ids import scope_hash
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE
from app.memory.retrieval.jobs import IndexSweep
from app.memory.retrieval.services.search import ScopeIndexes
from app.memory.retrieval.store import fast_sql, indexes
from app.memory.retrieval.store.candidates import CandidateQuery, find_candidates
from app.memory.retrieval.store.indexes import IndexKey
from app.memory.retrieval.store.nearest import (
    POOL,
    ScopeIndex,
    ScopeQuery,
    find_nearest,
    find_nearest_to_each,
)
from app.process.features import register
from app.settings.settings import Settings
from tests.support.bank import ok
from tests.support.distributed import used_as_distributed
from tests.support.scopes import MANY, Filled, fill
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.statements import statements_on

COUNT = 120
QUERY = "Where do I live?"
_SOON_SECONDS = 60


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"scope_index_memories": 100})


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder(16)


@pytest.fixture
async def resources(resources: Resources) -> AsyncIterator[Resources]:
    yield resources
    none = resources.settings.model_copy(update={"max_scope_indexes": 0})
    await IndexSweep(changed(resources, none)).run()


@pytest.fixture
async def filled(
    resources: Resources, database_url: str, clock: FixedClock, embedder: ScriptedEmbedder
) -> Filled:
    assert resources.embedder is embedder
    return await fill(database_url, embedder, clock.now(), COUNT, [QUERY])


@pytest.fixture
def key(embedder: ScriptedEmbedder) -> IndexKey:
    return IndexKey(1, scope_hash(MANY), embedder.model_id)


@pytest.fixture
def query(clock: FixedClock) -> ScopeQuery:
    return ScopeQuery(1, scope_hash(MANY), [DEFAULT_MEMORY_TYPE], true(), clock.now())


def changed(resources: Resources, settings: Settings) -> Resources:
    url, embedder = resources.database_url, resources.embedder
    return Resources(settings, resources.clock, resources.db, url, embedder)


async def made(resources: Resources) -> dict[str, bool]:
    async with resources.db.snapshot() as session:
        return await indexes.list_made(session)


async def scans(resources: Resources, key: IndexKey) -> int:
    """Return how often the index was used by the hot statements, which share a connection here."""
    await resources.db.run(b"select 1 from pg_stat_force_next_flush()", [])
    statement = b"select idx_scan from pg_stat_user_indexes where indexrelname = $1"
    ((count,),) = await resources.db.run(statement, [key.index_name])
    return int(count)


async def sweep(resources: Resources) -> ScopeIndexes:
    await IndexSweep(resources).run()
    found = ScopeIndexes.of(resources)
    await found.read()
    return found


def whole(key: IndexKey) -> dict[str, bool]:
    return {key.index_name: True, key.words_name: True}


@contextmanager
def sharded(url: str, shards: int) -> Iterator[None]:
    """Give the database what a cluster notes of the shards of vectors."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "create table pg_dist_shard as select 'memory_vectors'::regclass as logicalrelid"
            " from generate_series(1, %s)",
            [shards],
        )
        try:
            yield
        finally:
            connection.execute(b"drop table pg_dist_shard")


def remove(url: str, most: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(b"delete from memories where memory_id >= %s", [f"m{most:05}"])


@pytest.mark.usefixtures("filled")
async def test_a_large_scope_gets_an_index(
    resources: Resources, query: ScopeQuery, key: IndexKey
) -> None:
    before = await ScopeIndexes.of(resources).find(query, key.model_id)
    found = await sweep(resources)
    assert before is None
    assert await found.find(query, key.model_id) == ScopeIndex(16, 2 * COUNT)
    assert await found.find(query, "another model") is None
    assert await made(resources) == whole(key)


@pytest.mark.plain_postgres("a table stands in for the cluster's")
@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(("shards", "most"), [(5_000, 1), (5_001, 0)])
async def test_shards_bound_how_many_scopes_get_one(
    resources: Resources, database_url: str, key: IndexKey, shards: int, most: int
) -> None:
    with (
        sharded(database_url, shards),
        used_as_distributed(resources.db),
        capture_logs() as lines,
    ):
        await IndexSweep(resources).run()
    cut = [line["most"] for line in lines if line["event"] == "scope_index.too_many_shards"]
    assert cut == ([] if most else [0])
    assert await made(resources) == (whole(key) if most else {})


@pytest.mark.plain_postgres("counts the uses of an index on one server, by plans for any values")
@pytest.mark.usefixtures("filled")
async def test_searches_use_it_also_by_prepared_statements(
    resources: Resources, query: ScopeQuery, key: IndexKey, embedder: ScriptedEmbedder
) -> None:
    await sweep(resources)
    (vector,) = await embedder.embed([QUERY])
    uses = text("select pg_stat_get_xact_numscans(cast(:name as regclass))")
    async with resources.db.snapshot() as session:
        await session.execute(text("set local plan_cache_mode = force_generic_plan"))
        for number in range(12):
            before = (await session.execute(uses, {"name": key.index_name})).scalar_one()
            await find_nearest(session, query, key.model_id, vector, 3, index=ScopeIndex(16))
            after = (await session.execute(uses, {"name": key.index_name})).scalar_one()
            assert after == before + 1, number


@pytest.mark.plain_postgres("a cluster takes the reference path")
@pytest.mark.usefixtures("filled")
async def test_hot_searches_use_it(
    resources: Resources, query: ScopeQuery, key: IndexKey, embedder: ScriptedEmbedder
) -> None:
    await sweep(resources)
    (vector,) = await embedder.embed([QUERY])
    async with resources.db.snapshot() as session:
        wanted = await find_nearest(session, query, key.model_id, vector, 3, index=ScopeIndex(16))
    before = await scans(resources, key)
    for _ in range(12):
        found = await fast_sql.find_nearest(
            resources.db, query, key.model_id, vector, 3, index=ScopeIndex(16)
        )
        assert found == wanted
    assert await scans(resources, key) == before + 12


@pytest.mark.usefixtures("filled")
async def test_words_alone_find_enough_by_it(
    resources: Resources, query: ScopeQuery, key: IndexKey
) -> None:
    await sweep(resources)
    wanted = CandidateQuery("Which fact of many?", "english", key.model_id, None)
    with statements_on(resources.db, "FROM memories") as sent:
        async with resources.db.snapshot() as session:
            _, found = await find_candidates(session, query, wanted, ScopeIndex(16))
    assert len(found) == POOL
    assert len(sent) == 1, "the scope was read, too"


@pytest.mark.usefixtures("filled")
async def test_only_an_import_of_vectors_is_followed_by_a_sweep(
    resources: Resources, key: IndexKey
) -> None:
    sweep = IndexSweep(resources)
    await sweep.run_after(["memories", "chunks"])
    assert await made(resources) == {}
    await sweep.run_after(["memory_vectors"])
    assert await made(resources) == whole(key)


async def test_an_import_of_thousands_gives_its_scope_an_index(
    client: httpx.AsyncClient,
    resources: Resources,
    query: ScopeQuery,
    key: IndexKey,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statistics = TableStatistics(resources.db.engine, quiet_seconds=0.02)
    monkeypatch.setattr(resources.db.server, "statistics", statistics)
    register(resources)
    lines = [json.dumps({"fact": f"I like tea {n}.", "scope": MANY}) for n in range(1_001)]
    ok(await client.post("/memories:import", content="\n".join(lines)))
    found = ScopeIndexes.of(resources)
    async with asyncio.timeout(_SOON_SECONDS):
        while await found.find(query, key.model_id) is None:
            await asyncio.sleep(0.05)
            await found.read()
    await statistics.close()
    assert await made(resources) == whole(key)


@pytest.mark.usefixtures("filled")
async def test_several_searches_find_by_it_what_they_find_without(
    resources: Resources, query: ScopeQuery, key: IndexKey, embedder: ScriptedEmbedder
) -> None:
    await sweep(resources)
    vectors = list(await embedder.embed([QUERY, "What do I like?"]))
    async with resources.db.snapshot() as session:
        exact = await find_nearest_to_each(session, query, key.model_id, vectors, 5)
        found = await find_nearest_to_each(
            session, query, key.model_id, vectors, 5, index=ScopeIndex(16)
        )
    for near, nearest in zip(found, exact, strict=True):
        assert len(near) == len(nearest)
        # The graph is made with chance, and may pass over one.
        same = [one for one in near if one in nearest]
        assert len(same) >= len(nearest) - 1
        assert same == [one for one in nearest if one in near]


@pytest.mark.usefixtures("filled")
async def test_a_search_does_not_need_the_index_that_it_was_told_of(
    resources: Resources,
    query: ScopeQuery,
    key: IndexKey,
    filled: Filled,
    embedder: ScriptedEmbedder,
) -> None:
    """Another process may have removed it since."""
    (vector,) = await embedder.embed([QUERY])
    async with resources.db.snapshot() as session:
        found = await find_nearest(session, query, key.model_id, vector, 100, index=ScopeIndex(16))
    assert len(found) == 100
    at = {memory_id: place for place, memory_id in enumerate(found)}
    wanted = [one for one in filled.nearest(vector, None, COUNT) if one in at]
    assert wanted == sorted(wanted, key=at.__getitem__)


@pytest.mark.usefixtures("filled")
async def test_a_scope_that_has_shrunk_well_below_loses_its_index(
    resources: Resources, database_url: str, query: ScopeQuery, key: IndexKey
) -> None:
    await sweep(resources)
    remove(database_url, 60)
    assert await (await sweep(resources)).find(query, key.model_id) == ScopeIndex(16, 60)
    remove(database_url, 40)
    assert await (await sweep(resources)).find(query, key.model_id) is None
    assert await made(resources) == {}


@pytest.mark.usefixtures("filled")
async def test_what_was_left_of_a_crash_is_made_anew(
    resources: Resources, database_url: str, query: ScopeQuery, key: IndexKey
) -> None:
    await sweep(resources)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            b"update pg_index set indisvalid = false where indexrelid = %s::regclass",
            [key.index_name],
        )
    assert await made(resources) == {**whole(key), key.index_name: False}
    assert await (await sweep(resources)).find(query, key.model_id) is not None
    assert await made(resources) == whole(key)


@pytest.mark.usefixtures("filled")
async def test_indexes_that_nobody_knows_are_removed(
    resources: Resources, database_url: str, key: IndexKey
) -> None:
    await sweep(resources)
    assert await made(resources) == whole(key)
    with psycopg.connect(database_url) as connection:
        connection.execute(b"delete from scope_indexes")
        connection.execute(b"delete from memories")
    await sweep(resources)
    assert await made(resources) == {}


@pytest.mark.usefixtures("filled")
async def test_of_several_sweeps_at_once_one_makes_the_index(
    resources: Resources, query: ScopeQuery, key: IndexKey
) -> None:
    await asyncio.gather(*(IndexSweep(resources).run() for _ in range(4)))
    assert await made(resources) == whole(key)
    assert await (await sweep(resources)).find(query, key.model_id) is not None


@pytest.mark.usefixtures("filled")
async def test_a_claimed_index_is_left_to_who_has_claimed_it(
    resources: Resources, database_url: str, key: IndexKey
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            b"insert into scope_indexes"
            b" values (%s, %s, %s, 16, 0, false, now() + interval '1 hour')",
            list(key),
        )
    await sweep(resources)
    assert await made(resources) == {}
    with psycopg.connect(database_url) as connection:
        connection.execute(b"update scope_indexes set lease_until = now() - interval '1 second'")
    await sweep(resources)
    assert await made(resources) == whole(key)


@pytest.mark.usefixtures("filled")
async def test_there_are_no_more_indexes_than_the_settings_allow(
    resources: Resources, query: ScopeQuery, key: IndexKey
) -> None:
    await sweep(resources)
    none = resources.settings.model_copy(update={"max_scope_indexes": 0})
    found = await sweep(changed(resources, none))
    assert await found.find(query, key.model_id) is None
    assert await made(resources) == {}


@pytest.mark.usefixtures("filled")
async def test_an_index_that_cannot_be_made_waits(
    resources: Resources, database_url: str, query: ScopeQuery, key: IndexKey
) -> None:
    """Vectors of another length in one model would be such a case."""
    with psycopg.connect(database_url) as connection:
        connection.execute(
            b"insert into scope_indexes values (%s, %s, %s, 17, 0, false, null)", list(key)
        )
    for _ in range(2):
        assert await (await sweep(resources)).find(query, key.model_id) is None
    with psycopg.connect(database_url) as connection:
        (until,) = connection.execute(
            b"select lease_until - now() > interval '50 minutes' from scope_indexes"
        ).fetchone() or (None,)
    assert until is True


@pytest.mark.usefixtures("filled")
async def test_each_slot_is_swept_by_one_process(resources: Resources, key: IndexKey) -> None:
    await IndexSweep(resources).run_due()
    assert await made(resources) == whole(key)
    with psycopg.connect(resources.database_url) as connection:
        connection.execute(b"delete from scope_indexes")
    await IndexSweep(resources).run_due()
    assert await made(resources) == whole(key)
