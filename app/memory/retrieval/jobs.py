"""The sweep that makes and removes the indexes of large scopes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.adapters.db.definitions import Definition, DefinitionError, define
from app.adapters.resources import Resources
from app.kernel.errors import ServiceError
from app.memory.retrieval.store import indexes
from app.memory.retrieval.store.indexes import Key
from app.memory.retrieval.store.tables import ScopeIndexRow
from app.platform.operations.store.ticks import take_tick

log = structlog.get_logger()

INDEX = "retrieval.indexes"
"""The name of the sweep's tick."""
_LEASE = timedelta(seconds=60)
_RETRY = timedelta(hours=1)
"""How long an index waits that could not be made."""
_SHRUNK = 2
"""A scope that has shrunk to this part of what is large loses its index."""


@dataclass(frozen=True)
class IndexSweep:
    """Makes and removes indexes, one after another."""

    resources: Resources

    async def run_due(self) -> None:
        """Sweep, unless another process has this tick; failures are logged."""
        interval = timedelta(seconds=self.resources.settings.scope_index_interval_seconds)
        try:
            async with self.resources.db.transaction() as session:
                is_mine = await take_tick(session, INDEX, interval)
            if is_mine:
                await self.run()
        except ServiceError as error:
            log.warning("scope_index.sweep_failed", reason=error.reason)

    async def run(self) -> None:
        """Let there be an index for each scope that is large, as far as the settings go."""
        await self._register()
        known, made = await self._listed()
        for key, row in known.items():
            if await self._is_shrunk(key):
                await self._remove(key)
            elif not row.is_ready or not indexes.is_whole(made, key):
                await self._make(key, row.dimensions)
        known, made = await self._listed()
        for name in indexes.strays(made, known):
            await self._defined(name, indexes.drop(name))

    async def _listed(self) -> tuple[dict[Key, ScopeIndexRow], dict[str, bool]]:
        async with self.resources.db.snapshot() as session:
            return await indexes.list_known(session), await indexes.list_made(session)

    async def _register(self) -> None:
        settings = self.resources.settings
        memories = settings.scope_index_memories
        async with self.resources.db.transaction() as session:
            if not await indexes.can_be_used(session):
                return
            known = await indexes.list_known(session)
            likely = await indexes.list_likely(session, memories, settings.max_scope_indexes)
            left = settings.max_scope_indexes - len(known)
            for key in likely:
                if left <= 0:
                    return
                if key not in known and (found := await indexes.count(session, key)) >= memories:
                    left -= await indexes.register(session, key, found)

    async def _is_shrunk(self, key: Key) -> bool:
        settings = self.resources.settings
        async with self.resources.db.transaction() as session:
            found = await indexes.count(session, key)
            await indexes.recount(session, key, found)
        least = max(1, settings.scope_index_memories // _SHRUNK)
        return found < least or settings.max_scope_indexes == 0

    async def _make(self, key: Key, dimensions: int) -> None:
        async with self._claimed(key) as is_mine:
            if not is_mine or not await self._is_made(key, dimensions):
                return
        async with self.resources.db.transaction() as session:
            await indexes.mark_ready(session, key)

    async def _is_made(self, key: Key, dimensions: int) -> bool:
        """Make what is not there yet; say whether it is all there now."""
        async with self.resources.db.snapshot() as session:
            made = await indexes.list_made(session)
        builds = {
            key.index_name: indexes.build(key, dimensions),
            key.words_name: indexes.build_words(key),
        }
        for name, build in builds.items():
            if made.get(name):
                continue
            # What a build that was broken off has left goes first.
            if not await self._defined(name, indexes.drop(name), build):
                async with self.resources.db.transaction() as session:
                    await indexes.renew(session, key, _RETRY)
                return False
            log.info("scope_index.made", engine=key.engine_id, index=name)
        return True

    async def _remove(self, key: Key) -> None:
        """Remove an index; that of words goes when no model needs it any more."""
        async with self._claimed(key) as is_mine:
            name = key.index_name
            if not is_mine or not await self._defined(name, indexes.drop(name)):
                return
        async with self.resources.db.transaction() as session:
            await indexes.forget(session, key)
        log.info("scope_index.removed", engine=key.engine_id, index=name)

    async def _defined(self, name: str, *statements: Definition) -> bool:
        """Define something of an index; say whether it is done."""
        resources = self.resources
        try:
            await define(resources.database_url, resources.settings, *statements)
        except DefinitionError as error:
            log.warning("scope_index.failed", index=name, error=str(error))
            return False
        return True

    @asynccontextmanager
    async def _claimed(self, key: Key) -> AsyncIterator[bool]:
        """Claim an index for the length of the block, if nobody else has."""
        async with self.resources.db.transaction() as session:
            is_mine = await indexes.claim(session, key, _LEASE)
        if not is_mine:
            yield False
            return
        keeper = asyncio.create_task(self._keep(key))
        try:
            yield True
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper

    async def _keep(self, key: Key) -> None:
        """Renew a claim until cancelled."""
        while True:
            await asyncio.sleep(_LEASE.total_seconds() / 3)
            with suppress(ServiceError):
                async with self.resources.db.transaction() as session:
                    await indexes.renew(session, key, _LEASE)
