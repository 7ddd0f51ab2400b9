"""Two processes write into one scope as fast as they can; no write meets the id of another."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest

from app.kernel.ids import bucket_of, bucket_of_hash, scope_hash
from tests.support.bank import ENGINE_URL, Json
from tests.support.live import KEY, live_server
from tests.support.workers import own_database

_SCOPE = {"user_id": "shared"}
_MEMORY = {"fact": "I like tea.", "scope": _SCOPE}
_WRITES = 120
_WRITERS = 8
_BATCHES, _BATCH = 5, 200
_SESSION = {"userId": _SCOPE["user_id"]}
_EVENT = {"author": "user", "invocationId": "i", "timestamp": "2026-01-15T12:00:00Z"}
_SETTINGS = {
    "MEMORY_BANK_EMBEDDER": "hash",
    "MEMORY_BANK_LOG_LEVEL": "WARNING",
}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with own_database(tmp_path) as found:
        yield found


async def _write(address: str) -> Counter[int]:
    """Write memories singly, on both paths, and in bulk; and events. Return the statuses."""
    statuses: Counter[int] = Counter()
    numbers = iter(range(_WRITES))
    async with httpx.AsyncClient(
        base_url=f"{address}{ENGINE_URL.removeprefix('http://test')}",
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=60,
    ) as client:

        async def send(path: str, body: Json) -> None:
            statuses[(await client.post(path, json=body)).status_code] += 1

        async def write_singly() -> None:
            for number in numbers:
                labels = {"revisionLabels": {"a": "b"}} if number % 2 else {}
                query = f"?requestId={address[-5:]}-{number}" if number % 3 else ""
                await send(f"/memories{query}", {**_MEMORY, **labels})
                await send("/sessions", _SESSION)
                await send("/sessions/shared:appendEvent", _EVENT)

        async def write_in_bulk() -> None:
            for _ in range(_BATCHES):
                body = {"requests": [{"memory": _MEMORY}] * _BATCH}
                await send("/memories:batchCreate", body)

        # The other process may have been faster.
        await client.post("/sessions?sessionId=shared", json=_SESSION)
        await asyncio.gather(write_in_bulk(), *(write_singly() for _ in range(_WRITERS)))
    return statuses


_COUNTS = b"""
select
    (select count(*) from memory_revisions),
    (select count(*) from session_events),
    (select count(*) from sessions),
    (select count(*) from operations),
    (select count(*) from audit_events),
    (select count(distinct operation_id)
        from memory_revisions join operations using (engine_id, operation_id)),
    (select deadlocks from pg_stat_database where datname = current_database())
"""


async def test_no_write_is_refused_or_lost(url: str, tmp_path: Path) -> None:
    with ExitStack() as running:
        addresses = []
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            server = live_server(tmp_path / name, MEMORY_BANK_DATABASE_URL=url, **_SETTINGS)
            addresses.append(running.enter_context(server).url)
        answers = await asyncio.gather(*(_write(address) for address in addresses))
    assert answers == [Counter({200: 3 * _WRITES + _BATCHES})] * 2
    with psycopg.connect(url) as connection:
        ids = [int(row[0]) for row in connection.execute(b"select memory_id from memories")]
        counts = connection.execute(_COUNTS).fetchone()
    assert len(ids) == 2 * (_WRITES + _BATCHES * _BATCH)
    singly, changes = 2 * _WRITES, 2 * (_WRITES + _BATCHES)
    operations = changes + singly + 1
    events = operations + singly + 1
    assert counts == (len(ids), singly, singly + 1, operations, events, changes, 0)
    assert {bucket_of(one) for one in ids} == {bucket_of_hash(scope_hash(_SCOPE))}
