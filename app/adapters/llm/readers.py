"""The models that read what task memory keeps off prompts, each with where it runs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from app.adapters.llm.ports import TextModel


@dataclass(frozen=True)
class Reader:
    """A model under the name that requests give."""

    name: str
    model: TextModel
    is_local: bool
    """Whether what it reads stays on machines of the operator's."""


async def _nothing() -> None:
    """Close nothing."""


@dataclass(frozen=True)
class Readers:
    """The readers of the settings, in their order; without any, only the built-in one reads."""

    by_name: Mapping[str, Reader] = field(default_factory=dict)
    on_close: Callable[[], Awaitable[None]] = _nothing

    async def close(self) -> None:
        """Release the connections to the models."""
        await self.on_close()
