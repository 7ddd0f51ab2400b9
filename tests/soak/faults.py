"""The faults of a soak, one every few seconds, until the time is over."""

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import psycopg

from tests.soak.ledger import Ledger
from tests.soak.processes import Kept, Service
from tests.support.disks import filled
from tests.support.model_server import Behaviour, slow, status

_PAUSE_SECONDS = (3.0, 8.0)
_STOPPED_SECONDS = 5
_FULL_SECONDS = 3
_PROVIDER_SECONDS = 3
_PROVIDER_AFTER_SECONDS = 10
"""For how long a generation may still fail by it: a request without an answer, and the rest that a
failing provider is given."""
_NEVER_SECONDS = 3600
_BACKENDS = b"""
    select pid from pg_stat_activity
    where backend_type = 'client backend' and pid <> pg_backend_pid()
"""
_PROVIDER: dict[str, Behaviour] = {
    "answers 429": status(429),
    "answers 500": status(500),
    "answers nonsense": Behaviour(body=b'{"choices": [{"message": 7}], "data": "no"}'),
    "answers nothing": slow(_NEVER_SECONDS, {}),
}


class Faults:
    """All kinds of faults, each equally often, in an order that the seed decides."""

    def __init__(self, service: Service, ledger: Ledger, seed: int) -> None:
        self.made: Counter[str] = Counter()
        self._service, self._ledger = service, ledger
        self._chance = random.Random(seed)
        self._kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "api killed": self._kill_api,
            "worker killed": self._kill_worker,
            "postmaster killed": self._kill_postmaster,
            "backend killed": self._kill_backend,
            "connections cut": self._cut_connections,
            "api stopped": self._stop_api,
            "worker stopped": self._stop_worker,
            "clock jumps": self._jump,
            **{f"provider {name}": self._fail(one) for name, one in _PROVIDER.items()},
        }
        if service.disk is not None:
            self._kinds["disk full"] = partial(self._fill, service.disk)
        if service.pooler is not None:
            self._kinds["pooler killed"] = partial(self._kill_pooler, service.pooler)

    async def run(self, seconds: float) -> None:
        """Make faults for so long; return when the service has recovered from the last."""
        ends = time.monotonic() + seconds
        order: list[str] = []
        while (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(min(left, self._chance.uniform(*_PAUSE_SECONDS)))
            if not order:
                order = self._chance.sample(sorted(self._kinds), len(self._kinds))
            if time.monotonic() < ends:
                kind = order.pop()
                self.made[kind] += 1
                await self._kinds[kind]()
        await self._service.until_ready()

    async def _kill_api(self) -> None:
        self._service.apis[0].process.kill()

    async def _kill_worker(self) -> None:
        self._service.workers[0].process.kill()

    async def _kill_postmaster(self) -> None:
        with self._ledger.away.open():
            process_id = self._service.postgres.process_id
            assert process_id is not None
            os.kill(process_id, signal.SIGKILL)
            await self._recovered()

    async def _kill_backend(self) -> None:
        """Make the server restart all its processes, since one has left its memory unknown."""
        with self._ledger.away.open():
            os.kill(self._chance.choice(await self._backends()), signal.SIGKILL)
            await self._recovered()

    async def _cut_connections(self) -> None:
        with self._ledger.away.open():
            await asyncio.to_thread(
                self._execute, b"select pg_terminate_backend(pid) from (%s) as one" % _BACKENDS
            )
            await self._recovered()

    async def _stop_api(self) -> None:
        await self._stop(self._chance.choice(self._service.apis))

    async def _stop_worker(self) -> None:
        await self._stop(self._chance.choice(self._service.workers))

    async def _stop(self, kept: Kept) -> None:
        """Let a process stand still; rows that it has locked are locked for as long."""
        process = kept.process
        with self._ledger.away.open():
            process.send_signal(signal.SIGSTOP)
            try:
                await asyncio.sleep(_STOPPED_SECONDS)
            finally:
                process.send_signal(signal.SIGCONT)

    async def _jump(self) -> None:
        """Move the clock of one worker, always the same: where the clock is wrong, sweeps rest."""
        self._service.workers[-1].process.send_signal(signal.SIGUSR1)

    def _fail(self, behaviour: Behaviour) -> Callable[[], Awaitable[None]]:
        async def fail() -> None:
            provider = self._service.provider
            usual = provider.otherwise
            with self._ledger.provider.open(_PROVIDER_AFTER_SECONDS):
                provider.always(behaviour)
                await asyncio.sleep(_PROVIDER_SECONDS)
                provider.always(usual)

        return fail

    async def _fill(self, disk: Path) -> None:
        with self._ledger.away.open():
            with filled(disk):
                await asyncio.sleep(_FULL_SECONDS)
            await self._recovered()

    async def _kill_pooler(self, pooler: Kept) -> None:
        with self._ledger.away.open():
            pooler.process.kill()
            await self._recovered()

    async def _recovered(self) -> None:
        # What has just been killed may answer for another moment.
        await asyncio.sleep(0.2)
        await self._service.until_ready()

    async def _backends(self) -> list[int]:
        return [int(str(row[0])) for row in await asyncio.to_thread(self._execute, _BACKENDS)]

    def _execute(self, statement: bytes) -> list[tuple[object, ...]]:
        with psycopg.connect(self._service.postgres.url, autocommit=True) as connection:
            return connection.execute(statement).fetchall()
