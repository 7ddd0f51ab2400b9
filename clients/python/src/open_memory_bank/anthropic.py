"""A memory for a client of Anthropic.

from anthropic import Anthropic
from open_memory_bank.anthropic import remember

client = remember(Anthropic(), scope={"user_id": "42"})
client.messages.create(model=..., max_tokens=..., messages=[{"role": "user", "content": "..."}])
"""

from open_memory_bank._link import flush
from open_memory_bank._remember import remember

__all__ = ["flush", "remember"]
