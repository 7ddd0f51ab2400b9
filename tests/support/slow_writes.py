"""A write that is held open while other things happen, such as a switch of models."""

import asyncio
from contextvars import Context

from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE, RevisionFields
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import ledger
from app.memory.memories.store.changes import Creation
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from tests.support.embedding import OLD
from tests.support.operations import USER
from tests.support.scripted_models import ScriptedEmbedder

FIRST = EngineName("default", "local", 1)


class SlowWriter:
    """A write by the former model that reads its engine, and ends when it is told to."""

    def __init__(self, resources: Resources, embedder: ScriptedEmbedder) -> None:
        self._resources = resources
        self._embedder = embedder
        self._has_read = asyncio.Event()
        self._may_end = asyncio.Event()
        # In a context of its own: what runs beside it is in no transaction.
        self._task = asyncio.create_task(self._write(), context=Context())

    async def begin(self) -> None:
        await self._has_read.wait()

    async def end(self) -> None:
        self._may_end.set()
        await self._task

    async def _write(self) -> None:
        service = MemoryService.of(self._resources)
        (values,) = await self._embedder.embed(["I am slow."])
        content = {"fact": "I am slow."}
        vector = Vector(values, OLD)
        async with self._resources.db.transaction() as session:
            engine = await engines.get(session, FIRST, Lock.SHARED)
            request = RevisionFields()
            writing = service.writing_for(engine, "17", service.clock.now(), request, None)
            self._has_read.set()
            await self._may_end.wait()
            new = Creation(None, USER, DEFAULT_MEMORY_TYPE, content, None, vector)
            await ledger.create(session, writing, new)
