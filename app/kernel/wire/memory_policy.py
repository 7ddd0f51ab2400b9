"""The context policy of a session: the events shown in a prompt and the events summarised.

A policy comes with a session, as the default of an engine, or with one request. Only the given
fields are stored; `strategies/logic/policies.py` fills in the others on reading.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self
from unicodedata import category

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from app.kernel.text import places_of
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import one_of

TRANSCRIPT = "chat_transcript"
"""The placeholder of a template for the messages to summarise; every template has it."""
PLACES = frozenset({TRANSCRIPT, "char_limit", "previous_summary"})
"""The placeholders that a template may have."""
CHARS4 = "chars4"
DECLARED = "declared"
COUNTERS = (CHARS4, DECLARED)
"""The token counters that are always available."""
BUILTIN = "builtin"
"""The name of the summariser that needs no model."""
AGENT_RESERVE = 800
"""Tokens that `agent_summary` reserves for the answer, unless its policy sets another number."""
CARRY_OVER_TOKENS = 500
"""Maximum tokens carried over from former sessions, unless a policy sets another number."""
MAX_TEMPLATE_CHARS = 8_000
MAX_TOKENS = 10_000_000
_MAX_COUNT = 1_000
_MAX_CARRIED_TOKENS = 100_000
_MAX_LABEL_CHARS = 64
_CONTROLS = frozenset({"Cc", "Zl", "Zp"})


class Strategy(StrEnum):
    """A context strategy: how a prompt shows the older events of a session."""

    NONE = "none"
    """Show nothing of the session."""
    INCLUSIVE = "inclusive"
    """Show every event, word for word."""
    WINDOW = "window"
    """Show the newest exchanges, or as many events as fit."""
    EVERY_N = "every_n"
    """Summarise every `every` exchanges."""
    ABSTRACTION_INCLUSIVE = "abstraction_inclusive"
    """Keep a list of summaries, as `every_n` does."""
    FULLY_ABSTRACTED = "fully_abstracted"
    """Keep one summary, which absorbs each new block."""
    AGENT_SUMMARY = "agent_summary"
    """Show the newest events within a share of the budget, and one summary of earlier ones."""


class Refresh(StrEnum):
    """The effect of the next summary of `every_n` on the earlier ones."""

    APPEND = "append"
    WHOLE = "whole"


class Recompute(StrEnum):
    """The input of the next summary of `agent_summary`."""

    FULL_UNTIL_OVERFLOW = "full_until_overflow"
    RECURSIVE = "recursive"


class Overflow(StrEnum):
    """The behaviour if all events are requested and do not fit."""

    ERROR = "error"
    OMIT = "omit"


class SummaryRole(StrEnum):
    """The role of a summary in a prompt; it is marked as data in either case."""

    USER = "user"
    SYSTEM = "system"


class FormerSummaryRole(StrEnum):
    """The values of `ltsRole`."""

    ASSISTANT = "assistant"
    SYSTEM = "system"


class CarryOver(StrEnum):
    """The content of a user's former sessions that stands first in a context."""

    LAST = "LAST"
    """The last summary of the newest one; without summaries, its newest messages."""
    ALL = "ALL"
    """The newest messages of all."""
    ABSTRACTION = "ABSTRACTION"
    """The most important sentences of the summaries of all."""


class Split(WireModel):
    """The division of the budget between events (`stm`) and their summary (`lts`)."""

    stm: int = Field(ge=1, le=_MAX_COUNT, description="Parts of the budget for events.")
    lts: int = Field(ge=1, le=_MAX_COUNT, description="Parts of the budget for their summary.")


def _check_template(text: str) -> str:
    places = places_of(text)
    if places is None or len(set(places)) != len(places) or not {TRANSCRIPT} <= {*places} <= PLACES:
        listed = ", ".join(f"{{{place}}}" for place in sorted(PLACES - {TRANSCRIPT}))
        raise ValueError(
            f"must have {{{TRANSCRIPT}}}, and may have {listed}; each once, and no other place"
        )
    return text


def _check_label(text: str) -> str:
    if any(category(sign) in _CONTROLS for sign in text):
        raise ValueError("must be in one line, without control characters")
    return text


Template = Annotated[
    str, Field(min_length=1, max_length=MAX_TEMPLATE_CHARS), AfterValidator(_check_template)
]
_Count = Annotated[int, Field(ge=1, le=_MAX_COUNT)]
_Joiner = Annotated[str, Field(max_length=_MAX_LABEL_CHARS)]
_Label = Annotated[_Joiner, AfterValidator(_check_label)]

_EVERYWHERE = frozenset(
    {"strategy", "token_limit", "reserve_output_tokens", "counter", "per_message_overhead"}
    | {"human_label", "ai_label", "framing", "carry_over", "carry_over_tokens"}
)
_SUMMARISING = frozenset(
    {"summary_model", "template", "summary_tokens", "summary_role", "lts_role"}
    | {"chars_per_token", "joiner", "system_instruction"}
)
_BY_EXCHANGE = _SUMMARISING | {"keep_recent"}
_TAKEN: Mapping[Strategy, frozenset[str]] = {
    Strategy.NONE: frozenset(),
    Strategy.INCLUSIVE: frozenset({"on_overflow"}),
    Strategy.WINDOW: frozenset({"window", "window_tokens"}),
    Strategy.EVERY_N: _BY_EXCHANGE | {"every", "refresh", "max_abstractions"},
    Strategy.ABSTRACTION_INCLUSIVE: _BY_EXCHANGE | {"cap", "max_abstractions"},
    Strategy.FULLY_ABSTRACTED: _BY_EXCHANGE | {"cap"},
    Strategy.AGENT_SUMMARY: (_SUMMARISING - {"summary_tokens"})
    | {"split", "low_water", "count_pending", "recompute", "recursive_template"},
}


class MemoryPolicy(WireModel):
    """A strategy and its settings; each belongs to the strategies that its description names."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"strategy": "every_n", "every": 3, "tokenLimit": 8000},
                {"strategy": "agent_summary", "tokenLimit": 4032, "lowWater": 0.8},
            ]
        }
    )

    strategy: Annotated[Strategy, one_of(Strategy)] = Field(
        description="Strategy for fitting a session into a prompt."
    )
    token_limit: int | None = Field(
        None, ge=1, le=MAX_TOKENS, description="Tokens of the model's window; absent: no limit."
    )
    reserve_output_tokens: int | None = Field(
        None,
        ge=0,
        le=MAX_TOKENS,
        description=f"Tokens of the window left for the answer; 0, and {AGENT_RESERVE} for"
        " `agent_summary`.",
    )
    counter: str | None = Field(
        None,
        max_length=_MAX_LABEL_CHARS,
        description="Token counter: `chars4` (the default), `declared`, or the name of a tiktoken"
        " encoding with an installed file.",
    )
    per_message_overhead: int | None = Field(
        None, ge=0, le=_MAX_COUNT, description="Tokens of each message, without its text."
    )
    human_label: _Label | None = Field(
        None, description="Label before a user's text; default `Human`."
    )
    ai_label: _Label | None = Field(
        None, description="Label before the agent's text; default `AI`."
    )
    on_overflow: Annotated[Overflow, one_of(Overflow)] | None = Field(
        None,
        description="`inclusive`: behaviour where not all events fit: `error` (the default),"
        " or `omit` the oldest.",
    )
    window: int | None = Field(
        None,
        ge=0,
        le=_MAX_COUNT * 10,
        description="`window`: number of complete exchanges; one under way is shown besides.",
    )
    window_tokens: int | None = Field(
        None, ge=0, le=MAX_TOKENS, description="`window`: maximum tokens of events."
    )
    every: _Count | None = Field(
        None,
        description="`every_n`: number of complete exchanges that a summary replaces; default 3.",
    )
    refresh: Annotated[Refresh, one_of(Refresh)] | None = Field(
        None,
        description="`every_n`: `append` another summary (the default), or make one summary of"
        " the `whole` session.",
    )
    cap: _Count | None = Field(
        None,
        description="`abstraction_inclusive`, `fully_abstracted`: number of complete"
        " exchanges that a summary takes up; default 10.",
    )
    keep_recent: int | None = Field(
        None,
        ge=0,
        le=_MAX_COUNT,
        description="Strategies by exchange: number of the newest exchanges that stay as they"
        " are; default 0.",
    )
    max_abstractions: _Count | None = Field(
        None,
        description="Strategies that append: maximum number of summaries; older ones are merged.",
    )
    summary_tokens: int | None = Field(
        None,
        ge=16,
        le=MAX_TOKENS,
        description="Strategies by exchange: maximum tokens of a summary; default 250.",
    )
    chars_per_token: int | None = Field(
        None,
        ge=1,
        le=16,
        description="Summaries: characters for each token of the limit; default 4.",
    )
    joiner: _Joiner | None = Field(None, description="Separator of summaries; default: a newline.")
    framing: bool | None = Field(
        None,
        description="False: summaries without the marks that declare them to be data, each as it"
        " was written; default true: one pair of marks around all of them.",
    )
    carry_over: Annotated[CarryOver, one_of(CarryOver)] | None = Field(
        None,
        description="Content of the user's former sessions that stands first, within the marks of"
        " summaries: `LAST`: the last summary of the newest one, or its newest messages if it has"
        " none; `ALL`: the newest messages of all; `ABSTRACTION`: the most important sentences of"
        " the summaries of all, and of messages where there are none. Absent: none.",
    )
    carry_over_tokens: int | None = Field(
        None,
        ge=16,
        le=_MAX_CARRIED_TOKENS,
        description=f"`carryOver`: maximum tokens of that content; default {CARRY_OVER_TOKENS}.",
    )
    summary_role: Annotated[SummaryRole, one_of(SummaryRole)] | None = Field(
        None,
        description="Summaries: role of their message, `user` (the default) or `system`; marked"
        " as data in both.",
    )
    lts_role: Annotated[FormerSummaryRole, one_of(FormerSummaryRole)] | None = Field(
        None,
        description="Former name of `summaryRole`, read only where that is absent; `assistant`"
        " means `user`.",
    )
    summary_model: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="Summariser: a model of the settings, or `builtin`; absent: the settings' own"
        " model, and without one `builtin`.",
    )
    system_instruction: bool | None = Field(
        None,
        description="Summaries: false for a summariser that takes no system instruction, such as"
        " BART: its instructions come first in the user's text; default true.",
    )
    template: Template | None = Field(
        None,
        description=f"Prompt of the summariser: it has `{{{TRANSCRIPT}}}`, and may have"
        " `{char_limit}` and `{previous_summary}`, each once.",
    )
    recursive_template: Template | None = Field(
        None,
        description="`agent_summary`: prompt of the summariser where it takes up the previous"
        " summary.",
    )
    split: Split | None = Field(
        None,
        description="`agent_summary`: division of the budget between events and their summary;"
        " default 3 to 1.",
    )
    low_water: float | None = Field(
        None,
        gt=0,
        le=1,
        description="`agent_summary`: part of the events' share that stays once it is full;"
        " default 1.0. With less, summaries are made more seldom.",
    )
    count_pending: bool | None = Field(
        None, description="`agent_summary`: true (the default): the pending message is counted."
    )
    recompute: Annotated[Recompute, one_of(Recompute)] | None = Field(
        None,
        description="`agent_summary`: source of the next summary: all events until they are too"
        " many for the model (the default), or always the previous summary and later events.",
    )

    @model_validator(mode="after")
    def _fits_the_strategy(self) -> Self:
        if self.carry_over is None and self.carry_over_tokens is not None:
            raise ValueError("carryOverTokens must be absent without carryOver")
        allowed = _EVERYWHERE | _TAKEN[self.strategy]
        given = {name for name in self.model_fields_set if getattr(self, name) is not None}
        if strange := sorted(given - allowed):
            accepted = ", ".join(to_camel(name) for name in sorted(allowed - {"strategy"}))
            raise ValueError(
                f"{self.strategy} takes no {to_camel(strange[0])}; it takes {accepted}"
            )
        return self
