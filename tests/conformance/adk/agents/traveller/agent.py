"""The agent that `adk` runs."""

from google.adk.tools.preload_memory_tool import preload_memory_tool

from tests.conformance.adk.scripted import calls, remember, says, traveller

root_agent = traveller(
    calls("book_seat", seat="12A"),
    says("Seat 12A is yours."),
    says("By the window, as you like it."),
    tools=(preload_memory_tool,),
    after_agent_callback=remember,
)
