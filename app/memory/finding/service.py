"""The use case of finding: what an id, a name or the value of a scope stands for."""

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from app.adapters.db.session import Session
from app.adapters.db.transaction_settings import limited
from app.adapters.resources import Resources
from app.kernel.auth import Caller
from app.kernel.errors import InvalidArgument, NotFound
from app.kernel.names import (
    SESSION_ID,
    STORED_ID,
    EngineName,
    MemoryName,
    OperationName,
    RevisionName,
    SessionName,
    is_engine_id,
)
from app.kernel.permissions import Permission
from app.memory.finding import store
from app.memory.finding.schemas import MAX_FOUND, FindResourcesResponse, Found, FoundKind
from app.memory.memories.store import repository as memories
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.access import store as keys
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.store import repository as operations
from app.platform.operations.store.tables import OperationRow
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow

_INT64 = r"[1-9][0-9]{0,18}"
_FORMS = {
    kind: re.compile(form)
    for kind, form in {
        FoundKind.MEMORY: rf"(?:(?P<engine>.+)/memories/)?(?P<id>{STORED_ID})",
        FoundKind.REVISION: (
            rf"(?:(?P<engine>.+)/memories/(?P<memory>{STORED_ID})/revisions/)?(?P<id>{_INT64})"
        ),
        FoundKind.OPERATION: (
            r"(?:(?P<engine>.+?)/(?:(?:memories|sessions)/[^/]+/)?operations/)?"
            rf"(?P<id>{STORED_ID})"
        ),
        FoundKind.SESSION: rf"(?:(?P<engine>.+)/sessions/)?(?P<id>{SESSION_ID})",
        FoundKind.KEY: rf"(?:keys/)?(?P<id>{STORED_ID})",
    }.items()
}
_ENDING = re.compile(r"(?:…|\.{3})?(?P<digits>[0-9]{6,18})")
"""The end of an id as pages show it, with the mark for the rest or without."""
_ENDING_IN = {
    FoundKind.MEMORY: MemoryRow.memory_id,
    FoundKind.REVISION: RevisionRow.revision_id,
    FoundKind.OPERATION: OperationRow.operation_id,
    FoundKind.SESSION: SessionRow.session_id,
}
_DEMANDED = {
    FoundKind.MEMORY: Permission.MEMORIES_GET,
    FoundKind.REVISION: Permission.REVISIONS_GET,
    FoundKind.OPERATION: Permission.OPERATIONS_GET,
    FoundKind.SESSION: Permission.SESSIONS_GET,
    FoundKind.KEY: Permission.KEYS_MANAGE,
    FoundKind.ENGINE: Permission.ENGINES_GET,
    FoundKind.SCOPE: Permission.MEMORIES_LIST,
}


async def find(
    resources: Resources, caller: Caller, name: EngineName, text: str
) -> FindResourcesResponse:
    """Find what a text names in an engine, or as an engine or key besides it.

    Every possible lookup is made, so that the time does not show what is out of reach.

    Raises:
        InvalidArgument: no resource has the name, and the others take too long to look up.
    """
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name))
        finder = _Finder(session, caller, engine, text, now)
        found = [one async for one in finder.resources()]
        try:
            async with limited(session, resources.settings.filter_timeout_seconds, "text"):
                found += await finder.scopes()
        except InvalidArgument:
            # Statements that take too long hide no resource that was found by its name.
            if not found:
                raise
        if not found:
            # A text without a match is an answer; an end of an id is only looked for besides.
            with suppress(InvalidArgument):
                async with limited(session, resources.settings.filter_timeout_seconds, "text"):
                    async for one in finder.endings():
                        found += [one]
    return FindResourcesResponse(resources=found[:MAX_FOUND])


@dataclass(frozen=True)
class _Finder:
    session: Session
    caller: Caller
    engine: EngineName
    text: str
    now: datetime

    async def resources(self) -> AsyncIterator[Found]:
        """Yield the resources that have the text as their id or full name."""
        for kind in _FORMS:
            if (found := await self._named(kind, self.text)) is not None:
                yield found
        if (other := await self._engine()) is not None:
            yield other

    async def endings(self) -> AsyncIterator[Found]:
        """Yield the resources of the engine whose ids end with the digits of the text.

        Pages show ids so: those that the server makes share their beginning.
        """
        match, engine_id = _ENDING.fullmatch(self.text), self.engine.engine
        if match is None:
            return
        for kind, column in _ENDING_IN.items():
            if not self.caller.may(_DEMANDED[kind]):
                continue
            for id_ in await store.list_ending(self.session, engine_id, column, match["digits"]):
                if (found := await self._named(kind, id_)) is not None:
                    yield found

    async def _named(self, kind: FoundKind, text: str) -> Found | None:
        match = _FORMS[kind].fullmatch(text)
        if match is None or not self.caller.may(_DEMANDED[kind]):
            return None
        named = match.groupdict().get("engine")
        if named is not None and not self.engine.is_named(named):
            return None
        find = {
            FoundKind.MEMORY: self._memory,
            FoundKind.REVISION: self._revision,
            FoundKind.OPERATION: self._operation,
            FoundKind.SESSION: self._session,
            FoundKind.KEY: self._key,
        }[kind]
        return await find(match)

    async def scopes(self) -> list[Found]:
        if not self.caller.may(_DEMANDED[FoundKind.SCOPE]):
            return []
        found = await store.find_keys_of(
            self.session,
            self.engine.engine,
            self.text,
            self.now,
            with_sessions=self.caller.may(Permission.SESSIONS_LIST),
        )
        return [Found(kind=FoundKind.SCOPE, scope={key: self.text}) for key in found]

    async def _memory(self, match: re.Match[str]) -> Found | None:
        # The permission that `showDeleted` needs.
        shows_deleted = self.caller.may(Permission.REVISIONS_LIST)
        visible = memories.is_known if shows_deleted else memories.is_live
        name = MemoryName(self.engine, match["id"])
        row = await memories.find(self.session, name, visible(self.now))
        if row is None:
            return None
        is_deleted = True if row.delete_time is not None else None
        return Found(kind=FoundKind.MEMORY, name=str(name), is_deleted=is_deleted)

    async def _revision(self, match: re.Match[str]) -> Found | None:
        number = int(match["id"])
        if not is_engine_id(match["id"]):
            return None
        memory = await store.find_memory_of(self.session, self.engine.engine, number, self.now)
        if memory is None or match["memory"] not in {None, memory}:
            return None
        name = RevisionName(MemoryName(self.engine, memory), number)
        known = await memories.find(self.session, name.memory, memories.is_known(self.now))
        return None if known is None else Found(kind=FoundKind.REVISION, name=str(name))

    async def _operation(self, match: re.Match[str]) -> Found | None:
        name = OperationName(self.engine, match["id"])
        try:
            row = await operations.get(self.session, name, self.now)
        except NotFound:
            return None
        return Found(kind=FoundKind.OPERATION, name=row.name)

    async def _session(self, match: re.Match[str]) -> Found | None:
        name = SessionName(self.engine, match["id"])
        if await sessions.find(self.session, name, self.now) is None:
            return None
        return Found(kind=FoundKind.SESSION, name=str(name))

    async def _key(self, match: re.Match[str]) -> Found | None:
        try:
            row = await keys.get(self.session, match["id"])
        except NotFound:
            return None
        return Found(kind=FoundKind.KEY, name=f"keys/{row.key_id}")

    async def _engine(self) -> Found | None:
        """Return the engine of this id, in the place of the request, or of this full name."""
        if not self.caller.may(_DEMANDED[FoundKind.ENGINE]):
            return None
        place = "" if "/" in self.text else f"{self.engine.parent}/reasoningEngines/"
        try:
            name = EngineName.parse(place + self.text).beside(self.engine)
            if not self.caller.reach.has_engine(name):
                return None
            row = await engines.get(self.session, name, even_restoring=True)
        except (InvalidArgument, NotFound):
            return None
        return Found(kind=FoundKind.ENGINE, name=str(name_of(row)))
