"""Turns of an agent, run by the ADK with a scripted model against a live server."""

from typing import TYPE_CHECKING, Any

from tests.conformance.adk.conftest import APP, Adk

if TYPE_CHECKING:
    from google.adk.agents import LlmAgent
    from google.adk.events import Event

WINDOW = "I prefer a window seat."


async def _turn(adk: Adk, agent: "LlmAgent", session: Any, text: str, **options: Any) -> list[Any]:
    """Run a turn, and return the events that it yields."""
    from google.adk.agents.run_config import RunConfig  # noqa: PLC0415 - takes seconds to import
    from google.adk.runners import Runner  # noqa: PLC0415
    from google.genai import types  # noqa: PLC0415

    runner = Runner(
        app_name=APP, agent=agent, session_service=adk.sessions, memory_service=adk.memory
    )
    message = types.Content(role="user", parts=[types.Part(text=text)])
    turn = runner.run_async(
        user_id=adk.user,
        session_id=session.id,
        new_message=message,
        run_config=RunConfig(**options),
    )
    return [event async for event in turn]


async def _read(adk: Adk, session: Any) -> Any:
    return await adk.sessions.get_session(**adk.who, session_id=session.id)


def _sayings(events: "list[Event]") -> list[tuple[str, str]]:
    """Return who says, calls and answers what."""
    found = []
    for event in events:
        for part in (event.content and event.content.parts) or []:
            call, response = part.function_call, part.function_response
            said = part.text or (call and f"{call.name}{call.args}")
            found.append((event.author, said or f"{response and response.response}"))
    return found


async def test_a_turn_is_kept_and_remembered(adk: Adk) -> None:
    from tests.conformance.adk.scripted import (  # noqa: PLC0415 - takes seconds to import
        REPLY,
        calls,
        remember,
        says,
        traveller,
    )

    agent = traveller(
        calls("book_seat", seat="12A"), says("It is yours."), after_agent_callback=remember
    )
    session = await adk.sessions.create_session(**adk.who, state={"trip": "Oslo"})
    yielded = await _turn(adk, agent, session, f"{WINDOW} Book one, please.")
    read = await _read(adk, session)
    assert _sayings(read.events) == [
        ("user", f"{WINDOW} Book one, please."),
        ("traveller", "book_seat{'seat': '12A'}"),
        ("traveller", "{'booked': '12A'}"),
        ("traveller", "It is yours."),
    ]
    assert [event.id for event in read.events[1:]] == [event.id for event in yielded]
    assert read.events[-1].usage_metadata == REPLY
    assert read.state == {"trip": "Oslo", "seat": "12A"}
    assert await adk.found(1) == [WINDOW]


async def test_the_next_turn_knows_the_one_before(adk: Adk) -> None:
    from tests.conformance.adk.scripted import calls, says, traveller  # noqa: PLC0415

    session = await adk.sessions.create_session(**adk.who)
    await _turn(adk, traveller(calls("book_seat", seat="3C"), says("Done.")), session, "A seat!")
    later = traveller(says("It is 3C."))
    await _turn(adk, later, session, "Which seat was it?")
    asked = later.model.asked[0]  # type: ignore[union-attr]  # it is the scripted one
    parts = [part for content in asked for part in content.parts]
    assert [part.text for part in parts if part.text] == ["A seat!", "Done.", "Which seat was it?"]
    assert [part.function_call.args for part in parts if part.function_call] == [{"seat": "3C"}]
    responses = [part.function_response for part in parts if part.function_response]
    assert [one.response for one in responses] == [{"booked": "3C"}]


async def test_what_was_remembered_is_preloaded(adk: Adk) -> None:
    from google.adk.tools.preload_memory_tool import preload_memory_tool  # noqa: PLC0415

    from tests.conformance.adk.scripted import remember, says, traveller  # noqa: PLC0415

    first = await adk.sessions.create_session(**adk.who)
    hearing = traveller(says("Noted."), after_agent_callback=remember)
    await _turn(adk, hearing, first, WINDOW)
    await adk.found(1)
    second = await adk.sessions.create_session(**adk.who)
    agent = traveller(says("By the window."), tools=(preload_memory_tool,))
    await _turn(adk, agent, second, "Which seat do I prefer?")
    text = agent.model.asked_text()  # type: ignore[union-attr]  # it is the scripted one
    assert f"<PAST_CONVERSATIONS>\nTime: {adk.memories()[0].update_time.isoformat()}\n" in text
    assert f"user: {WINDOW}\n</PAST_CONVERSATIONS>" in text
    # What was preloaded is for the model alone: it is neither kept nor remembered.
    assert len((await _read(adk, second)).events) == 2


async def test_the_model_loads_memories(adk: Adk) -> None:
    from google.adk.memory.memory_entry import MemoryEntry  # noqa: PLC0415
    from google.adk.tools.load_memory_tool import load_memory_tool  # noqa: PLC0415

    from tests.conformance.adk.scripted import calls, says, traveller  # noqa: PLC0415

    entry = MemoryEntry.model_validate({"content": {"parts": [{"text": WINDOW}]}})
    await adk.memory.add_memory(**adk.who, memories=[entry])
    session = await adk.sessions.create_session(**adk.who)
    agent = traveller(
        calls("load_memory", query="seat"), says("By the window."), tools=(load_memory_tool,)
    )
    await _turn(adk, agent, session, "Where shall I sit?")
    (response,) = (await _read(adk, session)).events[2].get_function_responses()
    assert WINDOW in str(response.response)


async def test_a_streamed_turn_is_kept_without_its_fragments(adk: Adk) -> None:
    from tests.conformance.adk.scripted import says, traveller  # noqa: PLC0415

    session = await adk.sessions.create_session(**adk.who)
    agent = traveller(says("Good day."))
    yielded = await _turn(adk, agent, session, "Hello!", streaming_mode="sse")
    assert [event.partial for event in yielded] == [True, None]
    assert _sayings((await _read(adk, session)).events) == [
        ("user", "Hello!"),
        ("traveller", "Good day."),
    ]
