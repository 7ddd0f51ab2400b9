"""What a session does that is confined to conditions, whatever is asked of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import (
    Select,
    column,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    table,
    text,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.orm import aliased

from app.adapters.db.conditions import check_scope, scopes_of
from app.adapters.db.session import Database, Session
from app.kernel.auth import Caller, Conditions, Reach
from app.kernel.clock import FixedClock
from app.kernel.errors import NotFound
from app.kernel.names import EngineName, MemoryName
from app.memory.memories.store import repository
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
)
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.store.tables import SessionEventRow, SessionRow
from tests.support.bank import count
from tests.support.bound import KINDS, SCOPES
from tests.support.cases import in_one_test

pytestmark = pytest.mark.usefixtures("bank")

ENGINE = EngineName("-", "-", 1)


def confined(database: Database, conditions: Conditions) -> Database:
    return database.for_caller(Caller("a-key", frozenset(), Reach(conditions=conditions)))


@pytest.fixture
def own(database: Database) -> Database:
    """The database as a key sees it that is bound to the user 42."""
    return confined(database, {"user_id": frozenset({"42"})})


Other = aliased(RevisionRow)
OTHER_MEMORY = aliased(MemoryRow)
FOUND = select(MemoryRow.engine_id, MemoryRow.memory_id).cte("found")
READS: dict[str, Select[Any]] = {
    "rows": select(MemoryRow),
    "columns": select(MemoryRow.memory_id),
    "count": select(func.count()).select_from(MemoryRow),
    "aliased": select(OTHER_MEMORY.memory_id),
    "cte": select(FOUND.c.memory_id),
    "aliased cte": select(FOUND.alias().c.memory_id),
    "subquery": select(select(MemoryRow.fact).subquery().c.fact),
    "scalar": select(select(func.count()).select_from(MemoryRow).scalar_subquery()),
    "in": select(literal(1)).where(literal("theirs").in_(select(MemoryRow.memory_id))),
    "join": select(RevisionRow.revision_id).join(
        Other, (Other.engine_id == RevisionRow.engine_id) & (Other.version == RevisionRow.version)
    ),
    "outer join": select(MemoryVectorRow.memory_id)
    .select_from(OTHER_MEMORY)
    .outerjoin(
        MemoryVectorRow, tuple_(MemoryVectorRow.memory_id) == tuple_(OTHER_MEMORY.memory_id)
    ),
    "union": select(
        union_all(select(MemoryRow.memory_id), select(RevisionRow.memory_id)).subquery().c.memory_id
    ),
    "vectors": select(MemoryVectorRow.memory_id),
    "labels": select(RevisionLabelRow.revision_id),
    "sessions": select(SessionRow.session_id),
    "events": select(SessionEventRow.event_id),
    "operations": select(OperationRow.operation_id),
}


_JOINS_ELSEWHERE = pytest.mark.plain_postgres("a cluster joins tables by engine alone")


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=_JOINS_ELSEWHERE if what == "outer join" else ()) for what in READS],
)
async def test_a_read_finds_what_it_would_if_nothing_else_were_there(
    own: Database, database: Database, what: str
) -> None:
    """However a table is named in it; what is foreign is removed for the comparison."""

    async def found(db: Database) -> list[str]:
        async with db.snapshot() as session:
            rows = (await session.execute(READS[what])).all()
        return sorted(str(getattr(row[0], "memory_id", row[0])) for row in rows)

    seen = await found(own)
    await _remove_foreign(database)
    assert seen == await found(database)


async def _remove_foreign(database: Database) -> None:
    mine = ("mine", "mine-app")
    async with database.transaction() as session:
        await session.execute(delete(MemoryRow).where(MemoryRow.memory_id.not_in(mine)))
        await session.execute(delete(SessionRow).where(SessionRow.user_id != "42"))
        user = OperationRow.scopes["user_id"][0].astext
        await session.execute(delete(OperationRow).where(user.is_distinct_from("42")))


async def test_one_statement_serves_callers_with_other_conditions(database: Database) -> None:
    """Statements are made once and kept; whose conditions they were made with does not matter."""
    for _ in range(2):
        for kind in KINDS.values():
            conditions = {key: frozenset(values) for key, values in kind.conditions.items()}
            async with confined(database, conditions).snapshot() as session:
                found = set((await session.execute(select(MemoryRow.memory_id))).scalars())
            assert found == set(kind.memories)


async def test_objects_are_read_by_their_keys_alike(own: Database) -> None:
    async with own.transaction() as session:
        assert await session.get(MemoryRow, (1, "theirs")) is None
        assert await session.get(MemoryRow, (1, "theirs"), with_for_update=True) is None
        row = await session.get(MemoryRow, (1, "mine"))
        assert row is not None
        await session.refresh(row)
        assert row.fact == "About mine."


async def test_rows_of_others_can_neither_be_changed_nor_removed(
    own: Database, database: Database
) -> None:
    before = await count(database, MemoryRow, RevisionLabelRow, SessionEventRow)
    async with own.transaction() as session:
        for statement in (
            update(MemoryRow).values(fact="Mine now."),
            update(MemoryVectorRow).values(expire_time=None),
            update(SessionRow).values(display_name="Mine now."),
        ):
            options = {"synchronize_session": False}
            await session.execute(statement.execution_options(**options))
        for row in (RevisionLabelRow, SessionEventRow, MemoryRow):
            await session.execute(delete(row).execution_options(synchronize_session=False))
    after = await count(database, MemoryRow, RevisionLabelRow, SessionEventRow)
    assert [one - other for one, other in zip(before, after, strict=True)] == [2, 2, 1]
    async with database.snapshot() as session:
        left = set((await session.execute(select(MemoryRow.fact))).scalars())
        names = set((await session.execute(select(SessionRow.display_name))).scalars())
    assert left == {f"About {one}." for one in SCOPES if not one.startswith("mine")}
    assert names == {"Mine now.", "Of 43", "Of 7"}


async def test_a_list_of_changes_leaves_others_alone(own: Database, database: Database) -> None:
    """What the ledger sends on the connection itself."""
    async with database.snapshot() as session:
        rows = (await session.execute(select(MemoryRow).order_by(MemoryRow.memory_id))).scalars()
        foreign = [row for row in rows if row.memory_id == "theirs"]
    async with own.transaction() as session:
        assert not await repository.update_memories(session, foreign, [{"fact": "Mine now."}])
    async with database.snapshot() as session:
        name = MemoryName(ENGINE, "theirs")
        found = await repository.get(session, name, repository.everything())
    assert found.fact == "About theirs."


async def _add(session: Session) -> None:
    session.add(SessionRow(engine_id=1, session_id="new", user_id="7", version=1))
    await session.flush()


async def _set(session: Session) -> None:
    row = await session.get(MemoryRow, (1, "mine"))
    assert row is not None
    row.scope = {"user_id": "7"}


async def _bulk(session: Session) -> None:
    key = {"engine_id": 1, "memory_id": "theirs"}
    await session.execute(update(MemoryRow), [{**key, "fact": "Mine now."}])


async def _from_select(session: Session) -> None:
    found = select(SessionRow.engine_id, SessionRow.session_id)
    statement = insert(SessionRow).from_select(["engine_id", "session_id"], found)
    await session.execute(statement)


async def _core(session: Session) -> None:
    await session.execute(select(MemoryRow.__table__.c.fact))


async def _core_condition(session: Session) -> None:
    theirs = exists().where(MemoryRow.__table__.c.memory_id == "theirs")
    await session.execute(select(literal(1)).where(theirs))


async def _light(session: Session) -> None:
    await session.execute(select(table("memories", column("fact"))))


async def _text(session: Session) -> None:
    await session.execute(text("select fact from memories"))


async def _text_columns(session: Session) -> None:
    await session.execute(text("select fact from memories").columns(column("fact")))


async def _text_rows(session: Session) -> None:
    await session.execute(select(MemoryRow).from_statement(text("select * from memories")))


ESCAPES: list[Callable[[Session], Awaitable[None]]] = [
    _add,
    _set,
    _bulk,
    _from_select,
    _core,
    _core_condition,
    _light,
    _text,
    _text_columns,
    _text_rows,
]


@in_one_test("escape", ESCAPES)
async def test_what_cannot_be_confined_is_refused(
    own: Database, escape: Callable[[Session], Awaitable[None]]
) -> None:
    with pytest.raises(RuntimeError, match="cannot be confined to the scopes"):
        async with own.transaction() as session:
            await escape(session)


async def test_what_names_no_table_of_scopes_is_not(own: Database) -> None:
    async with own.transaction() as session:
        await session.execute(select(func.now()))
        mode = await session.execute(text("select current_setting('plan_cache_mode')"))
        # Else a plan for any conditions would be made for those of this caller.
        assert mode.scalar_one() == "force_custom_plan"
        await session.execute(text("set local enable_nestloop = off"))


async def test_a_scope_is_written_where_it_meets_the_conditions(
    own: Database, database: Database
) -> None:
    async with own.transaction() as session:
        assert scopes_of(session) == {"user_id": ["42"]}
        check_scope(session, {"user_id": "42", "app": "z"})
        for scope in ({"user_id": "7"}, {"app": "x"}, {}):
            with pytest.raises(NotFound):
                check_scope(session, scope)
    async with database.transaction() as session:
        assert scopes_of(session) is None
        check_scope(session, {})


async def test_a_caller_who_is_bound_to_no_value_sees_nothing(
    database: Database, clock: FixedClock, bank: httpx.AsyncClient
) -> None:
    del bank, clock
    nobody = confined(database, {"user_id": frozenset()})
    async with nobody.snapshot() as session:
        for row in (MemoryRow, RevisionRow, SessionRow, SessionEventRow, OperationRow):
            found = await session.execute(select(func.count()).select_from(row))
            assert found.scalar_one() == 0
