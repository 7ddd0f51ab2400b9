"""The settings of embedding models; a part of `Settings`, which reads them."""

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, Field

from app.settings.provider_types import ApiKey, BaseUrl
from app.settings.setting_types import LanguageCodes


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
        description="`minilm`, `http` (OpenAI-compatible), `onnx` (a folder of your own), `hash`"
        " (lexical only), or `auto`: MiniLM where it is installed.",
    )
    embedder_folder: Path | None = Field(
        None,
        description="Folder of the embedder `onnx`, with `model.onnx` and `tokenizer.json`. Nothing"
        " is fetched.",
    )
    embedder_pooling: Pooling = Field(
        Pooling.MEAN,
        description="States of the tokens that make the vector of `onnx`: their `mean`, or that"
        " of the first (`cls`); of no account where the graph pools by itself.",
    )
    embedder_max_tokens: int = Field(
        256, ge=8, le=2_048, description="Tokens to which `onnx` cuts a text."
    )
    embedder_query_prefix: str = Field(
        "", description="Text that `http` and `onnx` are given before a query, such as `query: `."
    )
    embedder_text_prefix: str = Field(
        "",
        description="Text that they are given before a text that is stored, such as `passage: `;"
        " another one makes another model.",
    )
    embedder_languages: LanguageCodes | None = Field(
        None,
        description="Languages that the model of `http` or `onnx` understands, by ISO 639-1 codes"
        " such as `en,de`; absent: all.",
    )
    embedder_threads: int = Field(
        2,
        ge=1,
        description="Threads that compute embeddings in one process; unset, 1 where there are"
        " several processes.",
    )
    embedding_model: str | None = Field(None, description="Model of the embedder `http`.")
    embedding_base_url: BaseUrl | None = Field(
        None,
        description="Address of the embedder `http`, up to and with its `/v1`, and with its query.",
    )
    embedding_key: ApiKey | None = Field(None, description="API key of the embedder `http`.")
    embedding_revision: str | None = Field(
        None,
        description="Mark of what the embedder `http` serves under its model's name; another one"
        " makes another model of it, for when the same name gives other vectors.",
    )
    embedding_previous_model: str | None = Field(
        None,
        description="Model of the embedder `http` that engines are still served by until they are"
        " re-embedded.",
    )
    embedding_previous_base_url: BaseUrl | None = Field(
        None, description="Its address; absent: that of `embedding_base_url`, with its key."
    )
    embedding_previous_key: ApiKey | None = Field(
        None, description="Its API key, for an address of its own."
    )
    embedding_previous_revision: str | None = Field(
        None, description="Its `embedding_revision`, where it had one."
    )
    embedding_previous_query_prefix: str = Field(
        "", description="Its `embedder_query_prefix`, where it had one."
    )
    embedding_previous_text_prefix: str = Field(
        "", description="Its `embedder_text_prefix`, where it had one."
    )
    reembed_pause_seconds: float = Field(
        0.1, ge=0, description="Its pause after each, so that others get at the model, too."
    )
