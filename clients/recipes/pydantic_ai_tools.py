"""Give an agent of Pydantic AI the memory tools; here its model is scripted."""

import os
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from open_memory_bank import Client

SCOPE = {"user_id": "42"}


def tools_of(bank: Client) -> list[Tool[None]]:
    """Return the tools that the key may use."""

    def tool(spec: dict[str, Any]) -> Tool[None]:
        name = spec["name"]

        def run(**arguments: Any) -> str:
            return bank.memory_tools.call(name, arguments, scope=SCOPE)["text"]

        return Tool.from_schema(run, name, spec["description"], spec["input_schema"])

    return [tool(spec) for spec in bank.memory_tools.specs("anthropic")]


def scripted(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Remember what is said, or search for what is asked, and repeat what the tool tells."""
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(str(last.content).partition(" (id")[0])])
    said = str(getattr(last, "content", ""))
    if said.endswith("?"):
        return ModelResponse(parts=[ToolCallPart("search_memories", {"query": said})])
    return ModelResponse(parts=[ToolCallPart("remember", {"facts": [said]})])


with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    agent = Agent(FunctionModel(scripted), tools=tools_of(bank))
    print(agent.run_sync("I prefer window seats.").output)
    print(agent.run_sync("Where do I like to sit?").output)

# prints: 1. I prefer window seats.
