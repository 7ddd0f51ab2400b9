"""Choice of the model that embeds a namespace, and splitting of texts for it.

A namespace is embedded only by the model that it names.
"""

from app.adapters.llm.embedders import Embedders, ManagedEmbedder
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.auth import Caller
from app.kernel.errors import InvalidArgument, PermissionDenied, Reason
from app.kernel.permissions import Permission


def embedder_of(embedders: Embedders, row: NamespaceRow) -> ManagedEmbedder | None:
    """Return the embedder that a namespace names if it is allowed and configured."""
    embedder = None if row.embedding_model is None else embedders.by_id.get(row.embedding_model)
    return embedder if embedder is not None and _may_have(row, embedder) else None


def check_embedder(embedders: Embedders, row: NamespaceRow, *, is_chosen: bool) -> None:
    """Check that a namespace may use the embedder that it names.

    Args:
        embedders: configured embedders.
        row: the namespace, as it will be stored.
        is_chosen: whether this request names the embedder, which must then be configured. An
            embedder named earlier may no longer be.

    Raises:
        InvalidArgument: no embedder has this name.
        PermissionDenied: the embedder is remote and the namespace local, or it is not an allowed
            model.
    """
    if row.embedding_model is None:
        return
    embedder = embedders.by_id.get(row.embedding_model)
    if embedder is None and is_chosen:
        listed = ", ".join(sorted(embedders.by_id))
        raise InvalidArgument.of_field("embeddingModel", f"must be one of {listed}.")
    if embedder is not None and not _may_have(row, embedder):
        may = sorted(known.model_id for known in embedders.by_id.values() if _may_have(row, known))
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
