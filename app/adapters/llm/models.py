"""The text models of a process, and checks of the models and counters that requests name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

from app.adapters.llm import encodings
from app.adapters.llm.ports import IMAGE_TOKENS, TextModel
from app.kernel.errors import InvalidArgument
from app.kernel.wire.memory_policy import BUILTIN, COUNTERS, MemoryPolicy
from app.language.facts import ENGINE
from app.settings.settings import Settings

_OF_GOOGLE = re.compile(
    r"(?:projects/[^/]+/locations/[^/]+/)?publishers/google/models/[^/]+|(?:models/)?gemini-[\w.@-]+"
)


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
        """Return the model for a bank's `generationConfig.model`, or for its last path segment."""
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
    reads_images: bool = False
    """True if it takes images with its prompts."""

    @property
    def max_images(self) -> int:
        """Number of images that fit into half of its longest prompt; 0: it takes none."""
        return self.model.max_input_tokens // 2 // IMAGE_TOKENS if self.reads_images else 0


@dataclass(frozen=True)
class Readers:
    """The readers of the settings, in order; without any, only the built-in one reads."""

    by_name: Mapping[str, ReaderHandle] = field(default_factory=dict)
    clients: Sequence[httpx2.AsyncClient] = ()

    async def close(self) -> None:
        """Close the connections to the models."""
        for client in self.clients:
            await client.aclose()


def check_policy(
    policy: MemoryPolicy | None, models: TextModels, settings: Settings, field: str
) -> None:
    """Check the names in a policy before it is used; `field` is its path, in wire spelling.

    Raises:
        InvalidArgument: the model or counter does not exist; the error lists those that do.
    """
    if policy is None:
        return
    if policy.summary_model is not None:
        check_model(policy.summary_model, models, f"{field}.summaryModel")
    if policy.counter is not None:
        check_counter(policy.counter, settings, f"{field}.counter")


def check_model(name: str, models: TextModels, field: str) -> None:
    """Check that a model exists."""
    if name == BUILTIN or models.knows(name):
        return
    accepted = ", ".join([BUILTIN, *models.names])
    raise InvalidArgument.of_field(field, f"must be one of: {accepted}.")


def check_writer(name: str | None, models: TextModels, field: str) -> None:
    """Check the model that an engine names for its memories; None is the default.

    Google's own names are taken, since its samples name one: the default writes in its place.
    """
    if name is None or models.knows(name) or _OF_GOOGLE.fullmatch(name):
        return
    own = f"one of: {', '.join(models.names)}; or " if models.names else ""
    raise InvalidArgument.of_field(
        field,
        f"must be {own}a name of Google's such as gemini-2.5-flash, for which"
        f" {models.writer} writes.",
    )


def check_counter(name: str, settings: Settings, field: str) -> None:
    """Check that a counter exists."""
    accepted = [*COUNTERS, *encodings.available(settings.tiktoken_dir)]
    if name not in accepted:
        raise InvalidArgument.of_field(field, f"must be one of: {', '.join(accepted)}.")
