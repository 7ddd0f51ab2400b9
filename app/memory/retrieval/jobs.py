"""The sweep that creates and removes the indexes of large scopes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.adapters.batches import SweepBatches
from app.adapters.concurrency import in_background
from app.adapters.db.own_connections import Definition, DefinitionError, define
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.memory.memories.store.tables import MemoryVectorRow
from app.memory.retrieval.store import indexes
from app.memory.retrieval.store.indexes import IndexKey
from app.memory.retrieval.store.tables import ScopeIndexRow
from app.platform.operations.store.queue import take_tick

log = structlog.get_logger()

INDEX = "retrieval.indexes"
"""Name of the sweep's tick."""
_FILLED = "retrieval.filled"
"""Name of the tick of sweeps after imports."""
_FILLED_INTERVAL = timedelta(minutes=1)
_LEASE = timedelta(seconds=60)
_RETRY = timedelta(hours=1)
"""Wait before the build of a failed index is tried again."""
_MOST_RELATIONS = 10_000
"""Maximum indexes of scopes on all shards together, since every process caches metadata of each."""
_INDEXES_OF_SCOPE = 2
_SHRUNK = 2
"""Divisor: a scope loses its index when it shrinks below this part of a large scope's size."""


@dataclass(frozen=True)
class IndexSweep:
    """The sweep; it creates and removes indexes one after another."""

    resources: Resources

    async def run_due(self) -> None:
        """Sweep, unless another process has this tick; failures are logged."""
        seconds = self.resources.settings.tuning.scope_index_interval_seconds
        await self._run_at(INDEX, timedelta(seconds=seconds))

    async def run_after(self, filled: Sequence[str]) -> None:
        """Sweep if vectors were filled in, once a minute in all processes; failures are logged."""
        if MemoryVectorRow.__tablename__ in filled:
            await self._run_at(_FILLED, _FILLED_INTERVAL)

    async def _run_at(self, tick: str, interval: timedelta) -> None:
        try:
            async with self.resources.db.transaction() as session:
                is_mine = await take_tick(session, tick, interval)
            if is_mine:
                await self.run()
        except ServiceError as error:
            log.warning("scope_index.sweep_failed", reason=error.reason)

    async def run(self) -> None:
        """Give each large scope an index, up to the limits, and remove the other indexes."""
        batches = SweepBatches(self.resources, "scope indexes")
        await self._register(batches)
        known, made = await self._listed()
        for key, row in known.items():
            if batches.leaves_out(key):
                continue
            async with batches.alone(key):
                if await self._is_shrunk(key):
                    await self._remove(key)
                elif not row.is_ready or not indexes.is_whole(made, key):
                    await self._make(key, row.dimensions)
        known, made = await self._listed()
        for name in indexes.strays(made, known):
            await self._defined(name, indexes.drop(name))

    async def _listed(self) -> tuple[dict[IndexKey, ScopeIndexRow], dict[str, bool]]:
        async with self.resources.db.snapshot() as session:
            return await indexes.list_known(session), await indexes.list_made(session)

    async def _register(self, batches: SweepBatches) -> None:
        settings = self.resources.settings
        memories = settings.tuning.scope_index_memories
        async with self.resources.db.transaction() as session:
            if not await indexes.can_be_used(session):
                return
            known = await indexes.list_known(session)
            search = batches.search(settings.tuning.max_scope_indexes)
            likely = await indexes.list_likely(session, memories, search)
            most = await self._most(session)
            left = most - len(known)
            for key in likely:
                if key in known:
                    continue
                if left <= 0:
                    if most < settings.tuning.max_scope_indexes:
                        log.warning("scope_index.too_many_shards", most=most)
                    return
                async with batches.alone(key), session.begin_nested():
                    if (vectors := await indexes.count(session, key)) >= memories:
                        left -= await indexes.register(session, key, vectors)

    async def _most(self, session: Session) -> int:
        # Each shard holds a part of an index.
        most = self.resources.settings.tuning.max_scope_indexes
        if not self.resources.db.is_distributed:
            return most
        shards = await indexes.count_shards(session)
        return min(most, _MOST_RELATIONS // (_INDEXES_OF_SCOPE * shards))

    async def _is_shrunk(self, key: IndexKey) -> bool:
        settings = self.resources.settings
        async with self.resources.db.transaction() as session:
            vectors = await indexes.count(session, key)
            await indexes.recount(session, key, vectors)
        least = max(1, settings.tuning.scope_index_memories // _SHRUNK)
        return vectors < least or settings.tuning.max_scope_indexes == 0

    async def _make(self, key: IndexKey, dimensions: int) -> None:
        async with self._claimed(key) as is_mine:
            if not is_mine or not await self._is_made(key, dimensions):
                return
        async with self.resources.db.transaction() as session:
            await indexes.mark_ready(session, key)

    async def _is_made(self, key: IndexKey, dimensions: int) -> bool:
        async with self.resources.db.snapshot() as session:
            made = await indexes.list_made(session)
        builds = {
            key.index_name: indexes.build(key, dimensions),
            key.words_name: indexes.build_words(key),
        }
        for name, build in builds.items():
            if made.get(name):
                continue
            # An interrupted build leaves an invalid index; drop it first.
            if not await self._defined(name, indexes.drop(name), build):
                async with self.resources.db.transaction() as session:
                    await indexes.renew(session, key, _RETRY)
                return False
            log.info("scope_index.made", engine=key.engine_id, index=name)
        return True

    async def _remove(self, key: IndexKey) -> None:
        # The index of words is removed with the last model of its scope.
        async with self._claimed(key) as is_mine:
            name = key.index_name
            if not is_mine or not await self._defined(name, indexes.drop(name)):
                return
        async with self.resources.db.transaction() as session:
            await indexes.forget(session, key)
        log.info("scope_index.removed", engine=key.engine_id, index=name)

    async def _defined(self, name: str, *statements: Definition) -> bool:
        resources = self.resources
        try:
            await define(resources.database_url, resources.settings, *statements)
        except DefinitionError as error:
            log.warning("scope_index.failed", index=name, error=str(error))
            return False
        return True

    @asynccontextmanager
    async def _claimed(self, key: IndexKey) -> AsyncIterator[bool]:
        """Claim an index for the duration of the block; yield False if another worker holds it."""
        async with self.resources.db.transaction() as session:
            is_mine = await indexes.claim(session, key, _LEASE)
        if not is_mine:
            yield False
            return
        async with in_background(self._keep(key)):
            yield True

    async def _keep(self, key: IndexKey) -> None:
        while True:
            await asyncio.sleep(_LEASE.total_seconds() / 3)
            with suppress(ServiceError):
                async with self.resources.db.transaction() as session:
                    await indexes.renew(session, key, _LEASE)
