"""Registers memories."""

from app.adapters.batches import spread
from app.adapters.resources import Archived
from app.memory.memories.routes import router
from app.memory.memories.schemas.archived import ArchivedMemory, ArchivedVector, StoredMemory
from app.memory.memories.schemas.memories import AnsweredMemory
from app.memory.memories.services.memories import ANSWERED_WITH_MEMORY, UNDELETE, MemoryService
from app.memory.memories.store import ledger, repository
from app.memory.memories.store.examinations import COUNTED, EXAMINATIONS
from app.memory.memories.store.ledger import ERASURES
from app.web.feature import Feature

FEATURE = Feature(
    "memories",
    routers=(router,),
    kinds=("memories.create", "memories.update", "memories.delete", UNDELETE),
    answers={"Memory": AnsweredMemory},
    sweeps=(
        spread(
            "memories without traits",
            repository.find_without_hints,
            ledger.backfill_search_hints,
            order=1,
        ),
    ),
    erasures=ERASURES,
    examinations=EXAMINATIONS,
    counted=COUNTED,
    holds=repository.exists_any,
    archived=Archived(
        {"memory": ArchivedMemory, "vector": ArchivedVector},
        dict.fromkeys(ANSWERED_WITH_MEMORY, StoredMemory),
    ),
    response_readers=dict.fromkeys(
        ANSWERED_WITH_MEMORY, lambda resources: MemoryService.of(resources).read_response
    ),
)
