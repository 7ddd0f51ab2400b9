"""The text models of a process: those that write memories, and those that read task memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

from app.adapters.llm.ports import TextModel
from app.language.facts import ENGINE


@dataclass(frozen=True)
class TextModels:
    """The models that the settings name, each opened once; without any, the rules work."""

    default: TextModel | None = None
    """The model of banks that name none, or one that the settings do not know."""
    aliases: Mapping[str, TextModel] = field(default_factory=dict)
    """Models by the name that banks give, or by its last segment."""
    clients: Sequence[httpx2.AsyncClient] = ()
    """The connections to close."""

    def choose(self, name: str | None) -> TextModel | None:
        """Return the model for a bank's `generationConfig.model`. None: no model.

        `projects/p/locations/l/publishers/google/models/gemini-x` is looked up unchanged, then as
        `gemini-x`.
        """
        if name is None:
            return self.default
        named = self.aliases.get(name) or self.aliases.get(name.rpartition("/")[2])
        return named or self.default

    def knows(self, name: str) -> bool:
        """Return True if a name has a model of its own: an alias, or the default's name."""
        return name in self.names or name.rpartition("/")[2] in self.aliases

    @property
    def description(self) -> str:
        """A description, for people, of the writer of memories if a bank names no model."""
        if self.default is None:
            version = ENGINE.rpartition("/")[2]
            return f"built-in rules {version} (set MEMORY_BANK_MODEL for a language model)"
        return self.default.model_id

    @property
    def writer(self) -> str:
        """The name of the writer of memories if a bank names no model."""
        return ENGINE if self.default is None else self.default.model_id

    @property
    def names(self) -> Sequence[str]:
        """The names by which a model can be requested."""
        own = [self.default.model_id] if self.default is not None else []
        return [*own, *sorted(self.aliases)]

    async def close(self) -> None:
        """Close the connections to the providers."""
        for client in self.clients:
            await client.aclose()


@dataclass(frozen=True)
class ReaderHandle:
    """A model that reads task memory on behalf of prompts, under the name that requests give."""

    name: str
    model: TextModel
    is_local: bool
    """True if its input stays on the operator's machines."""


@dataclass(frozen=True)
class Readers:
    """The readers of the settings, in order; without any, only the built-in one reads."""

    by_name: Mapping[str, ReaderHandle] = field(default_factory=dict)
    clients: Sequence[httpx2.AsyncClient] = ()

    async def close(self) -> None:
        """Close the connections to the models."""
        for client in self.clients:
            await client.aclose()
