"""Wire types of contexts of sessions."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from app.conversation.strategies.logic.turns import Format
from app.kernel.names import MAX_INT64
from app.kernel.wire.base import WireModel
from app.kernel.wire.memory_policy import AGENT_RESERVE, MAX_TOKENS, MemoryPolicy
from app.kernel.wire.scalars import Duration, one_of
from app.memory.memories.schemas.memories import Scope
from app.platform.engines.logic.topics import MAX_FACT_CHARS

# The context of a session

AUTO = "auto"
"""Query value for the pending message or, without one, the user's last message."""
MAX_TEXT_CHARS = 1_000_000


class Consistency(StrEnum):
    """Handling of summaries that are due."""

    LATEST = "latest"
    """Show the existing ones, and enqueue the due ones."""
    WAIT = "wait"
    """Wait until they are made."""


class SummaryState(StrEnum):
    """State of the summaries that are due."""

    CURRENT = "current"
    PENDING = "pending"
    FAILED = "failed"
    """The last attempt failed, and will be retried."""


class IncludeMemories(WireModel):
    """Selection of memory bank facts to include if there is room."""

    query: str = Field(
        AUTO,
        min_length=1,
        max_length=MAX_FACT_CHARS,
        description="Search query; `auto`: the pending message, or else the user's last message.",
    )
    top_k: int = Field(5, ge=1, le=100, description="Maximum number of facts.")
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=MAX_TOKENS,
        description="Maximum tokens of the facts; absent: all that are left.",
    )
    scope: Scope | None = Field(
        None, description="Scope of the memories; absent: only the session's `user_id`."
    )


class ComposeContextRequest(WireModel):
    """Parameters of a context to compose."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "systemPrompt": "You plan trips.",
                    "pendingMessage": "And where did I want to sit?",
                    "tokenLimit": 8000,
                    "reserveOutputTokens": 800,
                    "includeMemories": {"query": "auto"},
                }
            ]
        }
    )

    system_prompt: str | None = Field(
        None,
        max_length=MAX_TEXT_CHARS,
        description="Instructions that come before everything else; absent: none.",
    )
    pending_message: str | None = Field(
        None,
        max_length=MAX_TEXT_CHARS,
        description="Message that the model must answer, not yet an event.",
    )
    policy: MemoryPolicy | None = Field(
        None,
        description="Policy of this context; absent: the policy of the session or its engine, or"
        " `inclusive`.",
    )
    token_limit: int | None = Field(
        None,
        ge=1,
        le=MAX_TOKENS,
        description="Tokens of the model's window, in place of the policy's.",
    )
    reserve_output_tokens: int | None = Field(
        None,
        ge=0,
        le=MAX_TOKENS,
        description="Tokens of the window left for the answer, in place of the policy's; absent in"
        f" both: {AGENT_RESERVE} with `agent_summary`, else 0.",
    )
    format: Annotated[Format, one_of(Format)] = Field(
        Format.MESSAGES,
        description="`messages` with their sources; `openai` or `gemini`, in the provider's format;"
        " or one `text`. `gemini` includes files unchanged, and only their mention is counted; the"
        " others show only the mention.",
    )
    framing: bool | None = Field(
        None,
        description="False: summaries without the marks that declare them to be data, in place of"
        " the policy's `framing`.",
    )
    consistency: Annotated[Consistency, one_of(Consistency)] = Field(
        Consistency.LATEST,
        description="`latest`: no model is called. `wait`: summaries that are due are made first.",
    )
    wait_timeout: Duration | None = Field(
        None, description="Time limit of `wait`; absent: the service's maximum."
    )
    include_memories: IncludeMemories | None = Field(
        None, description="Facts of the memory bank to include; absent: none."
    )
    include_raw_events: bool = Field(
        False,
        description="True: each message made from an event has its `rawEvent`, if there is one."
        " Only in the format `messages`.",
    )
    as_of_seq: int | None = Field(
        None,
        ge=0,
        le=MAX_INT64,
        description="Last event of the context; later ones are ignored. Events cleared or erased"
        " since are left out, and memories are the current ones.",
    )
    model: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="Model for `estimatedCost`, as named in the configured prices.",
    )
    preview: bool = Field(
        False,
        description="True: no summary is enqueued, so the call changes nothing and needs no"
        " permission to update sessions. Not with `consistency: wait`.",
    )

    @field_validator("include_raw_events")
    @classmethod
    def _is_for_messages(cls, wanted: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic's form
        if wanted and info.data.get("format", Format.MESSAGES) is not Format.MESSAGES:
            raise ValueError("must not be true unless the format is messages")
        return wanted

    @field_validator("preview")
    @classmethod
    def _makes_no_summaries(cls, preview: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic's form
        if preview and info.data.get("consistency") is Consistency.WAIT:
            raise ValueError("must not be true with consistency wait, which makes summaries")
        return preview


class ContextMessage(WireModel):
    """A message in the format `messages` or `openai`."""

    role: str = Field(description="`system`, `user`, `assistant` or `tool`.")
    content: Any = Field(
        None,
        description="Text of the message, or its parts in the provider's format; null where the"
        " message only calls tools.",
    )
    source: dict[str, Any] | None = Field(
        None,
        description="`kind` (`system`, `summary`, `event`, `memory` or `pending`), and its"
        " source: the `summary` (of several, the oldest, and all as `summaries`), the former"
        " `sessions` carried over from, the `event` and `seq`, or the `memories`; only in"
        " `messages`.",
    )
    raw_event: dict[str, Any] | None = Field(
        None,
        description="The event's `rawEvent`, with `includeRawEvents`; absent if it has none, if"
        " it is shortened, or if newer raw events have 16 MiB. Its tokens are not counted.",
    )
    tool_calls: list[dict[str, Any]] | None = Field(
        None,
        alias="tool_calls",
        description="Calls of tools by the agent, in OpenAI's format.",
    )
    tool_call_id: str | None = Field(
        None, alias="tool_call_id", description="Id of the call that this message answers."
    )


class SeqRange(WireModel):
    """A range of events; both ends are included."""

    first_seq: int = Field(description="Number of the first event.")
    last_seq: int = Field(description="Number of the last event.")


class SummarisedRange(SeqRange):
    """Range of events that a summary of the context covers."""

    summary: str = Field(description="Id of the summary.")


class ContextCoverage(WireModel):
    """Fate of each event up to `lastSeq`: it is in exactly one of the three lists."""

    verbatim: list[SeqRange] = Field(description="Events shown word for word.")
    summarised: list[SummarisedRange] = Field(
        description="Events shown by a summary in their place."
    )
    omitted: list[SeqRange] = Field(
        description="All other events, including erased and cleared ones."
    )


class CarriedSession(SeqRange):
    """A former session whose content the context has, with its first and last event there."""

    session: str = Field(description="Name of the session.")
    summaries: list[str] = Field(description="Ids of its summaries there; empty: its events.")


class CarriedOver(WireModel):
    """Content of former sessions in a context; no event of the session itself is in it."""

    sessions: list[CarriedSession] = Field(
        description="Former sessions that it came from, oldest first; of an `ABSTRACTION`, all"
        " from which its sentences were selected. Empty: none."
    )
    omitted_events: int = Field(
        description="Number of the other events of the sessions read, erased ones included."
    )


class ContextTokens(WireModel):
    """Tokens of a context in the model's window, by its counter."""

    total: int = Field(description="Tokens of all parts, with the marks around summaries.")
    system: int = Field(description="Tokens of the system prompt.")
    carried_over: int | None = Field(
        None, description="Tokens of former sessions' content; absent without `carryOver`."
    )
    summaries: int = Field(description="Tokens of summaries.")
    events: int = Field(description="Tokens of events shown word for word.")
    memories: int = Field(description="Tokens of facts of the memory bank.")
    pending: int = Field(description="Tokens of the pending message.")
    framing_tokens: int = Field(
        description="Tokens of the marks around summaries and between them, a part of `total`."
    )
    limit: int | None = Field(
        None, description="Maximum tokens of the prompt with its answer; absent: no limit."
    )
    reserved: int = Field(description="Tokens kept free for the model's answer.")
    stm_budget: int | None = Field(None, description="`agent_summary`: the events' share.")
    lts_budget: int | None = Field(None, description="`agent_summary`: the summary's share.")
    counter: str = Field(description="Token counter that all these figures are counted by.")


class TruncatedEvent(WireModel):
    """An event that is cut to this number of tokens."""

    seq: int = Field(description="Number of the event in the session.")
    tokens: int = Field(description="Tokens of the remaining text.")


class EstimatedCost(WireModel):
    """Estimated cost of a context's tokens as input."""

    amount: float = Field(description="Price in the currency, rounded to nine decimal places.")
    currency: str = Field(
        description="Currency of the configured prices, as a code of three letters."
    )


class ContextResponse(WireModel):
    """A context, and the account of its content; one of the first four is set, by the format."""

    messages: list[ContextMessage] | None = Field(
        None,
        description="The context in the formats `messages` and `openai`, the oldest first.",
    )
    contents: list[dict[str, Any]] | None = Field(
        None, description="The context in the format `gemini`, the oldest first."
    )
    system_instruction: dict[str, Any] | None = Field(
        None, description="The system prompt in the format `gemini`; absent: none."
    )
    text: str | None = Field(None, description="The context in the format `text`.")
    sources: list[dict[str, Any]] | None = Field(
        None, description="Source of each message, in `openai` and `gemini`."
    )
    tokens: ContextTokens = Field(
        description="Tokens that the context takes of the model's window."
    )
    coverage: ContextCoverage = Field(
        description="Events by their treatment: shown word for word, shown by a summary, or left"
        " out."
    )
    summary_state: SummaryState = Field(
        description="`current`: nothing is due; `pending`: summaries are being made; `failed`:"
        " the last attempt failed and will be retried.",
    )
    carried_over: CarriedOver | None = Field(
        None, description="Account of former sessions; absent without `carryOver`."
    )
    truncated_events: list[TruncatedEvent] = Field(
        description="Events that are shown only in part, from their beginning; empty: none."
    )
    policy: MemoryPolicy = Field(description="Policy that was applied.")
    policy_key: str = Field(description="Key of the policy's summaries.")
    last_seq: int = Field(description="The session's last event.")
    estimated_cost: EstimatedCost | None = Field(
        None,
        description="Price of the context as input; absent without `model` or a configured"
        " price of it.",
    )
    is_preview: bool | None = Field(None, description="True: the answer to a `preview`.")
    warnings: list[str] | None = Field(
        None,
        description="`template_needs_model`: the policy has a template, but its summaries are made"
        " without a model, which alone could follow it. Absent: none.",
    )
