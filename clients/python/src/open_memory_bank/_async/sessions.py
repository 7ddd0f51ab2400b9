"""Sessions: events, contexts, summaries, recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from open_memory_bank import _calls, types
from open_memory_bank._async.group import MODEL_SECONDS, AsyncGroup
from open_memory_bank._async.operations import AsyncOperation
from open_memory_bank._async.paging import AsyncItems
from open_memory_bank._async.transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncSummaries(AsyncGroup):
    """Summaries of sessions."""

    async def get(self, session: str, summary: str) -> types.SessionSummary:
        """Return a summary."""
        return await self._ask(_calls.GET_SUMMARY, {"session": session, "summary": summary})

    def list(
        self, session: str, **options: Unpack[_calls.ListSummaries]
    ) -> AsyncItems[types.SessionSummary]:
        """List the summaries of a session."""
        return self._items(_calls.LIST_SUMMARIES, "summaries", options, {"session": session})

    async def regenerate(
        self, session: str, summary: str, **options: Unpack[_calls.RegenerateSummary]
    ) -> AsyncOperation[types.RegenerateSummaryResponse]:
        """Begin to write a summary anew."""
        ids = {"session": session, "summary": summary}
        return await self._start(_calls.REGENERATE_SUMMARY, ids, options)


class AsyncSessions(AsyncGroup):
    """Sessions: conversations, event by event."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
        self.summaries = AsyncSummaries(transport)

    async def create(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.CreateSession]
    ) -> types.AnsweredSession:
        """Create a session, and return it."""
        found: types.AnsweredSession = await self._done(
            _calls.CREATE_SESSION, {}, options, wait_seconds
        )
        return found

    async def get(self, session: str) -> types.Session:
        """Return a session."""
        return await self._ask(_calls.GET_SESSION, {"session": session})

    def list(self, **options: Unpack[_calls.ListSessions]) -> AsyncItems[types.Session]:
        """List sessions."""
        return self._items(_calls.LIST_SESSIONS, "sessions", options)

    async def update(self, session: str, **options: Unpack[_calls.UpdateSession]) -> types.Session:
        """Change the fields that are given, or those of `update_mask`; return the session."""
        return await self._ask(_calls.UPDATE_SESSION, {"session": session}, options)

    async def delete(
        self, session: str, *, wait_seconds: float = 60, **options: Unpack[_calls.DeleteSession]
    ) -> None:
        """Delete a session with its events."""
        await self._done(_calls.DELETE_SESSION, {"session": session}, options, wait_seconds)

    async def append(self, session: str, **options: Unpack[_calls.AppendEvent]) -> None:
        """Append an event."""
        await self._ask(_calls.APPEND_EVENT, {"session": session}, options)

    async def batch(
        self, session: str, **options: Unpack[_calls.BatchAppendEvents]
    ) -> types.BatchAppendEventsResponse:
        """Append up to 500 events in order, all or none."""
        return await self._ask(_calls.BATCH_APPEND_EVENTS, {"session": session}, options)

    async def exchange(
        self, session: str, **options: Unpack[_calls.CreateExchange]
    ) -> types.Exchange:
        """Append what the user said and what was answered."""
        return await self._ask(_calls.CREATE_EXCHANGE, {"session": session}, options)

    def events(
        self, session: str, **options: Unpack[_calls.ListEvents]
    ) -> AsyncItems[types.SessionEvent]:
        """List the events of a session, the oldest first."""
        return self._items(_calls.LIST_EVENTS, "sessionEvents", options, {"session": session})

    async def erase_event(
        self, session: str, event: str, **options: Unpack[_calls.DeleteEvent]
    ) -> None:
        """Erase an event; it cannot be brought back."""
        await self._ask(_calls.DELETE_EVENT, {"session": session, "event": event}, options)

    async def context(
        self, session: str, **options: Unpack[_calls.ComposeContext]
    ) -> types.ContextResponse:
        """Return the session as a prompt, within the limit of its policy or of `token_limit`."""
        waits = MODEL_SECONDS if options.get("consistency") == "wait" else 0
        ids = {"session": session}
        return await self._ask(_calls.COMPOSE_CONTEXT, ids, options, more_seconds=waits)

    async def clear(self, session: str, **options: Unpack[_calls.ClearSession]) -> types.Session:
        """Begin a new context; events stay, but contexts no longer have them."""
        return await self._ask(_calls.CLEAR_SESSION, {"session": session}, options)

    async def usage(self, session: str) -> types.SessionUsage:
        """Return what the summaries of a session took."""
        return await self._ask(_calls.GET_SESSION_USAGE, {"session": session})

    async def recall(
        self, session: str, **options: Unpack[_calls.RecallSession]
    ) -> types.RecallResponse:
        """Return passages of a session that tell of a `query`."""
        ids = {"session": session}
        return await self._ask(_calls.RECALL_SESSION, ids, options, more_seconds=MODEL_SECONDS)

    async def recall_all(
        self, **options: Unpack[_calls.RecallSessions]
    ) -> types.RecallSessionsResponse:
        """Return passages of a user's sessions that tell of a `query`, from the newest back.

        Where the answer has a `nextPageToken`, older ones can be asked with it as `page_token`.
        """
        return await self._ask(_calls.RECALL_SESSIONS, {}, options, more_seconds=MODEL_SECONDS)
