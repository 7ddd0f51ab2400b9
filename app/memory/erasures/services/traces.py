"""Traces of a scope in rows outside it: names, records of requests, callers and keys."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from functools import partial
from itertools import chain, compress
from typing import Any, NamedTuple, Self

from app.adapters.concurrency import each
from app.adapters.db.session import Session
from app.adapters.db.subjects import Erasure, Subject
from app.kernel.errors import Reason
from app.kernel.names import EngineName
from app.kernel.text import texts_in
from app.memory.erasures.logic import Erased, Mention, ids_of, mentions, without
from app.memory.memories.store import ledger
from app.platform.access import store as keys
from app.platform.access.store import ApiKeyRow
from app.platform.audit import store as events
from app.platform.audit.store import NamedEvent
from app.platform.limits.services.rates import forget_keys
from app.platform.operations.store import erasure as operations
from app.platform.operations.store.erasure import KeptAnswer
from app.platform.operations.store.tables import OperationRow

_SMALL_ROWS, _LARGE_ROWS = 300, 100
"""Rows of a batch read at once: fewer take longer in total, more block the event loop."""
_RENAMED_ROWS = 60
"""Rows that one statement renames: the database needs longer to rename than to read them."""
_PAUSE_SECONDS = 0.002
"""About the duration of a small request, which could otherwise wait behind many steps."""
_PRUNED = ("request", "response", "details")
_each = partial(each, pause_seconds=_PAUSE_SECONDS)


@dataclass(frozen=True)
class BoundKeys:
    """The keys whose conditions name a scope, with the remaining conditions; None ends a key.

    `are_spared` is True if other keys stay unchanged, since they reach other engines.
    """

    changed: Sequence[tuple[ApiKeyRow, Mapping[str, list[str]] | None]]
    are_spared: bool

    @property
    def ended(self) -> set[str]:
        """Ids of the keys that are bound to the scope alone."""
        return {key.key_id for key, left in self.changed if left is None}

    @property
    def counts(self) -> dict[str, int]:
        """The number of changed rows, by table."""
        return {"api_keys": len(self.changed)}


@dataclass(frozen=True)
class Traces:
    """The traces of one scope.

    Attributes:
        alias: the replacement for names and callers.
        tokens: the callers whose tokens are bound to the scope.
        is_service_wide: True to end or narrow keys that reach other engines, too.
    """

    erasures: Sequence[Erasure]
    subject: Subject
    alias: str
    tokens: Collection[str]
    is_service_wide: bool

    async def erased(self, session: Session, texts: Iterable[Iterable[str]]) -> Erased:
        """Return the resources of the scope that the texts of rows name."""
        named = await _each(texts, lambda some: [*chain.from_iterable(map(mentions, some))])
        return await self._erased_of(session, chain.from_iterable(named))

    async def _erased_of(self, session: Session, all_named: Iterable[Mention]) -> Erased:
        named_in_all = ids_of(all_named)
        ids: dict[str, Collection[str]] = {}
        for erasure in self.erasures:
            named = named_in_all.get(erasure.collection or "")
            if erasure.collection is not None and erasure.find_ids is not None and named:
                ids[erasure.collection] = await erasure.find_ids(session, self.subject, named)
        return Erased(ids, self.subject.scope, self.alias)

    async def keys(
        self, session: Session, engine: EngineName, *, for_update: bool = False
    ) -> BoundKeys:
        """Return the keys of the engine whose conditions name the scope."""
        scope = self.subject.scope
        bound = [
            (key, without(key.scope_conditions or {}, scope))
            for key in await keys.list_bound(session, scope, for_update=for_update)
            if _reaches(key, engine)
        ]
        named = [(key, left) for key, left in bound if left != key.scope_conditions]
        changed = [
            (key, left)
            for key, left in named
            if self.is_service_wide or (key.engines is not None and len(key.engines) == 1)
        ]
        return BoundKeys(changed, are_spared=len(named) > len(changed))

    def callers(self, bound: BoundKeys) -> set[str]:
        """Return the keys and tokens that are bound to the scope alone."""
        return bound.ended | set(self.tokens)

    def steps(self, callers: Collection[str], *, is_dry: bool = False) -> Sequence["TraceStep"]:
        """Return the steps over the tables with traces; with `is_dry`, they change nothing."""
        requests = partial(self._remove_requests, callers=callers, is_dry=is_dry)
        renamed = partial(self._rename_events, callers=callers, is_dry=is_dry)
        pruned = partial(self._prune_operations, is_dry=is_dry)
        return [
            TraceStep("request_ids", requests, _SMALL_ROWS, removes=True),
            TraceStep("audit_events", renamed, _SMALL_ROWS, removes=False),
            TraceStep("operations", pruned, _LARGE_ROWS, removes=False),
        ]

    async def _rename_events(
        self,
        session: Session,
        after: NamedEvent | None,
        limit: int,
        *,
        callers: Collection[str],
        is_dry: bool,
    ) -> tuple[int, NamedEvent | None]:
        """Replace the names and the callers of the scope in a batch of audit events."""
        rows = await events.list_next(session, self.subject.engine_id, limit, after)
        read = await _each(rows, _ReadEvent.of)
        named = chain.from_iterable(chain(event.resource, event.operation) for event in read)
        erased = await self._erased_of(session, named)
        renamed = await _each(read, lambda event: self._renamed(event, erased, callers))
        changed = [(row, new) for row, new in zip(rows, renamed, strict=True) if new]
        for start in range(0, 0 if is_dry else len(changed), _RENAMED_ROWS):
            part = changed[start : start + _RENAMED_ROWS]
            await events.rename(session, self.subject.engine_id, part)
        return len(changed), rows[-1] if len(rows) == limit else None

    async def rename_refusals(self, session: Session, since: datetime) -> int:
        """Replace all names in events of writes refused during the erasure; return the count."""
        # The scope of a resource that was already gone is unknown.
        rows = await events.list_refused(
            session, self.subject.engine_id, Reason.SCOPE_BEING_ERASED, since
        )
        read = [_ReadEvent.of(row) for row in rows]
        named = ids_of(chain.from_iterable(event.resource for event in read))
        erased = Erased(named, self.subject.scope, self.alias)
        changed = [(event.row, new) for event in read if (new := self._renamed(event, erased, ()))]
        await events.rename(session, self.subject.engine_id, changed)
        return len(changed)

    def _renamed(
        self, read: "_ReadEvent", erased: Erased, callers: Collection[str]
    ) -> dict[str, Any]:
        row = read.row
        resource, operation = row.resource or "", row.operation or ""
        after = {"operation": erased.renamed(operation, read.operation)}
        # A resource named by an operation of the scope belongs to it, even if it no longer exists.
        rename = erased.renamed if after["operation"] == operation else erased.cut
        after["operation"] = rename(operation, read.operation)
        after["resource"] = rename(resource, read.resource)
        new: dict[str, Any] = {
            name: text for name, text in after.items() if text != (getattr(row, name) or "")
        }
        if row.caller in callers:
            new |= {"caller": self.alias, "address": None, "request_id": None}
        return new

    async def _remove_requests(
        self,
        session: Session,
        after: tuple[str, str] | None,
        limit: int,
        *,
        callers: Collection[str],
        is_dry: bool,
    ) -> tuple[int, tuple[str, str] | None]:
        """Remove the request records of a batch that concern the scope."""
        engine_id = self.subject.engine_id
        rows = await operations.list_requests(session, engine_id, limit, after)
        erased = await self.erased(session, map(_texts, rows))
        is_of_scope = await _each(rows, lambda row: _is_of(row, erased, callers))
        of_scope = compress(rows, is_of_scope)
        ended = [(row.caller, row.request_id) for row in of_scope]
        if not is_dry:
            await operations.remove_requests(session, engine_id, ended)
        last = (rows[-1].caller, rows[-1].request_id) if len(rows) == limit else None
        return len(ended), last

    async def _prune_operations(
        self, session: Session, after: str | None, limit: int, *, is_dry: bool
    ) -> tuple[int, str | None]:
        """Remove the scope's part from a batch of operations on several scopes."""
        rows = await operations.list_shared(
            session, self.subject, limit, after, for_update=not is_dry
        )
        erased = await self.erased(session, map(_texts_of_operation, rows))
        pruned = await _each(rows, lambda row: self._pruned(row, erased))
        changed = [(row, new) for row, new in zip(rows, pruned, strict=True) if new]
        if not is_dry:
            for row, new in changed:
                await operations.rewrite(session, row, new)
        return len(changed), rows[-1].operation_id if len(rows) == limit else None

    def _pruned(self, row: OperationRow, erased: Erased) -> dict[str, Any]:
        new = {name: erased.pruned(getattr(row, name)) for name in _PRUNED}
        if row.error is not None:
            message = erased.renamed(str(row.error["message"]))
            new["error"] = {**row.error, "message": message}
        scope = self.subject.scope
        if row.scopes is not None and all(
            value in row.scopes.get(key, ()) for key, value in scope.items()
        ):
            new["scopes"] = without(row.scopes, scope)
        return {name: value for name, value in new.items() if value != getattr(row, name)}

    async def rename_callers(
        self, session: Session, callers: Collection[str], since: datetime | None = None
    ) -> dict[str, int]:
        """Replace the callers in rows about their actions since a time; count the rows by table."""
        if not callers:
            return {"audit_events": 0, "operations": 0, "memory_revisions": 0}
        engine_id, alias = self.subject.engine_id, self.alias
        await keys.rename_creators(session, callers, alias)
        return {
            "audit_events": await events.rename_callers(session, engine_id, callers, alias, since),
            "operations": await operations.rename_callers(session, engine_id, callers, alias),
            "memory_revisions": await ledger.rename_callers(
                session, engine_id, callers, alias, since
            ),
        }

    async def end_keys(
        self, session: Session, bound: BoundKeys, now: datetime
    ) -> tuple[dict[str, int], dict[str, int]]:
        """End the keys bound to the scope alone, and narrow the others.

        The caller has read the keys for update. Returns the counts of removed and of changed rows.
        """
        for key, left in bound.changed:
            if left is None:
                # An empty list allows no value; a missing condition would allow every value.
                nothing: dict[str, list[str]] = {name: [] for name in key.scope_conditions or {}}
                await keys.end(session, key, self.alias, nothing, now)
            else:
                await keys.narrow(session, key, left)
        removed = {"rate_buckets": await forget_keys(session, self.callers(bound))}
        return removed, bound.counts


class _ReadEvent(NamedTuple):
    row: NamedEvent
    resource: Sequence[Mention]
    operation: Sequence[Mention]

    @classmethod
    def of(cls, row: NamedEvent) -> Self:
        return cls(row, mentions(row.resource or ""), mentions(row.operation or ""))


@dataclass(frozen=True)
class TraceStep:
    """A walk over a table with traces.

    Attributes:
        table: its name in the certificate.
        work: processes a limited number of rows after a given one (None: the start). It returns
            the number that concern the scope, and the row to continue after (None: the end).
    """

    table: str
    work: Callable[[Session, Any, int], Awaitable[tuple[int, Any]]]
    slice_rows: int
    _: KW_ONLY
    removes: bool

    async def run(self, session: Session, after: Any, limit: int) -> tuple[int, Any]:  # noqa: ANN401 - a key
        """Process a batch of about `limit` rows in slices; return the same as `work`."""
        count, rows = 0, min(limit, self.slice_rows)
        for _ in range(0, limit, rows):
            more, after = await self.work(session, after, rows)
            count += more
            if after is None:
                break
        return count, after


def _reaches(key: ApiKeyRow, engine: EngineName) -> bool:
    in_project = key.projects is None or engine.parent.project in key.projects
    return in_project and (key.engines is None or str(engine.engine) in map(str, key.engines))


def _texts_of_operation(row: OperationRow) -> Iterable[str]:
    return (text for name in (*_PRUNED, "error") for text in texts_in(getattr(row, name)))


def _is_of(row: KeptAnswer, erased: Erased, callers: Collection[str]) -> bool:
    if row.caller.partition("#")[0] in callers:
        return True
    return any(erased.renamed(text) != text for text in _texts(row))


def _texts(row: KeptAnswer) -> Iterable[str]:
    yield from texts_in(row.answer)
    yield from (f"events/{event[0]}" for event in (row.answer or {}).get("events", ()))
    if row.operation_id is not None:
        yield f"operations/{row.operation_id}"
