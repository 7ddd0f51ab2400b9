"""An embedder over any server with OpenAI's `/embeddings`.

Its calls are not metered: usage and budgets cover text models alone.

Source: https://platform.openai.com/docs/api-reference/embeddings/create.
"""

import json
import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256

import httpx2
import numpy as np
import structlog
from numpy.typing import NDArray
from prometheus_client import Counter
from pydantic import BaseModel, SecretStr, ValidationError
from typing_extensions import override

from app.adapters.concurrency import offloaded
from app.adapters.llm.batching import Batcher
from app.adapters.llm.embedders import BatchSize, ManagedEmbedder
from app.adapters.llm.http import ResponseHead, response_head_kept
from app.adapters.llm.json_client import JsonClient
from app.adapters.llm.ports import Prefixes, Vectors
from app.adapters.llm.provider import Provider, ProviderTarget, RequestFailed, now
from app.adapters.llm.words import SILENCE, Words, is_of_size, words_of
from app.kernel.errors import BadGateway, Reason, ServiceError
from app.kernel.guard import refuse_inside_transaction
from app.settings.settings import Settings

_log = structlog.get_logger(__name__)

_FAILED = 500
_TOO_MUCH = {"400", "413", "422", str(_FAILED)}
"""Statuses with which servers refuse too many texts, or too long ones."""
_SHORTENED = Counter(
    "memory_bank_embedding_shortened_texts_total",
    "Texts that were shortened to the length that the embedding server accepts.",
    ["model"],
)

_PATIENCE_SECONDS = 5.0
"""The wait for a server whose breaker is open: a search may be waiting as well."""
_SHARED_PART = 0.5
"""The part of the time limit, of a search at most, that a shared request has; its callers may need
the rest, too."""
_NUMBERS, _BASE64 = "float", "base64"
"""Forms of vectors; the second takes a third of the bytes, and hardly any time to parse."""
_FORM_REFUSED = (400, 422)
_OF_FORM = re.compile(r"encoding_?format|base64", re.IGNORECASE)


class _Row(BaseModel):
    index: int
    embedding: list[float] | str


class _Reply(BaseModel):
    data: list[_Row]


@dataclass(frozen=True)
class EmbeddingServer:
    """An embedding server and its model.

    Attributes:
        base_url: the address, up to and including its `/v1`.
        revision: distinguishes versions that the server offers under the same name.
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
        revision = f"@{self.revision}" if self.revision else ""
        # Another prefix makes other vectors.
        prefix = self.prefixes.text
        mark = f"#{sha256(prefix.encode()).hexdigest()[:8]}" if prefix else ""
        model_id = f"http:{self.model}{revision}{mark}"
        setting = f"{self.settings}_MODEL"
        key, address = f"{self.settings}_KEY", f"{self.settings}_BASE_URL"
        return ProviderTarget(model_id, setting, key, address, setting)


class HttpEmbedder(ManagedEmbedder):
    """An embedder that asks a server in batches; `dimensions` are known after its first answer.

    It remembers how many and how long texts the server takes, and whether it knows base64.
    """

    lexical_only = False

    def __init__(self, settings: Settings, server: EmbeddingServer) -> None:
        self._target = server.target
        self.model_id = self._target.model
        self.prefixes = server.prefixes
        self.covers = server.covers
        self.dimensions = 0
        self._was_warmed = False
        self._model = server.model
        base = httpx2.URL(server.base_url)
        self.takes: BatchSize = BatchSize()
        self._supposed = self.takes
        """The size that the server seemed to take when it failed at more without a reason."""
        self._timeout_seconds = settings.model_timeout_seconds
        self._provider = Provider(settings, _PATIENCE_SECONDS)
        headers = {}
        if server.key:
            key = server.key.get_secret_value()
            headers["Authorization"] = f"Bearer {key}"
            if "api-version" in base.params:
                # Azure does not take its keys as a bearer's.
                headers["api-key"] = key
        self._client = JsonClient(
            base.copy_with(path=base.path.rstrip("/") + "/embeddings"),
            headers,
            settings.model_timeout_seconds,
            settings.tuning.model_max_reply_bytes,
        )
        self._batcher = Batcher(
            self._request,
            partial(self._request, is_once=True),
            _SHARED_PART
            * min(settings.model_timeout_seconds, settings.tuning.embedding_query_seconds),
        )
        self._form = _BASE64
        self._is_form_tried = False

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
        await self._batcher.close()
        await self._client.close()

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        refuse_inside_transaction("Embedding")
        deadline = now() + self._timeout_seconds
        takes = known = self.takes
        is_told = True
        vectors_of_batches: list[Vectors] = []
        at = 0
        while at < len(texts):
            given = texts[at : at + takes.texts]
            # A server may refuse an empty text.
            batch = [text[: takes.chars] or " " for text in given]
            try:
                vectors_of_batches.append(await self._vectors(batch, deadline, takes.texts))
            except ServiceError as refused:
                less = takes.less_than(batch)
                if less is None or refused.metadata.get("httpStatus") not in _TOO_MUCH:
                    raise
                is_failure = refused.metadata["httpStatus"] == str(_FAILED)
                is_told &= not is_failure or is_of_size(str(refused))
                takes = less
                continue
            at += len(given)
            if shortened := sum(len(text) > takes.chars for text in given):
                _SHORTENED.labels(self.model_id).inc(shortened)
            if takes.chars < known.chars:
                # It was the length: as many texts as before are tried again.
                takes = known = replace(known, chars=takes.chars)
        self._learn(takes, is_told=is_told)
        return (
            np.concatenate(vectors_of_batches)
            if vectors_of_batches
            else np.empty((0, self.dimensions), np.float32)
        )

    def _learn(self, takes: BatchSize, *, is_told: bool) -> None:
        """Remember how much the server takes; without a reason from it, only the second time."""
        if not is_told and takes != self._supposed:
            self._supposed = takes
            return
        least = BatchSize(min(takes.texts, self.takes.texts), min(takes.chars, self.takes.chars))
        if least != self.takes:
            self.takes, model = least, self.model_id
            _log.warning(
                "embedder.takes_less", model=model, texts=least.texts, characters=least.chars
            )

    async def _vectors(self, batch: Sequence[str], deadline: float, most: int) -> Vectors:
        if self._provider.is_spared:
            # Each waits for the breaker by itself, and only once.
            return await self._request(batch, deadline)
        return await self._batcher.embed(batch, deadline, most)

    async def _request(
        self, texts: Sequence[str], deadline: float, *, is_once: bool = False
    ) -> Vectors:
        failures = 0

        async def send() -> bytes:
            nonlocal failures
            try:
                return await self._sent(texts, response_head)
            except RequestFailed as failed:
                failures += failed.status == _FAILED
                failed.is_final = failures > 1 and self.takes.less_than(texts) is not None
                raise

        with response_head_kept() as response_head:
            body = await self._provider.call(send, deadline, self._target, is_once=is_once)
        try:
            vectors = await offloaded(len(body), _parsed, body, len(texts))
        except ValidationError:
            said = await words_of(response_head, texts, self._model)
            raise _invalid("no list of embeddings", said) from None
        if self.dimensions not in {0, vectors.shape[1]}:
            raise _invalid(f"vectors of {vectors.shape[1]} dimensions after {self.dimensions}")
        self.dimensions = vectors.shape[1]
        return vectors

    async def _sent(self, texts: Sequence[str], response_head: ResponseHead) -> bytes:
        """Return the reply to one request; ask for numbers where the server refuses base64.

        A refusal without words about the form is tried so only once: its cause may be another.
        """
        form = self._form
        try:
            body = await self._post(texts, form, response_head)
        except RequestFailed as failed:
            is_tried = self._is_form_tried or failed.status not in _FORM_REFUSED
            if form == _NUMBERS or (is_tried and not _OF_FORM.search(failed.words.whole)):
                raise
            try:
                body = await self._post(texts, _NUMBERS, response_head)
            except RequestFailed as again:
                if again.status not in _FORM_REFUSED:
                    # It tells nothing about the form, and may pass.
                    raise
                self._is_form_tried = True
                raise failed from None
            self._form = _NUMBERS
        self._is_form_tried = True
        return body

    async def _post(self, texts: Sequence[str], form: str, response_head: ResponseHead) -> bytes:
        asked = {"model": self._model, "input": list(texts), "encoding_format": form}
        try:
            return await self._client.post(json.dumps(asked).encode())
        except RequestFailed as failed:
            if failed.status is not None:
                failed.words = await words_of(response_head, texts, self._model)
            raise


def _parsed(body: bytes, count: int) -> Vectors:
    """Parse a reply, with base64 or numbers: one vector per text by its index, of unit length."""
    rows = sorted(_Reply.model_validate_json(body).data, key=lambda row: row.index)
    if [row.index for row in rows] != list(range(count)):
        raise _invalid(f"other than one vector for each of {count} texts")
    given = [_numbers(row.embedding) for row in rows]
    if len({len(numbers) for numbers in given}) != 1:
        raise _invalid("vectors of different lengths")
    vectors = np.stack(given)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise _invalid("a vector without direction")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit


def _numbers(embedding: list[float] | str) -> NDArray[np.float64]:
    if not isinstance(embedding, str):
        return np.array(embedding, np.float64)
    try:
        return np.frombuffer(b64decode(embedding, validate=True), "<f4").astype(np.float64)
    except ValueError:
        raise _invalid("base64 of no vector") from None


def _invalid(what: str, said: Words = SILENCE) -> BadGateway:
    return BadGateway(
        f"The embedding server sent {what}.{said.sentence}", Reason.MODEL_OUTPUT_INVALID
    )
