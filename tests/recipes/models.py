"""Scripted models of the recipes, and what their prompts must be."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from tests.support.model_server import Called, Json, Seen

Answer = Json | str | Called
LIMIT = 2000
_GOAL = "Lisbon in May"
_OF_A_TURN = 100
"""Tokens of what a turn adds to the prompt: the question, a call and its output."""


def remembering(body: Json) -> Answer:
    """Remember what is said, search for what is asked, and tell what was found."""
    last = body["messages"][-1]
    said = str(last["content"])
    if last["role"] == "tool":
        return "You like to sit at the window." if "window" in said else f"Noted: {said}"
    if said.endswith("?"):
        return Called("search_memories", {"query": said})
    return Called("remember", {"facts": [said.partition(".")[0] + "."]})


def planning(body: Json) -> Answer:
    """Look prices up when they are asked for, and know the goal if the prompt has it."""
    messages = body["messages"]
    last = messages[-1]
    said = str(last["content"])
    if last["role"] == "tool":
        return "80 euros, with breakfast."
    if "goal?" in said:
        return _GOAL if any(_GOAL in str(row.get("content")) for row in messages) else "Unknown"
    if said.startswith("Turn"):
        return Called("prices", {"city": "Lisbon"}, f"call_{said.split()[1].strip(':')}")
    return "A good plan."


def check_prompts(seen: Sequence[Seen]) -> None:
    """Check that every prompt is within its limit, with a result for each call and no other."""
    assert len(seen) > 2 * 2 * 39
    for request in seen:
        messages = request.body["messages"]
        tokens = sum(map(_tokens, messages))
        assert tokens <= LIMIT + _OF_A_TURN, tokens
        open_calls: list[str] = []
        for message in messages:
            if message["role"] == "tool":
                assert message["tool_call_id"] == open_calls.pop(0)
            else:
                assert open_calls == []
                open_calls += [call["id"] for call in message.get("tool_calls") or []]
        assert open_calls == []


def _tokens(message: Any) -> int:
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or []]
    return ceil(len("".join([str(message.get("content") or ""), *calls])) / 4)
