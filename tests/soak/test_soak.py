"""Mixed traffic while everything fails: nothing acknowledged is lost, done twice, or stuck.

`SOAK_SECONDS` is how long, `SEED` which faults come when.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.adapters.postgres.embedded import embedded_postgres
from app.settings.settings import Settings
from tests.soak.clients import CLIENTS, Client
from tests.soak.faults import Faults
from tests.soak.ledger import Ledger
from tests.soak.processes import Service, serving
from tests.soak.verdict import Verdict, judge
from tests.support.clusters import fill
from tests.support.disks import own_disk
from tests.support.literal_model import literal
from tests.support.model_server import model_server, slow

_SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))
_SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**32))
_DISK, _DISK_SIZE = "disk", "8g"
_MODEL_SECONDS = 0.05
_WARM_REQUESTS = 1_000
"""Requests after which memory is first measured: caches fill with requests, not with time, which
tells nothing where the machine does other work."""
_LAST_ANSWERS_SECONDS = 60
_STUCK_SECONDS = 60
_POLL_SECONDS = 0.1
_LONGEST_CALL_SECONDS = 30
_GROWTH = 1.1


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path | None]:
    """A file system of its own for the database; None where the machine does not let us mount."""
    folder = tmp_path / _DISK
    folder.mkdir()
    with own_disk(folder, _DISK_SIZE) as is_mounted:
        yield folder if is_mounted else None


@pytest.fixture
async def service(tmp_path: Path, disk: Path | None) -> AsyncIterator[Service]:
    """Two servers and two workers, on a database of their own."""
    folder = tmp_path / _DISK
    for one in (tmp_path, folder):
        # The user that runs Postgres has to enter it.
        one.chmod(0o755)
    fill(folder)
    with model_server() as provider:
        provider.always(slow(_MODEL_SECONDS, literal))
        async with (
            embedded_postgres(Settings(data_dir=folder)) as postgres,
            serving(postgres, provider, tmp_path, disk) as found,
        ):
            yield found


async def test_nothing_acknowledged_is_lost_done_twice_or_stuck(service: Service) -> None:
    ledger = Ledger()
    faults = Faults(service, ledger, _SEED)
    memory = await soak(service, ledger, faults)
    verdict = await judge(service.postgres.url, ledger, _STUCK_SECONDS)
    print(f"\n{table(ledger, faults, verdict, memory)}")
    assert verdict == Verdict()
    assert ledger.unexcused() == []
    assert ledger.longest_seconds <= _LONGEST_CALL_SECONDS
    assert ledger.acknowledged >= _SECONDS
    if ledger.requests >= 2 * _WARM_REQUESTS:
        assert memory.warm is not None
        assert memory.end <= memory.warm * _GROWTH


@dataclass
class Memory:
    """Memory of the processes that are never killed, in MiB; `warm` is None in a short soak."""

    warm: float | None = None
    end: float = 0.0

    @property
    def shown_warm(self) -> str:
        """The first measurement for the table."""
        return "not reached" if self.warm is None else f"{self.warm:.0f} MiB"


async def soak(service: Service, ledger: Ledger, faults: Faults) -> Memory:
    """Let clients work amid faults; return the memory of processes before and after."""
    ends = asyncio.Event()
    memory = Memory()

    async def measure() -> None:
        while ledger.requests < _WARM_REQUESTS and not ends.is_set():  # noqa: ASYNC110 - of clients
            await asyncio.sleep(_POLL_SECONDS)
        if not ends.is_set():
            memory.warm = await service.resident_mebibytes()

    async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as group:
        for number, work in enumerate(CLIENTS):
            client = Client(number, service.urls, ledger, ends, _SEED)
            group.create_task(client.run(work))
        group.create_task(measure())
        await faults.run(_SECONDS)
        memory.end = await service.resident_mebibytes()
        ends.set()
        limit.reschedule(asyncio.get_running_loop().time() + _LAST_ANSWERS_SECONDS)
    return memory


def table(ledger: Ledger, faults: Faults, verdict: Verdict, memory: Memory) -> str:
    """Return the figures, one a line."""
    statuses = sorted(Counter(one.status for one in ledger.refused).items())
    rows = {
        "seed": str(_SEED),
        "seconds": f"{_SECONDS:.0f}",
        "requests": f"{ledger.requests:,}",
        "acknowledged": f"{ledger.acknowledged:,}",
        "faults": str(faults.made.total()),
        **{f"  {kind}": str(number) for kind, number in sorted(faults.made.items())},
        "lost": str(len(verdict.lost)),
        "doubled": str(len(verdict.doubled)),
        "stuck": str(len(verdict.stuck)),
        "inconsistent": str(len(verdict.inconsistent)),
        **{f"{status} in all": str(number) for status, number in statuses},
        "5xx while nothing is away": str(len(ledger.unexcused())),
        "longest call": f"{ledger.longest_seconds:.1f} s",
        f"memory after {_WARM_REQUESTS:,} requests": memory.shown_warm,
        "memory at the end": f"{memory.end:.0f} MiB",
    }
    return "\n".join(f"{name:<32}{value:>12}" for name, value in rows.items())
