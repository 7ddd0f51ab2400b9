"""Engines (`reasoningEngines`): the parents of memories, and their memory configuration."""
