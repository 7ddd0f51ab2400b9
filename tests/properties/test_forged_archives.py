"""A restored archive is believed in nothing.

Each field of each kind of lines gets other values of the same JSON type, with right digests. Either
the archive is refused, with the line and the field, and nothing of it stays; or every list and get
of the engine is answered, and every sweep runs without a row that fails.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.kinds import KINDS
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, ok
from tests.support.forgeries import NEWEST, Forgery, forged, forgeries, lines_of
from tests.support.restores import GZIP

_API = "http://test/v1beta1"
_ENGINES = f"{_API}/projects/default/locations/local/reasoningEngines"
_SHARE = 30
"""Of the cases, one of so many is tried but in `make test-nightly`."""
_TABLES = sorted({kind.table for kind in KINDS} - {"engines"})
_ALL = {"pageSize": "100"}
_LISTS = (
    "memories?showDeleted=true",
    "memories/-/revisions",
    "memories/-/revisions:listLabels",
    "memories:listScopes",
    "streams",
    "sessions",
    "operations",
    "taskMemories",
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_forged_value_is_refused_or_harms_nobody(
    client: httpx.AsyncClient,
    resources: Resources,
    runner: Runner,
    clock: FixedClock,
    kind: LineKind,
    *,
    is_nightly: bool,
) -> None:
    header, lines = lines_of(NEWEST)
    cases = list(forgeries(lines, kind))[:: 1 if is_nightly else _SHARE]
    empty = await _new_engine(client)
    before = ok(await client.get(empty))
    accepted = 0
    for number, case in enumerate(cases):
        archive = forged(header, lines, case, str(UUID(int=number)))
        answer = await client.post(f"{empty}:restore", content=archive, headers=GZIP)
        if answer.status_code == 200:
            await _check_served(client, empty, case)
            accepted += 1
            empty = await _new_engine(client)
            before = ok(await client.get(empty))
        else:
            _check_refusal(answer, case)
            await _check_untouched(client, resources.db, empty, before)
    # Of a state, which may be any object, a share of the cases may all be accepted.
    assert len(cases) > accepted or not is_nightly
    for later in (timedelta(), timedelta(days=3 * 365)):
        clock.advance(later)
        await _check_sweeps(resources, runner)


async def _new_engine(client: httpx.AsyncClient) -> str:
    return f"{_API}/{ok(await client.post(_ENGINES, json={}))['response']['name']}"


def _check_refusal(answer: httpx.Response, case: Forgery) -> None:
    shown = (case.kind.name, case.field, str(case.value)[:60], answer.text)
    assert answer.status_code == 400, shown
    message = answer.json()["error"]["message"]
    is_of_a_line = message.startswith("Line ") and " (" in message
    assert is_of_a_line or message.partition("/")[0] in {"sessions", "taskMemories"}, shown


async def _check_untouched(
    client: httpx.AsyncClient, database: Database, url: str, before: Json
) -> None:
    """Check that nothing of an archive has stayed in an engine."""
    after = ok(await client.get(url))
    told = {"etag", "updateTime"}
    assert {**after, **dict.fromkeys(told)} == {**before, **dict.fromkeys(told)}
    engine = int(url.rpartition("/")[2])
    counts = " union all ".join(
        f"select '{table}', count(*) from {table} where engine_id = {engine}"
        + (" and kind not like 'engines.%'" if table == "operations" else "")
        for table in _TABLES
    )
    async with database.snapshot() as session:
        held = {table: count for table, count in await session.execute(text(counts)) if count}
        restore = await session.scalar(
            text(f"select restore from engines where engine_id = {engine}")
        )
    assert (held, restore) == ({}, None)


async def _check_served(client: httpx.AsyncClient, url: str, case: Forgery) -> None:
    """Check that every list and every get of an engine is answered."""
    async for path in _paths(client, url, case):
        answer = await client.get(path)
        shown = (case.kind.name, case.field, str(case.value)[:60], path, answer.text[:300])
        assert answer.status_code == 200, shown


async def _paths(client: httpx.AsyncClient, url: str, case: Forgery) -> AsyncIterator[str]:
    yield f"{url}:usage"
    yield f"{url}:export?vectors=true"
    yield f"{url}/memories/-/revisions:export"
    for path in _LISTS:
        for name in await _named(client, f"{url}/{path}", case):
            yield name
            async for below in _below(client, path, name, case):
                yield below


async def _below(
    client: httpx.AsyncClient, path: str, name: str, case: Forgery
) -> AsyncIterator[str]:
    """Yield what lies below a resource of a list."""
    if path == "sessions":
        await _listed(client, f"{name}/events", case)
        yield f"{name}/usage"
        for summary in await _named(client, f"{name}/summaries", case):
            yield summary
    if path == "taskMemories":
        for tool in await _named(client, f"{name}/toolPolicies", case):
            yield tool
        for namespace in await _named(client, f"{name}/namespaces", case):
            yield namespace
            for artifact in await _named(client, f"{namespace}/artifacts", case):
                yield artifact
                yield f"{artifact}/content"


async def _named(client: httpx.AsyncClient, url: str, case: Forgery) -> Sequence[str]:
    listed = await _listed(client, url, case)
    return [f"{_API}/{one['name']}" for one in listed if "name" in one]


async def _listed(client: httpx.AsyncClient, url: str, case: Forgery) -> Sequence[Json]:
    answer = await client.get(url, params=_ALL)
    shown = (case.kind.name, case.field, str(case.value)[:60], url, answer.text[:300])
    assert answer.status_code == 200, shown
    lists = [value for value in answer.json().values() if isinstance(value, list)]
    return [one for values in lists for one in values if isinstance(one, dict)]


async def _check_sweeps(resources: Resources, runner: Runner) -> None:
    """Check that every sweep, and what workers then run, passes without a failure."""
    with capture_logs() as logs:
        for sweep in resources.registry.sweeps:
            await sweep.run(resources)
        await runner.run_pending()
    failed = [log for log in logs if log["log_level"] in {"warning", "error", "critical"}]
    assert failed == []
