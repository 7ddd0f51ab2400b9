"""Which model may turn what is in a namespace into vectors, and how much it is given at a time.

That which the namespace names, and no other.
"""

from app.adapters.llm.embedders import Embedders
from app.adapters.llm.managed import ManagedEmbedder
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.auth import Caller
from app.kernel.errors import InvalidArgument, PermissionDenied, Reason
from app.kernel.permissions import Permission


def embedder_of(embedders: Embedders, row: NamespaceRow) -> ManagedEmbedder | None:
    """Return the embedder that a namespace names, if it may have it and that is open here."""
    found = None if row.embedding_model is None else embedders.find(row.embedding_model)
    return found if found is not None and _may_have(row, found) else None


def check_embedder(embedders: Embedders, row: NamespaceRow, *, is_chosen: bool) -> None:
    """Make sure that a namespace, as it is to be, may have the embedder that it names.

    Args:
        embedders: those that are open here.
        row: the namespace.
        is_chosen: whether the embedder is named now; one named before need not be open any more.

    Raises:
        InvalidArgument: there is none of this name.
        PermissionDenied: it is remote, and the namespace local; or it is none of those allowed.
    """
    if row.embedding_model is None:
        return
    found = embedders.find(row.embedding_model)
    if found is None and is_chosen:
        listed = ", ".join(embedders.model_ids)
        raise InvalidArgument.of_field("embeddingModel", f"must be one of {listed}.")
    if found is not None and not _may_have(row, found):
        known = (embedders.find(model_id) for model_id in embedders.model_ids)
        may = [one.model_id for one in known if one is not None and _may_have(row, one)]
        raise PermissionDenied(
            "embeddingModel: what localOnly and allowedModels say of this namespace lets only"
            f" {', '.join(may) or 'none'} embed it.",
            Reason.MODEL_NOT_ALLOWED,
            metadata={"allowedModels": ",".join(may)},
        )


def check_choice(embedders: Embedders, model_id: str | None, caller: Caller) -> None:
    """Make sure that a caller who stores something may name the embedder of its namespace.

    Raises:
        PermissionDenied: it is remote, and that is not theirs to say: what is stored there later
            may be sensitive.
    """
    found = None if model_id is None else embedders.find(model_id)
    if found is None or found.is_local or caller.may(Permission.ENGINES_UPDATE):
        return
    raise PermissionDenied(
        "embeddingModel: one that is remote can be named with engines.update only.",
        Reason.PERMISSION_MISSING,
        metadata={"permission": Permission.ENGINES_UPDATE.value},
    )


def _may_have(row: NamespaceRow, embedder: ManagedEmbedder) -> bool:
    is_listed = row.allowed_models is None or embedder.model_id in row.allowed_models
    return is_listed and (embedder.is_local or not row.local_only)


_PART_CHARS = 1_000
"""About what MiniLM reads of an English text; it would not see the end of longer ones."""
_SHARED_CHARS = 50
"""What a part has of the next one, so that no word is cut in both."""


def parts_of(text: str) -> list[str]:
    """Return a piece in equal parts, each short enough for a model to read all of it."""
    size = max(-(-len(text) // max(-(-len(text) // _PART_CHARS), 1)), 1)
    starts = range(0, len(text), size)
    return [text[start : start + size + _SHARED_CHARS] for start in starts] or [text]
