"""Memories that are left of what a model extracts and decides, over the real protocol."""
