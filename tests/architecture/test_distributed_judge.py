"""The judge of distributed statements, judged: what each rule refuses, and what it accepts."""

import psycopg
import pytest

from tests.architecture.distributed import (
    VOLATILITIES,
    Volatilities,
    breaks_in_trigger,
    broken_rules,
)

KNOWN: Volatilities = {
    ("clock_timestamp", 0): "v",
    ("nextval", 1): "v",
    ("random", 0): "v",
    ("statement_timestamp", 0): "s",
    ("jsonb_build_object", 2): "s",
    ("jsonb_set", 3): "i",
    ("lower", 1): "i",
}


@pytest.mark.parametrize(
    ("rules", "statement"),
    [
        ({1}, "select fact from memories where expire_time < now() for update skip locked"),
        (
            {1, 2},
            (
                "with old as (select engine_id, memory_id from memories limit 1 for update)"
                " delete from memories using old where memories.engine_id = old.engine_id"
            ),
        ),
        ({2}, "update operations set state = 'PENDING' where state = 'RUNNING'"),
        ({2}, "delete from memories where expire_time < now()"),
        ({3}, "select count(*) from operations"),
        ({4}, "update operations set lease_until = clock_timestamp() where engine_id = 1"),
        ({4}, "delete from operations where engine_id = 1 and lease_until < clock_timestamp()"),
        (
            {4},
            (
                "insert into operations (engine_id, attempts) values (1, 0)"
                " on conflict (engine_id) do update set attempts = random()"
            ),
        ),
        ({5}, "update memories set metadata = jsonb_build_object('a', fact) where engine_id = 1"),
        ({6}, "select set_config('enable_sort', 'off', true)"),
        ({6}, "select set_config(%(name)s, %(value)s, %(local)s)"),
        ({6}, "set enable_sort = off"),
        (
            {7},
            (
                "select 1 from engines join embedding_models on model_id = embedding_model"
                " where engine_id = 1"
            ),
        ),
        ({7}, "delete from operations where engine_id = 1 and owner in (select id from processes)"),
        ({8}, "select pg_snapshot_xmin(pg_current_snapshot())"),
        ({8}, "select fact from memories where engine_id = 1 and xmin::text = txid_current()"),
        ({8}, "update memories set engine_id = 2 where engine_id = 1"),
        ({8}, "update memories set (engine_id, fact) = (2, 'a') where engine_id = 1"),
        (
            {3, 8},
            (
                "merge into memories as m using engines as e on m.engine_id = e.engine_id"
                " when matched then update set fact = 'a'"
            ),
        ),
        (
            {8},
            (
                "insert into operations (engine_id, attempts) values (1, 0)"
                " on conflict (engine_id) do update set engine_id = excluded.engine_id"
            ),
        ),
    ],
)
def test_what_breaks_a_rule_is_found(rules: set[int], statement: str) -> None:
    assert broken_rules(statement, KNOWN) == rules


@pytest.mark.parametrize(
    "statement",
    [
        "select fact from memories where engine_id = %(engine)s for update",
        "select name from ticks for update",
        "update operations set state = 'PENDING' where engine_id = 1 and state = 'RUNNING'",
        "delete from memories where engine_id = 1 and memory_id = 'a'",
        "select count(*) from operations where engine_id = 1",
        "update operations set lease_until = statement_timestamp() where engine_id = 1",
        "update ticks set last_slot = clock_timestamp()",
        "insert into operations (engine_id, lease_until) values (1, clock_timestamp())",
        "select nextval('a')",
        (
            "with now as (select clock_timestamp() as time)"
            " update operations set lease_until = now.time from now where engine_id = 1"
        ),
        "update memories set fact = lower(fact) where engine_id = 1",
        "update memories set metadata = jsonb_set(metadata, '{a}', '1') where engine_id = 1",
        "update memories set metadata = jsonb_build_object('a', %(b)s) where engine_id = 1",
        "select set_config('search_path', 'public', false)",
        "set local enable_sort = off",
        "set plan_cache_mode = force_generic_plan",
        "create index on memories (fact)",
        (
            "select 1 from engines as e, memories as m"
            " where e.engine_id = 1 and m.engine_id = e.engine_id"
        ),
        "select id from processes, ticks",
        "update memories set fact = 'engine_id' where engine_id = 1 and fact = 'a'",
        "insert into memories (engine_id, fact) values (1, 'a')",
    ],
)
def test_what_breaks_no_rule_passes(statement: str) -> None:
    assert broken_rules(statement, KNOWN) == set()


def test_volatilities_are_those_of_the_database(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        read = {(name, count): kind for name, count, kind in connection.execute(VOLATILITIES)}
    assert {key: read[key] for key in KNOWN} == KNOWN


_VALUES = "values (new.engine_id, 1)"


@pytest.mark.parametrize(
    "body",
    [
        "insert into engine_totals (engine_id, bytes) select engine_id, 1 from added;",
        f"insert into ticks (engine_id, bytes) {_VALUES};",
        "perform name from ticks;",
        f"insert into strange (engine_id, bytes) {_VALUES};",
        f"insert into engine_totals (backend, bytes) {_VALUES};",
        "update engine_totals set bytes = 0;",
        "delete from engine_totals where bytes = 0;",
    ],
)
def test_a_trigger_that_a_node_cannot_run_is_found(body: str) -> None:
    assert breaks_in_trigger(f"begin {body} return null; end", ["added"])


@pytest.mark.parametrize(
    "body",
    [
        (
            f"insert into engine_totals as total (engine_id, bytes) {_VALUES}"
            " on conflict (engine_id) do update set bytes = excluded.bytes;"
        ),
        "update engine_totals set bytes = 0 where engine_id = new.engine_id;",
        "perform engine_id from added;",
        "if tg_op = 'UPDATE' and new.bytes = 1 then return null; end if;",
        "if exists (select from erasures where engine_id = new.engine_id) then return old; end if;",
    ],
)
def test_a_trigger_that_a_node_runs_passes(body: str) -> None:
    assert not breaks_in_trigger(f"begin {body} return null; end", ["added"])
