"""A disk without room: what is stored is read, writes are refused in words until there is room."""

import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from app.kernel.errors import Reason
from app.process.main import create_app
from app.process.start import open_process
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.disks import own_disk
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.operations import USER
from tests.support.workers import own_database

# An empty database takes 66 MiB of it.
_SIZE = "96m"
_MOST_WRITES = 2000
_FACT_BYTES = 1000
_SOON_SECONDS = 60


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A folder with a file system of its own, which holds a database and little more."""
    # Short, since a Unix socket's path may have about 100 characters.
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    with own_disk(folder, _SIZE) as is_mounted:
        if is_mounted:
            yield folder
    folder.rmdir()
    if not is_mounted:
        pytest.skip("needs the right to mount a file system")


@pytest.fixture
async def client(small_disk: Path, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service whose database is on that disk."""
    with own_database(small_disk) as url:
        settings = Settings(
            data_dir=tmp_path, database_url=url, admin_key=ADMIN_KEY, embedder="hash"
        )
        async with (
            open_process(settings) as process,
            client_with(create_app(process.resources), ADMIN_KEY) as found,
        ):
            yield found


def _fill(ballast: Path) -> None:
    """Take all the room there is."""
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


async def _write(client: httpx.AsyncClient) -> tuple[httpx.Response, str]:
    fact = secrets.token_hex(_FACT_BYTES // 2)
    return await client.post("/memories", json={"scope": USER, "fact": fact}), fact


async def test_writes_wait_for_room_and_nothing_acknowledged_is_lost(
    client: httpx.AsyncClient, small_disk: Path
) -> None:
    ballast = small_disk / "ballast"
    answer, fact = await _write(client)
    assert answer.status_code == 200
    facts = [fact]
    _fill(ballast)
    answer, fact = await _write(client)
    while answer.status_code == 200:
        assert len(facts) < _MOST_WRITES
        facts.append(fact)
        answer, fact = await _write(client)
    assert refusal(answer) == (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
    assert answer.json()["error"]["details"][0]["metadata"] == {"sqlstate": "53100"}
    assert sorted(await _read(client)) == sorted(facts)
    ballast.unlink()
    deadline = time.monotonic() + _SOON_SECONDS
    while answer.status_code != 200:
        assert time.monotonic() < deadline, answer.text
        answer, fact = await _write(client)
    assert sorted(await _read(client)) == sorted([*facts, fact])


async def _read(client: httpx.AsyncClient) -> list[str]:
    """Return every fact, page by page."""
    facts: list[str] = []
    token = ""
    while True:
        page = ok(await client.get("/memories", params={"pageSize": 1000, "pageToken": token}))
        facts += [memory["fact"] for memory in page.get("memories", [])]
        token = page.get("nextPageToken", "")
        if not token:
            return facts
