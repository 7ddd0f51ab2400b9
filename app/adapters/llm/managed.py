"""The life cycle and languages of an embedder: open, warm, close."""

from collections.abc import Iterable
from typing import Protocol

from app.adapters.llm.ports import Embedder
from app.kernel.languages import CODES, NAMES
from app.language.search_languages import foreign_language


class ManagedEmbedder(Embedder, Protocol):
    """An embedder with a life cycle. Features see only `Embedder`; its owner sees this."""

    is_local: bool = False
    """True if its input stays in this process; false unless an embedder says so."""
    covers: tuple[str, ...] | None = None
    """The languages that it understands, as ISO 639-1 codes. None: it is not known to lack one."""

    @property
    def languages(self) -> str:
        """A description, for people, of what searches by its vectors understand."""
        if self.lexical_only:
            return f"words alone, in every language ({self.model_id})"
        if self.covers is not None:
            return understood(self.covers, self.model_id)
        return f"what its model does ({self.model_id})"

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


def understood(codes: Iterable[str], name: str) -> str:
    """Return a description, for people, of searches by a model that knows some languages."""
    languages = ", ".join(NAMES.get(code, code).capitalize() for code in codes)
    return f"{languages} ({name}); in other languages they find mainly by words"
