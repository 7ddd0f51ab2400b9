"""Rollback of a restore whose archive was refused.

The rows from the archive are deleted in batches, in the same order as for engine deletion. If the
rollback is interrupted, the engine stays closed. The next restore completes the rollback first.
"""

from dataclasses import dataclass, replace

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.memory.transfer.store import progress
from app.memory.transfer.store.progress import RestoreState
from app.platform.engines.services.engine_cache import EngineCache
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock


@dataclass(frozen=True)
class Refusal:
    """Removal of the rows of refused archives."""

    resources: Resources

    async def take_back(self, name: EngineName, archive_id: str) -> None:
        """Remove the rows of an archive from an engine if its restore there has not ended."""
        async with self.resources.db.transaction() as session:
            row = await engines.get(session, name, Lock.EXCLUSIVE, even_restoring=True)
            state = RestoreState.of(row)
            if state is None or state.archive_id != archive_id:
                return
            await progress.advance(session, name.engine, replace(state, next_line=0))
        await self.finish(name)

    async def finish(self, name: EngineName) -> None:
        """Complete a pending removal, if there is one."""
        while await self._removes_more(name):
            pass
        EngineCache.of(self.resources).forget(name.engine)

    async def _removes_more(self, name: EngineName) -> bool:
        """Remove a batch; return False once the engine has its former state."""
        async with self.resources.db.transaction() as session:
            row = await engines.get(session, name, Lock.EXCLUSIVE, even_restoring=True)
            state = RestoreState.of(row)
            if state is None or not state.is_refused:
                return False
            if await self._removed(session, name.engine):
                return True
            await progress.reopen(session, row, state, self.resources.clock.now())
            return False

    async def _removed(self, session: Session, engine_id: int) -> int:
        limit = self.resources.settings.tuning.sweep_batch_rows
        for archived in self.resources.registry.archived:
            if archived.remove is not None and (
                count := await archived.remove(session, engine_id, limit)
            ):
                return count
        return await progress.remove_replaced(session, engine_id)
