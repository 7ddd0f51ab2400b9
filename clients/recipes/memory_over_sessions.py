"""Give the model of a long session a tool that searches all conversations of its user."""

import os
from functools import partial

import httpx

from open_memory_bank import Client

USER, QUESTION = {"user_id": "42"}, "Which hotel did I book in Lisbon?"
AUTH = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
MODEL = httpx.Client(base_url=os.environ["OPENAI_BASE_URL"], headers=AUTH, timeout=60)

with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    spring = bank.sessions.create(**USER)["name"]
    bank.sessions.exchange(spring, input="I booked the hotel Aurora in Lisbon.", output="Noted.")
    now = bank.sessions.create(**USER, memory_policy={"strategy": "window", "window": 3})["name"]
    for day in range(1, 41):
        bank.sessions.exchange(now, input=f"Day {day} was sunny.", output="How nice.")
    messages = bank.sessions.context(now, pending_message=QUESTION, format="openai")["messages"]
    print(f"{len(messages)} messages of 81 in the prompt.")
    tools = bank.memory_tools.specs("openai", tools="recall_conversation")
    body = {"model": "scripted", "messages": messages, "tools": tools}
    ask = partial(MODEL.post, "chat/completions", json=body)
    while (said := ask().json()["choices"][0]["message"]).get("tool_calls"):
        (call,) = said["tool_calls"]
        text = bank.memory_tools.call(**call["function"], scope=USER)["text"]
        messages += [said, {"role": "tool", "tool_call_id": call["id"], "content": text}]
    print(said["content"])
