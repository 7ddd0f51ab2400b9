"""The memories nearest to several vectors at once, as generation asks for them."""

from datetime import timedelta

import pytest
from sqlalchemy import text, true

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.ids import scope_hash
from app.kernel.names import EngineName
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE
from app.memory.memories.store import ledger
from app.memory.memories.store.changes import ChangeContext, Creation
from app.memory.memories.store.vectors import Vector
from app.memory.retrieval.store import nearest
from app.memory.retrieval.store.nearest import ScopeQuery
from tests.support.scripted_models import ScriptedEmbedder

SCOPE = {"user_id": "many"}
MANY = 400
READ = (
    "select sum(seq_tup_read + idx_tup_fetch) from pg_stat_xact_user_tables"
    " where relname in ('memories', 'memory_vectors')"
)


@pytest.fixture
def query(clock: FixedClock) -> ScopeQuery:
    return ScopeQuery(1, scope_hash(SCOPE), [DEFAULT_MEMORY_TYPE], true(), clock.now())


@pytest.fixture
async def database(resources: Resources, clock: FixedClock, embedder: ScriptedEmbedder) -> Database:
    """A database with many memories in one scope, of which Postgres has no statistics yet."""
    writing = ChangeContext(
        engine=EngineName("default", "local", 1),
        now=clock.now(),
        operation_id="1",
        caller=None,
        model_id=embedder.model_id,
        recovery=timedelta(days=1),
        revision_expire_time=clock.now() + timedelta(days=1),
    )
    facts = [f"Fact {number}" for number in range(MANY)]
    topics = [{"managedMemoryTopic": "USER_PREFERENCES"}]
    vectors = await embedder.embed(facts)
    wanted = [
        Creation(
            None, SCOPE, DEFAULT_MEMORY_TYPE, {"fact": fact, "topics": topics}, None, Vector(vector)
        )
        for fact, vector in zip(facts, vectors, strict=True)
    ]
    async with resources.db.transaction() as session:
        await ledger.apply(session, writing, wanted)
    return resources.db


async def test_each_vector_finds_what_it_finds_alone(
    database: Database, query: ScopeQuery, embedder: ScriptedEmbedder
) -> None:
    embedder.place("new", near="Fact 7", distance=0.3)
    vectors = list(await embedder.embed(["new", "Fact 9", "unlike all"]))
    model = embedder.model_id
    async with database.snapshot() as session:
        alone = [await nearest.find_nearest(session, query, model, vector, 5) for vector in vectors]
    async with database.snapshot() as session:
        found = await nearest.find_nearest_to_each(session, query, model, vectors, 5)
    assert [[(near.memory_id, near.distance) for near in one] for one in found] == [
        list(one.items()) for one in alone
    ]
    first = found[0][0]
    assert (first.fact, first.version) == ("Fact 7", 1)
    assert first.topics == [{"managedMemoryTopic": "USER_PREFERENCES"}]


@pytest.mark.plain_postgres("counts the rows that one server reads")
async def test_a_scope_without_statistics_is_read_once_for_each_vector(
    database: Database, query: ScopeQuery, embedder: ScriptedEmbedder
) -> None:
    """Else each memory is compared with each, which takes most of a second for a thousand."""
    vectors = list(await embedder.embed(["a", "b", "c"]))
    async with database.snapshot() as session:
        before = (await session.execute(text(READ))).scalar_one()
        await nearest.find_nearest_to_each(session, query, embedder.model_id, vectors, 5)
        read = (await session.execute(text(READ))).scalar_one() - before
    assert MANY <= read <= 2 * len(vectors) * MANY * 2


@pytest.mark.plain_postgres("counts the rows that one server reads")
@pytest.mark.parametrize("plan", ["force_custom_plan", "force_generic_plan"])
async def test_a_search_reads_a_scope_without_statistics_once(
    database: Database, query: ScopeQuery, embedder: ScriptedEmbedder, plan: str
) -> None:
    (vector,) = await embedder.embed(["a"])
    async with database.snapshot() as session:
        await session.execute(text(f"set local plan_cache_mode = {plan}"))
        for _ in range(12):
            before = (await session.execute(text(READ))).scalar_one()
            found = await nearest.find_nearest(session, query, embedder.model_id, vector, 100)
            read = (await session.execute(text(READ))).scalar_one() - before
            assert len(found) == 100
            assert 2 * MANY <= read <= 3 * MANY + 2 * len(found)
