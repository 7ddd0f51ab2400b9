"""Wire types of cost estimates; the method is this service's own.

Money and prices are decimal strings, exact and without an exponent; tokens are JSON numbers.
"""

import re
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from app.conversation.costs.logic import plain
from app.kernel.wire.base import WireModel
from app.kernel.wire.memory_policy import MemoryPolicy, Strategy
from app.kernel.wire.scalars import one_of

MAX_MESSAGES = 100_000
MAX_PIECE_TOKENS = 100_000
"""Maximum size of a message half, summary or instruction."""
MAX_PROMPT_TOKENS = 10_000_000
_MAX_ENDS = 10
_MAX_STRATEGIES = 10
_MAX_MODELS = 100
_PRICE_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,12})?$"
_PRICE = re.compile(_PRICE_PATTERN.strip("^$"))
_DEFAULT_MESSAGES = (30, 100, 1_000)
_DEFAULT_STRATEGIES = (
    Strategy.INCLUSIVE,
    Strategy.ABSTRACTION_INCLUSIVE,
    Strategy.FULLY_ABSTRACTED,
)

_Piece = Annotated[int, Field(ge=0, le=MAX_PIECE_TOKENS)]


def _read_price(value: object) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if not isinstance(value, str) or _PRICE.fullmatch(value) is None:
        raise ValueError('must be a decimal string such as "0.002"')
    return Decimal(value)


Price = Annotated[
    Decimal,
    PlainValidator(_read_price),
    PlainSerializer(plain, return_type=str),
    WithJsonSchema({"type": "string", "pattern": _PRICE_PATTERN, "examples": ["0.002"]}),
]
"""Price of a thousand tokens: `"0.002"`."""

Amount = Annotated[
    Decimal,
    PlainSerializer(plain, return_type=str),
    WithJsonSchema({"type": "string", "format": "decimal", "examples": ["0.07968"]}),
]
"""Amount of money in the currency of the prices: `"0.07968"`, with all digits."""

Share = Annotated[
    Decimal,
    PlainSerializer(plain, return_type=str),
    WithJsonSchema({"type": "string", "format": "decimal", "examples": ["0.318974"]}),
]
"""Fraction of an amount: `"0.318974"`, to six digits."""


class Accounting(StrEnum):
    """Method of counting costs."""

    PER_PROMPT = "per_prompt"
    """Each prompt and each summary is paid for once."""
    PUBLISHED_TABLES = "published_tables"
    """The method of the tables published by Prompt Memory Lab; no provider bills so."""


class MessageTokens(WireModel):
    """A message in two halves."""

    user: _Piece = Field(description="Tokens of the prompt.")
    assistant: _Piece = Field(description="Tokens of its answer.")

    is_split: ClassVar[bool] = True

    @property
    def message(self) -> int:
        """Tokens of both halves."""
        return self.user + self.assistant


class WholeMessageTokens(MessageTokens):
    """A message without a separate answer: all of it counts as input."""

    is_split: ClassVar[bool] = False


def _read_message_tokens(value: object) -> object:
    if isinstance(value, dict | MessageTokens):
        return value
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_PIECE_TOKENS:
        raise ValueError(
            f"must be a whole number from 1 to {MAX_PIECE_TOKENS}, or have user and assistant"
        )
    return WholeMessageTokens(user=value, assistant=0)


_MESSAGE_TOKENS_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MAX_PIECE_TOKENS},
        {
            "type": "object",
            "properties": {
                half: {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MAX_PIECE_TOKENS,
                    "description": MessageTokens.model_fields[half].description,
                }
                for half in ("user", "assistant")
            },
            "required": ["user", "assistant"],
            "additionalProperties": False,
        },
    ],
    "default": 100,
}


class PlainPrices(WireModel):
    """Prices of a thousand tokens, the same for every model."""

    input_per_1k: Price | None = Field(
        None, alias="inputPer1k", description="Price of prompts; absent: 0.002."
    )
    output_per_1k: Price | None = Field(
        None, alias="outputPer1k", description="Price of answers; absent: the same as `inputPer1k`."
    )
    summary_input_per_1k: Price | None = Field(
        None,
        alias="summaryInputPer1k",
        description="Price of a summariser's input; absent: as `inputPer1k`.",
    )
    summary_output_per_1k: Price | None = Field(
        None,
        alias="summaryOutputPer1k",
        description="Price of a summariser's output; absent: as `outputPer1k`.",
    )


class ModelPrices(WireModel):
    """Prices of a thousand tokens of one model."""

    input_per_1k: Price = Field(
        alias="inputPer1k", description="Price of a thousand tokens of input."
    )
    output_per_1k: Price = Field(
        alias="outputPer1k", description="Price of a thousand tokens of output."
    )


class EstimateContextCostsRequest(WireModel):
    """Parameters of an estimate: lengths of sessions, token sizes, prices and strategies."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "messages": [30, 100],
                    "messageTokens": {"user": 60, "assistant": 40},
                    "contextWindow": 4096,
                    "models": {
                        "large": {"inputPer1k": "0.002", "outputPer1k": "0.008"},
                        "small": {"inputPer1k": "0.0001", "outputPer1k": "0.0004"},
                    },
                    "model": "large",
                    "summaryModel": "small",
                    "strategies": [
                        {"strategy": "inclusive"},
                        {"strategy": "fully_abstracted", "cap": 10, "keepRecent": 4},
                    ],
                }
            ]
        }
    )

    messages: list[Annotated[int, Field(ge=1, le=MAX_MESSAGES)]] = Field(
        default=list(_DEFAULT_MESSAGES),
        min_length=1,
        max_length=_MAX_ENDS,
        description="Lengths of sessions, in prompts with their answers.",
    )
    message_tokens: Annotated[
        MessageTokens,
        BeforeValidator(_read_message_tokens),
        WithJsonSchema(_MESSAGE_TOKENS_SCHEMA),
    ] = Field(
        default_factory=lambda: WholeMessageTokens(user=100, assistant=0),
        description="Tokens of a message, prompt and answer. With one number, all of it counts as"
        " input. With two halves, the answer is paid for once as output, and as input in each later"
        " prompt that shows it.",
    )
    system_tokens: int = Field(
        400, ge=0, le=MAX_PROMPT_TOKENS, description="Tokens of the system prompt."
    )
    summary_tokens: _Piece = Field(
        250, description="Tokens of a summary, unless the strategy sets them."
    )
    summary_overhead_tokens: _Piece = Field(
        30, description="Tokens of a summariser's prompt without its input."
    )
    prices: PlainPrices | None = Field(None, description="Alternative to `models`.")
    models: dict[Annotated[str, Field(min_length=1, max_length=512)], ModelPrices] | None = Field(
        None, max_length=_MAX_MODELS, description="Prices by model."
    )
    model: str | None = Field(
        None, max_length=512, description="Name of the answering model; required with `models`."
    )
    summary_model: str | None = Field(
        None,
        max_length=512,
        description="Name in `models` of the summarising model if a strategy names none, or"
        " `builtin`, which is free; absent: the answering model.",
    )
    configured_prices: bool = Field(
        False,
        description="True: the prices in the settings of the service, in place of `prices` and"
        " `models`. `model` may be absent then: the model of the service.",
    )
    context_window: int | None = Field(
        None,
        ge=1,
        le=MAX_PROMPT_TOKENS,
        description="Maximum tokens of a prompt with its answer; a strategy's own `tokenLimit`"
        " overrides it. `agent_summary` needs one of them.",
    )
    strategies: list[MemoryPolicy] = Field(
        default=[MemoryPolicy(strategy=strategy) for strategy in _DEFAULT_STRATEGIES],
        min_length=1,
        max_length=_MAX_STRATEGIES,
        description="Memory policies; absent: `inclusive`, `abstraction_inclusive` and"
        " `fully_abstracted`.",
    )
    accounting: Annotated[Accounting, one_of(Accounting)] = Field(
        Accounting.PER_PROMPT,
        description="`per_prompt`: each prompt is paid for once. `published_tables`: the method of"
        " the tables of Prompt Memory Lab, for comparison with them.",
    )
    find_best_cap: bool = Field(
        False,
        description="True: also find the cheapest `cap` (or `every`) of strategies that have one,"
        " up to 1000.",
    )


class BilledTokens(WireModel):
    """The billed tokens."""

    prompt_in: int = Field(description="All prompts; with unsplit messages, their answers as well.")
    prompt_out: int = Field(description="Answers; 0 if they are not counted separately.")
    summary_in: int = Field(description="Input of summarisers.")
    summary_out: int = Field(description="Output of summarisers.")


class BestCap(WireModel):
    """The cheapest cap for a strategy."""

    cap: int = Field(description="Number of exchanges that a summary replaces, from 1.")
    total_tokens: int = Field(description="All tokens billed with this cap.")
    cost: Amount = Field(
        description="Cost of the whole session with this cap, in the currency of the prices.",
    )


class ContextCost(WireModel):
    """Estimate for one strategy and one session length."""

    strategy: Annotated[Strategy, one_of(Strategy)] = Field(
        description="Strategy that the row is about."
    )
    policy: MemoryPolicy = Field(
        description="Policy of the strategy, with all settings that were assumed."
    )
    messages: int = Field(description="Length of the session, in prompts with their answers.")
    last_prompt_tokens: int | None = Field(
        None,
        description="Tokens of the last prompt with its answer; the window must hold both.",
    )
    largest_prompt_tokens: int | None = Field(
        None, description="Tokens of the largest prompt with its answer."
    )
    total_tokens: int | None = Field(None, description="All billed tokens.")
    billed_tokens: BilledTokens | None = Field(
        None, description="Billed tokens by their source; absent with `published_tables`."
    )
    final_tokens: int | None = Field(
        None, description="`published_tables`: the running total at the last message."
    )
    last_cost: Amount | None = Field(
        None, description="`published_tables`: cost of the last message."
    )
    cost: Amount = Field(description="Cost of the whole session, in the currency of the prices.")
    summaries: int = Field(description="Calls of a summariser, merges included.")
    first_overflow_message: int | None = Field(
        None, description="The first message that does not fit the window; absent: all fit."
    )
    saved_vs_inclusive: Share | None = Field(
        None,
        description="Saved share of the cost of `inclusive`, to six digits: `0.318974`; negative if"
        " it costs more. Absent for `inclusive` itself, or if that is free.",
    )
    best_cap: BestCap | None = Field(
        None, description="Also absent if no cap costs less than having no summaries."
    )
    note: str | None = Field(None, description="Assumptions of the estimate; absent: none.")


class EstimateContextCostsResponse(WireModel):
    """Estimates for each length and strategy, in this order."""

    accounting: Annotated[Accounting, one_of(Accounting)] = Field(
        description="Method of counting, as requested."
    )
    rows: list[ContextCost] = Field(
        description="Estimates by length, and of each length by strategy."
    )
    note: str | None = Field(None, description="Warning about `published_tables`.")
    currency: str | None = Field(
        None, description="Currency of configured prices; absent: the request has the prices."
    )
    priced_models: list[str] | None = Field(
        None, description="Models with a configured price; absent: the request has the prices."
    )
    model: str | None = Field(
        None,
        description="Answering model whose configured price counts; absent: none is known.",
    )
    unpriced_models: list[str] | None = Field(
        None,
        description="Models of the estimate without a configured price: all amounts take them as"
        " free. Absent: none.",
    )
