"""In every sweep and tick one row fails alone: a row that cannot be changed, and more than a batch.

Rows that are due are written by SQL, the failing ones first in line; a trigger refuses these. All
others are done at once, the failing ones after an hour in which nothing refuses them any more.
"""

from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import httpx
import psycopg
import pytest
from prometheus_client import REGISTRY
from psycopg import sql
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import ServiceError
from app.memory.reembedding.service import Backlog
from app.memory.retrieval.jobs import INDEX, IndexSweep
from app.platform.upkeep.jobs import SWEEP
from app.platform.upkeep.service import UpkeepService
from app.process.features import FEATURES
from tests.support.distributed import used_as_distributed

_BATCH = 2
_GOOD = 5
_SECRET = "the words of a memory"
_FILLERS = {
    "bigint": "0",
    "integer": "0",
    "double precision": "0",
    "text": "''",
    "jsonb": "'{}'",
    "bytea": "decode(lpad(to_hex(n), 8, '0'), 'hex')",
    "timestamp with time zone": "at",
}
_POISON = """
create function poisoned() returns trigger language plpgsql as $$
declare number bigint = ltrim(to_jsonb(coalesce(new, old)) ->> tg_argv[0], '\\x');
begin
    if number between 1 and tg_argv[1]::bigint then
        raise exception '{secret}' using errcode = tg_argv[2];
    end if;
    return coalesce(new, old);
end $$
""".replace("{secret}", _SECRET)


@dataclass(frozen=True)
class Case:
    """Rows of a table that a sweep changes.

    Attributes:
        sweep: its name.
        table: whose rows fail.
        number: the column that holds the number of a row; a failing one has the smallest.
        values: columns of a row with their expressions, over its number `n`, its engine `e`, and
            `at`, when it became due; required ones that are missing are filled by type.
        left: selects the rows that are still to be done.
        also: other rows that are needed, by table.
        events: the changes that fail.
    """

    sweep: str
    table: str
    number: str
    values: Mapping[str, str]
    left: str = "true"
    also: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    events: str = "update or delete"


_FACT = {"memory_id": "n::text", "fact": "'I like tea.'", "topics": "'[]'", "metadata": "'{}'"}
_OF_ENGINES = {"engine_id": "1000 + n", "project": "'default'", "location": "'local'"}
_EXPIRED = {"expire_time": "at"}
_SPACE = {"memory": "'m'", "namespace": "'n'", "expire_time": "'9000-01-01'"}
_SWITCHED = {**_OF_ENGINES, "stale_vectors_until": "at"}
_OLD_VECTOR = {"memory_id": "n::text", "model_id": "'old'", "vector": "'[1]'"}
CASES = {
    "streams with waiting events": Case(
        "stranded streams",
        "streams",
        "stream_id",
        {"stream_id": "n::text", "oldest_pending_time": "at", "pending_count": "1"},
        left="operation_id is null",
    ),
    "events of streams": Case(
        "event ids",
        "stream_events",
        "stream_id",
        {"stream_id": "n::text", "process_time": "at", "seq": "n"},
    ),
    "erasures": Case(
        "failed erasures",
        "erasures",
        "certificate_id",
        {
            "certificate_id": "n::text",
            "operation_id": "n::text",
            "engine_name": "'projects/default/locations/local/reasoningEngines/' || e",
            "has_sessions": "false",
            "scope": "jsonb_build_object('user_id', n::text)",
            "start_time": "timestamptz '2026-01-10' + n * interval '1 minute'",
        },
        left="operation_id = certificate_id",
        also={
            "operations": {
                "operation_id": "n::text",
                "kind": "'engines.eraseScope'",
                "state": "'FAILED'",
                "update_time": "at",
            }
        },
    ),
    "lines read long ago": Case(
        "read lines",
        "read_lines",
        "digest",
        {"digest": "decode(lpad(n::text, 32, '0'), 'hex')", **_EXPIRED},
    ),
    "silent streams": Case("streams", "streams", "stream_id", {"stream_id": "n::text"}),
    "sessions without events": Case(
        "sessions", "sessions", "session_id", {"session_id": "n::text", **_EXPIRED}
    ),
    "events of sessions": Case(
        "sessions",
        "session_events",
        "seq",
        {"session_id": "n::text", "seq": "n", "event_id": "n::text"},
        also={"sessions": {"session_id": "n::text", **_EXPIRED}},
    ),
    "operations": Case(
        "operations",
        "operations",
        "operation_id",
        {"operation_id": "n::text", "remove_time": "at", "state": "'SUCCEEDED'"},
    ),
    "request ids": Case(
        "request ids", "request_ids", "request_id", {"request_id": "n::text", "remove_time": "at"}
    ),
    "requests": Case(
        "requests of failed operations",
        "operations",
        "operation_id",
        {"operation_id": "n::text", "state": "'FAILED'", "request": "'{}'"},
        left="request is not null",
    ),
    "audit events": Case("audit events", "audit_events", "event_id", {"event_id": "n::text"}),
    "audit events of no engine": Case(
        "audit events", "service_audit_events", "event_id", {"event_id": "n::text"}
    ),
    "request ids of no engine": Case(
        "request ids of the service",
        "service_request_ids",
        "request_id",
        {"request_id": "n::text", "remove_time": "at"},
    ),
    "engines": Case("engines", "engines", "engine_id", {**_OF_ENGINES, "delete_time": "at"}),
    "memories of engines": Case(
        "engines",
        "memories",
        "engine_id",
        {**_FACT, "engine_id": "1000 + n"},
        also={"engines": {**_OF_ENGINES, "delete_time": "at"}},
    ),
    "totals of gone engines": Case(
        "totals of gone engines", "engine_totals", "engine_id", {"engine_id": "1000 + n"}
    ),
    "processes": Case("silent processes", "processes", "process_id", {"process_id": "n::text"}),
    "rate buckets": Case("rate buckets", "rate_buckets", "subject", {"subject": "n::text"}),
    "totals": Case("totals", "engine_totals", "backend", {"backend": "n"}, left="backend > 0"),
    "sessions of the console": Case(
        "ended sessions of the console", "console_sessions", "key_id", {"key_id": "n::text"}
    ),
    "artifacts": Case(
        "artifacts",
        "task_artifacts",
        "content_id",
        {**_SPACE, "content_id": "n::text", "name": "n::text", "ordinal": "n", **_EXPIRED},
        also={"task_namespaces": {**_SPACE, "namespace": "'n'", "artifacts": "100"}},
    ),
    "pages of artifacts": Case(
        "artifacts",
        "task_pages",
        "page",
        {"content_id": "n::text", "page": "n"},
        also={
            "task_namespaces": {**_SPACE, "artifacts": "100"},
            "task_artifacts": {**_SPACE, "content_id": "n::text", "name": "n::text", **_EXPIRED},
        },
    ),
    "namespaces": Case(
        "namespaces",
        "task_namespaces",
        "namespace",
        {"memory": "'m'", "namespace": "n::text", **_EXPIRED},
    ),
    "chunks without grams": Case(
        "chunks without grams",
        "task_chunks",
        "content_id",
        {"content_id": "n::text", "text": "'\u7eff\u8336'"},
        left="grams is null",
    ),
    "memories": Case("memories", "memories", "memory_id", {**_FACT, **_EXPIRED}),
    "tombstones": Case(
        "memories", "memories", "memory_id", {**_FACT, "delete_time": "at", "recover_until": "at"}
    ),
    "revisions": Case(
        "revisions", "memory_revisions", "revision_id", {"revision_id": "n", **_FACT, **_EXPIRED}
    ),
    "memories without traits": Case(
        "memories without traits", "memories", "memory_id", _FACT, left="cues is null"
    ),
    "memories without grams": Case(
        "memories without traits",
        "memories",
        "memory_id",
        {**_FACT, "fact": "'\u7eff\u8336'", "cues": "'{}'"},
        left="grams is null",
    ),
    "stale vectors": Case(
        "stale vectors",
        "memory_vectors",
        "memory_id",
        {**_OLD_VECTOR, "engine_id": "2000 + e"},
        also={"engines": {**_SWITCHED, "engine_id": "2000 + e"}},
    ),
    "engines with stale vectors": Case(
        "stale vectors",
        "engines",
        "engine_id",
        _SWITCHED,
        left="stale_vectors_until is not null",
    ),
    "claims of the embedding queue": Case(
        "embedding queue",
        "unembedded_memories",
        "memory_id",
        {"memory_id": "n::text", "due_time": "at"},
        also={"memories": _FACT},
    ),
    "vectors of the embedding queue": Case(
        "embedding queue",
        "memory_vectors",
        "memory_id",
        {},
        also={
            "unembedded_memories": {"memory_id": "n::text", "due_time": "at"},
            "memories": _FACT,
        },
        events="insert",
    ),
    "scope indexes": Case(
        "scope indexes", "scope_indexes", "model_id", {"model_id": "n::text", "memories": "1000"}
    ),
}
TICKS = {
    "reembedding.backlog": "embedding queue",
    INDEX: "scope indexes",
    # It runs the sweeps, which are cases of their own.
    SWEEP: None,
}


def test_each_sweep_and_tick_has_a_case() -> None:
    sweeps = {sweep.name for feature in FEATURES for sweep in feature.sweeps}
    ticks = {tick.name for feature in FEATURES for tick in feature.ticks}
    assert ticks == TICKS.keys()
    assert {case.sweep for case in CASES.values()} == sweeps | set(filter(None, TICKS.values()))


@pytest.fixture(params=["one server", "distributed"])
def resources(
    request: pytest.FixtureRequest, resources: Resources, database: Database
) -> Iterator[Resources]:
    few = {"sweep_batch_rows": _BATCH, "reembed_batch_rows": _BATCH}
    changed = replace(resources, settings=resources.settings.model_copy(update=few))
    if request.param != "distributed":
        yield changed
        return
    with used_as_distributed(database):
        yield changed


def _work(resources: Resources, name: str) -> Awaitable[object]:
    if name == "embedding queue":
        return Backlog.of(resources).run()
    if name == "scope indexes":
        return IndexSweep(resources).run()
    return next(one for one in resources.registry.sweeps if one.name == name).run(resources)


def _insert(connection: psycopg.Connection, table: str, values: Mapping[str, str], to: int) -> None:
    """Insert rows 1 to `to`, alternately of the engines 1 and 2, the first ones due first."""
    required = connection.execute(
        "select column_name, data_type from information_schema.columns"
        " where table_name = %s and is_nullable = 'NO' and column_default is null"
        " and is_generated = 'NEVER'",
        (table,),
    )
    filled = {name: _FILLERS[kind] for name, kind in required if kind in _FILLERS}
    given = {**filled, **({"engine_id": "e"} if "engine_id" in filled else {}), **values}
    statement = sql.SQL(
        "insert into {} ({}) select {} from (select n, 1 + n % 2 as e,"
        " timestamptz '2020-01-01' + n * interval '1 minute' as at"
        " from generate_series(1, {}) as n) as numbered on conflict do nothing"
    ).format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, given)),
        sql.SQL(", ").join(sql.SQL(value) for value in given.values()),
        to,
    )
    connection.execute(statement)


def _seed(url: str, case: Case, rows: int) -> None:
    """Insert what is due, and a second engine."""
    with psycopg.connect(url) as connection:
        connection.execute(b"set session_replication_role = replica")
        connection.execute(
            b"insert into engines (engine_id, project, location, version, create_time,"
            b" update_time) values (2, 'default', 'local', 1, now(), now())"
        )
        for table, values in {
            **case.also,
            **({case.table: case.values} if case.values else {}),
        }.items():
            _insert(connection, table, values, rows)


@contextmanager
def _poisoned(url: str, case: Case, last: int, state: str = "P0001") -> Iterator[None]:
    """Have the first rows of a table refuse their change in the block."""
    first = 1000 if case.number == "engine_id" else 0
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_POISON.encode())
        connection.execute(
            f"create trigger poisoned before {case.events} on {case.table} for each row"
            f" execute function poisoned({case.number}, {first + last}, '{state}')".encode()
        )
        try:
            yield
        finally:
            connection.execute(f"drop trigger poisoned on {case.table}".encode())
            connection.execute(b"drop function poisoned")


def _left(url: str, case: Case) -> list[int]:
    """Return the numbers of the rows that are still to be done."""
    table = "unembedded_memories" if case.events == "insert" else case.table
    # A digest is written as \\x and its number.
    number = f"ltrim({case.number}::text, '\\x')"
    first = 1000 if case.number == "engine_id" else 0
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            f"select {number}::bigint - {first} from {table} where {case.left}"
            f" and {number} ~ '^[0-9]+$' order by 1".encode()
        )
        return [number for (number,) in rows if 0 < number < 1000]


def _failed(what: str) -> float:
    found = REGISTRY.get_sample_value("memory_bank_sweep_failed_rows_total", {"what": what})
    return found or 0.0


@pytest.mark.plain_postgres("Triggers are made on one server alone.")
@pytest.mark.parametrize("bad", [1, 2 * _BATCH + 1])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_rows_that_fail_stop_no_others(
    resources: Resources, database_url: str, clock: FixedClock, case: Case, bad: int
) -> None:
    poisoned, all_rows = [*range(1, bad + 1)], [*range(1, bad + _GOOD + 1)]
    _seed(database_url, case, bad + _GOOD)
    assert _left(database_url, case) == all_rows
    before = _failed(case.sweep)
    with _poisoned(database_url, case, bad), capture_logs() as lines:
        await _work(resources, case.sweep)
        if case.sweep == "stale vectors":
            # An engine is done when a second pass finds nothing.
            await _work(resources, case.sweep)
    assert _left(database_url, case) == poisoned
    named = [line for line in lines if line["event"] == "sweep.row_failed"]
    assert {line["what"] for line in named} == {case.sweep}
    assert {line["reason"] for line in named} == {"P0001"}
    assert len({line["row"] for line in named}) == len(named) == bad
    assert _failed(case.sweep) == before + bad
    assert _SECRET not in str(lines)
    # For an hour they are left out, then they are tried once more.
    await _work(resources, case.sweep)
    assert _left(database_url, case) == poisoned
    clock.advance(timedelta(hours=1))
    with psycopg.connect(database_url) as connection:
        connection.execute(b"update unembedded_memories set due_time = '2020-01-01'")
    await _work(resources, case.sweep)
    await _work(resources, case.sweep)
    assert _left(database_url, case) == []


@pytest.mark.plain_postgres("Triggers are made on one server alone.")
@pytest.mark.parametrize("name", ["sessions without events", "operations"])
@pytest.mark.parametrize("state", ["53100", "25006", "40001", "57P01"])
async def test_errors_of_the_database_end_a_sweep_and_leave_no_row_out(
    resources: Resources, database_url: str, name: str, state: str
) -> None:
    case = CASES[name]
    _seed(database_url, case, 3)
    with _poisoned(database_url, case, 1, state), pytest.raises(ServiceError):
        await _work(resources, case.sweep)
    await _work(resources, case.sweep)
    assert _left(database_url, case) == []


@pytest.mark.plain_postgres("Triggers are made on one server alone.")
async def test_a_service_with_a_failing_row_is_ready_and_its_sweep_counts_as_done(
    client: httpx.AsyncClient, resources: Resources, database_url: str
) -> None:
    case = CASES["streams with waiting events"]
    _seed(database_url, case, 5)
    with _poisoned(database_url, case, 3), capture_logs() as lines:
        await UpkeepService(resources).sweep()
    assert [line for line in lines if line["event"] == "sweep.failed"] == []
    assert _left(database_url, case) == [1, 2, 3]
    assert (await client.get("http://test/readyz")).status_code == 200
    await UpkeepService(resources).show_sweeps()
    done = REGISTRY.get_sample_value(
        "memory_bank_sweep_last_timestamp_seconds", {"what": case.sweep}
    )
    assert done
