"""An embedder over any server with OpenAI's `/embeddings`.

Its calls are not metered: no operation's metadata, usage or budget includes their cost, since
those cover text models alone. A search embeds too, and belongs to no operation.

Source: https://platform.openai.com/docs/api-reference/embeddings/create.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import httpx2
import numpy as np
from pydantic import BaseModel, SecretStr, ValidationError
from typing_extensions import override

from app.adapters.llm import offload, words
from app.adapters.llm.http import ReplyUnread, glimpsed, open_client, retry_after_seconds
from app.adapters.llm.managed import ManagedEmbedder
from app.adapters.llm.ports import Prefixes, Vectors
from app.adapters.llm.provider import Provider, ProviderTarget, RequestFailed, Unread
from app.adapters.llm.words import ProviderRequest
from app.kernel.errors import BadGateway, Reason
from app.kernel.guard import refuse_inside_transaction
from app.settings.settings import Settings

_BATCH = 16
"""Texts per request; their vectors of 3,072 numbers each take about a megabyte as text."""
_MAX_CHARS = 8_000
"""Characters sent of one text; vendors refuse more than about 8,000 tokens."""

_PATIENCE_SECONDS = 5.0
"""The wait for a server whose breaker is open: a search may be waiting as well."""


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Reply(BaseModel):
    data: list[_Row]


@dataclass(frozen=True)
class EmbeddingServer:
    """An embedding server and its model.

    Attributes:
        base_url: the address, up to and including its `/v1`.
        model: the server's name of the model.
        key: the API key, if the server needs one.
        revision: distinguishes versions that the server offers under the same name.
        prefixes: the prefixes that the model expects before texts.
        covers: the languages that the model understands, if known.
        settings: the prefix of its settings' names.
    """

    base_url: str
    model: str
    key: SecretStr | None = None
    revision: str | None = None
    prefixes: Prefixes = field(default_factory=Prefixes)
    covers: tuple[str, ...] | None = None
    settings: str = "MEMORY_BANK_EMBEDDING"

    @property
    def target(self) -> ProviderTarget:
        """The model as errors name it."""
        return ProviderTarget(self.model_id, f"{self.settings}_MODEL", f"{self.settings}_KEY")

    @property
    def model_id(self) -> str:
        """The id of the model in this service."""
        revision = f"@{self.revision}" if self.revision else ""
        return f"http:{self.model}{revision}{_mark(self.prefixes.text)}"


class HttpEmbedder(ManagedEmbedder):
    """An embedder that asks a server in batches; `dimensions` are known after its first answer."""

    lexical_only = False

    def __init__(self, settings: Settings, server: EmbeddingServer) -> None:
        self.model_id = server.model_id
        self.prefixes = server.prefixes
        self.covers = server.covers
        self.dimensions = 0
        self._was_warmed = False
        self._model = server.model
        self._target = server.target
        self._url = server.base_url.rstrip("/") + "/embeddings"
        self._timeout_seconds = settings.model_timeout_seconds
        self._provider = Provider(settings, _PATIENCE_SECONDS)
        self._client = open_client(
            settings.model_timeout_seconds, settings.tuning.model_max_reply_bytes
        )
        if server.key is not None:
            key = server.key.get_secret_value()
            self._client.headers["Authorization"] = f"Bearer {key}"

    @property
    @override
    def ready(self) -> bool:
        # Nothing is loaded: an unreachable server must not block requests that do not need it.
        return self._was_warmed

    @override
    async def warm(self) -> None:
        try:
            if not self.dimensions:
                await self.embed(["warm"])
        finally:
            self._was_warmed = True

    @override
    async def close(self) -> None:
        await self._client.aclose()

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order.

        Raises:
            ServiceError: as `TextModel.ask`; also if the server's reply holds no valid vectors.
            RuntimeError: a transaction is open in this task.
        """
        refuse_inside_transaction("Embedding")
        deadline = asyncio.get_running_loop().time() + self._timeout_seconds
        # A server may refuse an empty text.
        cut = [text[:_MAX_CHARS] or " " for text in texts]
        batches = [cut[at : at + _BATCH] for at in range(0, len(cut), _BATCH)]
        vectors = [await self._batch(batch, deadline) for batch in batches]
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimensions), np.float32)

    async def _batch(self, texts: Sequence[str], deadline: float) -> Vectors:
        body = await self._provider.call(lambda: self._send(texts), deadline, self._target)
        vectors = await offload.done(len(body), _vectors, body, len(texts))
        if self.dimensions not in {0, vectors.shape[1]}:
            raise _invalid(f"vectors of {vectors.shape[1]} dimensions after {self.dimensions}")
        self.dimensions = vectors.shape[1]
        return vectors

    async def _send(self, texts: Sequence[str]) -> bytes:
        asked = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        try:
            with glimpsed() as glimpse:
                response = await self._client.post(self._url, json=asked)
        except ReplyUnread as unread:
            raise Unread(str(unread)) from None
        except httpx2.TransportError:
            raise RequestFailed from None
        if not response.is_success:
            asked_for = retry_after_seconds(response.headers)
            request = ProviderRequest(texts, glimpse.secrets, self._model)
            said = await offload.done(sum(map(len, texts)), words.read, glimpse.head, request)
            raise RequestFailed(response.status_code, asked_for, said)
        return response.content


def _mark(prefix: str) -> str:
    """Return a mark of the text prefix, since another prefix makes other vectors."""
    return f"#{sha256(prefix.encode()).hexdigest()[:8]}" if prefix else ""


def _vectors(body: bytes, count: int) -> Vectors:
    """Parse a reply: one vector per text by its index, normalised to unit length."""
    try:
        rows = sorted(_Reply.model_validate_json(body).data, key=lambda row: row.index)
    except ValidationError:
        raise _invalid("no list of embeddings") from None
    if [row.index for row in rows] != list(range(count)):
        raise _invalid(f"other than one vector for each of {count} texts")
    if len({len(row.embedding) for row in rows}) != 1:
        raise _invalid("vectors of different lengths")
    vectors = np.array([row.embedding for row in rows], np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise _invalid("a vector without direction")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit


def _invalid(what: str) -> BadGateway:
    return BadGateway(f"The embedding server sent {what}.", Reason.MODEL_OUTPUT_INVALID)
