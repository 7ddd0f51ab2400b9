"""Scripted models of the recipes, and what their prompts must be."""

import re
from collections.abc import Sequence
from math import ceil
from typing import Any

from tests.support.model_server import Called, Json, Seen

Answer = Json | str | Called
LIMIT = 2000
_GOAL = "Lisbon in May"
_SEATS = "I prefer window seats."
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


_PLACE = re.compile(r"memory=(\S+) namespace=([^\s;]+)")
_SECRETS = ("7419", "greenhouse", "ten.")
"""Words of the page and of the answer that the main model must not see."""


def saving(body: Json) -> Answer:
    """Have the answer stored, and save it; as the reader, give the answer."""
    if body["model"] == "house":
        return {"answer": "7419", "citations": [1]}
    said = [str(message["content"]) for message in body["messages"]]
    if said[-1] == "OK":
        return "The code is in door.txt."
    place = dict(zip(("memory", "namespace"), _PLACE.findall(said[-1])[-1], strict=True))
    if len(said) > 1:
        return Called("export_task_memory", {**place, "file_name": "door.txt"})
    query = "What is the code of the door?"
    return Called("query_task_memory", {**place, "query": query, "off_prompt": True})


def check_unseen(seen: Sequence[Seen]) -> None:
    """Check that the main model saw no word of the page or the answer, and the reader did."""
    prompts = [str(request.body) for request in seen if request.body["model"] == "scripted"]
    read = [str(request.body) for request in seen if request.body["model"] == "house"]
    assert (len(prompts), len(read)) == (3, 1)
    assert [secret for secret in _SECRETS if secret in str(prompts)] == []
    assert [secret for secret in _SECRETS if secret not in read[0]] == []


def advising(body: Json) -> Answer:
    """Plan a trip; as the summariser, shorten what was said of it."""
    if body["model"] == "small":
        return {"summary": "Lisbon in May by train with a sister; five days, 900 euros."}
    said = str(body["messages"][-1]["content"])
    if "hotel" not in said:
        return "Noted."
    has_budget = "900 euros" in str(body["messages"][:-1])
    return "80 euros a night, of your 900." if has_budget else "What is your budget?"


def recalling(body: Json) -> Answer:
    """Search the user's conversations for what the prompt does not tell."""
    last = body["messages"][-1]
    if last["role"] != "tool":
        return Called("recall_conversation", {"query": last["content"]})
    return "The hotel Aurora." if "Aurora" in str(last["content"]) else "I do not know."


def seating(body: Json) -> Answer:
    """Know where the user sits if the system prompt says so, as a memory after its own words."""
    messages = body["messages"]
    prompt = str(body.get("system") or messages[0]["content"])
    if not str(messages[-1]["content"]).endswith("?"):
        return "Noted."
    is_known = re.match(r"You book seats\.\n\n<memories>\n.*window seats", prompt, re.DOTALL)
    return _seat(is_known=is_known is not None)


def reminded(body: Json) -> Answer:
    """Extract what is said of seats; know where the user sits if a memory in the prompt says so."""
    prompt = str(body["messages"])
    if "response_format" in body:
        return {"memories": [_SEATS] if f"Task: {_SEATS}" in prompt else []}
    if "Where do I" not in prompt:
        return "Noted."
    # A history of the first conversation would have its answer, too.
    return _seat(is_known=_SEATS in prompt and "Noted." not in prompt)


def _seat(*, is_known: bool) -> str:
    return "You like to sit at the window." if is_known else "I do not know."
