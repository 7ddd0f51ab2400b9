"""The end of a restore whose archive was refused: nothing of it stays.

What it has written is removed batch by batch, in the order in which an engine is removed. If that
breaks off, the engine stays closed until the next restore, which first continues the removal.
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
    """The removal of what refused archives have written."""

    resources: Resources

    async def take_back(self, name: EngineName, archive_id: str) -> None:
        """Remove what an archive has written into an engine, if it is being restored there."""
        async with self.resources.db.transaction() as session:
            row = await engines.get(session, name, Lock.EXCLUSIVE, even_restoring=True)
            state = RestoreState.of(row)
            if state is None or state.archive_id != archive_id:
                return
            await progress.advance(session, name.engine, replace(state, next_line=0))
        await self.finish(name)

    async def finish(self, name: EngineName) -> None:
        """Go on with such a removal, if there is one, to its end."""
        while await self._removes_more(name):
            pass
        EngineCache.of(self.resources).forget(name.engine)

    async def _removes_more(self, name: EngineName) -> bool:
        """Remove a batch; return False once the engine is as it was before."""
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
        """Remove some rows; return their count."""
        limit = self.resources.settings.tuning.sweep_batch_rows
        for archived in self.resources.registry.archived:
            if archived.remove is not None and (
                count := await archived.remove(session, engine_id, limit)
            ):
                return count
        return await progress.remove_replaced(session, engine_id)
