"""Starting a generation: checks the request and queues its operation."""

from dataclasses import dataclass

from app.core.errors import NotFound, Reason
from app.core.names import EngineName
from app.core.once import Once
from app.engines import repository as engines
from app.engines.repository import Lock
from app.generation.schemas import GenerateMemoriesRequest
from app.memories.schemas import scope_hash
from app.memories.service import MemoryService
from app.operations import repository as operations
from app.operations.tables import OperationRow
from app.resources import Resources

GENERATE = "generation.generate"
"""The kind of the operation that generates memories."""


@dataclass(frozen=True)
class GenerationService:
    """Queues generations; `jobs.py` runs them."""

    memories: MemoryService

    @classmethod
    def of(cls, resources: Resources) -> "GenerationService":
        """Build the service from the process's resources."""
        return cls(MemoryService.of(resources))

    async def start(
        self, name: EngineName, request: GenerateMemoriesRequest, once: Once | None
    ) -> OperationRow:
        """Queue a generation. Of one scope, generations run one after another.

        Raises:
            NotFound: no such engine, or the session named as the source does not exist.
        """
        if request.vertex_session_source is not None:
            raise NotFound(
                "vertexSessionSource.session: there is no such session; this version stores none.",
                Reason.RESOURCE_NOT_FOUND,
            )
        service = self.memories
        now = service.clock.now()
        async with service.db.transaction() as session:
            engine = await engines.get(session, name, Lock.SHARED)
            new = service.operation(engine, GENERATE, "GenerateMemories", now)
            if (known := await operations.replay(session, new, once)) is not None:
                return known
            # A life that lies in the past is the caller's error: found now, not by the worker.
            service.writing(engine, new, request)
            return await operations.insert(
                session, new.queued(scope_hash(request.scope or {}).hex(), request.queued())
            )
