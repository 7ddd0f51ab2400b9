# Written by `make client` from the file of the same name in _async.
"""Sessions: events, contexts, summaries, recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from open_memory_bank import _calls, types
from open_memory_bank._sync.group import MODEL_SECONDS, Group
from open_memory_bank._sync.operations import Operation
from open_memory_bank._sync.paging import Items
from open_memory_bank._sync.transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Summaries(Group):
    """Summaries of sessions."""

    def get(self, session: str, summary: str) -> types.SessionSummary:
        """Return a summary."""
        return self._ask(_calls.GET_SUMMARY, {"session": session, "summary": summary})

    def list(
        self, session: str, **options: Unpack[_calls.ListSummaries]
    ) -> Items[types.SessionSummary]:
        """List the summaries of a session."""
        return self._items(_calls.LIST_SUMMARIES, "summaries", options, {"session": session})

    def regenerate(
        self, session: str, summary: str, **options: Unpack[_calls.RegenerateSummary]
    ) -> Operation[types.RegenerateSummaryResponse]:
        """Begin to write a summary anew."""
        ids = {"session": session, "summary": summary}
        return self._start(_calls.REGENERATE_SUMMARY, ids, options)


class Sessions(Group):
    """Sessions: conversations, event by event."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.summaries = Summaries(transport)

    def create(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.CreateSession]
    ) -> types.AnsweredSession:
        """Create a session, and return it."""
        found: types.AnsweredSession = self._done(_calls.CREATE_SESSION, {}, options, wait_seconds)
        return found

    def get(self, session: str) -> types.Session:
        """Return a session."""
        return self._ask(_calls.GET_SESSION, {"session": session})

    def list(self, **options: Unpack[_calls.ListSessions]) -> Items[types.Session]:
        """List sessions."""
        return self._items(_calls.LIST_SESSIONS, "sessions", options)

    def update(self, session: str, **options: Unpack[_calls.UpdateSession]) -> types.Session:
        """Change the fields that are given, or those of `update_mask`; return the session."""
        return self._ask(_calls.UPDATE_SESSION, {"session": session}, options)

    def delete(
        self, session: str, *, wait_seconds: float = 60, **options: Unpack[_calls.DeleteSession]
    ) -> None:
        """Delete a session with its events."""
        self._done(_calls.DELETE_SESSION, {"session": session}, options, wait_seconds)

    def append(self, session: str, **options: Unpack[_calls.AppendEvent]) -> None:
        """Append an event."""
        self._ask(_calls.APPEND_EVENT, {"session": session}, options)

    def batch(
        self, session: str, **options: Unpack[_calls.BatchAppendEvents]
    ) -> types.BatchAppendEventsResponse:
        """Append up to 500 events in order, all or none."""
        return self._ask(_calls.BATCH_APPEND_EVENTS, {"session": session}, options)

    def exchange(self, session: str, **options: Unpack[_calls.CreateExchange]) -> types.Exchange:
        """Append what the user said and what was answered."""
        return self._ask(_calls.CREATE_EXCHANGE, {"session": session}, options)

    def events(
        self, session: str, **options: Unpack[_calls.ListEvents]
    ) -> Items[types.SessionEvent]:
        """List the events of a session, the oldest first."""
        return self._items(_calls.LIST_EVENTS, "sessionEvents", options, {"session": session})

    def erase_event(self, session: str, event: str, **options: Unpack[_calls.DeleteEvent]) -> None:
        """Erase an event; it cannot be brought back."""
        self._ask(_calls.DELETE_EVENT, {"session": session, "event": event}, options)

    def context(
        self, session: str, **options: Unpack[_calls.ComposeContext]
    ) -> types.ContextResponse:
        """Return the session as a prompt, within the limit of its policy or of `token_limit`."""
        waits = MODEL_SECONDS if options.get("consistency") == "wait" else 0
        ids = {"session": session}
        return self._ask(_calls.COMPOSE_CONTEXT, ids, options, more_seconds=waits)

    def clear(self, session: str, **options: Unpack[_calls.ClearSession]) -> types.Session:
        """Begin a new context; events stay, but contexts no longer have them."""
        return self._ask(_calls.CLEAR_SESSION, {"session": session}, options)

    def usage(self, session: str) -> types.SessionUsage:
        """Return what the summaries of a session took."""
        return self._ask(_calls.GET_SESSION_USAGE, {"session": session})

    def recall(self, session: str, **options: Unpack[_calls.RecallSession]) -> types.RecallResponse:
        """Return passages of a session that tell of a `query`."""
        ids = {"session": session}
        return self._ask(_calls.RECALL_SESSION, ids, options, more_seconds=MODEL_SECONDS)

    def recall_all(self, **options: Unpack[_calls.RecallSessions]) -> types.RecallSessionsResponse:
        """Return passages of a user's sessions that tell of a `query`, from the newest back.

        Where the answer has a `nextPageToken`, older ones can be asked with it as `page_token`.
        """
        return self._ask(_calls.RECALL_SESSIONS, {}, options, more_seconds=MODEL_SECONDS)
