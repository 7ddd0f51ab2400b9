"""What the service knows of an embedder that it opens, warms and closes."""

from typing import Protocol

from app.llm.ports import Embedder


class ManagedEmbedder(Embedder, Protocol):
    """An embedder with a life. Features see only `Embedder`; whoever opens it sees this."""

    is_local: bool = False
    """Whether what it is given stays in this process; false for whatever does not say so."""

    @property
    def languages(self) -> str:
        """What searches by its vectors understand, for people."""
        if self.lexical_only:
            return f"words alone, in every language ({self.model_id})"
        return f"what its model does ({self.model_id})"

    @property
    def ready(self) -> bool:
        """Whether the next `embed` answers without loading anything first."""
        ...

    async def warm(self) -> None:
        """Load what is needed, off the event loop. Harmless when done already.

        Raises:
            RuntimeError: the package of the model is not installed.
        """
        ...

    async def close(self) -> None:
        """Wait for what is being computed, and release the threads."""
        ...
