"""A memory for a client of OpenAI, or of any server that speaks its protocol.

from openai import OpenAI
from open_memory_bank.openai import remember

client = remember(OpenAI(), scope={"user_id": "42"})
client.chat.completions.create(model=..., messages=[{"role": "user", "content": "Where do I sit?"}])
"""

from open_memory_bank._link import flush
from open_memory_bank._remember import remember

__all__ = ["flush", "remember"]
