"""Wire types of policies for the outputs of tools."""

from typing import ClassVar

from pydantic import ConfigDict, Field

from app.artifacts.tasks.logic.fields import OffPromptField
from app.artifacts.tasks.logic.kinds import OffPrompt
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp
from app.kernel.wire.task_fields import TaskModel
from app.platform.engines.logic.config import Ttl

MAX_INLINE_TOKENS = 1_000_000


class PolicyFields(TaskModel):
    """Handling of a tool's outputs where a request does not specify it."""

    off_prompt: OffPromptField = Field(
        OffPrompt.NEVER, description="Rule for storing outputs: false, true or `auto`."
    )
    max_inline_tokens: int | None = Field(
        None,
        ge=0,
        le=MAX_INLINE_TOKENS,
        description="With `auto`: tokens of the longest text that the prompt shows; absent: the"
        " configured default.",
    )
    sensitive: bool = Field(
        False,
        description="True: all outputs except info and errors are stored; requests cannot loosen"
        " this.",
    )
    ttl: Ttl | None = Field(None, description="Time to live of outputs.")


class UpdateToolPolicyRequest(PolicyFields):
    """A complete policy; omitted fields take the configured defaults."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"offPrompt": "auto", "maxInlineTokens": 500}]}
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "create_time", "update_time"})

    etag: str | None = Field(None, max_length=64, description="The etag that was read.")


class ToolPolicy(PolicyFields):
    """Policy of a task memory for the outputs of a tool."""

    name: str = Field(description="Full name of the policy; it ends in the tool's id.")
    create_time: Timestamp = Field(description="Time of the policy's creation.")
    update_time: Timestamp = Field(description="Time of its last change.")
    etag: str = Field(description="Version of the policy, for conditional requests.")


class ListToolPoliciesResponse(WireModel):
    """A page of policies."""

    tool_policies: list[ToolPolicy] = Field(description="The policies of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )
