"""Construction of the models that the settings name."""

import httpx2
import structlog

from app.adapters.llm.cache import CachedEmbedder
from app.adapters.llm.embedders import Embedders
from app.adapters.llm.http import open_client
from app.adapters.llm.managed import ManagedEmbedder
from app.adapters.llm.models import TextModels
from app.adapters.llm.names import ADDRESSES, NO_KEY, ModelName, ModelSetupError
from app.adapters.llm.ports import Prefixes, TextModel
from app.adapters.llm.provider import Provider, ProviderTarget
from app.adapters.llm.providers.embed_hash import HashEmbedder
from app.adapters.llm.providers.embed_http import EmbeddingServer, HttpEmbedder
from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder, missing_packages
from app.adapters.llm.providers.embed_onnx import OnnxEmbedder
from app.adapters.llm.providers.remote import RemoteTextModel
from app.adapters.llm.readers import ReaderHandle, Readers
from app.kernel.wire.memory_policy import BUILTIN
from app.settings.settings import EmbedderChoice, Settings
from app.settings.task_settings import ReaderModel

_log = structlog.get_logger(__name__)

_TAKE_ADDRESS = ("openai", "ollama")
"""Providers whose protocol self-hosted servers speak."""
_ON_THIS_MACHINE = "ollama"
"""The provider that, without an address, is a server on this machine."""


def open_embedder(settings: Settings) -> ManagedEmbedder:
    """Open the embedder of the settings, behind a cache.

    Quick, since the model loads on `warm`; but an operator's own files are read and checked here.

    Raises:
        ModelSetupError: MiniLM is requested by name and not installed, the embedder `http` has no
            address or no model, or the files of `onnx` are not a model.
    """
    return _opened(choose_embedder(settings), settings)


def open_embedders(settings: Settings) -> Embedders:
    """Open the configured embedder, and those that may still serve engines, behind caches.

    Embedders that compute in this process can always be opened; they take no memory until used.

    Raises:
        ModelSetupError: as `open_embedder`; or the former embedder `http` has no address.
    """
    current = open_embedder(settings)
    others: list[ManagedEmbedder] = [HashEmbedder(settings.embedder_threads)]
    if not missing_packages():
        others.append(MiniLmEmbedder(settings.embedder_threads))
    if settings.embedding_previous_model is not None:
        others.append(_open_previous(settings, settings.embedding_previous_model))
    cached = [CachedEmbedder(embedder, settings.embedding_cache_entries) for embedder in others]
    return Embedders(
        current, [embedder for embedder in cached if embedder.model_id != current.model_id]
    )


def embedders_with(current: ManagedEmbedder) -> Embedders:
    """Return `current` with only the embedder that is always available beside it."""
    others = [] if current.lexical_only else [HashEmbedder(1)]
    return Embedders(current, others)


def _opened(inner: ManagedEmbedder, settings: Settings) -> ManagedEmbedder:
    if inner.lexical_only:
        _log.warning(
            "embedder.lexical_only",
            model_id=inner.model_id,
            meaning="Similarity search finds shared words only, no paraphrases.",
            missing=missing_packages(),
        )
    return CachedEmbedder(inner, settings.embedding_cache_entries)


def choose_embedder(settings: Settings) -> ManagedEmbedder:
    """Open the embedder of the settings; as `open_embedder`, without a cache."""
    if settings.embedder is EmbedderChoice.HTTP:
        return _open_http(settings)
    if settings.embedder is EmbedderChoice.HASH:
        return HashEmbedder(settings.embedder_threads)
    missing = missing_packages()
    if not missing and settings.embedder is EmbedderChoice.ONNX:
        return OnnxEmbedder(settings)
    if not missing:
        return MiniLmEmbedder(settings.embedder_threads)
    if settings.embedder is not EmbedderChoice.AUTO:
        raise ModelSetupError(
            f"The embedder {settings.embedder} needs packages that are not installed:"
            f" {', '.join(missing)}. Install them, or set MEMORY_BANK_EMBEDDER to auto or hash."
        )
    return HashEmbedder(settings.embedder_threads)


def _open_http(settings: Settings) -> ManagedEmbedder:
    if settings.embedding_model is None or settings.embedding_base_url is None:
        raise ModelSetupError(
            "The embedder http needs MEMORY_BANK_EMBEDDING_BASE_URL and"
            " MEMORY_BANK_EMBEDDING_MODEL, such as http://localhost:8080/v1 and bge-m3."
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
    """Open the text models that the settings name. Takes seconds if there are any.

    Raises:
        ModelSetupError: a provider's name, address or key is wrong.
    """
    default = settings.model and ModelName.parse(settings.model, "MEMORY_BANK_MODEL")
    aliases = {
        alias: ModelName.parse(name, "MEMORY_BANK_MODEL_ALIASES")
        for alias, name in settings.model_aliases.items()
    }
    if not default and not aliases:
        return TextModels()
    client = open_client(settings.model_timeout_seconds, settings.tuning.model_max_reply_bytes)
    opener = _Opener(settings, default or None, client)
    return TextModels(
        default=opener.open(default) if default else None,
        aliases={alias: opener.open(name) for alias, name in aliases.items()},
        on_close=client.aclose,
    )


class _Opener:
    """An opener that opens each model once, and each provider once for all of its models."""

    def __init__(
        self, settings: Settings, default: ModelName | None, client: httpx2.AsyncClient
    ) -> None:
        self._settings = settings
        self._default = default
        self._client = client
        self._models: dict[ModelName, TextModel] = {}
        self._providers: dict[tuple[str, str | None], Provider] = {}
        if (
            settings.model_base_url is not None
            and default
            and default.provider not in _TAKE_ADDRESS
        ):
            raise ModelSetupError(
                f"MEMORY_BANK_MODEL_BASE_URL is for openai:... and ollama:... alone, not {default}."
            )

    def open(self, name: ModelName) -> TextModel:
        """Return the model, shared by all that name it."""
        if name not in self._models:
            self._models[name] = self._opened(name)
        return self._models[name]

    def _opened(self, name: ModelName) -> TextModel:
        # Imported only if there is a model: it takes more than a second.
        from app.adapters.llm.providers.text import open_channel  # noqa: PLC0415 - as above

        base_url = self._settings.model_base_url if name.provider in _TAKE_ADDRESS else None
        channel = open_channel(name, base_url, self._key(name), self._client, self._settings)
        place = (name.provider, base_url)
        provider = self._providers.setdefault(place, Provider(self._settings))
        is_default = name == self._default
        setting = "MEMORY_BANK_MODEL" if is_default else "MEMORY_BANK_MODEL_ALIASES"
        target = ProviderTarget(
            str(name),
            setting,
            "MEMORY_BANK_MODEL_KEY",
            setting if base_url is None else "MEMORY_BANK_MODEL_BASE_URL",
            "MEMORY_BANK_MODEL_MAX_INPUT_TOKENS",
        )
        return RemoteTextModel(target, channel, provider, self._settings)

    def _key(self, name: ModelName) -> str | None:
        """Return the configured key if it is meant for this provider; never for another."""
        key = self._settings.model_key
        at_address = self._settings.model_base_url is not None and name.provider in _TAKE_ADDRESS
        of_default = self._default is None or self._default.provider == name.provider
        return key.get_secret_value() if key and (at_address or of_default) else None


def open_readers(settings: Settings) -> Readers:
    """Open the readers that the settings name. Takes seconds if there are any.

    They share neither key nor address with the model that writes memories. No environment variable
    sets their address; local readers take no key or proxy from the environment either.

    Raises:
        ModelSetupError: a name, address, key or locality is wrong.
    """
    if not settings.task_readers:
        return Readers()
    limits = (settings.model_timeout_seconds, settings.tuning.model_max_reply_bytes)
    near, far = open_client(*limits, is_direct=True), open_client(*limits)

    async def close() -> None:
        await near.aclose()
        await far.aclose()

    readers = {}
    for name, reader in settings.task_readers.items():
        is_local = reader.locality == "local"
        model = _reader_model(name, reader, near if is_local else far, settings)
        readers[name] = ReaderHandle(name, model, is_local)
    return Readers(readers, close)


def _reader_model(
    name: str, reader: ReaderModel, client: httpx2.AsyncClient, settings: Settings
) -> TextModel:
    # Imported only if there is a model: it takes more than a second.
    from app.adapters.llm.providers.text import open_channel  # noqa: PLC0415 - as above

    model = _reader_name(name, reader)
    key = reader.key.get_secret_value() if reader.key is not None else None
    if reader.locality == "local":
        key = key or NO_KEY
    address = reader.base_url or ADDRESSES[model.provider]
    own = settings.model_copy(update={"model_max_input_tokens": reader.max_input_tokens})
    channel = open_channel(model, address, key, client, own)
    setting = _reader_setting(name)
    target = ProviderTarget(str(model), setting, setting, setting, setting)
    return RemoteTextModel(target, channel, Provider(own), own)


def _reader_setting(name: str) -> str:
    return f"MEMORY_BANK_TASK_READERS, at {name!r}"


def _reader_name(name: str, reader: ReaderModel) -> ModelName:
    setting = f"{_reader_setting(name)},"
    if name.partition(":")[0] == BUILTIN:
        raise ModelSetupError(f"{setting} has the name of the reader that needs no model.")
    model = ModelName.parse(reader.model, setting)
    takes_address = model.provider in _TAKE_ADDRESS
    if reader.base_url is not None and not takes_address:
        raise ModelSetupError(f"{setting} has an address; only openai:... and ollama:... take one.")
    is_elsewhere = reader.base_url is None and model.provider != _ON_THIS_MACHINE
    if reader.locality == "local" and is_elsewhere:
        raise ModelSetupError(f"{setting} is local, and {model} without an address is not.")
    return model
