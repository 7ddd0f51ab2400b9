"""The ports through which the service asks a model, and their plain types."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

Vectors = NDArray[np.float32]
"""n rows of `dimensions` floats, each of unit length (Euclidean)."""


@dataclass(frozen=True)
class Prefixes:
    """What a model is to find before a text, by the part that the text plays.

    Attributes:
        query: before what is searched for.
        text: before what is stored, and found.
    """

    query: str = ""
    text: str = ""


class Embedder(Protocol):
    """Turns texts into vectors whose Euclidean distance says how near their meanings are."""

    model_id: str
    """Names the model and its version; vectors of different ids never compare."""
    dimensions: int
    lexical_only: bool
    """True when the vectors know words but no meaning."""
    prefixes: Prefixes = Prefixes()
    """For whoever knows which part a text plays to put before it; `embed` takes it as it stands."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order. Does not block the event loop.

        Must not be called inside a transaction.

        Raises:
            RuntimeError: a transaction is open in this task.
        """
        ...


@dataclass(frozen=True)
class Usage:
    """What calls of one model have cost; `milliseconds` are those from asking to the answer."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.milliseconds + other.milliseconds,
        )


@dataclass
class Meter:
    """What a piece of work has spent so far, by model; what failed has its price, too."""

    by_model: dict[str, Usage] = field(default_factory=dict)

    def add(self, model_id: str, usage: Usage) -> None:
        """Count a call."""
        self.by_model[model_id] = self.by_model.get(model_id, Usage()) + usage

    @property
    def total(self) -> Usage:
        """All models together."""
        return sum(self.by_model.values(), Usage())


@dataclass(frozen=True)
class Attachment:
    """A file for the model to read: its bytes, or where a provider can fetch it."""

    media_type: str
    data: bytes | None = None
    uri: str | None = None


@dataclass(frozen=True)
class Prompt:
    """One question: what to do, what to do it on, and the files that belong to it."""

    instructions: str
    text: str
    attachments: tuple[Attachment, ...] = ()


OutputT = TypeVar("OutputT", bound=BaseModel)


class TextModel(Protocol):
    """Answers a prompt with a structure."""

    model_id: str
    """Names provider and model, such as `openai:gpt-5-mini`."""
    max_input_tokens: int
    """The longest prompt, instructions and schema included."""

    def reads(self, attachment: Attachment) -> bool:
        """Say whether the model takes files of this kind, given this way."""
        ...

    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        """Return the model's answer; every call it takes is added to `meter`, failed or not.

        Invalid output is asked for once more. Must not be called inside a transaction.

        Raises:
            ResourceExhausted: the provider keeps refusing with 429, or a concurrency bound is met.
            Unavailable: the provider keeps failing, or has failed so often that it is spared.
            DeadlineExceeded: no answer within the overall deadline.
            FailedPrecondition: the provider refuses the request or the key.
            BadGateway: the output is invalid, also the second time.
            RuntimeError: a transaction is open in this task.
        """
        ...
