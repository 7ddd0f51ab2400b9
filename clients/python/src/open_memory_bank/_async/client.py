"""The client."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

import httpx

from open_memory_bank._async.memories import AsyncMemories
from open_memory_bank._async.memory_tools import AsyncMemoryTools
from open_memory_bank._async.service import (
    AsyncAudit,
    AsyncEngines,
    AsyncKeys,
    AsyncOperations,
    AsyncService,
)
from open_memory_bank._async.sessions import AsyncSessions
from open_memory_bank._async.task_memory import AsyncTaskMemory
from open_memory_bank._async.transport import AsyncTransport
from open_memory_bank._requests import address_of, check_key, engine_of, is_here

if TYPE_CHECKING:
    from typing_extensions import Self

_URL = "http://127.0.0.1:8000"


class AsyncClient:
    """A client of one engine of a service.

    Use it in a `with` statement, or close it. Its groups of methods are `memories`, `sessions`,
    `task_memory`, `memory_tools`, `operations`, `engines`, `keys`, `audit` and `service`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        engine: str = "1",
        timeout: float = 30,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """Make a client; nothing is sent yet.

        Args:
            url: address of the service; else `MEMORY_BANK_CLIENT_URL`, else
                `http://127.0.0.1:8000`.
            key: API key or token; else `MEMORY_BANK_CLIENT_KEY`.
            engine: id or full name of an engine.
            timeout: seconds that each step of a request may take: to connect, to send, to answer.
            http: a client to send with, which is not closed; for proxies, certificates and tests.

        Raises:
            ValueError: the address, the key or the engine is wrong.
        """
        address = address_of(url or os.environ.get("MEMORY_BANK_CLIENT_URL") or _URL)
        key = key or os.environ.get("MEMORY_BANK_CLIENT_KEY") or None
        check_key(key)
        if key and address.scheme == "http" and not is_here(address.host):
            said = f"The key travels unencrypted to {address.host}; use https."
            warnings.warn(said, stacklevel=2)
        self._is_owner = http is None
        self._transport = AsyncTransport(
            http=httpx.AsyncClient() if http is None else http,
            url=str(address).rstrip("/"),
            key=key,
            engine=engine_of(engine),
            timeout=timeout,
        )
        self._group()

    def _group(self) -> None:
        self.memories = AsyncMemories(self._transport)
        self.sessions = AsyncSessions(self._transport)
        self.task_memory = AsyncTaskMemory(self._transport)
        self.memory_tools = AsyncMemoryTools(self._transport)
        self.operations = AsyncOperations(self._transport)
        self.engines = AsyncEngines(self._transport)
        self.keys = AsyncKeys(self._transport)
        self.audit = AsyncAudit(self._transport)
        self.service = AsyncService(self._transport)

    @property
    def engine(self) -> str:
        """The full name of its engine."""
        return self._transport.engine.name

    def at(self, engine: str) -> AsyncClient:
        """Return a client of another engine, which sends with this one and ends with it.

        Args:
            engine: id or full name.
        """
        other = object.__new__(type(self))
        other._is_owner = False
        other._transport = replace(self._transport, engine=engine_of(engine))
        other._group()
        return other

    async def aclose(self) -> None:
        """Close its connections, unless they are another's."""
        if self._is_owner:
            await self._transport.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.url!r}, engine={self.engine!r})"
