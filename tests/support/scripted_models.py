"""Deterministic models for tests: an embedder with placed texts, and a scripted text model."""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from pydantic import BaseModel
from typing_extensions import override

from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.llm.ports import Attachment, Meter, OutputT, Prompt, TextModel, Usage, Vectors
from app.adapters.llm.replies import answered
from app.kernel.guard import refuse_inside_transaction
from app.language.tokens import estimate_tokens


class ScriptedEmbedder(ManagedEmbedder):
    """An embedder that gives every text its own direction, about 1.4 away from any other.

    embedder = ScriptedEmbedder()
    embedder.place("I like tea", near="I love tea", distance=0.2)
    """

    model_id = "scripted/1"
    lexical_only = False
    is_local = True

    def __init__(self, dimensions: int = 384) -> None:
        self.dimensions = dimensions
        self.calls: list[list[str]] = []
        """The texts of every call so far."""
        self.failure: Exception | None = None
        """Raised by every call while it is set."""
        self._placed: dict[str, Vectors] = {}

    @property
    @override
    def ready(self) -> bool:
        return True

    @override
    async def warm(self) -> None:
        pass

    @override
    async def close(self) -> None:
        pass

    def place(self, text: str, *, near: str, distance: float) -> None:
        """Put `text` at a Euclidean distance (0 to 2) from `near`, in a direction of its own."""
        anchor, own = self._vector(near), _direction(text, self.dimensions)
        aside = own - (own @ anchor) * anchor
        along = 1 - distance**2 / 2
        across = (1 - along**2) ** 0.5 / np.linalg.norm(aside)
        self._placed[text] = (along * anchor + across * aside).astype(np.float32)

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        refuse_inside_transaction("Embedding")
        self.calls.append(list(texts))
        if self.failure is not None:
            raise self.failure
        empty = np.empty((0, self.dimensions), np.float32)
        return np.stack([self._vector(text) for text in texts]) if texts else empty

    def _vector(self, text: str) -> Vectors:
        placed = self._placed.get(text)
        return _direction(text, self.dimensions) if placed is None else placed


def _direction(text: str, dimensions: int) -> Vectors:
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    vector = np.random.default_rng(seed).standard_normal(dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


Reply = Mapping[str, object] | BaseModel | str | Exception
"""The reaction of a scripted model: a structure, a text, or a failure."""


@dataclass(frozen=True)
class ScriptedQuery:
    """One request to a scripted model; `fault` is the fault of its first answer."""

    prompt: Prompt
    output: type[BaseModel]
    fault: str | None = None


Script = Sequence[Reply] | Callable[[ScriptedQuery], Reply]


class ScriptedTextModel(TextModel):
    """A text model that returns the replies of a list, one per request, or those of a function.

    model = ScriptedTextModel([{"facts": []}, ConnectionError("away")])

    Its replies are parsed like a real model's: an invalid reply is requested again and takes the
    next of the list. Tokens are counted as a quarter of the characters.
    """

    def __init__(
        self,
        script: Script,
        *,
        model_id: str = "scripted:1",
        max_input_tokens: int = 32_000,
        media_types: Collection[str] = (),
        delay_seconds: float = 0,
    ) -> None:
        self.model_id = model_id
        self.max_input_tokens = max_input_tokens
        self.asked: list[ScriptedQuery] = []
        """Every request so far."""
        self._script = script
        self._media_types = media_types
        self._delay_seconds = delay_seconds

    @property
    def prompts(self) -> list[Prompt]:
        """The prompts of all requests so far."""
        return [asked.prompt for asked in self.asked]

    @override
    def reads(self, attachment: Attachment) -> bool:
        return attachment.media_type in self._media_types

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        refuse_inside_transaction("Asking a model")

        async def request(fault: str | None) -> str:
            return await self._request(ScriptedQuery(prompt, output, fault), meter)

        return await answered(request, output)

    async def _request(self, asked: ScriptedQuery, meter: Meter) -> str:
        self.asked.append(asked)
        # At least one step of the event loop, as with a real model.
        await asyncio.sleep(self._delay_seconds)
        reply = self._next(asked)
        text = "" if isinstance(reply, Exception) else _as_text(reply)
        sent = estimate_tokens(asked.prompt.instructions + asked.prompt.text)
        milliseconds = round(self._delay_seconds * 1000)
        meter.add(self.model_id, Usage(1, sent, estimate_tokens(text), milliseconds))
        if isinstance(reply, Exception):
            raise reply
        return text

    def _next(self, asked: ScriptedQuery) -> Reply:
        if callable(self._script):
            return self._script(asked)
        if len(self.asked) > len(self._script):
            raise RuntimeError(f"The script ends after {len(self._script)} replies.")
        return self._script[len(self.asked) - 1]


def _as_text(reply: Mapping[str, object] | BaseModel | str) -> str:
    if isinstance(reply, str):
        return reply
    if isinstance(reply, BaseModel):
        return reply.model_dump_json(by_alias=True)
    return json.dumps(reply, ensure_ascii=False)
