"""Creates many memories in one transaction, and answers what became of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from app.adapters.cooperative import each
from app.adapters.db.conditions import check_scope, scopes_of
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.auth import Scopes
from app.kernel.errors import AlreadyExists, InvalidArgument, NotFound, Reason, ServiceError
from app.kernel.limits import Counted
from app.kernel.names import EngineName, MemoryName
from app.kernel.once import Once
from app.kernel.wire.scalars import format_timestamp
from app.memory.bulk.schemas import BatchCreateMemoriesRequest
from app.memory.bulk.services.plan import Item, Read, memory_prefix, placed, read_new, repeated
from app.memory.bulk.store import repository
from app.memory.memories.logic.policy import Cause, Life, memory_expiry
from app.memory.memories.schemas.memories import Memory, RevisionFields, stored_type
from app.memory.memories.services.memories import MemoryService, noting_revisions
from app.memory.memories.store import ledger
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import Creation, Writing
from app.memory.memories.store.tables import MemoryRow
from app.memory.memories.store.vectors import Vector
from app.platform.engines.logic.config import MemoryBankConfig
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.rows import config_of
from app.platform.engines.store.tables import EngineRow
from app.platform.limits.services.quotas import check_room
from app.platform.operations.logic.states import type_url
from app.platform.operations.store import repeats
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow

BATCH_CREATE = "memories.batchCreate"
"""The kind of the operation of a batch."""
_MAX_SCOPES = 100
"""Values of scopes that an operation names; one that concerns more may be of any."""

Place = Callable[[Item], str]
_Wanted = tuple[Creation, Writing]
Outcome = MemoryRow | ServiceError
"""A memory as it was created, or why it was not."""


def _place(item: Item) -> str:
    return f"requests[{item.place}]."


def _nowhere(_: Item) -> str:
    return ""


@dataclass(frozen=True)
class BulkService:
    """Memories as their users write them, many at a time."""

    memories: MemoryService

    @classmethod
    def of(cls, resources: Resources) -> "BulkService":
        """Build the service from the process's resources."""
        return cls(MemoryService.of(resources))

    async def batch_create(
        self, name: EngineName, request: BatchCreateMemoriesRequest, once: Once | None
    ) -> OperationRow:
        """Create memories as they are given: all of them, or each that can be.

        Raises:
            AlreadyExists: of an atomic batch, a chosen id is taken.
            InvalidArgument: one of an atomic batch is not acceptable.
            NotFound: there is no such engine, or for the caller a scope of an atomic batch.
            ResourceExhausted: there is no room for all of them in the engine.
        """
        settings, now = self.memories.settings, self.memories.clock.now()
        read = await each(list(enumerate(request.requests)), lambda one: read_new(settings, *one))
        _refuse_repeated(read)
        if request.atomic:
            _raise_first(read)
        items = [one for one in read if isinstance(one, Item)]
        vectors = await self.embedded(name.engine, items)
        async with self.memories.db.transaction() as session:
            engine = await engines.get(session, name, Lock.SHARED)
            new = self.memories.operation(engine, BATCH_CREATE, "BatchCreateMemories", now)
            if (known := await repeats.replay(session, new, once)) is not None:
                return known
            creating = Creating(self.memories, session, engine, new, vectors)
            outcomes = iter(await creating.create(items, _place))
            found = [next(outcomes) if isinstance(one, Item) else one for one in read]
            if request.atomic:
                _raise_first(found)
            new = replace(new, scopes=_scopes(session, found))
            new = creating.noting_revisions(new)
            response = _response(name_of_engine(new), found, is_atomic=request.atomic)
            return await operations.insert_done(session, new, response)

    async def embedded(self, engine_id: int, items: Sequence[Item]) -> dict[str, Vector]:
        """Return the vector of each fact. Must not be called inside a transaction."""
        facts = [one.request.fact for one in items if one.request.fact is not None]
        return await self.memories.embedding.facts(engine_id, list(dict.fromkeys(facts)))

    async def read_response(self, session: Session, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Fill the response of a batch: each memory as the batch left it, where that is known."""
        named: Sequence[Mapping[str, Any]] = stored["memories"]
        names = [MemoryName.parse(one["name"]) for one in named]
        found = await self._left(session, names)
        # Erased and made anew under the same id, it is another memory.
        told = [
            dict(one) if wire is None or wire["updateTime"] != one["updateTime"] else wire
            for one, wire in zip(named, found, strict=True)
        ]
        return {**stored, "memories": told}

    async def _left(
        self, session: Session, names: Sequence[MemoryName]
    ) -> list[dict[str, Any] | None]:
        """Return memories of one engine as they were created; None where that is not known."""
        if not names or not await engines.is_live(session, names[0].engine.engine):
            return [None] * len(names)
        engine, now = names[0].engine, self.memories.clock.now()
        ids = [name.memory for name in names]
        rows = await repository.find_all(session, engine.engine, ids, memories.is_known(now))
        changed = [one for one in rows if rows[one].version != 1]
        first = await repository.find_creations(session, engine.engine, changed, now)

        def left(name: MemoryName) -> dict[str, Any] | None:
            row, revision = rows.get(name.memory), first.get(name.memory)
            if row is None or (row.version != 1 and revision is None):
                return None
            memory = Memory.from_row(engine, row)
            return (memory if revision is None else Memory.from_revision(memory, revision)).wire()

        return await each(names, left)


@dataclass
class Creating:
    """The creation of memories in a transaction, for one operation."""

    memories: MemoryService
    session: Session
    engine: EngineRow
    new: NewOperation
    vectors: Mapping[str, Vector]
    _writings: dict[object, Writing] = field(default_factory=dict)

    async def create(self, items: Sequence[Item], place: Place = _nowhere) -> list[Outcome]:
        """Create memories, no two of the same id; return what became of each.

        `place` says behind what the fields of an item stand.

        Raises:
            ResourceExhausted: there is no room for all of them in the engine.
        """
        engine_id = self.engine.engine_id
        room = (engine_id, Counted.MEMORIES, len(items))
        await check_room(self.session, self.memories.settings, *room)
        made = await each(items, lambda item: self._made(item, place(item)))
        wanted = [one for one in made if not isinstance(one, ServiceError)]
        writing = self.memories.writing(self.engine, self.new, RevisionFields())
        written = iter(await ledger.create_free(self.session, writing, wanted))
        found: list[Outcome] = []
        for item, one in zip(items, made, strict=True):
            done = one if isinstance(one, ServiceError) else next(written)
            if done is None:
                found.append(id_taken(f"{place(item)}memoryId"))
            else:
                found.append(done if isinstance(done, ServiceError) else done.row)
        return found

    def noting_revisions(self, new: NewOperation) -> NewOperation:
        """Say in the operation's metadata when nothing of it can be undone."""
        kept = [one for one in self._writings.values() if one.keeps_revisions]
        quiet = next((one for one in self._writings.values() if not one.keeps_revisions), None)
        return new if kept or quiet is None else noting_revisions(new, quiet)

    def _made(self, item: Item, prefix: str) -> _Wanted | ServiceError:
        request, now = item.request, self.new.now
        try:
            check_scope(self.session, request.scope)
            ends = Life(request.ttl, request.expire_time, ("ttl", "expireTime")).end(now)
            creation = Creation(
                memory_id=item.memory_id,
                scope=request.scope,
                memory_type=stored_type(request.memory_type),
                content=request.content(),
                expire_time=memory_expiry(self._config, Cause.CREATE, now, ends, None),
                vector=None if request.fact is None else self.vectors.get(request.fact),
            )
            return creation, self._writing(request)
        except (InvalidArgument, NotFound) as error:
            return placed(error, memory_prefix(prefix))

    @cached_property
    def _config(self) -> MemoryBankConfig:
        return config_of(self.engine)

    def _writing(self, request: RevisionFields) -> Writing:
        """Return what changes with the same options share: nearly always, those of all."""
        options = (
            frozenset((request.revision_labels or {}).items()),
            request.revision_ttl,
            request.revision_expire_time,
            request.disable_memory_revisions,
        )
        found = self._writings.get(options)
        if found is None:
            found = self.memories.writing(self.engine, self.new, request)
            self._writings[options] = found
        return found


def id_taken(field_name: str) -> AlreadyExists:
    """Return what says that a chosen id is not free."""
    message = "this id exists, or was deleted and can still be recovered; use another."
    return AlreadyExists(f"{field_name}: {message}", Reason.ID_TAKEN)


def _refuse_repeated(read: list[Read]) -> None:
    """Let only the first of those with the same id be created."""
    for item in repeated([one for one in read if isinstance(one, Item)]):
        read[item.place] = InvalidArgument.of_field(
            f"{_place(item)}memoryId",
            "was chosen for another memory of this batch, too; use another id.",
        )


def _raise_first(found: Sequence[object]) -> None:
    for one in found:
        if isinstance(one, ServiceError):
            raise one


def name_of_engine(new: NewOperation) -> EngineName:
    """Return the full name of an operation's engine."""
    return EngineName.parse(new.engine_name)


def _scopes(session: Session, found: Sequence[Outcome | Read]) -> Scopes | None:
    """Return the scopes of what was created, or where they are many, all that there may be."""
    scopes = [one.scope for one in found if isinstance(one, MemoryRow)]
    keys = set(scopes[0]).intersection(*scopes) if scopes else set()
    named = {key: sorted({scope[key] for scope in scopes}) for key in sorted(keys)}
    if not named or sum(map(len, named.values())) > _MAX_SCOPES:
        return scopes_of(session)
    return named


def _response(
    engine: EngineName, found: Sequence[Outcome | Read], *, is_atomic: bool
) -> dict[str, Any]:
    """Return what is stored of an answer: names, and the errors of what was not created."""
    rows = [one for one in found if isinstance(one, MemoryRow)]
    response: dict[str, Any] = {
        "@type": type_url("BatchCreateMemoriesResponse"),
        "memories": [_named(engine, row, row.update_time) for row in rows],
    }
    if not is_atomic:
        response["results"] = [
            {"memory": {"name": str(MemoryName(engine, one.memory_id))}}
            if isinstance(one, MemoryRow)
            else {"error": _status(one)}
            for one in found
        ]
    return response


def _named(engine: EngineName, row: MemoryRow, updated: datetime) -> dict[str, str]:
    name = str(MemoryName(engine, row.memory_id))
    return {"name": name, "updateTime": format_timestamp(updated), "etag": str(row.version)}


def _status(error: object) -> dict[str, object]:
    assert isinstance(error, ServiceError)
    return error.as_operation_error()
