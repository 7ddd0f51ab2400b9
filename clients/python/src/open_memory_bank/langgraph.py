"""A LangGraph store in Open Memory Bank; LangMem's tools work with it unchanged.

from langgraph.graph import StateGraph
from open_memory_bank import Client
from open_memory_bank.langgraph import MemoryBankStore

store = MemoryBankStore(Client(), levels=("kind", "user_id"))
store.put(("memories", "42"), "seat", {"content": "I prefer window seats."})
store.search(("memories", "42"), query="Where to sit?")
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from open_memory_bank import types
from open_memory_bank._store_values import (
    WRITTEN_HERE,
    Namespace,
    content_of,
    groups_of,
    key_and_value,
    memory_id_of,
    namespace_of,
    scope_of,
    scopes_filter,
)
from open_memory_bank._sync.client import Client
from open_memory_bank._twins import gather
from open_memory_bank.errors import AlreadyExists, NotFound, PermissionDenied

_AT_ONCE = 8
_MOST_FOUND = 100
_MOST_NAMESPACES = 20
_PAGE_ROWS = 100
_SECONDS_PER_MINUTE = 60
_WRITTEN = "fact,metadata,expire_time"


class MemoryBankStore(BaseStore):
    """A store whose items are memories: searched by meaning and words, each change a revision.

    A namespace is one scope, `{"namespace": "memories.42"}`; with `levels` each label is a pair,
    `{"kind": "memories", "user_id": "42"}`, so that keys bound to a user can use it, and namespaces
    have exactly that depth.

    Limits:
        - A value has at most 96,000 characters as JSON, else `ValueError`.
        - With a query, `offset` and `limit` are together at most 100, else `ValueError`.
        - A search asks each namespace below its prefix, at most 20, else `ValueError`; without the
          permission `memories.list` it sees the exact namespace alone.
        - Filters are of the first 20 texts, numbers and booleans at the top of a value, of at most
          4,000 characters; nested ones, and those of more than 50 groups, are
          `NotImplementedError`. `$gt` and its like take numbers.
        - `index=False` keeps the value, whose fact is the key then; searches with a query leave it
          out. Other fields than the class's are `NotImplementedError`.
        - Without a query the newest come first. Reading does not extend a time to live.
        - A batch is not atomic. It reads first; of several puts to one key the last counts.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Client,
        *,
        levels: Sequence[str] | None = None,
        index_fields: Sequence[str] = ("content", "text", "memory"),
    ) -> None:
        """Make a store; nothing is sent yet.

        Args:
            client: sends the requests.
            levels: names of the labels of all namespaces, at most 5.
            index_fields: fields of values, of which the first that is a text is searched; the whole
                value if there is none.
        """
        self._client = client
        self._levels = None if levels is None else tuple(levels)
        self._fields = tuple(index_fields)

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Do operations, reads first; return their results in order.

        Raises:
            ApiError: the service refuses one of them.
        """
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        found = gather(self._read, asked, _AT_ONCE)
        gather(self._put, puts.values(), _AT_ONCE)
        return found

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """Do operations in another thread."""
        return await asyncio.to_thread(self.batch, ops)

    def _read(self, op: Any) -> Any:  # noqa: ANN401 - as the base class has it
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        return self._namespaces(op) if isinstance(op, ListNamespacesOp) else None

    def _get(self, op: GetOp) -> Item | None:
        scope_of(op.namespace, self._levels)  # its depth
        try:
            memory = self._client.memories.get(memory_id_of(op.namespace, op.key))
        except NotFound:
            return None
        return Item(namespace=op.namespace, **_facts(memory))

    def _put(self, op: PutOp) -> None:
        memory_id = memory_id_of(op.namespace, op.key)
        memories = self._client.memories
        if op.value is None:
            try:
                memories.delete(memory_id)
            except NotFound:
                return
            return
        if op.index not in (None, False) and tuple(op.index) != self._fields:
            raise NotImplementedError(f"index must be {list(self._fields)}; got {op.index}.")
        is_indexed = op.index is not False
        content: Any = content_of(op.key, op.value, self._fields, is_indexed=is_indexed)
        if op.ttl is not None:
            content["ttl"] = f"{op.ttl * _SECONDS_PER_MINUTE:.3f}s"
        scope = scope_of(op.namespace, self._levels)
        try:
            memories.create(scope=scope, memory_id=memory_id, **content)
        except AlreadyExists:
            self._replace(memory_id, content)

    def _replace(self, memory_id: str, content: Any) -> None:  # noqa: ANN401 - arguments
        memories = self._client.memories
        try:
            memories.update(memory_id, update_mask=_WRITTEN, **content)
        except NotFound:  # deleted, and still recoverable
            memories.undelete(memory_id)
            memories.update(memory_id, update_mask=_WRITTEN, **content)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        groups = groups_of(op.filter, is_search=op.query is not None)
        most = op.offset + op.limit
        if op.query is not None and most > _MOST_FOUND:
            said = f"With a query, offset and limit must be {_MOST_FOUND} together; got {most}."
            raise ValueError(said)
        if most <= 0:
            return []
        namespaces = self._below(op.namespace_prefix)
        rows = [
            (namespace, hit)
            for namespace, hits in zip(
                namespaces,
                gather(lambda space: self._hits(space, op, groups), namespaces, _AT_ONCE),
                strict=True,
            )
            for hit in hits
        ]
        if op.query is not None:
            rows.sort(key=lambda row: row[1].get("distance") or 0.0)
        elif len(namespaces) > 1:
            rows.sort(key=lambda row: row[1]["memory"]["updateTime"], reverse=True)
        return [
            SearchItem(namespace=namespace, score=_score(hit, op.query), **_facts(hit["memory"]))
            for namespace, hit in rows[op.offset : most]
        ]

    def _hits(
        self, namespace: Namespace, op: SearchOp, groups: list[types.FilterGroup]
    ) -> list[types.RetrievedMemory]:
        most = op.offset + op.limit
        how: Any = {"query": op.query, "top_k": most}
        if op.query is None:
            how = {"page_size": min(most, _PAGE_ROWS)}
        found = self._client.memories.retrieve(
            scope=scope_of(namespace, self._levels),
            filter=WRITTEN_HERE,
            filter_groups=groups,
            **how,
        )
        return list(islice(found, most))

    def _below(self, prefix: Namespace) -> list[Namespace]:
        """Return the namespaces that a search with a prefix asks."""
        if self._levels is not None and len(prefix) >= len(self._levels):
            return [prefix]
        try:
            found = list(islice(self._known(prefix), _MOST_NAMESPACES + 1))
        except PermissionDenied:
            return [prefix] if prefix and self._levels is None else []
        if len(found) > _MOST_NAMESPACES:
            said = f"More than {_MOST_NAMESPACES} namespaces begin with {prefix}: name more of it."
            raise ValueError(said)
        return found

    def _known(self, prefix: Namespace) -> Iterator[Namespace]:
        wanted = scopes_filter(prefix, self._levels)
        rows = self._client.memories.scopes(filter=wanted, page_size=_PAGE_ROWS)
        for row in rows:
            namespace = namespace_of(row["scope"], self._levels)
            if namespace is not None and namespace[: len(prefix)] == prefix:
                yield namespace

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        found = {
            namespace[: op.max_depth]
            for namespace in self._known(())
            if all(_matches(namespace, condition) for condition in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]


def _facts(memory: types.Memory) -> dict[str, Any]:
    """Return what an item has besides its namespace."""
    key, value = key_and_value(memory.get("metadata") or {})
    moments = (memory["createTime"], memory["updateTime"])
    created, updated = (datetime.fromisoformat(time.replace("Z", "+00:00")) for time in moments)
    return {"key": key, "value": value, "created_at": created, "updated_at": updated}


def _score(hit: types.RetrievedMemory, query: str | None) -> float | None:
    distance = hit.get("distance")
    return None if query is None or distance is None else 1 - distance / 2


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = cast("Sequence[str]", condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return not path or all(theirs in ("*", mine) for mine, theirs in zip(part, path, strict=True))
