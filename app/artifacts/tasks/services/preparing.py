"""Stored properties of an artifact's bytes, and the choice of the model that embeds its chunks.

A namespace is embedded only by the model that it names.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.adapters.documents.extracting import extracted, format_read, sniffed
from app.adapters.llm.embedders import Embedders, ManagedEmbedder
from app.artifacts.tasks.logic import ArtifactState, Kind
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.auth import Caller
from app.kernel.errors import InvalidArgument, PermissionDenied, Reason
from app.kernel.media_types import JSON, MediaType, TextFormat
from app.kernel.permissions import Permission
from app.language.chunking import Chunk, Cutting, chunks
from app.language.search_languages import UNKNOWN, configuration_of
from app.language.tokens import estimate_tokens, tokens_of_length
from app.settings.settings import Settings

PADDING = " "
"""Filler at the end of readers' results from sensitive content; no result itself ends in it."""
_NUL, _SHOWN_NUL = "\x00", "\ufffd"


@dataclass(frozen=True)
class Prepared:
    """Properties derived from the bytes of an artifact, with the chunks of its text as rows.

    `is_indexed_later`: a PDF, or a text that is too long to be chunked while the caller waits.
    """

    kind: Kind
    size: int
    sha256: bytes
    sniffed_type: str | None
    token_estimate: int
    language: str = UNKNOWN
    chunks: Sequence[dict[str, Any]] = ()
    is_indexed_later: bool = False

    @property
    def state(self) -> ArtifactState:
        """State to store for the artifact."""
        return ArtifactState.INDEXING if self.is_indexed_later else ArtifactState.READY

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the artifact for these properties."""
        return {
            "kind": self.kind,
            "size_bytes": self.size,
            "sha256": self.sha256,
            "sniffed_type": self.sniffed_type,
            "token_estimate": self.token_estimate,
            "language": self.language,
            "chunks": len(self.chunks),
        }

    def sized_as(self, data: bytes) -> "Prepared":
        """Return the same properties for padded content."""
        digest = hashlib.sha256(data).digest()
        return replace(self, size=len(data), sha256=digest, token_estimate=estimate_tokens(data))


async def prepare(
    settings: Settings,
    data: bytes,
    size: int,
    kind: Kind,
    media_type: str,
    sha256: bytes | None = None,
) -> Prepared:
    """Return the properties to store for an artifact's bytes.

    `data` is the whole content or, if that is too long to be chunked at once, its beginning.
    """
    return await asyncio.to_thread(_prepare, settings, data, size, kind, media_type, sha256)


def _prepare(
    settings: Settings, data: bytes, size: int, kind: Kind, media_type: str, sha256: bytes | None
) -> Prepared:
    looks_like = sniffed(data)
    prepared = Prepared(
        kind, size, sha256 or hashlib.sha256(data).digest(), looks_like, tokens_of_length(size)
    )
    read_as = format_read(media_type, looks_like)
    if read_as is None:
        return prepared
    if read_as is TextFormat.PDF or size > settings.tuning.task_index_at_once_bytes:
        return replace(prepared, is_indexed_later=True)
    pieces = list(chunks(extracted([data], media_type, looks_like), cutting_of(settings)))
    return replace(
        prepared,
        token_estimate=tokens_of_length(pieces[-1].end) if pieces else 0,
        language=language_of(pieces),
        chunks=[columns_of(piece) for piece in pieces],
    )


def cutting_of(settings: Settings) -> Cutting:
    """Return the configured size and overlap of chunks."""
    return Cutting(settings.tuning.task_chunk_tokens, settings.tuning.task_chunk_overlap_tokens)


def language_of(pieces: Sequence[Chunk]) -> str:
    """Return the text-search configuration of a text, detected from its first chunk."""
    return configuration_of(pieces[0].text) if pieces else UNKNOWN


def columns_of(piece: Chunk) -> dict[str, Any]:
    """Return the columns of a chunk; NUL, which Postgres cannot store, is replaced."""
    return {
        "n": piece.n,
        "start_offset": piece.start,
        "end_offset": piece.end,
        "text": piece.text.replace(_NUL, _SHOWN_NUL),
        "tokens": piece.tokens,
    }


def kind_of(media_type: str) -> Kind:
    """Return the kind of an upload with this media type."""
    essence = MediaType.parse(media_type).essence
    if essence == JSON or essence.endswith("+json"):
        return Kind.JSON
    return Kind.TEXT if essence.startswith("text/") else Kind.BLOB


def check_storable(settings: Settings, kind: Kind, field: str = "Content-Type") -> None:
    """Raise InvalidArgument if a kind cannot be stored; `field` is the field that errors name."""
    if kind not in settings.task_storable:
        listed = ", ".join(settings.task_storable) or "nothing"
        raise InvalidArgument(
            f"{field}: must be of a kind that is stored here ({listed}); got {kind}.",
            Reason.UNSUPPORTED_ARTIFACT_TYPE,
            metadata={"kind": kind.value},
        )


def embedder_of(embedders: Embedders, row: NamespaceRow) -> ManagedEmbedder | None:
    """Return the embedder that a namespace names if it is allowed and configured."""
    embedder = None if row.embedding_model is None else embedders.by_id.get(row.embedding_model)
    return embedder if embedder is not None and _may_have(row, embedder) else None


def check_embedder(embedders: Embedders, row: NamespaceRow, *, is_chosen: bool) -> None:
    """Check that a namespace may use the embedder that it names.

    If this request names it (`is_chosen`), the embedder must be configured; otherwise it may be
    gone.

    Raises:
        InvalidArgument: no embedder has this name.
        PermissionDenied: the embedder is remote and the namespace local, or it is not an allowed
            model.
    """
    if row.embedding_model is None:
        return
    embedder = embedders.by_id.get(row.embedding_model)
    if embedder is None and is_chosen:
        listed = ", ".join(embedders.names)
        raise InvalidArgument.of_field("embeddingModel", f"must be one of {listed}.")
    if embedder is not None and not _may_have(row, embedder):
        may = [name for name in embedders.names if _may_have(row, embedders.by_id[name])]
        raise PermissionDenied(
            "embeddingModel: must be allowed by localOnly and allowedModels of this namespace:"
            f" {', '.join(may) or 'none'}.",
            Reason.MODEL_NOT_ALLOWED,
            metadata={"allowedModels": ",".join(may)},
        )


def check_choice(embedders: Embedders, model_id: str | None, caller: Caller) -> None:
    """Check that a caller who stores content may choose the embedder of its namespace.

    Raises:
        PermissionDenied: the embedder is remote and the caller lacks `engines.update`. The
            permission is needed since content stored later may be sensitive.
    """
    embedder = None if model_id is None else embedders.by_id.get(model_id)
    if embedder is None or embedder.is_local or caller.may(Permission.ENGINES_UPDATE):
        return
    raise PermissionDenied(
        "embeddingModel: must be a local model without engines.update.",
        Reason.PERMISSION_MISSING,
        metadata={"permission": Permission.ENGINES_UPDATE.value},
    )


def _may_have(row: NamespaceRow, embedder: ManagedEmbedder) -> bool:
    is_listed = row.allowed_models is None or embedder.model_id in row.allowed_models
    return is_listed and (embedder.is_local or not row.local_only)


_PART_CHARS = 1_000
"""Approximate characters of English text that MiniLM reads; it ignores the rest."""
_SHARED_CHARS = 50
"""Overlap of a part with the next one; it ensures that each word is complete in one of them."""


def parts_of(text: str) -> list[str]:
    """Split a chunk into equal parts, each short enough for a model to read completely."""
    size = max(-(-len(text) // max(-(-len(text) // _PART_CHARS), 1)), 1)
    starts = range(0, len(text), size)
    return [text[start : start + size + _SHARED_CHARS] for start in starts] or [text]
