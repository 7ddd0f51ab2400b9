# Written by `make client` from the file of the same name in _async.
"""The base of all groups of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from open_memory_bank import types
from open_memory_bank._page import Page, page_of
from open_memory_bank._requests import Call
from open_memory_bank._sync.operations import Operation
from open_memory_bank._sync.paging import Items
from open_memory_bank._sync.transport import Transport

MODEL_SECONDS = 60.0
"""Time beside the client's own that an answer may take for which a model is asked."""
_NOTHING: Mapping[str, Any] = {}


class Group:
    """Methods for one kind of resource."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._ask = transport.ask

    def _items(
        self,
        call: Call[Any],
        field: str,
        options: Mapping[str, Any],
        ids: Mapping[str, str] = _NOTHING,
    ) -> Items[Any]:
        def fetch(token: str | None) -> Page[Any]:
            paged = {**options, "page_token": token}
            return page_of(self._ask(call, ids, paged), field)

        return Items(fetch, options.get("page_token"))

    def _start(
        self,
        call: Call[types.Operation],
        ids: Mapping[str, str] = _NOTHING,
        options: Mapping[str, Any] = _NOTHING,
    ) -> Operation[Any]:
        return Operation(self._transport, self._ask(call, ids, options))

    def _done(
        self,
        call: Call[types.Operation],
        ids: Mapping[str, str],
        options: Mapping[str, Any],
        wait_seconds: float,
    ) -> Any:  # noqa: ANN401 - the caller names the type
        return (self._start(call, ids, options)).wait(wait_seconds)
