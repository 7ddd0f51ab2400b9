"""Memories, their revisions, generation and retrieval."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from open_memory_bank import _calls, types
from open_memory_bank._async.group import MODEL_SECONDS, AsyncGroup
from open_memory_bank._async.operations import AsyncOperation
from open_memory_bank._async.paging import AsyncItems
from open_memory_bank._async.transport import AsyncTransport
from open_memory_bank._page import Page, page_of
from open_memory_bank._requests import json_bytes
from open_memory_bank._twins import AsyncContent, agather
from open_memory_bank._values import Turns, search, source
from open_memory_bank.errors import NotFound

if TYPE_CHECKING:
    from typing_extensions import Unpack

_LINES = "application/x-ndjson"
_READ_AT_ONCE = 8
_PAGE_ROWS = 100


class AsyncRevisions(AsyncGroup):
    """Revisions: memories as they were after each change."""

    async def get(self, memory: str, revision: str) -> types.MemoryRevision:
        """Return a revision."""
        ids = {"memory": memory, "revision": revision}
        return await self._ask(_calls.GET_MEMORY_REVISION, ids)

    def list(
        self, memory: str, **options: Unpack[_calls.ListMemoryRevisions]
    ) -> AsyncItems[types.MemoryRevision]:
        """List the revisions of a memory, the newest first."""
        ids = {"memory": memory}
        return self._items(_calls.LIST_MEMORY_REVISIONS, "memoryRevisions", options, ids)

    def list_all(
        self, **options: Unpack[_calls.ListAllRevisions]
    ) -> AsyncItems[types.MemoryRevision]:
        """List the revisions of all memories, the newest first."""
        return self._items(_calls.LIST_ALL_REVISIONS, "memoryRevisions", options)

    def labels(
        self, **options: Unpack[_calls.ListRevisionLabels]
    ) -> AsyncItems[types.RevisionLabel]:
        """List the keys of the revisions' labels, or the values of one key."""
        return self._items(_calls.LIST_REVISION_LABELS, "labels", options)

    def export(
        self, **options: Unpack[_calls.ExportRevisions]
    ) -> AsyncIterator[types.MemoryRevision]:
        """Yield the revisions of all memories as they come, however many."""
        return self._transport.rows(_calls.EXPORT_REVISIONS, options)


class AsyncMemories(AsyncGroup):
    """Memories. Changes are waited for; `start_...` only begins them."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
        self.revisions = AsyncRevisions(transport)

    async def create(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.CreateMemory]
    ) -> types.AnsweredMemory:
        """Create a memory as it is given, and return it."""
        found: types.AnsweredMemory = await self._done(
            _calls.CREATE_MEMORY, {}, options, wait_seconds
        )
        return found

    async def get(self, memory: str, **options: Unpack[_calls.GetMemory]) -> types.Memory:
        """Return a memory."""
        return await self._ask(_calls.GET_MEMORY, {"memory": memory}, options)

    def list(self, **options: Unpack[_calls.ListMemories]) -> AsyncItems[types.Memory]:
        """List memories."""
        return self._items(_calls.LIST_MEMORIES, "memories", options)

    def scopes(self, **options: Unpack[_calls.ListScopes]) -> AsyncItems[types.ScopeInUse]:
        """List the scopes that hold memories."""
        return self._items(_calls.LIST_SCOPES, "scopes", options)

    async def update(
        self, memory: str, *, wait_seconds: float = 60, **options: Unpack[_calls.UpdateMemory]
    ) -> types.AnsweredMemory:
        """Change the fields that are given, or those of `update_mask`; return the memory."""
        found: types.AnsweredMemory = await self._done(
            _calls.UPDATE_MEMORY, {"memory": memory}, options, wait_seconds
        )
        return found

    async def delete(
        self, memory: str, *, wait_seconds: float = 60, **options: Unpack[_calls.DeleteMemory]
    ) -> None:
        """Delete a memory; it can be undeleted for a while, unless `permanent`."""
        await self._done(_calls.DELETE_MEMORY, {"memory": memory}, options, wait_seconds)

    async def undelete(
        self, memory: str, *, wait_seconds: float = 60, **options: Unpack[_calls.UndeleteMemory]
    ) -> types.AnsweredMemory:
        """Bring a deleted memory back, and return it."""
        found: types.AnsweredMemory = await self._done(
            _calls.UNDELETE_MEMORY, {"memory": memory}, options, wait_seconds
        )
        return found

    async def rollback(
        self, memory: str, *, wait_seconds: float = 60, **options: Unpack[_calls.RollbackMemory]
    ) -> types.RollbackMemoryResponse:
        """Make a memory as it was at `target_revision_id`."""
        found: types.RollbackMemoryResponse = await self._done(
            _calls.ROLLBACK_MEMORY, {"memory": memory}, options, wait_seconds
        )
        return found

    def retrieve(
        self,
        *,
        query: str | None = None,
        top_k: int | None = None,
        max_distance: float | None = None,
        page_size: int | None = None,
        **options: Unpack[_calls.RetrieveMemories],
    ) -> AsyncItems[types.RetrievedMemory]:
        """Search a scope for a `query`, the best first; without one, list it, the newest first.

        Args:
            query: text to search for.
            top_k: most memories that a search finds, 1 to 100; absent: 3.
            max_distance: leave out what is farther from the query, above 0 to 2.
            page_size: memories of a page without a query, 1 to 100; absent: 100.
            options: as on the wire. With `max_tokens` there is one page.
        """
        wanted = search(options, query, top_k, max_distance)
        own: Mapping[str, Any] = options.get("simple_retrieval_params") or {}

        async def fetch(token: str | None) -> Page[Any]:
            body = wanted
            if "similarity_search_params" not in wanted:
                # Only a request with a token, perhaps empty, is answered with the next one.
                paging = {} if options.get("max_tokens") else {"pageToken": token or ""}
                params = {"pageSize": page_size or _PAGE_ROWS, **own, **paging}
                body = {**wanted, "simple_retrieval_params": params}
            answer = await self._ask(_calls.RETRIEVE_MEMORIES, {}, body)
            return page_of(answer, "retrievedMemories")

        return AsyncItems(fetch, own.get("pageToken"))

    async def retrieve_profiles(
        self, **options: Unpack[_calls.RetrieveProfiles]
    ) -> types.RetrieveProfilesResponse:
        """Return the profiles of a scope."""
        return await self._ask(_calls.RETRIEVE_PROFILES, {}, options)

    async def recall(
        self, **options: Unpack[_calls.RecallMemories]
    ) -> types.RecallMemoriesResponse:
        """Return the facts of a scope nearest to a `query`, or an answer made from them."""
        return await self._ask(_calls.RECALL_MEMORIES, {}, options, more_seconds=MODEL_SECONDS)

    async def start_generate(
        self,
        *,
        texts: Iterable[str] | None = None,
        turns: Turns | None = None,
        facts: Iterable[str] | None = None,
        **options: Unpack[_calls.GenerateMemories],
    ) -> AsyncOperation[types.GenerateMemoriesResponse]:
        """Begin to make memories of what was said.

        Args:
            texts: what the user said.
            turns: pairs of a role, `user` or `model`, and its text.
            facts: memories to merge with those that are there, at most five.
            options: as on the wire; a source if none of the three is given.
        """
        given = {**options, **source(texts, turns, facts)}
        return await self._start(_calls.GENERATE_MEMORIES, {}, given)

    async def generate(
        self,
        *,
        texts: Iterable[str] | None = None,
        turns: Turns | None = None,
        facts: Iterable[str] | None = None,
        wait_seconds: float = 60,
        with_facts: bool = False,
        **options: Unpack[_calls.GenerateMemories],
    ) -> types.GenerateMemoriesResponse:
        """Make memories of what was said, and return which.

        Args:
            texts: what the user said.
            turns: pairs of a role, `user` or `model`, and its text.
            facts: memories to merge with those that are there, at most five.
            wait_seconds: time to wait for the work.
            with_facts: read each memory that was created or updated; its fields then stand beside
                its name.
            options: as on the wire.
        """
        operation = await self.start_generate(texts=texts, turns=turns, facts=facts, **options)
        response = await operation.wait(wait_seconds)
        return await self._with_facts(response) if with_facts else response

    async def _with_facts(
        self, response: types.GenerateMemoriesResponse
    ) -> types.GenerateMemoriesResponse:
        async def read(row: types.GeneratedMemory) -> Any:  # noqa: ANN401 - a row with more fields
            try:
                return {**row, "memory": await self.get(row["memory"]["name"])}
            except NotFound:  # deleted, now or meanwhile
                return row

        rows = response.get("generatedMemories") or []
        response["generatedMemories"] = await agather(read, rows, _READ_AT_ONCE)
        return response

    async def ingest(
        self,
        *,
        texts: Iterable[str] | None = None,
        turns: Turns | None = None,
        **options: Unpack[_calls.IngestEvents],
    ) -> AsyncOperation[types.IngestEventsResponse]:
        """Add what was said to a stream, of which memories are made later."""
        given = {**options, **source(texts, turns)}
        return await self._start(_calls.INGEST_EVENTS, {}, given)

    def streams(self, **options: Unpack[_calls.ListStreams]) -> AsyncItems[types.Stream]:
        """List the streams of ingested events."""
        return self._items(_calls.LIST_STREAMS, "streams", options)

    async def flush(
        self, **options: Unpack[_calls.FlushStream]
    ) -> AsyncOperation[types.IngestEventsResponse]:
        """Have memories made now of what a stream holds."""
        return await self._start(_calls.FLUSH_STREAM, {}, options)

    async def start_purge(
        self, **options: Unpack[_calls.PurgeMemories]
    ) -> AsyncOperation[types.PurgeMemoriesResponse]:
        """Begin to delete, or without `force` to count, the memories that match."""
        return await self._start(_calls.PURGE_MEMORIES, {}, options)

    async def purge(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.PurgeMemories]
    ) -> types.PurgeMemoriesResponse:
        """Delete, or without `force` count, the memories that match."""
        return await (await self.start_purge(**options)).wait(wait_seconds)

    async def batch_create(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.BatchCreateMemories]
    ) -> types.BatchCreateMemoriesResponse:
        """Create up to 500 memories as they are given."""
        found: types.BatchCreateMemoriesResponse = await self._done(
            _calls.BATCH_CREATE_MEMORIES, {}, options, wait_seconds
        )
        return found

    async def import_(
        self,
        rows: Iterable[Mapping[str, Any]] | BinaryIO,
        **options: Unpack[_calls.ImportMemories],
    ) -> types.ImportMemoriesResponse:
        """Create any number of memories as they are given.

        They are sent while they are read.

        Args:
            rows: fields as for `create`, with the names on the wire, or a file of such lines of
                JSON. With a `memoryId` each, a broken import can be begun again.
            options: as on the wire; `import_id` makes several imports one operation.
        """
        content: AsyncContent = cast("BinaryIO", rows)
        if not hasattr(rows, "read"):
            content = (json_bytes(row) + b"\n" for row in rows)
        return await self._transport.upload(_calls.IMPORT_MEMORIES, {}, options, content, _LINES)
