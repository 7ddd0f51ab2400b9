"""Give Anthropic's client a memory: what the user says in one conversation is known in the next."""

import asyncio
import os

from anthropic import AsyncAnthropic

from open_memory_bank import Client
from open_memory_bank.anthropic import flush, remember

MODEL = os.environ.get("RECIPE_MODEL", "scripted")
SCOPE = {"user_id": "42"}


async def answer(client: AsyncAnthropic, said: str) -> str:
    """Answer one message, in a conversation of its own."""
    message = await client.messages.create(
        model=MODEL,
        max_tokens=1000,
        system="You book seats.",
        messages=[{"role": "user", "content": said}],
    )
    return "".join(block.text for block in message.content if block.type == "text")


async def main(bank: Client) -> None:
    """Hold two conversations."""
    client = remember(AsyncAnthropic(), scope=SCOPE, bank=bank, search_seconds=5)
    print(await answer(client, "I prefer window seats."))
    await asyncio.to_thread(flush)  # only since the next conversation begins at once
    (await asyncio.to_thread(bank.memories.flush, scope=SCOPE)).wait()
    print(await answer(client, "Where do I like to sit?"))


with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    asyncio.run(main(bank))

# prints: You like to sit at the window.
