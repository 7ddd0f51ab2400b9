"""The models that read task memory on behalf of prompts, and where they run."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from app.adapters.llm.ports import TextModel


@dataclass(frozen=True)
class ReaderHandle:
    """A model under the name that requests give."""

    name: str
    model: TextModel
    is_local: bool
    """True if its input stays on the operator's machines."""


async def _nothing() -> None:
    """Close nothing."""


@dataclass(frozen=True)
class Readers:
    """The readers of the settings, in order; without any, only the built-in one reads."""

    by_name: Mapping[str, ReaderHandle] = field(default_factory=dict)
    on_close: Callable[[], Awaitable[None]] = _nothing

    async def close(self) -> None:
        """Close the connections to the models."""
        await self.on_close()
