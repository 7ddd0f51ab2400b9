"""Wire types of contexts of sessions."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from app.conversation.strategies.logic.forms import Format
from app.kernel.names import MAX_INT64
from app.kernel.wire.base import WireModel
from app.kernel.wire.memory_policy import AGENT_RESERVE, MAX_TOKENS, MemoryPolicy
from app.kernel.wire.scalars import Duration, one_of
from app.memory.memories.schemas.memories import Scope
from app.platform.engines.logic.config import MAX_FACT_CHARS

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
    top_k: int = Field(5, ge=1, le=100)
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=MAX_TOKENS,
        description="Maximum tokens of the facts; absent: all that are left.",
    )
    scope: Scope | None = Field(None, description="Absent: the session's `user_id` alone.")


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

    system_prompt: str | None = Field(None, max_length=MAX_TEXT_CHARS)
    pending_message: str | None = Field(
        None,
        max_length=MAX_TEXT_CHARS,
        description="Message that the model must answer, not yet an event.",
    )
    policy: MemoryPolicy | None = Field(
        None, description="Absent: the policy of the session or its engine, or `inclusive`."
    )
    token_limit: int | None = Field(
        None, ge=1, le=MAX_TOKENS, description="Overrides the policy's."
    )
    reserve_output_tokens: int | None = Field(
        None,
        ge=0,
        le=MAX_TOKENS,
        description="Overrides the policy's; absent in both:"
        f" {AGENT_RESERVE} with `agent_summary`, else 0.",
    )
    format: Annotated[Format, one_of(Format)] = Field(
        Format.MESSAGES,
        description="`messages` with their sources; `openai` or `gemini`, in the provider's format;"
        " or one `text`. `gemini` includes files unchanged, and only their mention is counted; the"
        " others show only the mention.",
    )
    consistency: Annotated[Consistency, one_of(Consistency)] = Field(
        Consistency.LATEST,
        description="`latest`: no model is called. `wait`: summaries that are due are made first.",
    )
    wait_timeout: Duration | None = Field(
        None, description="Time limit of `wait`; absent: the service's maximum."
    )
    include_memories: IncludeMemories | None = None
    as_of_seq: int | None = Field(
        None,
        ge=0,
        le=MAX_INT64,
        description="Last event of the context; later ones are ignored. Events cleared or erased"
        " since stay out, and memories are current ones.",
    )
    model: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="Model for `estimatedCost`, as named in the configured prices.",
    )
    preview: bool = Field(
        False,
        description="True: no summary is enqueued, so that the call changes nothing and needs no"
        " permission to update sessions. Not with `consistency: wait`.",
    )

    @field_validator("preview")
    @classmethod
    def _makes_no_summaries(cls, preview: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic's form
        if preview and info.data.get("consistency") is Consistency.WAIT:
            raise ValueError("must not be true with consistency wait, which makes summaries")
        return preview


class ContextMessage(WireModel):
    """A message in the format `messages` or `openai`."""

    role: str
    content: Any = None
    source: dict[str, Any] | None = Field(
        None,
        description="`kind` (`system`, `summary`, `event`, `memory` or `pending`), and the"
        " `summary`, `event` and `seq`, or `memories` it comes from; only in `messages`.",
    )
    tool_calls: list[dict[str, Any]] | None = Field(None, alias="tool_calls")
    tool_call_id: str | None = Field(None, alias="tool_call_id")


class SeqRange(WireModel):
    """A range of events; both ends are included."""

    first_seq: int
    last_seq: int


class SummarisedRange(SeqRange):
    """Range of events that a summary of the context covers."""

    summary: str = Field(description="Id of the summary.")


class ContextCoverage(WireModel):
    """Fate of each event up to `lastSeq`: it is in exactly one of the three lists."""

    verbatim: list[SeqRange] = Field(description="Shown word for word.")
    summarised: list[SummarisedRange]
    omitted: list[SeqRange] = Field(description="All other events, with erased and cleared ones.")


class ContextTokens(WireModel):
    """Tokens of a context in the model's window, by its counter."""

    total: int = Field(description="Tokens of all parts, without the marks around summaries.")
    system: int
    summaries: int
    events: int
    memories: int
    pending: int
    framing_tokens: int = Field(
        description="Tokens of the marks around summaries; with `total` within the limit."
    )
    limit: int | None = None
    reserved: int
    stm_budget: int | None = Field(None, description="`agent_summary`: the events' share.")
    lts_budget: int | None = Field(None, description="`agent_summary`: the summary's share.")
    counter: str


class TruncatedEvent(WireModel):
    """An event that is cut to this number of tokens."""

    seq: int
    tokens: int


class EstimatedCost(WireModel):
    """Estimated cost of a context's tokens as input."""

    amount: float
    currency: str


class ContextResponse(WireModel):
    """A context, and the account of its content; one of the first four is set, by the format."""

    messages: list[ContextMessage] | None = None
    contents: list[dict[str, Any]] | None = None
    system_instruction: dict[str, Any] | None = None
    text: str | None = None
    sources: list[dict[str, Any]] | None = Field(
        None, description="Source of each message, in `openai` and `gemini`."
    )
    tokens: ContextTokens
    coverage: ContextCoverage
    summary_state: SummaryState
    truncated_events: list[TruncatedEvent]
    policy: MemoryPolicy = Field(description="Policy that was applied.")
    policy_key: str = Field(description="Key of the policy's summaries.")
    last_seq: int = Field(description="The session's last event.")
    estimated_cost: EstimatedCost | None = Field(
        None, description="Present if `model` of the request has a configured price."
    )
    is_preview: bool | None = Field(None, description="True: the answer to a `preview`.")
