"""What is stored of an artifact beside its bytes: digest, look, tokens, and the pieces of its text.

In a thread, since a long text takes longer than other requests should wait.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.adapters.documents.extracting import extracted, is_readable, sniffed
from app.artifacts.tasks.logic.kinds import Kind, State
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.media_types import JSON, MediaType
from app.language.chunking import Chunk, Cutting, chunks, tokens_in
from app.language.search_languages import UNKNOWN, configuration_of
from app.settings.settings import Settings

_NUL, _SHOWN_NUL = "\x00", "\ufffd"


@dataclass(frozen=True)
class Prepared:
    """What is known of the bytes of an artifact.

    Attributes:
        chunks: the pieces of its text, as rows.
        is_indexed_later: whether it has a text too long to be cut up while the caller waits.
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
    def state(self) -> State:
        """The state in which it is stored."""
        return State.INDEXING if self.is_indexed_later else State.READY

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the artifact that say so."""
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
        """Return the same of a content that is longer by what says nothing, such as blanks."""
        digest = hashlib.sha256(data).digest()
        return replace(self, size=len(data), sha256=digest, token_estimate=tokens_in(len(data)))


async def prepare(
    settings: Settings,
    data: bytes,
    size: int,
    kind: Kind,
    media_type: str,
    sha256: bytes | None = None,
) -> Prepared:
    """Return what is stored of bytes, beside them.

    `data` is all of them or, of more than are cut into pieces at once, the first; `size` is how
    many there are, and `sha256` their digest, where that is known already.
    """
    return await asyncio.to_thread(_prepare, settings, data, size, (kind, media_type, sha256))


def _prepare(
    settings: Settings, data: bytes, size: int, known: tuple[Kind, str, bytes | None]
) -> Prepared:
    kind, media_type, sha256 = known
    looks_like = sniffed(data)
    found = Prepared(
        kind, size, sha256 or hashlib.sha256(data).digest(), looks_like, tokens_in(size)
    )
    if not is_readable(media_type, looks_like):
        return found
    if size > settings.task_index_at_once_bytes:
        return replace(found, is_indexed_later=True)
    pieces = list(chunks(extracted([data], media_type, looks_like), cutting_of(settings)))
    return replace(
        found,
        token_estimate=tokens_in(pieces[-1].end) if pieces else 0,
        language=language_of(pieces),
        chunks=[columns_of(piece) for piece in pieces],
    )


def cutting_of(settings: Settings) -> Cutting:
    """Return how texts are cut."""
    return Cutting(settings.task_chunk_tokens, settings.task_chunk_overlap_tokens)


def language_of(pieces: Sequence[Chunk]) -> str:
    """Return the text-search configuration of a text, by its first piece."""
    return configuration_of(pieces[0].text) if pieces else UNKNOWN


def columns_of(piece: Chunk) -> dict[str, Any]:
    """Return the columns of a piece; the one sign that cannot be stored is another."""
    return {
        "n": piece.n,
        "start_offset": piece.start,
        "end_offset": piece.end,
        "text": piece.text.replace(_NUL, _SHOWN_NUL),
        "tokens": piece.tokens,
    }


def kind_of(media_type: str) -> Kind:
    """Return the kind of what is uploaded."""
    essence = MediaType.parse(media_type).essence
    if essence == JSON or essence.endswith("+json"):
        return Kind.JSON
    return Kind.TEXT if essence.startswith("text/") else Kind.BLOB


def check_storable(settings: Settings, kind: Kind, field: str = "Content-Type") -> None:
    """Make sure that a kind is stored; `field` is what makes it that kind, or has it stored.

    Raises:
        InvalidArgument: they are not.
    """
    if kind not in settings.task_storable:
        listed = ", ".join(settings.task_storable) or "nothing"
        raise InvalidArgument(
            f"{field}: what is stored so is of kind {kind}, which is not stored here; {listed} can"
            " be.",
            Reason.UNSUPPORTED_ARTIFACT_TYPE,
            metadata={"kind": kind.value},
        )
