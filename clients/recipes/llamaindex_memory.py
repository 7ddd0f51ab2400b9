"""Give LlamaIndex's agent a memory block: what one conversation tells is known in the next."""

import asyncio
import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.sql import MessageStatus
from llama_index.llms.openai_like import OpenAILike

from open_memory_bank import AsyncClient

NAME, URL = os.environ.get("RECIPE_MODEL", "scripted"), os.environ["OPENAI_BASE_URL"]
MODEL = OpenAILike(NAME, api_base=URL, is_chat_model=True, is_function_calling_model=True)
SCOPE, ROLES = {"user_id": "42"}, {"user": "user", "assistant": "model"}
Messages = list[ChatMessage]


class BankBlock(BaseMemoryBlock[Messages]):
    """Adds memories to the prompt, and has the bank read what leaves the conversation."""

    name: str = "bank"
    bank: AsyncClient

    async def _aget(self, messages: Messages | None = None, **_: object) -> Messages:
        said = [m.content for m in messages or () if m.role == "user" and m.content]
        if not said:
            return []
        found = self.bank.memories.retrieve(scope=SCOPE, query=said[-1], top_k=5)
        facts = [hit["memory"]["fact"] async for hit in found]
        text = "\n- ".join(["From earlier conversations with the user:", *facts])
        return [ChatMessage(role="system", content=text)] if facts else []

    async def _aput(self, messages: Messages) -> None:
        turns = [(ROLES[m.role], m.content) for m in messages if m.role in ROLES and m.content]
        if turns:
            await self.bank.memories.ingest(scope=SCOPE, turns=turns)


async def talk(bank: AsyncClient, said: str) -> None:
    """Hold a conversation of one message."""
    memory = Memory.from_defaults(memory_blocks=[BankBlock(bank=bank)])
    agent = FunctionAgent(llm=MODEL, system_prompt="You book seats.", streaming=False)
    print(await agent.run(said, memory=memory))
    # The block gets messages that no longer fit; at the end of a conversation, the others.
    await memory.memory_blocks[0].aput(await memory.aget_all(MessageStatus.ACTIVE))


async def main() -> None:
    """Hold two conversations."""
    async with AsyncClient(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
        await talk(bank, "I prefer window seats.")
        await (await bank.memories.flush(scope=SCOPE)).wait()  # only since the next begins at once
        await talk(bank, "Where do I like to sit?")


asyncio.run(main())

# prints: You like to sit at the window.
