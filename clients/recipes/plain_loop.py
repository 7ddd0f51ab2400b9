"""Give any model with an OpenAI-compatible address a memory: the loop, by hand, over httpx."""

import os
from typing import Any

import httpx

from open_memory_bank import Client

MODEL = os.environ.get("RECIPE_MODEL", "scripted")
SCOPE = {"user_id": "42"}


def ask(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the model's next message."""
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    headers = {"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    body = {"model": MODEL, "messages": messages, "tools": tools}
    answer = httpx.post(url, headers=headers, json=body, timeout=60).raise_for_status()
    message: dict[str, Any] = answer.json()["choices"][0]["message"]
    return message


def answer(bank: Client, said: str) -> str:
    """Answer one message, in a conversation of its own."""
    tools = bank.memory_tools.specs("openai")
    messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
    while calls := (message := ask(messages, tools)).get("tool_calls"):
        messages.append(message)
        for call in calls:
            function = call["function"]
            done = bank.memory_tools.call(function["name"], function["arguments"], scope=SCOPE)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": done["text"]})
    return str(message["content"])


with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    print(answer(bank, "I prefer window seats. Please remember it."))
    print(answer(bank, "Where do I like to sit?"))

# prints: You like to sit at the window.
