"""Keep an agent's long conversation here: forty turns with tool calls, two policies, one budget."""

import asyncio
import os

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from open_memory_bank import AsyncClient
from open_memory_bank.openai_agents import MemoryBankSession

MODEL = os.environ.get("RECIPE_MODEL", "scripted")
LIMIT = 2000
GOAL = "My goal is a trip to Lisbon in May, for at most 900 euros."


@function_tool
def prices(city: str) -> str:
    """Return what a night in a city costs."""
    return f"A night in {city} costs 80 euros. " + "Breakfast is included. " * 8


async def talk(agent: Agent[None], session: MemoryBankSession) -> str:
    """Say the goal, ask for prices thirty-nine times, then ask for the goal."""
    await Runner.run(agent, GOAL, session=session)
    for turn in range(2, 41):
        await Runner.run(agent, f"Turn {turn}: what does a night cost?", session=session)
    return str((await Runner.run(agent, "What was my goal?", session=session)).final_output)


async def main() -> None:
    """Hold the conversation under each policy."""
    set_tracing_disabled(disabled=True)
    model = OpenAIChatCompletionsModel(MODEL, AsyncOpenAI())
    agent = Agent(name="planner", model=model, tools=[prices])
    async with AsyncClient(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
        for strategy in ("window", "agent_summary"):
            session = MemoryBankSession(
                bank,
                strategy,
                "42",
                policy={"strategy": strategy, "tokenLimit": LIMIT},
                waits_for_summaries=strategy == "agent_summary",
            )
            print(f"{strategy}: {await talk(agent, session)}")


asyncio.run(main())

# prints: agent_summary: Lisbon in May
