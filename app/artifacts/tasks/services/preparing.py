"""Stored properties of an artifact's bytes: digest, sniffed type, token count, chunks.

They are computed in a thread, since a long text would delay other requests.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.adapters.documents.extracting import extracted, is_readable, sniffed
from app.artifacts.tasks.logic.kinds import ArtifactState, Kind
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.media_types import JSON, MediaType
from app.language.chunking import Chunk, Cutting, chunks
from app.language.search_languages import UNKNOWN, configuration_of
from app.language.tokens import estimate_tokens, tokens_of_length
from app.settings.settings import Settings

_NUL, _SHOWN_NUL = "\x00", "\ufffd"


@dataclass(frozen=True)
class Prepared:
    """Properties derived from the bytes of an artifact.

    Attributes:
        chunks: the chunks of its text, as rows.
        is_indexed_later: whether its text is too long to be chunked while the caller waits.
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
        """Return the same properties for content padded with blanks or other filler."""
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

    `data` is the whole content or, if that is too long to be chunked at once, its beginning. `size`
    is the length of the whole content, and `sha256` its digest, if already known.
    """
    return await asyncio.to_thread(_prepare, settings, data, size, kind, media_type, sha256)


def _prepare(
    settings: Settings, data: bytes, size: int, kind: Kind, media_type: str, sha256: bytes | None
) -> Prepared:
    looks_like = sniffed(data)
    prepared = Prepared(
        kind, size, sha256 or hashlib.sha256(data).digest(), looks_like, tokens_of_length(size)
    )
    if not is_readable(media_type, looks_like):
        return prepared
    if size > settings.tuning.task_index_at_once_bytes:
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
    """Check that a kind can be stored; `field` is the field that errors name.

    Raises:
        InvalidArgument: the kind cannot be stored.
    """
    if kind not in settings.task_storable:
        listed = ", ".join(settings.task_storable) or "nothing"
        raise InvalidArgument(
            f"{field}: must be of a kind that is stored here ({listed}); got {kind}.",
            Reason.UNSUPPORTED_ARTIFACT_TYPE,
            metadata={"kind": kind.value},
        )
