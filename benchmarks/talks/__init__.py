"""Memories that the built-in rules make of conversations, judged by a gold standard."""
