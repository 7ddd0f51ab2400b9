"""The settings of text models and of embedding models; parts of `Settings`."""

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from app.settings.providers import PROVIDERS, SERVED_ELSEWHERE
from app.settings.setting_types import ApiKey, BaseUrl, LanguageCodes


class OutputMode(StrEnum):
    """The way in which a text model returns structured output."""

    AUTO = "auto"
    NATIVE = "native"
    TOOL = "tool"
    PROMPT = "prompt"


class ModelPrice(BaseModel):
    """The price of a model per million tokens, in the currency of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class ModelSettings(BaseModel):
    """The model that writes memories, its output modes, limits and prices."""

    model: str | None = Field(
        None,
        description="Text model that writes memories, such as `openai:gpt-5-mini`, `anthropic:...`,"
        " `google:...`, `ollama:...`; absent: the built-in rules.",
    )
    model_base_url: BaseUrl | None = Field(
        None,
        description="Address of an OpenAI-compatible server for `model`, with its `/v1`, and with"
        " its query if it has one, such as `?api-version=2024-10-21`.",
    )
    model_key: ApiKey | None = Field(
        None, description="API key for `model`; absent: the provider's own variable."
    )
    model_aliases: dict[str, str] = Field(
        default_factory=dict,
        description="JSON object that maps names in `generationConfig.model` to models.",
    )
    model_output: OutputMode = Field(
        OutputMode.AUTO,
        description="Way of structured output: `native` schema, `tool` or `prompt`; `auto`: the"
        " first that the model supports.",
    )
    model_media_types: list[str] | None = Field(
        None,
        description='JSON array of the media types that the model reads, such as `["image/*"]`;'
        " absent: the types that its provider is known to accept.",
    )
    model_timeout_seconds: float = Field(
        60, gt=0, description="Longest wait for one answer, retries and repair included."
    )
    model_concurrency: int = Field(
        20,
        ge=1,
        description="Requests at once to one provider. For a server of your own, use at most the"
        " number that it answers at once: requests that wait there use up `model_timeout_seconds`.",
    )
    model_max_input_tokens: int = Field(
        32_000, ge=1_000, description="Longest prompt; longer conversations are split."
    )
    model_max_output_tokens: int = Field(8_192, ge=256, description="Longest answer of a model.")
    model_prices: dict[str, ModelPrice] = Field(
        default_factory=dict,
        description="JSON object that maps a model to its price per million tokens, such as"
        ' `{"openai:gpt-5-mini": {"input": 0.25, "output": 2}}`.',
    )
    price_currency: str = Field("USD", description="Currency of `model_prices`.")
    daily_max_tokens: int | None = Field(
        None, ge=1, description="Tokens that one engine may use per UTC day; absent: no bound."
    )

    @property
    def has_remote_model(self) -> bool:
        """True if a text model is configured that does not run on this machine."""
        named = [name for name in (self.model, *self.model_aliases.values()) if name is not None]
        providers = [PROVIDERS.get(name.partition(":")[0]) for name in named]
        return any(provider is not None and not provider.is_local for provider in providers)

    @property
    def own_addresses(self) -> frozenset[str]:
        """The providers of models whose own variables may hold their addresses."""
        named = [self.model or "", *self.model_aliases.values()]
        given = () if self.model_base_url is None else SERVED_ELSEWHERE
        return frozenset(name.partition(":")[0] for name in named).difference(given)


class EmbedderChoice(StrEnum):
    """The embedder that turns texts into vectors."""

    AUTO = "auto"
    MINILM = "minilm"
    HTTP = "http"
    ONNX = "onnx"
    HASH = "hash"


class Pooling(StrEnum):
    """Ways to reduce the vectors of a text's tokens to one vector."""

    MEAN = "mean"
    """The mean of all tokens."""
    CLS = "cls"
    """The vector of the first token."""


class EmbeddingSettings(BaseModel):
    """The embedding models, and the backfill of missing vectors."""

    embedder: EmbedderChoice = Field(
        EmbedderChoice.AUTO,
        description="Model of engines without vectors: `minilm`, `http` (OpenAI-compatible),"
        " `onnx` (a folder of your own), `hash` (lexical only), or `auto`: `minilm` where it can"
        " run.",
    )
    embedder_folder: Path | None = Field(
        None,
        description="Folder of the embedder `onnx`, with `model.onnx` and `tokenizer.json`."
        " Nothing is downloaded.",
    )
    embedder_pooling: Pooling = Field(
        Pooling.MEAN,
        description="Token states that make the vector of `onnx`: their `mean`, or the first one"
        " (`cls`); no effect if the graph pools by itself.",
    )
    embedder_max_tokens: int = Field(
        256, ge=8, le=2_048, description="Tokens to which `onnx` cuts a text."
    )
    embedder_query_prefix: str = Field(
        "", description="Text that `http` and `onnx` get before a query, such as `query: `."
    )
    embedder_text_prefix: str = Field(
        "",
        description="Text that `http` and `onnx` get before a stored text, such as `passage: `; a"
        " change makes it another model.",
    )
    embedder_languages: LanguageCodes | None = Field(
        None,
        description="Languages that the model of `http` or `onnx` understands, by ISO 639-1 codes"
        " such as `en,de`; absent: all.",
    )
    embedder_threads: int = Field(
        2,
        ge=1,
        description="Threads for embeddings in one process; absent: 1 with several processes.",
    )
    embedding_model: str | None = Field(None, description="Model of the embedder `http`.")
    embedding_base_url: BaseUrl | None = Field(
        None,
        description="Address of the embedder `http`, with its `/v1` and its query, if any.",
    )
    embedding_key: ApiKey | None = Field(None, description="API key of the embedder `http`.")
    embedding_revision: str | None = Field(
        None,
        description="Mark for the version of the model that the embedder `http` serves. Change it"
        " if the same name returns other vectors: it then counts as another model.",
    )
    embedding_previous_model: str | None = Field(
        None,
        description="Former model of `http`, which serves engines until they are re-embedded.",
    )
    embedding_previous_base_url: BaseUrl | None = Field(
        None, description="Address of the previous model; absent: `embedding_base_url` and its key."
    )
    embedding_previous_key: ApiKey | None = Field(
        None, description="API key of the previous model, if it has an address of its own."
    )
    embedding_previous_revision: str | None = Field(
        None, description="`embedding_revision` of the previous model, if it had one."
    )
    embedding_previous_query_prefix: str = Field(
        "", description="`embedder_query_prefix` of the previous model, if it had one."
    )
    embedding_previous_text_prefix: str = Field(
        "", description="`embedder_text_prefix` of the previous model, if it had one."
    )
    reembed_pause_seconds: float = Field(
        0.1, ge=0, description="Pause between batches, in which other requests reach the model."
    )
