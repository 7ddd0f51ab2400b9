"""The settings of the text model that writes memories; a part of `Settings`, which reads them."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from app.settings.provider_types import ApiKey, BaseUrl


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
        description="JSON object: names that banks give in `generationConfig.model`, to models.",
    )
    model_output: OutputMode = Field(
        OutputMode.AUTO,
        description="Structured output by `native` schema, `tool` or `prompt`; `auto`: the first"
        " that the model can.",
    )
    model_media_types: list[str] | None = Field(
        None,
        description='JSON array of files the model reads, such as `["image/*"]`; absent: what its'
        " provider is known to take.",
    )
    model_timeout_seconds: float = Field(
        60, gt=0, description="Longest wait for one answer, retries and repair included."
    )
    model_concurrency: int = Field(8, ge=1, description="Requests at once to one provider.")
    model_max_input_tokens: int = Field(
        32_000, ge=1_000, description="Longest prompt; longer conversations go in pieces."
    )
    model_max_output_tokens: int = Field(8_192, ge=256, description="Longest answer of a model.")
    model_prices: dict[str, ModelPrice] = Field(
        default_factory=dict,
        description='JSON object: model to its price per million tokens, such as `{"openai:gpt-5-'
        'mini": {"input": 0.25, "output": 2}}`.',
    )
    price_currency: str = Field("USD", description="Currency of `model_prices`.")
    daily_max_tokens: int | None = Field(
        None, ge=1, description="Tokens that one engine may use per UTC day; absent: no bound."
    )

    @property
    def own_addresses(self) -> frozenset[str]:
        """The providers of models whose own variables may hold their addresses."""
        named = [self.model or "", *self.model_aliases.values()]
        given = () if self.model_base_url is None else ("openai", "ollama")
        return frozenset(name.partition(":")[0] for name in named).difference(given)
