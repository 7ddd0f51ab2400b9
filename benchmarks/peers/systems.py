"""What a system is asked to do, whichever it is."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from benchmarks.peers.texts import Said


class System(Protocol):
    """A memory store, as one program uses it that has so many callers at once."""

    async def load(self, memories: Sequence[Said]) -> None:
        """Store memories, in whatever way is quickest."""
        ...

    async def write(self, caller: int, memory: Said) -> None:
        """Store one memory; `caller` counts from 0."""
        ...

    async def search(self, caller: int, asked: Said) -> int:
        """Find the memories of one user that are nearest to a text; return how many were found."""
        ...


class BlockingSystem(Protocol):
    """As `System`, for callers that are threads."""

    def load(self, memories: Sequence[Said]) -> None:
        """As there."""
        ...

    def write(self, caller: int, memory: Said) -> None:
        """As there."""
        ...

    def search(self, caller: int, asked: Said) -> int:
        """As there."""
        ...


AnySystem = System | BlockingSystem
Opener = Callable[[str, int], AbstractAsyncContextManager[AnySystem]]
"""Opens a system at an address, for so many callers at once at most."""
