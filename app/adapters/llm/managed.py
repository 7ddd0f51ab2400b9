"""The port of embedders: vectors, life cycle and languages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from app.adapters.llm.ports import Prefixes, Vectors
from app.kernel.languages import CODES, NAMES
from app.language.search_languages import foreign_language

_LEAST_CHARS = 200
"""No text is made shorter than this: whatever the server refuses, it is not the length."""


@dataclass(frozen=True)
class BatchSize:
    """The most that an embedding server takes at once.

    Attributes:
        texts: their vectors of 3,072 numbers each take about a megabyte as text.
        chars: of each text; vendors refuse more than about 8,000 tokens.
    """

    texts: int = 16
    chars: int = 8_000

    def less_than(self, batch: Sequence[str]) -> "BatchSize | None":
        """Return what to try when a batch is refused; None: it cannot be the size."""
        if len(batch) > 1:
            return replace(self, texts=(len(batch) + 1) // 2)
        chars = len(batch[0]) * 2 // 3
        return replace(self, chars=chars) if chars >= _LEAST_CHARS else None


class ManagedEmbedder(Protocol):
    """The port that turns texts into vectors whose Euclidean distance measures similarity."""

    model_id: str
    """The name of the model and its version; vectors of different ids are not comparable."""
    dimensions: int
    lexical_only: bool
    """True if the vectors know words but no meaning."""
    prefixes: Prefixes = Prefixes()
    """For the caller to put before a text, whose role it knows; `embed` adds none."""
    is_local: bool = False
    """True if its input stays in this process; false unless an embedder says so."""
    takes: BatchSize | None = None
    """The most that its server takes at once; None: it has none."""
    covers: tuple[str, ...] | None = None
    """The languages that it understands, as ISO 639-1 codes. None: it is not known to lack one."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order. Does not block the event loop.

        Must not be called inside a transaction.

        Raises:
            RuntimeError: a transaction is open in this task.
        """
        ...

    @property
    def languages(self) -> str:
        """A description, for people, of what searches by its vectors understand."""
        if self.lexical_only:
            return f"words alone, in every language ({self.model_id})"
        if self.covers is None:
            return f"what its model does ({self.model_id})"
        known = ", ".join(NAMES.get(code, code).capitalize() for code in self.covers)
        # Behind the slash of a local model is its precision, which tells people nothing here.
        name = self.model_id.partition("/")[0] if self.is_local else self.model_id
        return f"{known} ({name}); in other languages they find mainly by words"

    def foreign_language(self, text: str) -> str | None:
        """Return the code of a text's language if the model is known not to understand it."""
        if self.covers is None:
            return None
        name = foreign_language(text, {NAMES.get(code, code) for code in self.covers})
        return None if name is None else CODES[name]

    @property
    def ready(self) -> bool:
        """True if the next `embed` answers without loading anything first."""
        ...

    async def warm(self) -> None:
        """Load the model off the event loop. Idempotent.

        Raises:
            RuntimeError: the package of the model is not installed.
        """
        ...

    async def close(self) -> None:
        """Wait for running computations, and release the threads."""
        ...
