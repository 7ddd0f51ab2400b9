# Written by `make client` from the file of the same name in _async.
"""The client."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

import httpx

from open_memory_bank._requests import address_of, check_key, engine_of, is_here
from open_memory_bank._sync.memories import Memories
from open_memory_bank._sync.memory_tools import MemoryTools
from open_memory_bank._sync.service import (
    Audit,
    Engines,
    Keys,
    Operations,
    Service,
)
from open_memory_bank._sync.sessions import Sessions
from open_memory_bank._sync.task_memory import TaskMemory
from open_memory_bank._sync.transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Self

_URL = "http://127.0.0.1:8000"


class Client:
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
        http: httpx.Client | None = None,
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
        self._transport = Transport(
            http=httpx.Client() if http is None else http,
            url=str(address).rstrip("/"),
            key=key,
            engine=engine_of(engine),
            timeout=timeout,
        )
        self._group()

    def _group(self) -> None:
        self.memories = Memories(self._transport)
        self.sessions = Sessions(self._transport)
        self.task_memory = TaskMemory(self._transport)
        self.memory_tools = MemoryTools(self._transport)
        self.operations = Operations(self._transport)
        self.engines = Engines(self._transport)
        self.keys = Keys(self._transport)
        self.audit = Audit(self._transport)
        self.service = Service(self._transport)

    @property
    def engine(self) -> str:
        """The full name of its engine."""
        return self._transport.engine.name

    def at(self, engine: str) -> Client:
        """Return a client of another engine, which sends with this one and ends with it.

        Args:
            engine: id or full name.
        """
        other = object.__new__(type(self))
        other._is_owner = False
        other._transport = replace(self._transport, engine=engine_of(engine))
        other._group()
        return other

    def close(self) -> None:
        """Close its connections, unless they are another's."""
        if self._is_owner:
            self._transport.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.url!r}, engine={self.engine!r})"
