"""The judges of statements that were sent for callers bound to scopes, judged."""

from typing import Any

import pytest

from tests.architecture.conditions import BINDINGS, unconfined
from tests.architecture.inserts import inserted, owner_of, strays

CONDITIONS = {"user_id": frozenset({"42", "43"})}
TWO_KEYS = {**CONDITIONS, "app": frozenset({"x"})}
VALUES: dict[str, Any] = {
    "mine": [{"user_id": "42"}, {"user_id": "43"}],
    "one": [{"user_id": "43"}],
    "none": [],
    "foreign": [{"user_id": "42"}, {"user_id": "7"}],
    "app": [{"app": "x"}],
    "parts": [{"user_id": ["42"]}, {"user_id": ["43"]}],
    "key": "user_id",
    "list": ["42", "43"],
    "wide": ["42", "7"],
    "a": "42",
    "b": "43",
    "c": "7",
    "seven": 7,
    "also": 7,
}
OWN = "m.scope @> ANY (%(mine)s::JSONB[])"
PARENT = (
    "EXISTS (SELECT 1 FROM memories AS p WHERE p.engine_id = v.engine_id"
    " AND p.memory_id = v.memory_id AND (p.scope @> ANY (%(mine)s::JSONB[])))"
)
ON = "v.engine_id = m.engine_id and v.memory_id = m.memory_id"


def test_the_tables_of_scopes_are_known() -> None:
    assert {"memories", "sessions", "streams", "operations"} < BINDINGS.keys()
    assert {"memory_vectors", "memory_revisions", "revision_labels"} < BINDINGS.keys()
    assert {"session_events", "stream_events"} < BINDINGS.keys()
    assert not {"engines", "request_ids", "model_usage", "api_keys"} & BINDINGS.keys()


@pytest.mark.parametrize(
    "statement",
    [
        f"select * from memories as m where m.engine_id = 1 and {OWN}",
        "select * from memories as m where m.scope @> ANY (%(one)s::JSONB[])",
        "select * from memories as m where m.scope @> ANY (%(none)s::JSONB[])",
        f"select * from memories as m where coalesce({OWN}, false) and (fact = 'a' or fact = 'b')",
        f"select * from memories as m where coalesce({OWN} and fact = 'a', false)",
        "select * from memories where false",
        "select count(*) from sessions where sessions.user_id in (%(a)s::VARCHAR, %(b)s::VARCHAR)",
        (
            "select * from operations o where (o.scopes -> %(key)s::TEXT) <@ %(list)s::JSONB"
            " and o.scopes @> ANY (%(parts)s::JSONB[])"
        ),
        f"select * from memory_vectors as v where v.engine_id = 1 and {PARENT}",
        f"select * from memories as m join memory_vectors as v on {ON} where {OWN}",
        f"select * from memories as m join memory_vectors as v on {ON} and {PARENT}",
        f"select * from memories as m, memory_vectors as v where {ON} and {OWN}",
        (
            "select * from memories as m join memory_vectors as v on v.memory_id = m.memory_id"
            f" where m.engine_id = %(seven)s and v.engine_id = %(also)s and {OWN}"
        ),
        f"select * from memories as m left join memory_vectors as v on {ON} where {OWN}",
        f"select * from engines as m left join memory_vectors as v on {PARENT}",
        (
            f"select * from memories as m where {OWN} and exists"
            f" (select 1 from memory_vectors as v where {ON})"
        ),
        f"with held as (select memory_id from memories as m where {OWN}) select * from held",
        f"select 1 from memories as m where {OWN} union select 1 from memories as m where {OWN}",
        f"update memories as m set fact = 'a' where {OWN}",
        (
            f"update memory_vectors as v set expire_time = m.expire_time from memories as m"
            f" where {ON} and {PARENT}"
        ),
        f"delete from memory_vectors as v where {PARENT} returning 1",
        f"delete from memory_vectors as v using memories as m where {ON} and {OWN}",
        (
            "select * from revision_labels as l where exists (select 1 from memory_revisions as v"
            " where v.engine_id = l.engine_id and v.revision_id = l.revision_id"
            f" and {PARENT})"
        ),
        "insert into memories (engine_id, scope) values (%(a)s, %(b)s) on conflict do nothing",
        (
            "insert into memory_vectors (engine_id, memory_id, model_id) values (1, 'a', 'b')"
            " on conflict (engine_id, memory_id, model_id) do update set vector = excluded.vector"
        ),
        "insert into request_ids (caller) select 'a' from engines",
        "select * from engines",
        "select 1",
    ],
)
def test_what_is_confined_passes(statement: str) -> None:
    assert unconfined(statement, VALUES, CONDITIONS) == []


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("select * from memories as m", ["memories"]),
        ("select * from memories as m where m.scope_hash = %(a)s", ["memories"]),
        ("select * from memories as m where m.scope @> ANY (%(foreign)s::JSONB[])", ["memories"]),
        ("select * from memories as m where m.metadata @> ANY (%(mine)s::JSONB[])", ["memories"]),
        ("select * from memories as m where m.scope <@ ANY (%(mine)s::JSONB[])", ["memories"]),
        ("""select * from memories as m where m.scope @> '{"user_id": "42"}'""", ["memories"]),
        (f"select * from memories as m where {OWN} or m.fact = 'a'", ["memories"]),
        (f"select * from memories as m where not ({OWN})", ["memories"]),
        (f"select * from memories as m where coalesce({OWN}, true)", ["memories"]),
        (f"select count(*) filter (where {OWN}) from memories as m", ["memories"]),
        (f"select {OWN} from memories as m", ["memories"]),
        (f"select * from memories as n, memories as m where {OWN}", ["memories"]),
        ("select * from sessions as s where s.user_id in (%(a)s, %(c)s)", ["sessions"]),
        ("select * from sessions as s where s.user_id not in (%(a)s, %(b)s)", ["sessions"]),
        ("select * from sessions as s where s.user_id in (select 'a')", ["sessions"]),
        (
            "select * from operations o where (o.scopes -> %(key)s::TEXT) <@ %(wide)s::JSONB",
            ["operations"],
        ),
        (
            "select * from operations o where (o.scopes -> %(a)s::TEXT) <@ %(list)s::JSONB",
            ["operations"],
        ),
        ("select * from operations o where o.scopes @> ANY (%(parts)s::JSONB[])", ["operations"]),
        ("select * from memory_vectors as v", ["memory_vectors"]),
        (f"select * from memory_vectors as v where not {PARENT}", ["memory_vectors"]),
        (
            (
                "select * from memory_vectors as v where exists (select 1 from memories as m"
                f" where m.memory_id = v.memory_id and {OWN})"
            ),
            ["memory_vectors"],
        ),
        (
            (
                "select * from memory_vectors as v where exists"
                f" (select 1 from memories as m where {ON})"
            ),
            ["memories", "memory_vectors"],
        ),
        (
            (
                "select * from memory_vectors as v where exists"
                f" (select count(*) from memories as m where {ON} and {OWN})"
            ),
            ["memory_vectors"],
        ),
        (
            # Of any vector, not of this one.
            (
                "select * from memory_vectors as v where exists"
                f" (select 1 from memories as m, memory_vectors as v where {ON} and {OWN})"
            ),
            ["memory_vectors"],
        ),
        (
            f"select * from memories as m left join memory_vectors as v on {ON} and {PARENT}",
            ["memories"],
        ),
        (
            f"select * from memories as m left join memory_vectors as v on {ON} and {OWN}",
            ["memories", "memory_vectors"],
        ),
        (
            f"select * from memories as m full join memory_vectors as v on {ON} where {OWN}",
            ["memory_vectors"],
        ),
        (
            (
                "select * from memories as m join memory_vectors as v on v.memory_id = m.memory_id"
                f" where {OWN}"
            ),
            ["memory_vectors"],
        ),
        (
            (
                f"select * from memory_vectors as v where v.memory_id in"
                f" (select m.memory_id from memories as m where {OWN})"
            ),
            ["memory_vectors"],
        ),
        (
            f"with held as (select * from memories) select * from held, memories as m where {OWN}",
            ["memories"],
        ),
        (f"select 1 from memories as m where {OWN} union select 1 from memories", ["memories"]),
        (f"update memories as m set scope = 'a' where {OWN}", ["memories"]),
        (f"update memory_vectors as v set memory_id = 'a' where {PARENT}", ["memory_vectors"]),
        (
            f"delete from memories using memories as m where memories.fact = m.fact and {OWN}",
            ["memories"],
        ),
        ("insert into memories (engine_id, scope) select 1, scope from engines", ["memories"]),
        (
            (
                "insert into sessions (engine_id, user_id) values (1, %(a)s)"
                " on conflict (engine_id) do update set display_name = 'a'"
            ),
            ["sessions"],
        ),
        (
            (
                "insert into memory_vectors (engine_id, memory_id) values (1, 'a')"
                " on conflict (model_id) do update set vector = excluded.vector"
            ),
            ["memory_vectors"],
        ),
        (
            (
                "merge into memories as m using engines as e on m.engine_id = e.engine_id"
                " when matched then delete"
            ),
            ["memories"],
        ),
    ],
)
def test_what_escapes_is_found(statement: str, tables: list[str]) -> None:
    assert unconfined(statement, VALUES, CONDITIONS) == tables


def test_each_key_must_be_asked_for() -> None:
    one = f"select * from memories as m where {OWN}"
    assert unconfined(one, VALUES, TWO_KEYS) == ["memories"]
    assert unconfined(f"{one} and m.scope @> ANY (%(app)s)", VALUES, TWO_KEYS) == []
    assert (
        unconfined(f"{one} and coalesce(m.scope @> ANY (%(app)s), false)", VALUES, TWO_KEYS) == []
    )


INSERT = "insert into {} ({}) values ({})"


def insert_into(table: str, *columns: str) -> str:
    values = ", ".join(f"%({column})s::TEXT" for column in columns)
    return INSERT.format(table, ", ".join(columns), values)


def test_inserted_rows_are_read_from_the_parameters() -> None:
    statement = "insert into sessions (session_id, user_id) values (%(a)s, %(b)s), (%(c)s, %(a)s)"
    assert list(inserted(statement, VALUES)) == [
        ("sessions", {"session_id": "42", "user_id": "43"}),
        ("sessions", {"session_id": "7", "user_id": "42"}),
    ]


LIST = "jsonb_to_recordset(%(list)s::JSONB) as given(id TEXT, user_id TEXT)"


@pytest.mark.parametrize("kind", ["jsonb", "json"])
def test_inserted_rows_are_read_from_a_list(kind: str) -> None:
    given = LIST.replace("jsonb", kind)
    statement = (
        f"insert into sessions (session_id, user_id) select given.id, given.user_id from {given}"
    )
    rows = [{"id": "a", "user_id": "42"}, {"id": "b", "user_id": "7"}]
    assert list(inserted(statement, {"list": rows})) == [
        ("sessions", {"session_id": "a", "user_id": "42"}),
        ("sessions", {"session_id": "b", "user_id": "7"}),
    ]
    assert unconfined(statement, {"list": rows}, CONDITIONS) == []


@pytest.mark.parametrize(
    "query",
    [
        "select given.id, 'a' from " + LIST,
        f"select given.id, engines.project from {LIST}, engines",
        "select engines.project, engines.location from engines",
        "select given.id, given.user_id from other(%(list)s) as given",
    ],
)
def test_what_is_inserted_from_elsewhere_is_found(query: str) -> None:
    statement = f"insert into sessions (session_id, user_id) {query}"
    assert unconfined(statement, {}, CONDITIONS) == ["sessions"]


@pytest.mark.parametrize(
    ("table", "column", "is_mine", "is_foreign"),
    [
        ("memories", "scope", {"user_id": "42", "app": "y"}, {"user_id": "7"}),
        ("streams", "scope", {"user_id": "43"}, {"app": "x"}),
        ("sessions", "user_id", "42", "7"),
        ("operations", "scopes", {"user_id": ["42", "43"]}, {"user_id": ["42", "7"]}),
        ("operations", "scopes", {"user_id": ["42"]}, None),
    ],
)
async def test_rows_of_foreign_scopes_are_found(
    table: str, column: str, is_mine: object, is_foreign: object
) -> None:
    async def find(*_: object) -> None:
        raise AssertionError

    statement = insert_into(table, "engine_id", column)
    assert await strays(statement, {column: is_mine}, CONDITIONS, find) == []
    assert await strays(statement, {column: is_foreign}, CONDITIONS, find) == [table]


@pytest.mark.parametrize(
    ("table", "owner", "found"),
    [
        ("memory_vectors", "memories", {"scope": {"user_id": "7"}}),
        ("revision_labels", "memories", {"scope": {"user_id": "7"}}),
        ("session_events", "sessions", {"user_id": "7"}),
    ],
)
async def test_children_of_foreign_parents_are_found(table: str, owner: str, found: object) -> None:
    asked: list[str] = []

    async def find(statement: str, _: object) -> list[object]:
        asked.append(statement)
        return [found]

    columns = ("engine_id", "memory_id", "revision_id", "session_id")
    values: dict[str, object] = dict.fromkeys(columns, 1)
    assert await strays(insert_into(table, *columns), values, CONDITIONS, find) == [table]
    assert f" {owner} p" in asked[0]


def test_the_owner_of_a_label_is_found_over_its_revision() -> None:
    owner, statement, values = owner_of("revision_labels", {"engine_id": 1, "revision_id": 2})
    assert owner == "memories"
    assert statement == (
        "select to_jsonb(p1) from memory_revisions p0"
        " join memories p1 on p1.engine_id = p0.engine_id and p1.memory_id = p0.memory_id"
        " where p0.engine_id = %(engine_id)s and p0.revision_id = %(revision_id)s"
    )
    assert values == {"engine_id": 1, "revision_id": 2}
