"""The port of text models, and the plain types of models and embedders."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

Vectors = NDArray[np.float32]
"""n rows of `dimensions` floats, each of unit length (Euclidean)."""


IMAGE_TOKENS = 1_600
"""Estimated tokens of an image: as many as Anthropic counts for one of the greatest size.

Source: https://docs.claude.com/en/docs/build-with-claude/vision#calculate-image-costs.
"""


@dataclass(frozen=True)
class Prefixes:
    """The prefixes that a model expects before a text, by the role of the text."""

    query: str = ""
    text: str = ""


@dataclass(frozen=True)
class Usage:
    """The cost of calls of one model; `milliseconds` last from the request to the answer."""

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
    """The cost of a piece of work so far, by model; failed calls count as well."""

    by_model: dict[str, Usage] = field(default_factory=dict)

    def add(self, model_id: str, usage: Usage) -> None:
        """Add a call."""
        self.by_model[model_id] = self.by_model.get(model_id, Usage()) + usage

    @property
    def total(self) -> Usage:
        """The sum over all models."""
        return sum(self.by_model.values(), Usage())


@dataclass(frozen=True)
class Attachment:
    """A file for the model: its bytes, or an address from which a provider can fetch it."""

    media_type: str
    data: bytes | None = None
    uri: str | None = None


@dataclass(frozen=True)
class Prompt:
    """A question: instructions, the text to work on, and its files.

    With empty `instructions`, the model gets no system instruction: all is in the text.
    """

    instructions: str
    text: str
    attachments: tuple[Attachment, ...] = ()

    @property
    def image_tokens(self) -> int:
        """Estimated tokens of its images."""
        kinds = [attachment.media_type for attachment in self.attachments]
        return IMAGE_TOKENS * sum(kind.lower().startswith("image/") for kind in kinds)


@dataclass(frozen=True)
class Question:
    """The content of one request; `fault` is the fault of the first answer."""

    prompt: Prompt
    output: type[BaseModel]
    fault: str | None = None

    @property
    def text(self) -> str:
        """The text of the prompt; after an invalid answer, with a request to correct it."""
        if self.fault is None:
            return self.prompt.text
        return (
            f"{self.prompt.text}\n\nYour last answer was invalid: {self.fault}"
            " Answer again, with the JSON object alone."
        )


class Ending(Enum):
    """The reason why an answer ends; the value tells people of one that ends early."""

    WHOLE = ""
    CUT = "was cut off at its longest"
    FILTERED = "was stopped by the content filter of its provider"
    REFUSED = "was a refusal to answer"


@dataclass(frozen=True)
class ChannelReply:
    """A model's answer to one request."""

    text: str
    input_tokens: int
    output_tokens: int
    ending: Ending = Ending.WHOLE


OutputT = TypeVar("OutputT", bound=BaseModel)


@dataclass(frozen=True)
class Learnt:
    """Facts about a model's server, from its answers: the modes it refused, its longest answer."""

    mode: str
    refused: Sequence[str]
    output_tokens: int


class TextModel(Protocol):
    """The port that answers a prompt with a structure."""

    model_id: str
    """The names of provider and model, such as `openai:gpt-5-mini`."""
    max_input_tokens: int
    """The longest prompt in tokens, instructions and schema included."""

    @property
    def learnt(self) -> Learnt | None:
        """Facts about its server; None before the first answer, and without a server."""
        return None

    def reads(self, attachment: Attachment) -> bool:
        """Return True if the model accepts files of this kind, given this way."""
        ...

    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        """Return the model's answer; every call it takes is added to `meter`, failed or not.

        Invalid output is requested once more. Must not be called inside a transaction.

        Raises:
            ResourceExhausted: the provider keeps refusing with 429, or a concurrency limit is
                reached.
            Unavailable: the provider keeps failing, or its circuit breaker is open.
            DeadlineExceeded: no answer within the overall deadline.
            FailedPrecondition: the provider refuses the request or the key.
            BadGateway: the output is invalid, even the second time.
        """
        ...
