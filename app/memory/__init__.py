"""The memory bank: memories, their revisions, and everything that writes, finds or removes them."""
