"""A model of the ADK that says what it was told to, and agents that use it.

Nothing here is imported when tests are collected: the ADK takes seconds.
"""

import copy
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import Field
from typing_extensions import override

REPLY = types.GenerateContentResponseUsageMetadata(prompt_token_count=7, total_token_count=9)


class ScriptedModel(BaseLlm):
    """Gives its replies one after the other, and keeps what it was asked."""

    model: str = "scripted"
    replies: list[types.Part]
    asked: list[list[types.Content]] = Field(default_factory=list)

    @override
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(copy.deepcopy(llm_request.contents))
        content = types.Content(role="model", parts=[self.replies.pop(0)])
        if stream and content.parts and content.parts[0].text:
            yield LlmResponse(content=content, partial=True)
        yield LlmResponse(content=content, usage_metadata=REPLY)

    def asked_text(self, number: int = -1) -> str:
        """Return the text of what it was asked."""
        parts = [part for content in self.asked[number] for part in content.parts or []]
        return "\n".join(part.text or "" for part in parts)


def says(text: str) -> types.Part:
    """Make a reply of words."""
    return types.Part(text=text)


def calls(name: str, **arguments: Any) -> types.Part:
    """Make a reply that calls a function."""
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


def book_seat(seat: str, tool_context: ToolContext) -> dict[str, Any]:
    """Book a seat."""
    tool_context.state["seat"] = seat
    tool_context.state["temp:now"] = "booking"
    return {"booked": seat}


async def remember(callback_context: CallbackContext) -> None:
    """Hand the session to the memory service, after every turn."""
    await callback_context.add_session_to_memory()


def traveller(*replies: types.Part, tools: tuple[Any, ...] = (), **options: Any) -> LlmAgent:
    """Make an agent that books seats, whose model gives these replies."""
    model = ScriptedModel(replies=list(replies))
    return LlmAgent(name="traveller", model=model, tools=[book_seat, *tools], **options)
