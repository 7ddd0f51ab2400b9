"""Give OpenAI's client a memory: what the user says in one conversation is known in the next."""

import os

from openai import OpenAI

from open_memory_bank import Client
from open_memory_bank.openai import flush, remember

MODEL = os.environ.get("RECIPE_MODEL", "scripted")
SCOPE = {"user_id": "42"}


def answer(client: OpenAI, said: str) -> str:
    """Answer one message, in a conversation of its own."""
    completion = client.chat.completions.create(
        model=MODEL,
        messages=[
            {"role": "system", "content": "You book seats."},
            {"role": "user", "content": said},
        ],
    )
    return completion.choices[0].message.content or ""


with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    client = remember(OpenAI(), scope=SCOPE, bank=bank, search_seconds=5)
    print(answer(client, "I prefer window seats."))
    flush()  # only since the next conversation begins at once
    bank.memories.flush(scope=SCOPE).wait()
    print(answer(client, "Where do I like to sit?"))

# prints: You like to sit at the window.
