"""Two processes write into one scope as fast as they can; no write meets the id of another."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest

from app.kernel.ids import bucket_of
from app.kernel.scopes import bucket_of_hash, scope_hash
from tests.support.bank import ENGINE_URL
from tests.support.live import KEY, live_server
from tests.support.workers import own_database

_SCOPE = {"user_id": "shared"}
_WRITES = 200
_WRITERS = 8
_BATCHES, _BATCH = 5, 200
_SETTINGS = {
    "MEMORY_BANK_EMBEDDER": "hash",
    "MEMORY_BANK_LOG_LEVEL": "WARNING",
}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with own_database(tmp_path) as found:
        yield found


async def _write(address: str) -> Counter[int]:
    """Create memories one by one, and then many at once; return the statuses."""
    statuses: Counter[int] = Counter()
    left = iter(range(_WRITES))
    memory = {"fact": "I like tea.", "scope": _SCOPE}
    async with httpx.AsyncClient(
        base_url=f"{address}{ENGINE_URL.removeprefix('http://test')}",
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=60,
    ) as client:

        async def write() -> None:
            for _ in left:
                statuses[(await client.post("/memories", json=memory)).status_code] += 1

        await asyncio.gather(*(write() for _ in range(_WRITERS)))
        body = {"requests": [{"memory": memory}] * _BATCH}
        for _ in range(_BATCHES):
            answer = await client.post("/memories:batchCreate", json=body)
            statuses[answer.status_code] += 1
    return statuses


async def test_no_write_is_refused(url: str, tmp_path: Path) -> None:
    with ExitStack() as running:
        addresses = []
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            server = live_server(tmp_path / name, MEMORY_BANK_DATABASE_URL=url, **_SETTINGS)
            addresses.append(running.enter_context(server).url)
        answers = await asyncio.gather(*(_write(address) for address in addresses))
    assert answers == [Counter({200: _WRITES + _BATCHES})] * 2
    with psycopg.connect(url) as connection:
        ids = [int(row[0]) for row in connection.execute(b"select memory_id from memories")]
        revisions = connection.execute(b"select count(*) from memory_revisions").fetchone()
    assert len(ids) == 2 * (_WRITES + _BATCHES * _BATCH)
    assert revisions == (len(ids),)
    assert {bucket_of(one) for one in ids} == {bucket_of_hash(scope_hash(_SCOPE))}
