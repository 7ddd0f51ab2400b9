"""Construction of the models that the settings name."""

import structlog
from pydantic import SecretStr

from app.adapters.llm.embedders import CachedEmbedder, Embedders, ManagedEmbedder
from app.adapters.llm.http import open_client
from app.adapters.llm.models import ReaderHandle, Readers, TextModels
from app.adapters.llm.names import NO_KEY, ModelName, ModelSetupError
from app.adapters.llm.ports import IMAGE_TOKENS, Prefixes
from app.adapters.llm.provider import Provider, ProviderTarget
from app.adapters.llm.providers.embed_hash import HashEmbedder
from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder
from app.adapters.llm.providers.remote import RemoteTextModel
from app.kernel.wire.memory_policy import BUILTIN
from app.settings.providers import PROVIDERS, SERVED_ELSEWHERE
from app.settings.settings import EmbedderChoice, Settings
from app.settings.surface_settings import ReaderModel

_log = structlog.get_logger(__name__)

_MODEL = "MEMORY_BANK_MODEL"
_ELSEWHERE = " and ".join(f"{provider}:..." for provider in SERVED_ELSEWHERE)


def open_embedder(settings: Settings) -> ManagedEmbedder:
    """Open the embedder of the settings, behind a cache. Quick, since the model loads on `warm`.

    Raises:
        ModelSetupError: MiniLM is requested by name and not installed, the embedder `http` has no
            address or no model, or the files of `onnx` are not a model.
    """
    inner = choose_embedder(settings)
    if inner.lexical_only:
        _log.warning(
            "embedder.lexical_only",
            model_id=inner.model_id,
            meaning="Similarity search finds shared words only, no paraphrases.",
            missing=MiniLmEmbedder.missing_packages(),
        )
    return CachedEmbedder(inner, settings.tuning.embedding_cache_entries)


def open_embedders(settings: Settings) -> Embedders:
    """Open the embedders that may serve engines, which take no memory until used."""
    current = open_embedder(settings)
    others: list[ManagedEmbedder] = [HashEmbedder(settings.embedder_threads)]
    if not MiniLmEmbedder.missing_packages():
        others.append(MiniLmEmbedder(settings.embedder_threads))
    if settings.embedding_previous_model is not None:
        others.append(_open_previous(settings, settings.embedding_previous_model))
    return Embedders(
        current,
        [
            CachedEmbedder(embedder, settings.tuning.embedding_cache_entries)
            for embedder in others
            if embedder.model_id != current.model_id
        ],
    )


def embedders_with(current: ManagedEmbedder) -> Embedders:
    """Return `current` with only the embedder that is always available beside it."""
    return Embedders(current, [] if current.lexical_only else [HashEmbedder(1)])


def choose_embedder(settings: Settings) -> ManagedEmbedder:
    """Open the embedder of the settings; as `open_embedder`, without a cache."""
    choice, threads = settings.embedder, settings.embedder_threads
    if choice is EmbedderChoice.HTTP:
        return _open_http(settings)
    missing = MiniLmEmbedder.missing_packages()
    if choice is EmbedderChoice.HASH or (missing and choice is EmbedderChoice.AUTO):
        return HashEmbedder(threads)
    if missing:
        raise ModelSetupError(
            f"The embedder {choice} needs packages that are not installed:"
            f" {', '.join(missing)}. Install them, or set MEMORY_BANK_EMBEDDER to auto or hash."
        )
    if choice is not EmbedderChoice.ONNX:
        return MiniLmEmbedder(threads)
    # Imported only if there is such a model: it takes longer than the rest of the start.
    from app.adapters.llm.providers.embed_onnx import OnnxEmbedder  # noqa: PLC0415 - as above

    return OnnxEmbedder(settings)


def _open_http(settings: Settings) -> ManagedEmbedder:
    if settings.embedding_model is None or settings.embedding_base_url is None:
        raise ModelSetupError(
            "The embedder http needs MEMORY_BANK_EMBEDDING_BASE_URL and"
            " MEMORY_BANK_EMBEDDING_MODEL, such as http://localhost:8080/v1 and bge-m3."
        )
    # Imported only if there is such a server: others need no second HTTP client.
    from app.adapters.llm.providers.embed_http import (  # noqa: PLC0415 - as above
        EmbeddingServer,
        HttpEmbedder,
    )

    server = EmbeddingServer(
        settings.embedding_base_url,
        settings.embedding_model,
        settings.embedding_key,
        settings.embedding_revision,
        Prefixes(settings.embedder_query_prefix, settings.embedder_text_prefix),
        settings.embedder_languages,
    )
    return HttpEmbedder(settings, server)


def _open_previous(settings: Settings, model: str) -> ManagedEmbedder:
    url, key = settings.embedding_previous_base_url, settings.embedding_previous_key
    if url is None:
        # The same address may get the same key; another address must not learn it.
        url, key = settings.embedding_base_url, key or settings.embedding_key
    if url is None:
        raise ModelSetupError(
            "MEMORY_BANK_EMBEDDING_PREVIOUS_MODEL needs MEMORY_BANK_EMBEDDING_PREVIOUS_BASE_URL."
        )
    # Imported as late as in `_open_http`.
    from app.adapters.llm.providers.embed_http import (  # noqa: PLC0415 - as above
        EmbeddingServer,
        HttpEmbedder,
    )

    server = EmbeddingServer(
        url,
        model,
        key,
        settings.embedding_previous_revision,
        Prefixes(settings.embedding_previous_query_prefix, settings.embedding_previous_text_prefix),
        settings="MEMORY_BANK_EMBEDDING_PREVIOUS",
    )
    return HttpEmbedder(settings, server)


def open_models(settings: Settings) -> TextModels:
    """Open the text models that the settings name, each once. Takes seconds if there are any."""
    default = ModelName.parse(settings.model, _MODEL) if settings.model else None
    aliases = {
        alias: ModelName.parse(name, f"{_MODEL}_ALIASES")
        for alias, name in settings.model_aliases.items()
    }
    names = {*aliases.values(), *([default] if default else [])}
    if not names:
        return TextModels()
    # Imported only if there is a model: it takes a second.
    from app.adapters.llm.providers.text import open_channel  # noqa: PLC0415 - as above

    url = settings.model_base_url
    if url is not None and default and default.provider not in SERVED_ELSEWHERE:
        raise ModelSetupError(
            f"MEMORY_BANK_MODEL_BASE_URL is for {_ELSEWHERE} alone, not {default}."
        )
    client = open_client(settings.model_timeout_seconds, settings.tuning.model_max_reply_bytes)
    providers = {name.provider: Provider(settings) for name in names}
    models = {}
    for name in names:
        base_url = url if name.provider in SERVED_ELSEWHERE else None
        # The key is meant for this provider; never for another.
        is_meant = base_url is not None or default is None or default.provider == name.provider
        setting = _MODEL if name == default else f"{_MODEL}_ALIASES"
        target = ProviderTarget(
            str(name),
            setting,
            f"{_MODEL}_KEY",
            setting if base_url is None else f"{_MODEL}_BASE_URL",
            f"{_MODEL}_MAX_INPUT_TOKENS",
        )
        key = settings.model_key if is_meant else None
        channel = open_channel(name, base_url, key, client, settings)
        models[name] = RemoteTextModel(target, channel, providers[name.provider], settings)
    return TextModels(
        default=models[default] if default else None,
        aliases={alias: models[name] for alias, name in aliases.items()},
        clients=(client,),
    )


def open_readers(settings: Settings) -> Readers:
    """Open the readers that the settings name. Takes seconds if there are any.

    They share neither key nor address with the model that writes memories, and take neither from
    the environment.
    """
    if not settings.task_readers:
        return Readers()
    # Imported only if there is a model: it takes a second.
    from app.adapters.llm.providers.text import open_channel  # noqa: PLC0415 - as above

    seconds, most_bytes = settings.model_timeout_seconds, settings.tuning.model_max_reply_bytes
    near = open_client(seconds, most_bytes, is_direct=True)
    far = open_client(seconds, most_bytes)
    readers = {}
    for name, reader in settings.task_readers.items():
        is_local = reader.locality == "local"
        setting = f"MEMORY_BANK_TASK_READERS, at {name!r}"
        model = _reader_name(name, reader, f"{setting},")
        own = settings.model_copy(update={"model_max_input_tokens": reader.max_input_tokens})
        key = reader.key or (SecretStr(NO_KEY) if is_local else None)
        address = reader.base_url or PROVIDERS[model.provider].address
        channel = open_channel(model, address, key, near if is_local else far, own)
        target = ProviderTarget(str(model), setting, setting, setting, setting)
        asked = RemoteTextModel(target, channel, Provider(own), own)
        readers[name] = ReaderHandle(name, asked, is_local, bool(reader.reads))
        if reader.reads and not readers[name].max_images:
            raise ModelSetupError(
                f"{setting}, reads images, so its max_input_tokens must be at least"
                f" {2 * IMAGE_TOKENS:,}; got {reader.max_input_tokens:,}."
            )
    return Readers(readers, (near, far))


def _reader_name(name: str, reader: ReaderModel, setting: str) -> ModelName:
    if name.partition(":")[0] == BUILTIN:
        raise ModelSetupError(f"{setting} has the name of the reader that needs no model.")
    model = ModelName.parse(reader.model, setting)
    if reader.base_url is not None and model.provider not in SERVED_ELSEWHERE:
        raise ModelSetupError(f"{setting} has an address; only {_ELSEWHERE} take one.")
    is_elsewhere = reader.base_url is None and not PROVIDERS[model.provider].is_local
    if reader.locality == "local" and is_elsewhere:
        raise ModelSetupError(f"{setting} is local, and {model} without an address is not.")
    return model
