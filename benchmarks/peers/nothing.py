"""A system that does nothing: what is left is the loop of the callers, and the vectors."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from benchmarks.peers.texts import TOP_K, Said, vector_of


class Nothing:
    """Forgets at once."""

    async def load(self, memories: Sequence[Said]) -> None:
        """As `System` has it."""

    async def write(self, caller: int, memory: Said) -> None:  # noqa: ARG002 - as the protocol has it
        """As `System` has it."""
        vector_of(memory.text)

    async def search(self, caller: int, asked: Said) -> int:  # noqa: ARG002 - as the protocol has it
        """As `System` has it."""
        vector_of(asked.text)
        return TOP_K


@asynccontextmanager
async def open_nothing(address: str, callers: int) -> AsyncIterator[Nothing]:  # noqa: ARG001 - as every opener
    """Open it."""
    yield Nothing()
