"""Opens the models that the settings ask for."""

import structlog

from app.llm.cache import CachedEmbedder
from app.llm.embed_hash import HashEmbedder
from app.llm.embed_minilm import MiniLmEmbedder, missing_packages
from app.llm.managed import ManagedEmbedder
from app.llm.models import TextModels
from app.settings import EmbedderChoice, Settings

_log = structlog.get_logger(__name__)


def open_embedder(settings: Settings) -> ManagedEmbedder:
    """Open the embedder of the settings, behind a cache. Quick: the model loads on `warm`.

    Raises:
        RuntimeError: MiniLM is asked for by name and is not installed.
    """
    inner = _choose(settings)
    if inner.lexical_only:
        _log.warning(
            "embedder.lexical_only",
            model_id=inner.model_id,
            meaning="Similarity search finds shared words only, no paraphrases.",
            missing=missing_packages(),
        )
    return CachedEmbedder(inner, settings.embedding_cache_entries)


def open_models(settings: Settings) -> TextModels:
    """Open the text models that the settings name.

    Raises:
        ModelSetupError: a name, or the key of its provider, is wrong.
    """
    if settings.model is None and not settings.model_aliases:
        return TextModels()
    # Imported only where there is a model: it takes more than a second.
    from app.llm.text import open_text_models  # noqa: PLC0415 - as above

    return open_text_models(settings)


def _choose(settings: Settings) -> ManagedEmbedder:
    if settings.embedder is EmbedderChoice.HASH:
        return HashEmbedder(settings.embedder_threads)
    missing = missing_packages()
    if not missing:
        return MiniLmEmbedder(settings.embedder_threads)
    if settings.embedder is EmbedderChoice.MINILM:
        raise RuntimeError(
            f"The embedder minilm needs packages that are not installed: {', '.join(missing)}."
            " Install them, or set MEMORY_BANK_EMBEDDER to auto or hash."
        )
    return HashEmbedder(settings.embedder_threads)
