"""Many changes in one call of the ledger: all of them, in order, or none."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert, select

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Aborted, AlreadyExists, Reason
from app.kernel.ids import bucket_of, bucket_of_hash, new_id, scope_hash
from app.kernel.names import EngineName
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE, PROFILE_TYPE
from app.memory.memories.store import ledger
from app.memory.memories.store.changes import Change, ChangeContext, Creation, Deletion, Written
from app.memory.memories.store.columns import no_content
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
)
from app.memory.memories.store.vectors import Vector
from tests.support.bank import count

SCOPE = {"user_id": "batch"}
Wanted = list[Creation | Change | Deletion]


@pytest.fixture
def database(resources: Resources) -> Database:
    """The database, with the first engine in it."""
    return resources.db


@pytest.fixture
def writing(clock: FixedClock) -> ChangeContext:
    return ChangeContext(
        engine=EngineName("default", "local", 1),
        now=clock.now(),
        operation_id="17",
        caller=None,
        model_id="scripted/1",
        recovery=timedelta(days=2),
        revision_expire_time=clock.now() + timedelta(days=365),
        labels={"run": "7", "team": "a"},
    )


def content(fact: str | None, **fields: object) -> dict[str, Any]:
    return {**no_content(), "fact": fact, **fields}


def vector(*values: float) -> Vector:
    return Vector(np.array(values, np.float32))


def new(fact: str | None, memory_id: str | None = None, **fields: object) -> Creation:
    """Return a new memory; one without a fact is a profile's, and has no vector."""
    return Creation(
        memory_id=memory_id,
        scope=SCOPE,
        memory_type=PROFILE_TYPE if fact is None else DEFAULT_MEMORY_TYPE,
        content=content(fact, **fields),
        expire_time=None,
        vector=None if fact is None else vector(1, 0),
    )


def changed(row: MemoryRow, fact: str | None, **fields: Any) -> Change:
    wanted = {"expire_time": row.expire_time, "vector": vector(0, 1), **fields}
    return Change(row=row, content=content(fact), **wanted)


async def apply(database: Database, writing: ChangeContext, wanted: Wanted) -> list[Written]:
    async with database.transaction() as session:
        return await ledger.apply(session, writing, wanted)


async def made(database: Database, writing: ChangeContext, *facts: str | None) -> list[MemoryRow]:
    written = await apply(database, writing, [new(fact) for fact in facts])
    return [one.row for one in written]


async def stored(database: Database) -> dict[str, MemoryRow]:
    async with database.snapshot() as session:
        found = (await session.execute(select(MemoryRow))).scalars()
        return {row.memory_id: row for row in found}


async def vectors(database: Database) -> dict[str, MemoryVectorRow]:
    async with database.snapshot() as session:
        found = (await session.execute(select(MemoryVectorRow))).scalars()
        return {row.memory_id: row for row in found}


async def test_all_kinds_of_changes_are_made_in_order(
    database: Database, writing: ChangeContext
) -> None:
    kept, gone = await made(database, writing, "I like tea", "I live in Rome")
    wanted: Wanted = [
        new("I have a dog"),
        Deletion(gone, [{"fact": "Forget Rome"}]),
        new("I have a cat"),
        changed(kept, "I like coffee"),
    ]
    written = await apply(database, writing, wanted)
    rows = await stored(database)
    facts = [rows[one.row.memory_id].fact for one in written]
    assert facts == ["I have a dog", "I live in Rome", "I have a cat", "I like coffee"]
    assert [one.row.version for one in written] == [1, 2, 1, 2]
    for one in written:
        assert rows[one.row.memory_id].version == one.row.version
        assert rows[one.row.memory_id].delete_time == one.row.delete_time
    async with database.snapshot() as session:
        found = {one.revision_id: one for one in (await session.scalars(select(RevisionRow)))}
    told = [found[one.revision_id or 0] for one in written]
    assert [one.action for one in told] == ["CREATED", "DELETED", "CREATED", "UPDATED"]
    assert [one.fact for one in told] == ["I have a dog", None, "I have a cat", "I like coffee"]
    assert [one.version for one in told] == [1, 2, 1, 2]
    assert told[1].extracted_memories == [{"fact": "Forget Rome"}]


async def test_vectors_follow_the_facts(database: Database, writing: ChangeContext) -> None:
    rows = await made(database, writing, "a", "b", "c", None)
    assert set(await vectors(database)) == {row.memory_id for row in rows[:3]}
    same, other, gone, profile = rows
    wanted: Wanted = [
        changed(same, "a", vector=None),
        changed(other, "B"),
        Deletion(gone),
        changed(profile, None, vector=None),
    ]
    await apply(database, writing, wanted)
    left = await vectors(database)
    assert set(left) == {same.memory_id, other.memory_id}
    assert list(left[same.memory_id].vector) == [1, 0]
    assert list(left[other.memory_id].vector) == [0, 1]


async def test_a_memory_that_loses_its_fact_loses_its_vector(
    database: Database, writing: ChangeContext
) -> None:
    first, second = await made(database, writing, "a", "b")
    await apply(database, writing, [changed(first, None, vector=None)])
    assert set(await vectors(database)) == {second.memory_id}


async def test_a_new_expiry_is_that_of_the_vector_too(
    database: Database, writing: ChangeContext
) -> None:
    first, second = await made(database, writing, "a", "b")
    soon = writing.now + timedelta(hours=1)
    wanted: Wanted = [
        changed(first, "a", expire_time=soon, vector=None),
        changed(second, "b", vector=None),
    ]
    await apply(database, writing, wanted)
    left = await vectors(database)
    assert left[first.memory_id].expire_time == soon
    assert left[second.memory_id].expire_time is None


async def test_every_revision_has_its_labels(database: Database, writing: ChangeContext) -> None:
    first, second = await made(database, writing, "a", "b")
    await apply(database, writing, [changed(first, "c"), Deletion(second)])
    assert await count(database, RevisionRow, RevisionLabelRow) == (4, 8)


@pytest.mark.parametrize("stale", ["changed", "deleted", "erased"])
@pytest.mark.parametrize("kind", ["change", "deletion"])
async def test_one_that_has_changed_meanwhile_aborts_all(
    database: Database, writing: ChangeContext, stale: str, kind: str
) -> None:
    first, middle, last = await made(database, writing, "a", "b", "c")
    async with database.snapshot() as session:
        read = await session.get_one(MemoryRow, (1, middle.memory_id))
    async with database.transaction() as session:
        if stale == "changed":
            await ledger.change(session, writing, changed(middle, "B"))
        elif stale == "deleted":
            await ledger.delete(session, writing, [middle])
        else:
            await ledger.erase(session, 1, [middle.memory_id])
    before = await count(database, MemoryRow, MemoryVectorRow, RevisionRow)
    wanted: Wanted = [
        new("d"),
        changed(first, "A"),
        Deletion(read) if kind == "deletion" else changed(read, "x"),
        changed(last, "C"),
    ]
    with pytest.raises(Aborted) as caught:
        await apply(database, writing, wanted)
    assert caught.value.reason is Reason.CONCURRENT_CHANGE
    assert await count(database, MemoryRow, MemoryVectorRow, RevisionRow) == before
    rows = await stored(database)
    assert (rows[first.memory_id].fact, rows[last.memory_id].fact) == ("a", "c")


async def test_an_id_that_is_taken_is_made_anew(database: Database, writing: ChangeContext) -> None:
    # The ids of an earlier moment follow the last one of their bucket closely.
    last = new_id(writing.now + timedelta(milliseconds=1), bucket_of_hash(scope_hash(SCOPE)))
    taken = {str(last + 1_024 * step) for step in range(1, 4)}
    taken |= {str(last // 100_000 * 100_000 + 100_000 + bucket_of(last))}
    values = {**content("old"), "engine_id": 1, "version": 1, "scope": SCOPE}
    values |= {"scope_hash": scope_hash(SCOPE), "memory_type": DEFAULT_MEMORY_TYPE}
    values |= {"create_time": writing.now, "update_time": writing.now}
    async with database.transaction() as session:
        await session.execute(insert(MemoryRow), [{**values, "memory_id": one} for one in taken])
    written = await apply(database, writing, [new("x"), new("y"), new("z")])
    ids = [one.row.memory_id for one in written]
    assert len(set(ids) - taken) == 3
    rows = await stored(database)
    assert [rows[one].fact for one in ids] == ["x", "y", "z"]
    assert {rows[one].fact for one in taken} == {"old"}
    assert set(await vectors(database)) == set(ids)


async def test_a_chosen_id_that_is_taken_refuses_all(
    database: Database, writing: ChangeContext
) -> None:
    await apply(database, writing, [new("a", "mine")])
    with pytest.raises(AlreadyExists) as caught:
        await apply(database, writing, [new("b"), new("c", "mine"), new("d", "free")])
    assert caught.value.reason is Reason.ID_TAKEN
    assert [row.fact for row in (await stored(database)).values()] == ["a"]


async def test_without_revisions_the_changes_are_made(
    database: Database, writing: ChangeContext
) -> None:
    quiet = ChangeContext(**{**vars(writing), "keeps_revisions": False})
    first, second = await made(database, quiet, "a", "b")
    written = await apply(database, quiet, [changed(first, "A"), Deletion(second), new("c")])
    assert [one.revision_id for one in written] == [None, None, None]
    assert await count(database, MemoryRow, RevisionRow, RevisionLabelRow) == (3, 0, 0)


async def test_a_row_can_be_changed_again_as_it_was_left(
    database: Database, writing: ChangeContext
) -> None:
    (row,) = await made(database, writing, "a")
    async with database.transaction() as session:
        row = (await ledger.change(session, writing, changed(row, "b"))).row
        (one,) = await ledger.delete(session, writing, [row])
        restored = changed(one.row, "a", restores=1)
        row = (await ledger.change(session, writing, restored)).row
    found = (await stored(database))[row.memory_id]
    assert (found.version, found.fact, found.delete_time) == (4, "a", None)
    assert (row.version, row.fact, row.delete_time) == (4, "a", None)
    assert set(await vectors(database)) == {row.memory_id}


async def test_nothing_to_do_does_nothing(database: Database, writing: ChangeContext) -> None:
    assert await apply(database, writing, []) == []
    assert await count(database, MemoryRow, RevisionRow) == (0, 0)
