"""The base of all groups of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from open_memory_bank import types
from open_memory_bank._async.operations import AsyncOperation
from open_memory_bank._async.paging import AsyncItems
from open_memory_bank._async.transport import AsyncTransport
from open_memory_bank._page import Page, page_of
from open_memory_bank._requests import Call

MODEL_SECONDS = 60.0
"""Time beside the client's own that an answer may take for which a model is asked."""
_NOTHING: Mapping[str, Any] = {}


class AsyncGroup:
    """Methods for one kind of resource."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._ask = transport.ask

    def _items(
        self,
        call: Call[Any],
        field: str,
        options: Mapping[str, Any],
        ids: Mapping[str, str] = _NOTHING,
    ) -> AsyncItems[Any]:
        async def fetch(token: str | None) -> Page[Any]:
            paged = {**options, "page_token": token}
            return page_of(await self._ask(call, ids, paged), field)

        return AsyncItems(fetch, options.get("page_token"))

    async def _start(
        self,
        call: Call[types.Operation],
        ids: Mapping[str, str] = _NOTHING,
        options: Mapping[str, Any] = _NOTHING,
    ) -> AsyncOperation[Any]:
        return AsyncOperation(self._transport, await self._ask(call, ids, options))

    async def _done(
        self,
        call: Call[types.Operation],
        ids: Mapping[str, str],
        options: Mapping[str, Any],
        wait_seconds: float,
    ) -> Any:  # noqa: ANN401 - the caller names the type
        return await (await self._start(call, ids, options)).wait(wait_seconds)
